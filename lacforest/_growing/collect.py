"""From trees as they come out of the grow loop to the arrays of a frozen forest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._input.row_totals import RowTotals
from lacforest._model.arrays import ForestArrays
from lacforest._tree.sets import CategorySets
from lacforest._tree.workspace import NODE, GrownTree


@dataclass
class CollectedTrees:
    """Grown trees one after the other, cuts still in codes.

    Attributes
    ----------
    nodes : NODE array
        ``left`` of an impure leaf is ``~(n_classes + row)`` of `impure`.
    tree_start : int64 array of shape (n_trees + 1,)
    counts : float64 array of shape (n_nodes, 2)
        Labelled and unlabelled rows of each node; empty after Step II.
    impure : float64 array of shape (n_impure, n_classes)
        Class counts of the leaves that hold several classes.
    decrease : float64 array of shape (n_trees, n_features)
        Total decrease of the criterion.
    sets : CategorySets or None
        Sets of the nodes on categories; None where no column is categorical.
    """

    nodes: NDArray[Any]
    tree_start: NDArray[np.int64]
    counts: NDArray[np.float64]
    impure: NDArray[np.float64]
    decrease: NDArray[np.float64]
    sets: CategorySets | None = None

    @property
    def is_inner(self) -> NDArray[np.bool_]:
        """Nodes that were split."""
        split: NDArray[np.bool_] = self.nodes["left"] >= 0
        return split

    def trees(self, first: int, end: int) -> list[NDArray[Any]]:
        """Nodes of the trees [first, end)."""
        return [self.nodes[self.tree_start[t] : self.tree_start[t + 1]] for t in range(first, end)]

    def take(self, first: int, end: int) -> CollectedTrees:
        """The trees [first, end) of Step I, whose leaves hold no classes."""
        nodes = slice(self.tree_start[first], self.tree_start[end])
        return CollectedTrees(
            self.nodes[nodes],
            self.tree_start[first : end + 1] - self.tree_start[first],
            self.counts[nodes],
            self.impure,
            self.decrease[first:end],
            None if self.sets is None else self.sets.take(first, end),
        )


def collect_trees(
    grown: Iterable[GrownTree], n_trees: int, n_classes: int, is_categorical: NDArray[np.uint8]
) -> CollectedTrees:
    """Append trees as they come, so that a forest never exists twice."""
    nodes = np.empty(0, dtype=NODE)
    starts, counts, impure, decrease, sets = [0], [], [], [], []
    n_impure = 0
    for tree in grown:
        own = tree.nodes
        own["left"][own["left"] < -n_classes] -= n_impure
        n_impure += len(tree.impure)
        starts.append(starts[-1] + len(own))
        if starts[-1] > len(nodes):
            # Room for all trees if they are like those so far; what is never touched costs nothing.
            room = np.empty(int(1.2 * starts[-1] / (len(starts) - 1) * n_trees), dtype=NODE)
            room[: starts[-2]] = nodes[: starts[-2]]
            nodes = room
        nodes[starts[-2] : starts[-1]] = own
        if tree.counts is not None:
            counts.append(tree.counts)
        impure.append(tree.impure)
        decrease.append(tree.decrease)
        sets.append(tree.sets)
    nodes.resize(starts[-1], refcheck=False)
    return CollectedTrees(
        nodes,
        np.array(starts, dtype=np.int64),
        np.concatenate(counts) if counts else np.zeros((0, 2)),
        np.concatenate(impure),
        np.stack(decrease),
        _sets_of_trees(sets, is_categorical) if is_categorical.any() else None,
    )


def _sets_of_trees(
    sets: Sequence[NDArray[np.uint64]], is_categorical: NDArray[np.uint8]
) -> CategorySets:
    starts = np.cumsum([0, *map(len, sets)])
    return CategorySets(is_categorical, np.concatenate(sets), starts)


def join_sets(parts: Sequence[CategorySets | None]) -> CategorySets | None:
    """The sets of all trees of several forests on the same columns, in order."""
    each = [sets for sets in parts if sets is not None]
    if not each:
        return None
    by_tree = [
        sets.words[first:end]
        for sets in each
        for first, end in zip(sets.tree_start[:-1], sets.tree_start[1:], strict=True)
    ]
    return _sets_of_trees(by_tree, each[0].is_categorical)


def join_trees(parts: Sequence[CollectedTrees]) -> CollectedTrees:
    """The trees of all parts in one, in order; the parts are left as they are."""
    nodes = np.concatenate([part.nodes for part in parts])
    starts, n_impure = [np.zeros(1, dtype=np.int64)], 0
    for part in parts:
        first = int(starts[-1][-1])
        starts.append(first + part.tree_start[1:])
        own = nodes["left"][first : starts[-1][-1]]
        own[own < -part.impure.shape[1]] -= n_impure
        n_impure += len(part.impure)
    return CollectedTrees(
        nodes,
        np.concatenate(starts),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.impure for part in parts]),
        np.concatenate([part.decrease for part in parts]),
        join_sets([part.sets for part in parts]),
    )


def split_before(trees: CollectedTrees, explored: CollectedTrees) -> NDArray[np.bool_]:
    """Nodes of deepened trees that Step I had split already: their thresholds are known."""
    before = np.zeros(len(trees.nodes), dtype=bool)
    was_inner = explored.is_inner
    for t, first in enumerate(trees.tree_start[:-1]):
        own = was_inner[explored.tree_start[t] : explored.tree_start[t + 1]]
        before[first : first + len(own)] = own
    return before


def share_leaves(
    nodes: NDArray[Any], impure: NDArray[np.float64], n_classes: int
) -> NDArray[np.float32]:
    """Table of distinct leaf distributions; `left` of impure leaves is made to point into it."""
    identity = np.eye(n_classes, dtype=np.float32)
    if len(impure) == 0:
        return identity
    shares = (impure / impure.sum(axis=1, keepdims=True)).astype(np.float32)
    rows = shares.view(np.dtype((np.void, shares.itemsize * n_classes))).ravel()
    _, first, place = np.unique(rows, return_index=True, return_inverse=True)
    is_impure = nodes["left"] < -n_classes
    nodes["left"][is_impure] = ~(n_classes + place[~nodes["left"][is_impure] - n_classes])
    return np.concatenate([identity, shares[first]])


def drop_last_class(nodes: NDArray[Any], leaf_values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Take out the class that no leaf of a plain forest holds: its row and its column."""
    n_known = leaf_values.shape[1] - 1
    nodes["left"][nodes["left"] < -n_known] += 1
    return np.delete(leaf_values[:, :n_known], n_known, axis=0)


