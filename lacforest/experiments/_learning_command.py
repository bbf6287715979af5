"""Table 1, the ablation and the sweeps, on the command line."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from lacforest._utils.arguments import at_least, names
from lacforest.experiments import _ablation, _learning, _paper_tables
from lacforest.experiments._comparison import compare
from lacforest.experiments._experiment import Experiment, add_common, add_figure, measure
from lacforest.experiments._methods import METHODS, compared_methods
from lacforest.experiments._sweeps import (
    LABELED,
    MANY_TEST_ROWS,
    MANY_UNLABELED,
    THETA,
    UNLABELED,
    Sweep,
    draw_sweep,
    sweep_rows,
)
from lacforest.experiments._tables import render
from lacforest.experiments._theta import DATASETS

_DESCRIPTION = (
    "Half of the classes are hidden; 500 labelled, 1,000 unlabelled and 100 test rows, theta = 0.5 "
    "unless it is varied; every method sees the same splits. Methods: " + ", ".join(METHODS) + "."
)
_EXAMPLE = "--datasets segment,letter --choices 3 --samples 2"


def _add_options(
    name: str, methods: str, has_figure: bool, parser: argparse.ArgumentParser
) -> None:
    add = parser.add_argument
    add("--datasets", type=names, default=",".join(DATASETS), help="names, with commas")
    add(
        "--methods",
        type=names,
        default=methods,
        help="names with commas, or all (those of the paper); others are compared with the first",
    )
    add("--choices", type=at_least(1), default=10, help="random choices of hidden classes")
    how_many = parser.add_mutually_exclusive_group().add_argument
    how_many("--samples", type=at_least(1), default=10, help="samples of rows per choice")
    how_many(
        "--trials",
        type=at_least(1),
        default=argparse.SUPPRESS,
        metavar="N",
        help="splits per dataset in total, spread over the choices in turn (default: choices x "
        "samples)",
    )
    add_common(parser, name, "splits and methods that run in parallel, as processes")
    if has_figure:
        add_figure(parser)


def _measure(
    given: argparse.Namespace, settings: tuple[_learning.Setting, ...], **more: Any
) -> _learning.Results:
    options = _learning.LearningOptions(
        name=given.experiment,
        datasets=given.datasets,
        methods=compared_methods() if given.methods == ["all"] else given.methods,
        settings=settings,
        n_choices=given.choices,
        n_samples=given.samples,
        n_trials=getattr(given, "trials", None),
        n_jobs=given.jobs,
        seed=given.seed,
        folder=given.data,
        **more,
    )
    results: _learning.Results = measure(_learning.LearningExperiment, options, given)
    return results


def _run_table(given: argparse.Namespace) -> str:
    cells = compare(_measure(given, (_learning.Setting(),)))
    return _paper_tables.render_comparison(cells, given.format)


def _run_ablation(given: argparse.Namespace) -> str:
    return _ablation.render_ablation(_measure(given, (_learning.Setting(),)), given.format)


def _run_sweep(sweep: Sweep, given: argparse.Namespace) -> str:
    more = {"n_test": MANY_TEST_ROWS, "drops_small": True} if sweep.thetas else {}
    cells = compare(_measure(given, sweep.points, **more))
    if given.figure is not None:
        draw_sweep(cells, sweep, given.figure)
    columns, rows = sweep_rows(cells, sweep)
    return render(columns, rows, {}, given.format)


TABLE1 = Experiment(
    name="table1",
    help="accuracy, macro-F1 and AUC beside the figures of the paper",
    description=_DESCRIPTION,
    example=_EXAMPLE,
    add_options=partial(_add_options, "table1", "lacforest", False),
    run=_run_table,
)
ABLATION = Experiment(
    name="ablation",
    help="the way from the paper's forest to LACExtraTreesClassifier, one change at a time",
    description=_DESCRIPTION,
    example=_EXAMPLE,
    add_options=partial(_add_options, "ablation", ",".join(_ablation.METHODS), False),
    run=_run_ablation,
)
# Methods of the sweeps over orders of magnitude, which are about our own method.
_SWEPT = dict.fromkeys((MANY_UNLABELED.name, LABELED.name), "lacextratrees,discriminator")
SWEEPS = tuple(
    Experiment(
        name=sweep.name,
        help=f"accuracy as a function of {sweep.title.split(',')[0]}",
        description=_DESCRIPTION,
        example=_EXAMPLE,
        add_options=partial(_add_options, sweep.name, _SWEPT.get(sweep.name, "lacforest"), True),
        run=partial(_run_sweep, sweep),
    )
    for sweep in (THETA, UNLABELED, MANY_UNLABELED, LABELED)
)
