"""The suite of tables on the command line."""

from __future__ import annotations

import argparse

from lacforest._utils.arguments import at_least, names
from lacforest.experiments import _suite
from lacforest.experiments._experiment import (
    Experiment,
    MistakeError,
    add_common,
    add_figure,
    measure,
)
from lacforest.experiments._learning import LearningExperiment, LearningOptions
from lacforest.experiments._methods import METHODS
from lacforest.experiments._suite_tables import draw_suite, render_suite

_NAME = "suite"


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--datasets",
        type=names,
        default=",".join((*_suite.DEVELOPMENT, *_suite.CHECKING)),
        help="names with commas; a table without the rows that a regime needs is left out of it",
    )
    add(
        "--methods",
        type=names,
        default="lacextratrees,lacforest,discriminator,oracle",
        help="names with commas; others are compared with the first",
    )
    add(
        "--regimes",
        type=names,
        default=",".join(_suite.REGIMES),
        help="names with commas, of numbers of rows and theta",
    )
    add("--choices", type=at_least(1), default=3, help="random choices of hidden classes")
    add("--samples", type=at_least(1), default=1, help="samples of rows per choice")
    add_common(parser, _NAME, "splits and methods that run in parallel, as processes")
    add_figure(parser)


def _run(given: argparse.Namespace) -> str:
    unknown = [name for name in given.regimes if name not in _suite.REGIMES]
    if unknown:
        raise MistakeError(
            f"there is no regime {unknown[0]!r}: choose among {', '.join(_suite.REGIMES)}"
        )
    regimes = {name: _suite.REGIMES[name] for name in given.regimes}
    options = LearningOptions(
        name=_NAME,
        datasets=given.datasets,
        methods=given.methods,
        settings=tuple(regimes.values()),
        n_choices=given.choices,
        n_samples=given.samples,
        n_test=_suite.N_TEST,
        drops_small=True,
        n_jobs=given.jobs,
        seed=given.seed,
        folder=given.data,
    )
    results = measure(LearningExperiment, options, given)
    if given.figure is not None:
        draw_suite(results, regimes, given.figure)
    return render_suite(results, regimes, given.format)


SUITE = Experiment(
    name=_NAME,
    help="methods on more than twenty tables, in regimes of many and few labelled rows",
    description="Half of the classes are hidden, 500 test rows; every method sees the same splits. "
    "Tables on which a method may be chosen and tables that check the choice are kept apart. "
    "Methods: " + ", ".join(METHODS) + ".",
    example="--datasets segment,letter --regimes paper --choices 2",
    add_options=_add_options,
    run=_run,
)
