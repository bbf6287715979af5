"""lacforest report: a model file and a table in, an HTML page out."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lacforest.cli import _arguments
from lacforest.cli._console import Console, share, table_of
from lacforest.cli._output import check_output, writing
from lacforest.tabular import TableError, TabularModel, UnseenValues
from lacforest.tabular._errors import load_extra

_EXAMPLES = """\
examples:
  lacforest report model.lac new.csv -o report.html
  lacforest report model.lac checked.csv --truth label -o report.html
"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "report",
        help="write an HTML page about a model and some rows",
        description="Write one HTML file with figures and pictures: what is new in a table, and "
        "how good the model is if a column says what the rows are. It needs no network.",
        epilog=_EXAMPLES,
    )
    add = parser.add_argument
    add("model", type=Path, help="model file of lacforest fit")
    add("table", type=Path, help="rows to report on: CSV, TSV, Parquet or NPZ")
    add("-o", "--output", type=Path, required=True, metavar="FILE", help="the HTML file")
    add("--truth", metavar="COL", help="a column that says what the rows are")
    _arguments.add_jobs(parser)
    _arguments.add_encoding(parser)
    _arguments.add_common(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Read model and table, and write the page."""
    load_extra("matplotlib")
    from lacforest.report import write_report

    console = Console(given)
    check_output(given.output, [given.model, given.table])
    with console.stage(f"reading {given.model}"):
        model = TabularModel.load(given.model)
    if model.forest.new_class_index_ is None:
        raise TableError(f"{given.model} was fitted without unlabelled rows: nothing can be new")
    model.forest.set_params(n_jobs=given.jobs)
    keep = [] if given.truth is None else [given.truth]
    with console.stage(f"reading {given.table}"):
        pieces = list(model.iter_file(given.table, keep=keep, encoding=given.encoding))
        frame = load_extra("pandas").concat(pieces, ignore_index=True)
    unseen = UnseenValues()
    X = model.coder.encode(frame, unseen, str(given.table))
    truth = None if given.truth is None else _read_truth(model, frame, given)
    with console.stage("drawing"), writing(given.output):
        write_report(
            given.output,
            model.forest,
            X,
            truth,
            feature_names=model.coder.feature_names,
            title=f"What is new in {given.table.name}?",
            facts={"model": given.model.name, "table": given.table.name},
        )
    n_new = int((model.forest.predict(X) == model.forest.new_label_).sum())
    facts = {"rows": len(X), "new": n_new, "report": str(given.output)}
    lines = [("rows", f"{len(X):,}"), ("new", share(n_new, len(X), "rows"))]
    console.tell(facts, table_of([*lines, ("report", str(given.output))]))
    return 0


def _read_truth(model: TabularModel, frame: Any, given: argparse.Namespace) -> Any:
    """What the rows are, of the type of the known classes."""
    values = frame[given.truth]
    if values.isna().any():
        row = int(values.isna().to_numpy().argmax()) + 1
        raise TableError(f"{given.table} has no value in column {given.truth!r} of row {row}")
    if model.forest.known_classes_.dtype.kind not in "iu":
        return values.astype(str).to_numpy(dtype=object)
    try:
        return values.astype(float).astype("int64").to_numpy()
    except ValueError:
        raise TableError(
            f"column {given.truth!r} of {given.table} holds text, and the classes of the model "
            "are numbers"
        ) from None
