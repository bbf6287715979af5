"""Splits of categories by sets, in ONNX: a chain of comparisons, one per category of the set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._model.arrays import ForestArrays, split_features
from lacforest._model.category_sets import set_codes
from lacforest._tree.sets import CategorySets


def exported_categories(forest: Any, input_type: str) -> list[NDArray[Any]]:
    """The numbers that stand for the categories of each column; none for columns of numbers.

    Parameters
    ----------
    forest : estimator
        Fitted.
    input_type : {"float32", "float64"}
        Type of the numbers.
    """
    found: list[NDArray[Any]] = []
    for feature, categories in enumerate(forest.categories_):
        numbers = np.zeros(0) if categories is None else categories
        if numbers.dtype == object:
            numbers = np.arange(len(numbers))
        with np.errstate(over="ignore"):
            rounded = numbers.astype(input_type)
        if len(np.unique(rounded)) < len(numbers) or not np.isfinite(rounded).all():
            names = getattr(forest, "feature_names_in_", range(len(forest.categories_)))
            raise ValueError(
                f"column {names[feature]!r} has categories that {input_type} cannot tell apart: "
                'use input_type="float64"'
            )
        found.append(rounded)
    return found


def signs_of_columns(forest: Any) -> NDArray[np.float64]:
    """Factors of the columns before the trees see them: -1 for categories, else 1.

    onnxruntime (1.31) joins neighbouring comparisons with whole numbers from 1 on into one, even
    where they lead to different nodes. It leaves negative numbers alone.
    """
    return np.array([1.0 if own is None else -1.0 for own in forest.categories_])


def split_by_members(
    columns: dict[str, NDArray[Any]],
    forest: ForestArrays,
    sets: CategorySets,
    categories: Sequence[NDArray[Any]],
) -> dict[str, NDArray[Any]]:
    """Attributes of nodes in which every split by a set has become a chain.

    The first comparison takes the place of the split. Each one sends its category to the child of
    the set, and all else to the next one; the last sends it to the child of missing values. No
    category is equal to NaN, so that missing values take that way too. Categories are compared with
    the other sign, see `signs_of_columns`.

    Parameters
    ----------
    columns : dict of str to array
        Attributes of all nodes, trees one after the other.
    forest : ForestArrays
    sets : CategorySets
        Of the forest.
    categories : sequence of arrays
        See `exported_categories`.

    Returns
    -------
    dict of str to array
        The nodes of a tree follow each other, its root being the first of them.
    """
    changed = {name: column.copy() for name, column in columns.items()}
    added: dict[str, list[Any]] = {name: [] for name in columns}
    n_nodes = np.diff(forest.tree_start)
    trees, inner = columns["nodes_treeids"], columns["nodes_modes"] != "LEAF"
    on_categories = inner & (sets.is_categorical[columns["nodes_featureids"]] == 1)
    for at in np.flatnonzero(on_categories).tolist():
        node, tree = forest.nodes[at], int(trees[at])
        feature, left = int(split_features(node["feature"])), int(node["left"])
        of_missing, of_set = (left, left + 1) if node["feature"] >= 0 else (left + 1, left)
        members = -categories[feature][set_codes(sets, tree, int(node["threshold"]))]
        last = len(members) - 1
        for place, member in enumerate(members.tolist()):
            entry = {
                "nodes_treeids": tree,
                "nodes_nodeids": columns["nodes_nodeids"][at] if place == 0 else n_nodes[tree] - 1,
                "nodes_modes": "BRANCH_EQ",
                "nodes_featureids": feature,
                "nodes_truenodeids": of_set,
                "nodes_falsenodeids": of_missing if place == last else n_nodes[tree],
                "nodes_missing_value_tracks_true": 0,
                "nodes_values": member,
            }
            n_nodes[tree] += place < last
            for name, value in entry.items():
                if place == 0:
                    changed[name][at] = value
                else:
                    added[name].append(value)
    joined = {
        name: np.concatenate([column, np.array(added[name], dtype=column.dtype)])
        for name, column in changed.items()
    }
    # Runtimes take the first node of each run of nodes of one tree for its root.
    order = np.argsort(joined["nodes_treeids"], kind="stable")
    return {name: column[order] for name, column in joined.items()}
