"""lacforest predict: from a model file and a table to a scored table."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lacforest._utils.printable import counted
from lacforest.cli import _arguments
from lacforest.cli._console import Console, share, table_of
from lacforest.cli._output import OutputError, TableWriter, check_output
from lacforest.cli._rules import add_reasons, add_rules, find_rule, has_rules
from lacforest.cli._tables import find_tables
from lacforest.tabular.places import Place
from lacforest.tabular.reading import table_columns
from lacforest.tabular.scorer import TableScorer, load_scorer

ROW = "row"
# Numbers per piece of the table: 64 MB, and the same again for text.
_CELLS = 1 << 23
_MOST_ROWS = 100_000

_EXAMPLES = f"""\
{_arguments.TABLES}
The output has one row per row of the table, in the same order: the row number, the columns of
--keep, predicted_label, novelty_score (the probability of the new class), and the probability of
every known class. The score and the probabilities sum to one.

examples:
  lacforest predict model.lac new.csv -o scored.csv
  lacforest predict model.lac new.parquet -o scored.parquet --keep id,date
  lacforest predict model.lac new.csv.gz -o - --keep '*' | head
  zcat rows.csv.gz | lacforest predict model.lac - -o scored.csv.gz
  lacforest predict model.lac new.csv -o scored.csv --budget 50 --explain 3
  lacforest predict model.lac new.csv -o scored.csv --max-fpr 0.01
"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "predict",
        description="Compute a label and a novelty score for every row of a table. The table may "
        "be larger than memory.",
        epilog=_EXAMPLES,
    )
    add = parser.add_argument
    add("model", type=Path, help="model file written by lacforest fit")
    add("table", nargs="+", help="table to score, or several to be joined")
    add(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="scored table: .csv, .tsv, .csv.gz, .tsv.gz or .parquet; - prints CSV to standard "
        "output",
    )
    _arguments.add_keep(parser, "columns to copy, separated by commas; '*' copies all")
    add(
        "--escape-formulas",
        action="store_true",
        help="put ' before texts that begin with = + - @, which a spreadsheet would evaluate",
    )
    add_rules(parser)
    _arguments.add_jobs(parser)
    _arguments.add_reading(parser)
    _arguments.add_common(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Score the table in pieces."""
    started = time.perf_counter()
    writer = TableWriter(given.output, given.escape_formulas)
    console = Console(given, to_stderr=writer.is_stdout)
    (places,) = find_tables(given, given.table)
    if not writer.is_stdout:
        check_output(given.output, [given.model, *(place.path for place in places)])
    with console.activity(f"reading {given.model}"):
        model = _load_model(given)
    model.forest.n_jobs = given.jobs
    keep, notes = _columns_to_keep(model, places[0], given)
    n_columns = len(model.coder.feature_names) + len(keep)
    chunk_rows = min(_MOST_ROWS, _CELLS // n_columns + 1)

    def read(place: Place, keep: list[str]) -> Iterator[Any]:
        return model.iter_file(place, keep=keep, chunk_rows=chunk_rows, encoding=given.encoding)

    rule = find_rule(
        given,
        model,
        lambda: (
            model.coder.encode(frame, source=str(place))
            for place in places
            for frame in read(place, [])
        ),
    )
    unseen: dict[str, tuple[int, str]] = {}
    labels = Counter[Any]()
    own = model.fitted_rows if model.calibrator is None else None
    compared = np.zeros(2, dtype=np.intp)
    with writer.open() as write:
        for place in places:
            for frame in console.with_bar(read(place, keep)):
                first = labels.total()
                X = model.coder.encode(frame, unseen, str(place))
                scored = model.predict_coded(X, frame.index)
                if own is not None:
                    compared += own.compare(X)
                if rule is not None:
                    rule.apply(model, X, first, scored)
                if given.explain is not None:
                    add_reasons(given, model, X, scored)
                labels.update(scored["predicted_label"].tolist())
                _copy_columns(frame, keep, scored, first + 1)
                write(scored)
    facts = _facts(model, labels, unseen)
    facts["notes"] += notes
    if own is not None:
        facts["notes"] += filter(None, [own.note(compared)])
    facts["decision"] = None if rule is None else rule.note
    facts |= {"seconds": round(time.perf_counter() - started, 3), "output": str(given.output)}
    console.print_result(facts, _lines(facts))
    return 0


def _load_model(given: argparse.Namespace) -> TableScorer:
    """The model, with scikit-learn only if the options need it: importing it takes long."""
    if not has_rules(given):
        return load_scorer(given.model)
    from lacforest.tabular import TabularModel

    return TabularModel.load(given.model)


def _columns_to_keep(
    model: TableScorer, place: Place, given: argparse.Namespace
) -> tuple[list[str], list[str]]:
    """The columns of --keep, and notes about those that '*' leaves out."""
    if "*" not in given.keep:
        return given.keep, []
    taken = {ROW, *model.output_columns}
    columns = table_columns(place, given.encoding)
    clashing = [name for name in columns if name in taken]
    notes = [f"column {name!r} is not copied: the output has its own" for name in clashing]
    return [name for name in columns if name not in taken], notes


def _copy_columns(frame: Any, keep: list[str], scored: Any, first_row: int) -> None:
    """Put the row number and the columns to keep in front of the scores."""
    for place, name in enumerate([ROW, *keep]):
        if name in scored.columns:
            raise OutputError(f"--keep {name}: the output already has a column of that name")
        values = range(first_row, first_row + len(frame)) if place == 0 else frame[name]
        scored.insert(place, name, values)


def _facts(
    model: TableScorer, labels: Counter[Any], unseen: dict[str, tuple[int, str]]
) -> dict[str, Any]:
    notes = [*model.notes]
    for name, (n_rows, example) in unseen.items():
        notes.append(
            f"column {name!r}: {counted(n_rows, 'row')} with a text that did not occur in the "
            f"fit, for instance {example!r}; it counts as missing"
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
    rows = [("scored", f"{counted(facts['rows'], 'row')} in {facts['seconds']:.1f} s")]
    if facts["called_new"] is not None:
        rows.append(("new", share(facts["called_new"], facts["rows"], "row")))
    if facts["decision"] is not None:
        rows.append(("decision", facts["decision"]))
    rows.append(("written", facts["output"]))
    return table_of(rows) + [f"note: {note}" for note in facts["notes"]]
