"""lacforest predict: from a model file and a table to a scored table."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lacforest._utils.arguments import names
from lacforest.cli import _arguments
from lacforest.cli._console import Console, share, table_of
from lacforest.cli._output import OutputError, TableWriter, check_output
from lacforest.cli._rules import add_reasons, add_rules, find_rule
from lacforest.tabular import TabularModel

ROW = "row"
# Numbers per piece of the table: 64 MB, and the same again for text.
_CELLS = 1 << 23
_MOST_ROWS = 100_000

_EXAMPLES = """\
The output has one row per row of the table, in the same order: the row number, the columns of
--keep, predicted_label, novelty_score (the probability of the new class), and the probability of
every known class. The score and the probabilities sum to one.

examples:
  lacforest predict model.lac new.csv -o scored.csv
  lacforest predict model.lac new.parquet -o scored.parquet --keep id,date
  lacforest predict model.lac new.csv.gz -o - | head
  lacforest predict model.lac new.csv -o scored.csv --budget 50 --explain 3
  lacforest predict model.lac new.csv -o scored.csv --max-fpr 0.01
"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "predict",
        help="score the rows of a table by a model",
        description="Compute a label and a novelty score for every row of a table. The table may "
        "be larger than memory.",
        epilog=_EXAMPLES,
    )
    add = parser.add_argument
    add("model", type=Path, help="model file written by lacforest fit")
    add("table", type=Path, help="table to score: CSV, TSV, Parquet or NPZ")
    add(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="scored table: .csv, .tsv or .parquet; - prints CSV to standard output",
    )
    add(
        "--keep",
        type=names,
        action="extend",
        default=[],
        metavar="COLS",
        help="columns to copy, separated by commas",
    )
    add(
        "--escape-formulas",
        action="store_true",
        help="put ' before texts that begin with = + - @, which a spreadsheet would evaluate",
    )
    add_rules(parser)
    _arguments.add_jobs(parser)
    _arguments.add_encoding(parser)
    _arguments.add_common(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Score the table in pieces."""
    started = time.perf_counter()
    writer = TableWriter(given.output, given.escape_formulas)
    console = Console(given, to_stderr=writer.is_stdout)
    if not writer.is_stdout:
        check_output(given.output, [given.model, given.table])
    with console.activity(f"reading {given.model}"):
        model = TabularModel.load(given.model)
    model.forest.set_params(n_jobs=given.jobs)
    n_columns = len(model.coder.feature_names) + len(given.keep)
    chunk_rows = min(_MOST_ROWS, _CELLS // n_columns + 1)

    def read(keep: list[str]) -> Iterator[Any]:
        return model.iter_file(
            given.table, keep=keep, chunk_rows=chunk_rows, encoding=given.encoding
        )

    rule = find_rule(
        given,
        model,
        lambda: (model.coder.encode(frame, source=str(given.table)) for frame in read([])),
    )
    frames = read(given.keep)
    unseen: dict[str, tuple[int, str]] = {}
    n_rows, labels = 0, Counter[Any]()
    with writer.open() as write:
        for frame in console.with_bar(frames):
            scored = model.predict(frame, unseen, str(given.table))
            if rule is not None or given.explain is not None:
                X = model.coder.encode(frame, source=str(given.table))
                if rule is not None:
                    rule.apply(model, X, n_rows, scored)
                if given.explain is not None:
                    add_reasons(given, model, X, scored)
            labels.update(scored["predicted_label"].tolist())
            for place, name in enumerate([ROW, *given.keep]):
                if name in scored.columns:
                    raise OutputError(
                        f"--keep {name}: the output already has a column of that name"
                    )
                values = range(n_rows + 1, n_rows + len(frame) + 1) if place == 0 else frame[name]
                scored.insert(place, name, values)
            write(scored)
            n_rows += len(frame)
    facts = _facts(model, labels, unseen)
    facts["decision"] = None if rule is None else rule.note
    facts |= {"seconds": round(time.perf_counter() - started, 3), "output": str(given.output)}
    console.print_result(facts, _lines(facts))
    return 0


def _facts(
    model: TabularModel, labels: Counter[Any], unseen: dict[str, tuple[int, str]]
) -> dict[str, Any]:
    notes = [*model.notes]
    for name, (n_rows, example) in unseen.items():
        notes.append(
            f"column {name!r}: {n_rows} rows contain a text that did not occur in the fit, for "
            f"instance {example!r}; it counts as missing"
        )
    new = model.forest.new_label_
    return {
        "rows": labels.total(),
        "called_new": None if new is None else labels[new],
        "labels": {str(label): labels[label] for label in model.forest.classes_.tolist()},
        "unseen_rows": {name: n_rows for name, (n_rows, _) in unseen.items()},
        "notes": notes,
    }


def _lines(facts: dict[str, Any]) -> list[str]:
    rows = [("scored", f"{facts['rows']:,} rows in {facts['seconds']:.1f} s")]
    if facts["called_new"] is not None:
        rows.append(("new", share(facts["called_new"], facts["rows"], "rows")))
    if facts["decision"] is not None:
        rows.append(("decision", facts["decision"]))
    rows.append(("written", facts["output"]))
    return table_of(rows) + [f"note: {note}" for note in facts["notes"]]
