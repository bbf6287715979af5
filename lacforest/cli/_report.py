"""lacforest report: from a model file and a table to an HTML page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._utils.extras import load_extra
from lacforest.cli import _arguments
from lacforest.cli._batches import labels_of, load_model, read_batch, read_labelled
from lacforest.cli._console import Console, share, table_of
from lacforest.cli._output import OutputError, check_output
from lacforest.cli._pages import write_page
from lacforest.cli._tables import find_tables
from lacforest.tabular.places import joint_name
from lacforest.tabular.reading import table_columns

_EXAMPLES = """\
examples:
  lacforest report model.lac new.csv -o report.html
  lacforest report model.lac new.csv -o report.html --keep id,date
  lacforest report model.lac checked.csv --truth label -o report.html
  lacforest report model.lac new.csv -o report.html --labelled labelled.csv --unlabeled prod.csv
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
    _arguments.add_keep(
        parser,
        "columns to show beside the rows that look newest, separated by commas, for instance an "
        "id; '*' shows all",
    )
    add(
        "--labelled",
        "--labeled",
        nargs="+",
        default=[],
        metavar="TABLE",
        help="labelled rows of the fit: the report then shows groups of the rows called new",
    )
    add(
        "--unlabeled",
        "--unlabelled",
        nargs="+",
        default=[],
        metavar="TABLE",
        help="unlabelled rows of the fit: with --labelled, the report then shows how the number of "
        "rows called new depends on theta, which takes five more fits",
    )
    _arguments.add_jobs(parser)
    _arguments.add_reading(parser)
    _arguments.add_common(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Read the model and the table, and write the page."""
    load_extra("matplotlib")
    console = Console(given)
    if given.unlabeled and not given.labelled:
        raise OutputError("--unlabeled needs the labelled rows of the fit: add --labelled")
    places, labelled, unlabelled = find_tables(given, given.table, given.labelled, given.unlabeled)
    source = joint_name(places)
    inputs = [place.path for place in [*places, *labelled, *unlabelled]]
    check_output(given.output, [given.model, *inputs])
    model = load_model(console, given)
    kept = list(dict.fromkeys(given.keep))
    if "*" in kept:
        kept = table_columns(places[0], given.encoding)
    needed = kept if given.truth is None else [*kept, given.truth]
    frame, X = read_batch(console, given, model, places, needed)
    truth = None if given.truth is None else labels_of(model, frame, given.truth, source)
    training = None
    if labelled:
        rows = read_batch(console, given, model, unlabelled)[1] if unlabelled else None
        training = (*read_labelled(console, given, model, labelled), rows)
    shown = _with_index(X, frame[kept]) if kept else X
    write_page(console, given.output, model, shown, truth, training, given.model.name, places)
    n_new = int((model.forest.predict(X) == model.forest.new_label_).sum())
    facts = {"rows": len(X), "new": n_new, "report": str(given.output)}
    lines = [("rows", f"{len(X):,}"), ("new", share(n_new, len(X), "row"))]
    console.print_result(facts, table_of([*lines, ("report", str(given.output))]))
    return 0


def _with_index(X: NDArray[np.float64], kept: Any) -> Any:
    """Coded rows as a frame whose index holds the columns to show; its own have no names."""
    pandas = load_extra("pandas")
    index = pandas.MultiIndex.from_frame(kept)
    return pandas.DataFrame(X, index=index, copy=False)
