"""The experiment on estimators of theta, on the command line."""

from __future__ import annotations

import argparse

from lacforest._utils.arguments import at_least, names
from lacforest.experiments import _summary, _theta
from lacforest.experiments._experiment import Experiment, add_common, measure
from lacforest.experiments._tables import render


def percents(text: str) -> list[int]:
    """Shares separated by commas, as whole percents."""
    found = []
    for entry in names(text):
        try:
            value = 100 * float(entry)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{entry!r} is not a number") from None
        if not -0.5 < value < 99.5 or abs(value - round(value)) > 1e-9:
            raise argparse.ArgumentTypeError(
                f"{entry} is not one of 0, 0.01, ..., 0.99: theta must be a whole percentage"
            )
        found.append(round(value))
    return list(dict.fromkeys(found))


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--datasets", type=names, default=",".join(_theta.DATASETS), help="names, with commas")
    add("--methods", type=names, default=",".join(_theta.METHODS), help="names, with commas")
    thetas = ",".join(f"{percent / 100:g}" for percent in _theta.PERCENTS)
    add("--thetas", type=percents, default=thetas, help="shares of new rows, with commas")
    add(
        "--splits",
        "--trials",
        type=at_least(1),
        default=10,
        metavar="N",
        help="splits per dataset and theta",
    )
    add(
        "--intervals",
        type=names,
        default=",".join(_theta.INTERVALS),
        help="methods whose intervals are computed, with commas",
    )
    add(
        "--dense-qp",
        type=at_least(0),
        default=0,
        metavar="N",
        help="time the paper's route with a dense QP on N splits per dataset (slow)",
    )
    add(
        "--large",
        type=at_least(2),
        metavar="N",
        help="also time the default and a fit of the forest on N + N synthetic rows",
    )
    # One job at a time: jobs in parallel would distort each other's times.
    add_common(parser, "theta", "threads of an estimator")


def _run(given: argparse.Namespace) -> str:
    options = _theta.ThetaOptions(
        datasets=given.datasets,
        methods=given.methods,
        percents=given.thetas,
        n_splits=given.splits,
        intervals=given.intervals,
        n_dense=given.dense_qp,
        n_large=given.large,
        n_jobs=given.jobs,
        seed=given.seed,
        folder=given.data,
    )
    results = measure(_theta.ThetaExperiment, options, given)
    columns, rows = _summary.make_table(results)
    sections = {
        "notes": _summary.make_notes(results),
        "checks": _summary.make_checks(rows, results),
    }
    return render(columns, rows, sections, given.format)


THETA = Experiment(
    name="theta",
    help="error, coverage and time of the estimators of theta",
    description="Random splits of the paper's datasets with 500 labelled and 1,000 unlabelled rows "
    "each; every method sees the same splits.",
    example="--datasets segment,letter --splits 3 --dense-qp 1",
    add_options=_add_options,
    run=_run,
)
