"""The experiment on shifted shares, on the command line."""

from __future__ import annotations

import argparse

from lacforest._utils.arguments import at_least, names
from lacforest.experiments import _shift, _shift_table
from lacforest.experiments._experiment import Experiment, add_common, add_figure, measure
from lacforest.experiments._tables import render

_DATASETS = "segment,texture,optdigits,satimage,pendigits,letter"


def percents(text: str) -> list[int]:
    """Shares from 0 to 0.99, separated by commas, as whole percents."""
    found = []
    for entry in names(text):
        try:
            value = 100 * float(entry)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{entry!r} is not a number") from None
        if not 0 <= value < 99.5 or abs(value - round(value)) > 1e-9:
            raise argparse.ArgumentTypeError(f"{entry} is not one of 0, 0.01, ..., 0.99")
        found.append(round(value))
    return list(dict.fromkeys(found))


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--datasets", type=names, default=_DATASETS, help="names, with commas")
    add("--methods", type=names, default=",".join(_shift.METHODS), help="names, with commas")
    add("--shifts", type=names, default=",".join(_shift.SHIFTS), help="names, with commas")
    thetas = ",".join(f"{percent / 100:g}" for percent in _shift.PERCENTS)
    add("--thetas", type=percents, default=thetas, help="shares of new rows, with commas")
    add(
        "--draws",
        type=at_least(1),
        default=3,
        metavar="N",
        help="draws of classes, shares and rows per dataset, theta and shift",
    )
    labeled, unlabeled, _ = _shift.SIZES
    add("--labeled", type=at_least(2), default=labeled, metavar="N", help="labelled rows at most")
    add("--unlabeled", type=at_least(2), default=unlabeled, metavar="N", help="unlabelled rows")
    add_common(parser, "shift", "jobs in parallel")
    add_figure(parser)


def _run(given: argparse.Namespace) -> str:
    options = _shift.ShiftOptions(
        datasets=given.datasets,
        methods=given.methods,
        shifts=given.shifts,
        percents=given.thetas,
        n_draws=given.draws,
        sizes=(given.labeled, given.unlabeled, _shift.SIZES[2]),
        n_jobs=given.jobs,
        seed=given.seed,
        folder=given.data,
    )
    results = measure(_shift.ShiftExperiment, options, given)
    if given.figure is not None:
        _shift_table.draw_figure(results, given.figure)
    rows = _shift_table.make_rows(results)
    sections = {
        "datasets": _shift_table.make_notes(results),
        "shifts and intervals": _shift_table.make_tests(results),
    }
    return render(_shift_table.COLUMNS, rows, sections, given.format)


SHIFT = Experiment(
    name="shift",
    help="accuracy where known classes have other shares in deployment",
    description="Six kinds of shift of the known classes, from none to shares drawn from a "
    "Dirichlet distribution; every method sees the same rows.",
    example="--datasets segment --methods lacextratrees,lacextratrees:labeled --draws 1",
    add_options=_add_options,
    run=_run,
)
