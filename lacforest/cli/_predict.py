"""lacforest predict: a model file and a table in, a scored table out."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path
from typing import Any

from lacforest.cli import _arguments
from lacforest.cli._console import Console, share, table_of
from lacforest.cli._output import OutputError, TableWriter, check_output
from lacforest.tabular import TabularModel, UnseenValues

ROW = "row"
# A piece of the table has about this many numbers: 64 MB, and as much again for its text.
_CELLS = 1 << 23
_MOST_ROWS = 100_000

_EXAMPLES = """\
The output has a row for each row of the table, in the same order: its number, the columns of
--keep, predicted_label, novelty_score (the probability of the new class; higher is newer), and the
probability of every known class. Score and probabilities sum to one.

examples:
  lacforest predict model.lac new.csv -o scored.csv
  lacforest predict model.lac new.parquet -o scored.parquet --keep id,date
  lacforest predict model.lac new.csv.gz -o - | head
"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "predict",
        help="score rows by a model",
        description="Give every row of a table a label and a novelty score. The table may be "
        "larger than memory.",
        epilog=_EXAMPLES,
    )
    add = parser.add_argument
    add("model", type=Path, help="model file of lacforest fit")
    add("table", type=Path, help="table to score: CSV, TSV, Parquet or NPZ")
    add(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="scored table: .csv, .tsv or .parquet; - prints CSV",
    )
    add(
        "--keep",
        type=_arguments.names,
        action="extend",
        default=[],
        metavar="COLS",
        help="columns to copy, with commas between them",
    )
    _arguments.add_jobs(parser)
    _arguments.add_encoding(parser)
    _arguments.add_common(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Score the table piece by piece."""
    started = time.perf_counter()
    writer = TableWriter(given.output)
    console = Console(given, to_stderr=writer.is_stdout)
    if not writer.is_stdout:
        check_output(given.output, [given.model, given.table])
    with console.stage(f"reading {given.model}"):
        model = TabularModel.load(given.model)
    model.forest.set_params(n_jobs=given.jobs)
    n_columns = len(model.coder.feature_names) + len(given.keep)
    frames = model.iter_file(
        given.table,
        keep=given.keep,
        chunk_rows=min(_MOST_ROWS, _CELLS // n_columns + 1),
        encoding=given.encoding,
    )
    n_rows, unseen, labels = 0, UnseenValues(), Counter[Any]()
    with writer.open() as write:
        for frame in console.with_bar(frames):
            scored = model.predict(frame, unseen, str(given.table))
            labels.update(scored["predicted_label"].tolist())
            for place, name in enumerate([ROW, *given.keep]):
                if name in scored.columns:
                    raise OutputError(f"--keep {name}: the output has a column of that name")
                values = range(n_rows + 1, n_rows + len(frame) + 1) if place == 0 else frame[name]
                scored.insert(place, name, values)
            write(scored)
            n_rows += len(frame)
    facts = _facts(model, labels, unseen)
    facts |= {"seconds": round(time.perf_counter() - started, 3), "output": str(given.output)}
    console.tell(facts, _lines(facts))
    return 0


def _facts(model: TabularModel, labels: Counter[Any], unseen: UnseenValues) -> dict[str, Any]:
    notes = [*model.notes]
    for name, n in unseen.rows.items():
        notes.append(
            f"column {name!r}: {n} rows hold a text that was in no row of the fit, for instance "
            f"{unseen.examples[name]!r}; it counts as missing"
        )
    new = model.forest.new_label_
    return {
        "rows": labels.total(),
        "called_new": None if new is None else labels[new],
        "labels": {str(label): labels[label] for label in model.forest.classes_.tolist()},
        "unseen_rows": unseen.rows,
        "notes": notes,
    }


def _lines(facts: dict[str, Any]) -> list[str]:
    rows = [("scored", f"{facts['rows']:,} rows in {facts['seconds']:.1f} s")]
    if facts["called_new"] is not None:
        rows.append(("new", share(facts["called_new"], facts["rows"], "rows")))
    rows.append(("written", facts["output"]))
    return table_of(rows) + [f"note: {note}" for note in facts["notes"]]
