"""lacforest inspect: what a model file holds."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from lacforest.cli import _arguments
from lacforest.cli._console import Console, size_of, table_of
from lacforest.cli._fit import theta_line
from lacforest.tabular import TabularModel

# Columns and categories that the text shows; JSON holds all.
_SHOWN = 10

_EXAMPLES = """\
examples:
  lacforest inspect model.lac
  lacforest inspect model.lac --json
"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "inspect",
        help="show what a model file holds",
        description="Show classes, theta, trees, and the columns of a model with their importance.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("model", type=Path, help="model file")
    _arguments.add_common(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Load the model and describe it."""
    facts = _facts(TabularModel.load(given.model), given.model)
    Console(given).tell(facts, _lines(facts))
    return 0


def _depth(tree: Any) -> int:
    """Levels below the root, level by level: far fewer steps than nodes."""
    level, depth = np.zeros(1, dtype=np.intp), -1
    while len(level):
        depth += 1
        inner = level[tree.children_left[level] >= 0]
        level = np.concatenate([tree.children_left[inner], tree.children_right[inner]])
    return depth


def _facts(model: TabularModel, path: Path) -> dict[str, Any]:
    forest, trees = model.forest, model.forest.estimators_
    columns, first = [], 0
    for column in model.coder.columns_:
        end = first + len(column.feature_names)
        importance = float(forest.feature_importances_[first:end].sum())
        entry: dict[str, Any] = {"name": column.name, "kind": column.kind}
        if column.kind == "text":
            entry |= {"coding": column.coding, "categories": list(column.categories)}
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
        "labelled_rows": forest.n_labeled_,
        "unlabelled_rows": len(forest.unlabeled_score_),
        "trees": len(trees),
        "nodes": sum(tree.node_count for tree in trees),
        "mean_depth": float(np.mean(depths)),
        "max_depth": max(depths),
        "columns": columns,
        "dropped": model.coder.dropped_,
        "missing": list(model.coder.missing),
        "notes": model.notes,
    }


def _lines(facts: dict[str, Any]) -> list[str]:
    by = "" if facts["lacforest"] is None else f", by lacforest {facts['lacforest']}"
    classes = ", ".join(str(label) for label in facts["classes"])
    rows = [("file", f"{facts['file']}, {size_of(facts['bytes'])}{by}")]
    if facts["target"] is not None:
        rows.append(("target", facts["target"]))
    rows.append(("classes", classes))
    if facts["theta"] is not None:
        rows.append(("new", f"called {facts['new_label']!r}"))
        rows.append(("theta", theta_line(facts["theta"], facts["theta_interval"])))
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
    width = max(len(column["name"]) for column in ranked[:_SHOWN])
    for column in ranked[:_SHOWN]:
        line = f"  {column['name']:<{width}}  {column['importance']:6.1%}  {column['kind']}"
        if column["kind"] == "text":
            shown = ", ".join(column["categories"][:_SHOWN])
            more = ", ..." if len(column["categories"]) > _SHOWN else ""
            line += f", {column['coding']}: {shown}{more}"
        lines.append(line)
    if len(ranked) > _SHOWN:
        lines.append(f"  and {len(ranked) - _SHOWN} more")
    lines += [f"left out: {name!r}, {why}" for name, why in facts["dropped"].items()]
    return lines + [f"note: {note}" for note in facts["notes"]]
