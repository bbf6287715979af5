"""lacforest watch: theta and shares of classes from table to table, with alarms."""

from __future__ import annotations

import argparse
import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lacforest._utils.atomic import atomic_file
from lacforest._utils.extras import load_extra
from lacforest._utils.file_lock import LockedError, locked
from lacforest.cli import _arguments
from lacforest.cli._adapt import batch_facts, batch_lines
from lacforest.cli._batches import load_model, read_batch
from lacforest.cli._console import Console, table_of
from lacforest.cli._output import OutputError, check_output, writing
from lacforest.cli._tables import find_tables
from lacforest.inspection import draw_history
from lacforest.tabular.places import Place

ALARM = 3
_TEXTS = ("table", "alarms")
_NUMBERS = ("rows", "theta", "theta_low", "theta_high", "theta_before")
_FIGURES = (".png", ".svg", ".pdf")

_EXAMPLES = """\
The history has one row per table. Tables that it has already, by their names, are not read again.
The exit code is 3 if one of the tables that were read raised an alarm.

examples:
  lacforest watch model.lac 2024-*.csv
  lacforest watch model.lac today.csv --history history.csv --figure history.png
"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "watch",
        description="Find for each table how much of it is new and which shares the known classes "
        "have, compare with the fit, and raise an alarm where something has moved.",
        epilog=_EXAMPLES,
    )
    add = parser.add_argument
    add("model", type=Path, help="model file written by lacforest fit")
    add("tables", nargs="+", help="tables in the order of time, each a batch of its own")
    add("--history", type=Path, metavar="FILE", help="CSV file that keeps the results")
    add("--figure", type=Path, metavar="FILE", help="draw the history into a png, svg or pdf")
    _arguments.add_jobs(parser)
    _arguments.add_reading(parser)
    _arguments.add_common(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Judge each table, write history and figure, and return 3 for an alarm."""
    console = Console(given)
    (batches,) = find_tables(given, given.tables)
    inputs = [given.model, *(place.path for place in batches)]
    if given.figure is not None:
        load_extra("matplotlib")
        check_output(given.figure, inputs)
        if given.figure.suffix.lower() not in _FIGURES:
            raise OutputError(f"{given.figure}: the name must end in .png, .svg or .pdf")
        if given.history is not None and given.history.resolve() == given.figure.resolve():
            raise OutputError(f"{given.figure} is also the history: draw into another file")
    if given.history is None:
        return _watch(console, given, batches)
    check_output(given.history, inputs)
    try:
        # Two runs at once would each write the history without the rows of the other.
        with locked(given.history):
            return _watch(console, given, batches)
    except LockedError as error:
        raise OutputError(str(error)) from None


def _watch(console: Console, given: argparse.Namespace, batches: Sequence[Place]) -> int:
    history = [] if given.history is None else _read(given.history)
    model = load_model(console, given)
    seen = {entry["table"] for entry in history}
    found, lines = [], []
    for place in batches:
        name = str(place)
        if name in seen:
            lines.append((name, "in the history already"))
            continue
        _, X = read_batch(console, given, model, [place])
        with console.activity(f"estimating shares in {name}"):
            batch = model.forest.adapt(X, groups=model.groups).adaptation_
        assert batch is not None
        found.append({"table": name} | batch_facts(batch))
        history.append(_flat(found[-1]))
        if given.history is not None:
            # At once: an interrupt, or a table that cannot be read, loses none of the others.
            _write(given.history, history)
        told = [f"{topic}: {text}" for topic, text in batch_lines(batch)[1:]]
        lines += [(name, told[0]), *(("", text) for text in told[1:])]
    if given.figure is not None:
        with writing(given.figure):
            draw_history(history, given.figure)
    console.print_result({"tables": found}, table_of(lines))
    return ALARM if any(entry["alarms"] for entry in found) else 0


def _flat(entry: dict[str, Any]) -> dict[str, Any]:
    low, high = entry["theta_interval"]
    flat = {key: entry[key] for key in ("table", "rows", "theta")}
    flat |= {"theta_low": low, "theta_high": high, "theta_before": entry["theta_before"]}
    flat |= {f"share_{label}": share for label, share in entry["known_shares"].items()}
    return flat | {"far_share": entry["far_share"], "alarms": " ".join(entry["alarms"])}


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    try:
        with open(path, encoding="utf-8", newline="") as file:
            table = csv.DictReader(file)
            # A header alone is another table that would be written over.
            if table.fieldnames is not None and not {*_TEXTS, *_NUMBERS} <= {*table.fieldnames}:
                raise ValueError("columns are missing")
            return [_checked(entry) for entry in table]
    except (TypeError, ValueError, csv.Error) as error:
        raise OutputError(f"{path} is not a history of lacforest watch") from error


def _checked(entry: dict[str, Any]) -> dict[str, Any]:
    """A row of a history, with its numbers."""
    if None in entry or None in entry.values():
        raise ValueError("a row has another number of cells than the header")
    # A class that only later models know has no share in this row.
    shares = {key: cell for key, cell in entry.items() if key.startswith("share_")}
    rest = {key: cell for key, cell in entry.items() if key not in shares}
    numbers = {key: entry[key] for key in _NUMBERS} | {k: v for k, v in shares.items() if v}
    found = {key: float(cell) for key, cell in numbers.items()}
    if not all(map(math.isfinite, found.values())):
        raise ValueError("a number is not finite")
    return rest | found


def _write(path: Path, history: list[dict[str, Any]]) -> None:
    columns = list(dict.fromkeys(key for entry in history for key in entry))
    text = io.StringIO()
    table = csv.DictWriter(text, columns, lineterminator="\n")
    table.writeheader()
    for entry in history:
        table.writerow(
            {key: f"{cell:.6g}" if isinstance(cell, float) else cell for key, cell in entry.items()}
        )
    with atomic_file(path, lambda: writing(path)) as file, writing(path):
        file.write(text.getvalue().encode())
