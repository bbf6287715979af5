"""lacforest adapt: a model for another batch, with the same trees."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lacforest.adaptation import Adaptation
from lacforest.cli import _arguments
from lacforest.cli._batches import load_model, read_batch
from lacforest.cli._console import Console, table_of
from lacforest.cli._output import check_output, writing
from lacforest.cli._tables import find_tables
from lacforest.tabular.places import joint_name

_EXAMPLES = """\
examples:
  lacforest adapt model.lac march.csv -o march.lac
"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "adapt",
        description="Find how much of a table is new and which shares the known classes have "
        "there, and write a model with the same trees whose probabilities are adapted to that. For "
        "tables of some hundred rows; with a thousand or more, fit again.",
        epilog=_EXAMPLES,
    )
    add = parser.add_argument
    add("model", type=Path, help="model file written by lacforest fit")
    add("table", nargs="+", help="the batch, or several tables to be joined")
    add("-o", "--output", type=Path, required=True, metavar="FILE", help="the adapted model file")
    _arguments.add_jobs(parser)
    _arguments.add_reading(parser)
    _arguments.add_common(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Adapt, save, and print what the batch is made of."""
    console = Console(given)
    (places,) = find_tables(given, given.table)
    check_output(given.output, [given.model, *(place.path for place in places)])
    model = load_model(console, given)
    _, X = read_batch(console, given, model, places)
    with console.activity(f"estimating shares in {joint_name(places)}"):
        model.forest = model.forest.adapt(X, groups=model.groups)
    batch = model.forest.adaptation_
    assert batch is not None
    notes = [*model.notes]
    if model.calibrator is not None:
        model.calibrator = None
        notes.append(
            "the adapted model has no calibration: p-values belong to the probabilities of the fit"
        )
    with writing(given.output):
        model.save(given.output)
    facts = batch_facts(batch) | {"output": str(given.output), "notes": notes}
    lines = [*batch_lines(batch), ("saved", str(given.output))]
    console.print_result(facts, table_of(lines) + [f"note: {note}" for note in notes])
    return 0


def batch_facts(batch: Adaptation) -> dict[str, Any]:
    """What a batch is made of, for JSON and for a history."""
    classes = [str(label) for label in batch.known_classes.tolist()]
    return {
        "rows": batch.n_rows,
        "theta": batch.theta,
        "theta_interval": list(batch.theta_interval),
        "theta_before": batch.theta_before,
        "known_shares": dict(zip(classes, batch.known_shares.tolist(), strict=True)),
        "p_value": batch.p_value,
        "is_adapted": batch.is_adapted,
        "far_share": batch.far_share,
        "alarms": [found.topic for found in batch.alarms],
    }


def batch_lines(batch: Adaptation) -> list[tuple[str, str]]:
    """The findings of a batch, alarms marked."""
    lines = [("rows", f"{batch.n_rows:,}")]
    for found in batch.findings:
        mark = "" if found.level == "ok" else "ALARM: "
        lines.append((found.topic, mark + found.text))
    return lines
