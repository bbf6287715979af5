"""The experiments about the life of a model, on the command line."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lacforest._utils.arguments import at_least, names
from lacforest.experiments import _adapt, _decisions, _groups, _promote, _stream, _stream_table
from lacforest.experiments._experiment import Experiment, add_common, add_figure, measure
from lacforest.experiments._life import (
    LifeExperiment,
    LifeOptions,
    Measure,
    Results,
    mean_rows,
)
from lacforest.experiments._tables import PrintedColumn, render


def _add_options(
    name: str, datasets: str, points: Sequence[str], n_draws: int, *, has_figure: bool = False
) -> Callable[[argparse.ArgumentParser], None]:
    def add_options(parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("--datasets", type=names, default=datasets, help="names, with commas")
        add("--points", type=names, default=",".join(points), help="points, with commas")
        add(
            "--draws",
            type=at_least(1),
            default=n_draws,
            metavar="N",
            help="draws of classes and rows per dataset and point",
        )
        add_common(parser, name, "draws in parallel")
        if has_figure:
            add_figure(parser)

    return add_options


def _run(
    given: argparse.Namespace,
    name: str,
    measure_draw: Measure,
    table: Callable[[Results], tuple[Sequence[PrintedColumn], list[dict[str, Any]], list[str]]],
    draw: Callable[[Results, Path], None] | None = None,
) -> str:
    options = LifeOptions(
        name=name,
        datasets=given.datasets,
        points=given.points,
        n_draws=given.draws,
        n_jobs=given.jobs,
        seed=given.seed,
        folder=given.data,
    )
    results = measure(lambda chosen: LifeExperiment(chosen, measure_draw), options, given)
    if draw is not None and given.figure is not None:
        draw(results, given.figure)
    columns, rows, notes = table(results)
    return render(columns, rows, {"means": notes}, given.format)


def _groups_table(
    results: Results,
) -> tuple[Sequence[PrintedColumn], list[dict[str, Any]], list[str]]:
    columns = (
        PrintedColumn("method", "method"),
        PrintedColumn("ARI", "ari", ".3f"),
        PrintedColumn("+-", "ari error", ".3f"),
        PrintedColumn("groups", "n_groups", ".1f"),
        PrintedColumn("exact number", "exact", ".0%"),
        PrintedColumn("runs", "runs", "d"),
    )
    rows = mean_rows(results, ["ari", "n_groups", "exact"])
    return columns, rows, _notes(results, "ari", "dataset")


def _notes(results: Results, measured: str, by: str) -> list[str]:
    """A line per method: the means of one measure by dataset or by point."""
    rows = [row for row in mean_rows(results, [measured], by=by) if row[measured] is not None]
    return [
        f"{method}, {measured.replace('_', ' ')}: "
        + ", ".join(
            f"{row['group']} {row[measured]:.3f}" for row in rows if row["method"] == method
        )
        for method in dict.fromkeys(row["method"] for row in rows)
    ]


def _promote_table(
    results: Results,
) -> tuple[Sequence[PrintedColumn], list[dict[str, Any]], list[str]]:
    columns = (
        PrintedColumn("verified", "group"),
        PrintedColumn("method", "method"),
        PrintedColumn("still called new", "still_new", ".1%"),
        PrintedColumn("called by name", "named", ".1%"),
        PrintedColumn("accuracy", "accuracy", ".4f"),
        PrintedColumn("runs", "runs", "d"),
    )
    rows = mean_rows(results, ["still_new", "named", "accuracy"], by="point")
    return columns, rows, _notes(results, "still_new", "dataset")


def _decisions_table(
    results: Results,
) -> tuple[Sequence[PrintedColumn], list[dict[str, Any]], list[str]]:
    columns = (
        PrintedColumn("point", "group"),
        PrintedColumn("rule", "method"),
        PrintedColumn("FDR", "fdr", ".3f"),
        PrintedColumn("+-", "fdr error", ".3f"),
        PrintedColumn("power", "power", ".3f"),
        PrintedColumn("FPR", "fpr", ".4f"),
        PrintedColumn("rows", "n_rows", ".1f"),
        PrintedColumn("estimated FDR", "estimated", ".3f"),
        PrintedColumn("AUC", "auc", ".3f"),
        PrintedColumn("precision", "precision", ".3f"),
        PrintedColumn("tied at top", "ties", ".0f"),
        PrintedColumn("ECE", "ece", ".3f"),
        PrintedColumn("Brier", "brier", ".3f"),
    )
    rows = mean_rows(
        results, [column.key for column in columns[2:] if column.key != "fdr error"], by="point"
    )
    first = [(job, found) for job, found in results if job.point == results[0][0].point]
    return columns, rows, _notes(first, "fdr", "dataset") + _notes(first, "power", "dataset")


def _stream_rows(
    results: Results,
) -> tuple[Sequence[PrintedColumn], list[dict[str, Any]], list[str]]:
    columns = (
        PrintedColumn("stream", "group"),
        PrintedColumn("strategy", "method"),
        PrintedColumn("accuracy on arrival", "accuracy arrival", ".4f"),
        PrintedColumn("+-", "accuracy arrival error", ".4f"),
        PrintedColumn("in the evening", "accuracy evening", ".4f"),
        PrintedColumn("named on arrival", "named arrival", ".1%"),
        PrintedColumn("rows asked", "asked", ".0f"),
        PrintedColumn("runs", "runs", "d"),
    )
    measures = ["accuracy arrival", "accuracy evening", "named arrival", "asked"]
    rows = mean_rows(results, measures, by="point")
    notes = _notes(results, "accuracy arrival", "dataset")
    return columns, rows, notes + _stream_table.make_notes(results)


def _adapt_table(
    results: Results,
) -> tuple[Sequence[PrintedColumn], list[dict[str, Any]], list[str]]:
    columns = (
        PrintedColumn("method", "method"),
        PrintedColumn("accuracy", "accuracy", ".4f"),
        PrintedColumn("+-", "accuracy error", ".4f"),
        PrintedColumn("error of theta", "theta_error", ".4f"),
        PrintedColumn("alarms", "alarm", ".0%"),
        PrintedColumn("adapted", "adapted", ".0%"),
        PrintedColumn("covered", "covered", ".0%"),
        PrintedColumn("runs", "runs", "d"),
    )
    rows = mean_rows(results, ["accuracy", "theta_error", "alarm", "adapted", "covered"])
    notes = [
        line
        for measured in ("accuracy", "theta_error", "alarm", "adapted")
        for line in _notes(results, measured, "point")
    ]
    return columns, rows, notes + _notes(results, "accuracy", "dataset")


GROUPS = Experiment(
    name="groups",
    help="groups of flagged rows against the hidden classes",
    description="Two, three or five classes are hidden; rows that LACExtraTreesClassifier calls "
    "new are grouped, and groups are compared with classes by the adjusted Rand index (ARI) over "
    "truly new rows. All methods but those marked auto are told the number of hidden classes.",
    example="--datasets texture --draws 1",
    add_options=_add_options("groups", _groups.DATASETS, _groups.POINTS, 4),
    run=functools.partial(
        _run, name="groups", measure_draw=_groups.measure_groups, table=_groups_table
    ),
)

ADAPT = Experiment(
    name="adapt",
    help="another batch with other shares of classes, same trees",
    description="A forest is fitted at theta .5, then a batch of 600 rows comes with another share "
    "of new rows, and known classes as in the fit or every other one four times as frequent. "
    "Alarms: batches for which adapt raised one. Adapted: batches for which it changed "
    "predictions. Covered: thetas inside of the interval.",
    example="--datasets texture --draws 1",
    add_options=_add_options("adapt", _adapt.DATASETS, _adapt.POINTS, 3),
    run=functools.partial(
        _run, name="adapt", measure_draw=_adapt.measure_adapt, table=_adapt_table
    ),
)

DECISIONS = Experiment(
    name="decisions",
    help="false discovery rate and power of calibrated decisions",
    description="Rows are selected at nominal false discovery rates of 5, 10 and 20 %, from fresh "
    "rows and from the unlabelled rows of the fit, then by a bound of 1 % on false alarms and by a "
    "budget of 50 rows. The table also has the order of fitted rows by three scores (precision: "
    "among as many rows as are new), and errors of the probability of new.",
    example="--datasets optdigits --draws 2",
    add_options=_add_options("decisions", _decisions.DATASETS, _decisions.POINTS, 20),
    run=functools.partial(
        _run, name="decisions", measure_draw=_decisions.measure_decisions, table=_decisions_table
    ),
)

PROMOTE = Experiment(
    name="promote",
    help="a class that a person confirmed, after the next fit",
    description="Two classes are hidden and flagged rows are grouped; 10, 20 or 40 verified rows "
    "of one group get their label, and the forest is fitted again. How many rows of that class are "
    "still called new?",
    example="--datasets optdigits --draws 2",
    add_options=_add_options("promote", _promote.DATASETS, _promote.POINTS, 4),
    run=functools.partial(
        _run, name="promote", measure_draw=_promote.measure_promote, table=_promote_table
    ),
)

STREAM = Experiment(
    name="stream",
    help="daily batches in which classes appear, get a name, leave and come back",
    description="Twelve daily batches of 250 rows: one hidden class is always there, another one "
    "on days 3 to 5 and 9 to 11. A row of a hidden class is right if it is called new or by its "
    "own name. Strategies: the first forest, the first forest adapted to each batch, a fit per "
    "batch, and the loop of the guide (window, groups, 20 rows a day that a person labels). The "
    "point 'buffers' is the setting of SENNE: two known classes and a new one in random order.",
    example="--datasets pendigits --draws 1",
    add_options=_add_options("stream", _stream.DATASETS, _stream.POINTS, 5, has_figure=True),
    run=functools.partial(
        _run,
        name="stream",
        measure_draw=_stream.measure_stream,
        table=_stream_rows,
        draw=_stream_table.draw_figure,
    ),
)
