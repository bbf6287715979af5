"""lacforest report: from a model file and a table to an HTML page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lacforest._utils.extras import load_extra
from lacforest.cli import _arguments
from lacforest.cli._console import Console, share, table_of
from lacforest.cli._output import check_output, writing
from lacforest.cli._tables import find_tables
from lacforest.tabular import TableError, TabularModel
from lacforest.tabular.places import Place, joint_name

_EXAMPLES = """\
examples:
  lacforest report model.lac new.csv -o report.html
  lacforest report model.lac checked.csv --truth label -o report.html
"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "report",
        description="Write one HTML file with measures and plots: what is new in a table and, if a "
        "column contains the true labels, how good the model is. It needs no network access.",
        epilog=_EXAMPLES,
    )
    add = parser.add_argument
    add("model", type=Path, help="model file written by lacforest fit")
    add("table", nargs="+", help="table to report on, or several to be joined")
    add("-o", "--output", type=Path, required=True, metavar="FILE", help="the HTML file")
    add("--truth", metavar="COL", help="the column of true labels")
    _arguments.add_jobs(parser)
    _arguments.add_reading(parser)
    _arguments.add_common(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Read the model and the table, and write the page."""
    load_extra("matplotlib")
    from lacforest.report import write_report

    console = Console(given)
    (places,) = find_tables(given, given.table)
    source = joint_name(places)
    check_output(given.output, [given.model, *(place.path for place in places)])
    with console.activity(f"reading {given.model}"):
        model = TabularModel.load(given.model)
    if model.forest.new_class_index_ is None:
        raise TableError(f"{given.model} was fitted without unlabelled rows and has no new class")
    model.forest.set_params(n_jobs=given.jobs)
    keep = [] if given.truth is None else [given.truth]
    with console.activity(f"reading {source}"):
        pieces = [
            piece
            for place in places
            for piece in model.iter_file(place, keep=keep, encoding=given.encoding)
        ]
        frame = load_extra("pandas").concat(pieces, ignore_index=True)
    X = model.coder.encode(frame, source=source)
    truth = None if given.truth is None else _read_truth(model, frame, given.truth, source)
    with console.activity("drawing"), writing(given.output):
        write_report(
            given.output,
            model.forest,
            X,
            truth,
            feature_names={
                name: model.coder.texts_of_codes.get(name) for name in model.coder.feature_names
            },
            title=f"What is new in {_short_name(places)}?",
            facts={"model": given.model.name, "table": _short_name(places)},
        )
    n_new = int((model.forest.predict(X) == model.forest.new_label_).sum())
    facts = {"rows": len(X), "new": n_new, "report": str(given.output)}
    lines = [("rows", f"{len(X):,}"), ("new", share(n_new, len(X), "rows"))]
    console.print_result(facts, table_of([*lines, ("report", str(given.output))]))
    return 0


def _short_name(places: list[Place]) -> str:
    """The name of the tables without folders."""
    first = places[0]
    name = first.path.name if first.name == str(first.path) else str(first)
    return name if len(places) == 1 else f"{name} and {len(places) - 1} more"


def _read_truth(model: TabularModel, frame: Any, column: str, source: str) -> Any:
    """True labels, converted to the type of the known classes."""
    values = frame[column]
    if values.isna().any():
        row = int(values.isna().to_numpy().argmax()) + 1
        raise TableError(f"{source} has no value in column {column!r} of row {row}")
    if model.forest.known_classes_.dtype.kind not in "iu":
        return values.astype(str).to_numpy(dtype=object)
    try:
        return values.astype(float).astype("int64").to_numpy()
    except ValueError:
        raise TableError(
            f"column {column!r} of {source} contains text, but the classes of the model are numbers"
        ) from None
