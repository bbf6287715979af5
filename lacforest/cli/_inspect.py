"""lacforest inspect: the content of a model file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from lacforest._utils.printable import printable, shown
from lacforest.cli import _arguments
from lacforest.cli._console import Console, size_of, table_of
from lacforest.cli._shares import finding_facts, share_facts, share_rows, theta_line
from lacforest.tabular.scorer import TableScorer, load_scorer

# Number of columns and categories in the text output; JSON contains all.
_SHOWN = 10
_MAX_NAME = 60

_EXAMPLES = """\
examples:
  lacforest inspect model.lac
  lacforest inspect model.lac --json
"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "inspect",
        description="Show the classes, theta, trees and columns of a model, with the importance of "
        "each column.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("model", type=Path, help="model file")
    _arguments.add_common(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Load the model and describe it."""
    facts = _facts(load_scorer(given.model), given.model)
    Console(given).print_result(facts, _lines(facts))
    return 0


def _depth(tree: Any) -> int:
    """Depth of a tree, computed level by level: far fewer steps than nodes."""
    level, depth = np.zeros(1, dtype=np.intp), -1
    while len(level):
        depth += 1
        inner = level[tree.children_left[level] >= 0]
        level = np.concatenate([tree.children_left[inner], tree.children_right[inner]])
    return depth


def _facts(model: TableScorer, path: Path) -> dict[str, Any]:
    forest, trees = model.forest, model.forest.estimators_
    columns, first = [], 0
    for column in model.coder.columns_:
        end = first + len(column.feature_names)
        importance = float(forest.feature_importances_[first:end].sum())
        entry: dict[str, Any] = {"name": column.name, "kind": column.kind}
        if column.kind == "text":
            entry |= {"coding": column.coding, "categories": list(column.categories)}
        if column.kind == "date":
            entry |= {"parts": list(column.parts), "since": column.since}
        columns.append(entry | {"importance": importance})
        first = end
    labels, new = forest.classes_.tolist(), forest.new_class_index_
    depths = [_depth(tree) for tree in trees]
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "lacforest": model.version,
        "target": model.target,
        "classes": forest.known_classes_.tolist(),
        "new_label": None if new is None else labels[new],
        "theta": forest.theta_,
        "theta_interval": forest.theta_interval_ and list(forest.theta_interval_),
        **share_facts(forest),
        "labelled_rows": forest.n_labeled_,
        "unlabelled_rows": len(forest.unlabeled_score_),
        "trees": len(trees),
        "nodes": sum(tree.node_count for tree in trees),
        "mean_depth": float(np.mean(depths)),
        "max_depth": max(depths),
        "columns": columns,
        "findings": finding_facts(forest),
        "dropped": model.coder.dropped_,
        "missing": list(model.coder.missing),
        "notes": model.notes,
    }


def _shortened(name: str) -> str:
    """A name for a table of text: escaped, and cut if it is long."""
    text = printable(name)
    return text if len(text) <= _MAX_NAME else text[: _MAX_NAME - 3] + "..."


def _lines(facts: dict[str, Any]) -> list[str]:
    by = "" if facts["lacforest"] is None else f", by lacforest {facts['lacforest']}"
    classes = ", ".join(str(label) for label in facts["classes"])
    rows = [("file", f"{facts['file']}, {size_of(facts['bytes'])}{by}")]
    if facts["target"] is not None:
        rows.append(("target", facts["target"]))
    rows.append(("classes", classes))
    if facts["theta"] is not None:
        rows.append(("new", f"label {facts['new_label']!r}"))
        rows.append(("theta", theta_line(facts["theta"], facts["theta_interval"])))
        rows += share_rows(facts)
    rows += [
        (
            "rows",
            f"{facts['labelled_rows']:,g} labelled, {facts['unlabelled_rows']:,} unlabelled",
        ),
        (
            "forest",
            f"{facts['trees']} trees, {facts['nodes']:,} nodes, depth {facts['mean_depth']:.1f} "
            f"on average and {facts['max_depth']} at most",
        ),
        ("columns", f"{len(facts['columns'])}, by importance:"),
    ]
    lines = table_of(rows)
    ranked = sorted(facts["columns"], key=lambda column: -float(column["importance"]))
    names = [_shortened(column["name"]) for column in ranked[:_SHOWN]]
    width = max(map(len, names))
    for name, column in zip(names, ranked, strict=False):
        line = f"  {name:<{width}}  {column['importance']:6.1%}  {column['kind']}"
        if column["kind"] == "text":
            some = ", ".join(map(_shortened, column["categories"][:_SHOWN]))
            more = ", ..." if len(column["categories"]) > _SHOWN else ""
            line += f", {column['coding']}: {some}{more}"
        if column["kind"] == "date":
            line += f": {', '.join(column['parts'])}"
        lines.append(line)
    if len(ranked) > _SHOWN:
        lines.append(f"  and {len(ranked) - _SHOWN} more")
    lines += [
        printable(f"{found['level']}: {found['topic']}: {found['text']}")
        for found in facts["findings"]
        if found["level"] != "ok"
    ]
    lines += [f"left out: {shown(name)}, {why}" for name, why in facts["dropped"].items()]
    return lines + [f"note: {note}" for note in facts["notes"]]