def join_forests(first: ForestArrays, second: ForestArrays) -> ForestArrays:
    """The trees of two forests of the same classes, without trees of Step I, in one forest."""
    n_classes = first.n_classes
    nodes = np.concatenate([first.nodes, second.nodes])
    own = nodes["left"][len(first.nodes) :]
    # The leaves of one class stand first in both tables; all others move down.
    own[own < -n_classes] -= len(first.leaf_values) - n_classes
    return replace(
        first,
        nodes=nodes,
        tree_start=np.concatenate([first.tree_start, len(first.nodes) + second.tree_start[1:]]),
        leaf_values=np.concatenate([first.leaf_values, second.leaf_values[n_classes:]]),
        n_explored=np.concatenate([first.n_explored, second.n_explored]),
        sets=join_sets([first.sets, second.sets]),
    )


def whole_counts(counts: NDArray[np.float64], totals: RowTotals) -> NDArray[Any]:
    """Rows of nodes as integers, unless rows carry weights."""
    return counts if totals.is_weighted else counts.astype(np.int64)


def mean_importances(decrease: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over trees of the normalised decrease of impurity, itself normalised.

    Cuts of Step I may increase the estimated impurity: a feature's total is cut off at zero.
    """
    decrease = np.maximum(decrease, 0.0)
    totals = decrease.sum(axis=1, keepdims=True)
    mean: NDArray[np.float64] = (decrease / np.where(totals > 0, totals, 1.0)).mean(axis=0)
    return mean / mean.sum() if mean.sum() > 0 else mean
