"""lacforest groups: rows that look new, in groups, as a table for people to label."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lacforest._utils.arguments import at_least, names
from lacforest._utils.extras import load_extra
from lacforest.calibration.scores import ranking_score
from lacforest.cli import _arguments
from lacforest.cli._batches import load_model, read_batch, read_labelled
from lacforest.cli._console import Console, share, table_of
from lacforest.cli._output import TableWriter, check_output, writing
from lacforest.cli._tables import find_tables
from lacforest.discovery import NewClassGroups
from lacforest.tabular import TableError, TabularModel
from lacforest.tabular.places import Place, joint_name

GROUP, LABEL, ROW, SCORE = "group", "label", "row", "novelty_score"
# Columns of a table that have such a name are written with this before it.
OWN_COLUMNS, PREFIX = (ROW, GROUP, SCORE, LABEL), "table."

_EXAMPLES = """\
The output has the rows that the model calls new: row number, group, novelty score, an empty column
"label" for you to fill in, and the columns of the table. In each group the most typical rows come
first. Texts that a spreadsheet would evaluate are preceded by an apostrophe, and names of columns
that the output has itself by "table."; lacforest promote removes both again.

The number of groups is a guess: groups may be parts of one class.

examples:
  lacforest groups model.lac prod.csv --labelled labelled.csv -o groups.csv
  lacforest groups model.lac jan.csv --labelled labelled.csv -o jan-groups.csv --save known.lac
  lacforest groups known.lac feb.csv -o feb-groups.csv --save known.lac
"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "groups",
        description="Group the rows that a model calls new, and write them as a table for people "
        "to label. A model saved by --save keeps the groups: they have the same names in later "
        "tables.",
        epilog=_EXAMPLES,
    )
    add = parser.add_argument
    add("model", type=Path, help="model file written by lacforest fit or by --save")
    add("table", nargs="+", help="table, or several to be joined")
    add("-o", "--output", type=Path, required=True, metavar="FILE", help="rows in groups: .csv")
    add(
        "--labelled",
        "--labeled",
        nargs="+",
        default=[],
        metavar="FILE",
        help="labelled rows of the fit; not needed if the model has groups",
    )
    add("--n-groups", type=at_least(1), metavar="N", help="number of groups (default: found)")
    add("--save", type=Path, metavar="FILE", help="write the model with its groups")
    add("--keep", type=names, action="extend", default=[], metavar="COLS", help="columns to copy")
    _arguments.add_jobs(parser)
    _arguments.add_reading(parser)
    _arguments.add_common(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Group the rows called new, and write them."""
    console = Console(given)
    writer = TableWriter(given.output, escape_formulas=True)
    places, labelled = find_tables(given, given.table, given.labelled)
    inputs = [place.path for place in [*places, *labelled]]
    check_output(given.output, [given.model, *inputs])
    if given.save is not None:  # may replace the model
        check_output(given.save, inputs)
    model = load_model(console, given)
    frame, X = read_batch(console, given, model, places, given.keep)
    with console.activity(f"scoring {len(X):,} rows"):
        is_new = model.forest.predict(X) == model.forest.new_label_
    if not is_new.any():
        raise TableError(f"no row of {joint_name(places)} is called new: there is nothing to group")
    rows, scores = np.flatnonzero(is_new), ranking_score(model.forest, X)
    try:
        groups = _find(console, given, model, labelled, X[rows], scores[rows])
    except TableError:
        raise
    except ValueError as error:
        raise TableError(f"rows of {joint_name(places)} cannot be grouped: {error}") from error
    _write(writer, frame, rows, scores, groups)
    if given.save is not None:
        model.groups = groups
        with writing(given.save):
            model.save(given.save)
    facts, lines = _told(groups, model, rows)
    lines.insert(0, ("called new", share(len(rows), len(X), "row")))
    lines.append(("written", str(given.output)))
    console.print_result(facts | {"output": str(given.output)}, table_of(lines))
    return 0


def _find(
    console: Console,
    given: argparse.Namespace,
    model: TabularModel,
    places: Sequence[Place],
    X: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> NewClassGroups:
    n_groups: int | Literal["auto"] = "auto" if given.n_groups is None else given.n_groups
    activity = f"grouping {len(X):,} rows"
    if model.groups is not None:
        model.groups.set_params(n_groups=n_groups)
        with console.activity(activity):
            return model.groups.update(X, scores)
    if not places:
        raise TableError(
            f"{given.model} has no groups yet: give the labelled rows of its fit by --labelled"
        )
    X_labeled, y_labeled = read_labelled(console, given, model, places)
    groups = NewClassGroups(n_groups)
    with console.activity(activity):
        return groups.fit(X, X_labeled=X_labeled, y_labeled=y_labeled.astype(str), score=scores)


def _write(
    writer: TableWriter,
    frame: Any,
    rows: NDArray[np.intp],
    scores: NDArray[np.float64],
    groups: NewClassGroups,
) -> None:
    """Rows by group, the most typical ones first."""
    order = np.lexsort((groups.center_distances_, groups.labels_))
    chosen = rows[order]
    found = load_extra("pandas").DataFrame(
        {
            ROW: chosen + 1,
            GROUP: [groups.group_names_[g] for g in groups.labels_[order]],
            SCORE: np.clip(scores[chosen], 0.0, 1.0),
            LABEL: "",
        }
    )
    for name in frame.columns:
        found[PREFIX + name if name in OWN_COLUMNS else name] = frame[name].to_numpy()[chosen]
    with writer.open() as write:
        write(found)


def _told(
    groups: NewClassGroups, model: TabularModel, rows: NDArray[np.intp]
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    facts, lines = [], []
    names, texts = model.coder.feature_names, model.coder.texts_of_codes
    for group in groups.describe(feature_names=names, categories=texts):
        told = [column.told for column in group.from_known]
        apart = [f"{own} (known {known})" for own, known in told]
        typical = ", ".join(str(rows[row] + 1) for row in group.rows)
        text = f"{group.size} rows, like rows {typical}; nearest class {group.nearest_class}"
        lines.append((group.name, text + (f"; {', '.join(apart)}" if apart else "")))
        facts.append(
            {
                "name": group.name,
                "rows": group.size,
                "typical_rows": [int(rows[row]) + 1 for row in group.rows],
                "nearest_class": str(group.nearest_class),
                "distance": group.class_distance,
            }
        )
    merges = [
        f"{_members(groups, int(first))} with {_members(groups, int(second))}"
        for first, second in groups.merge_tree_[:, :2]
    ]
    if merges:
        lines.append(("merge order", "; then ".join(merges[:5])))
    return {"groups": facts, "merges": merges}, lines


def _members(groups: NewClassGroups, node: int) -> str:
    """Names of the groups below a node of the merge tree."""
    n_groups = len(groups.group_names_)
    if node < n_groups:
        return groups.group_names_[node]
    return "+".join(_members(groups, int(i)) for i in groups.merge_tree_[node - n_groups, :2])
