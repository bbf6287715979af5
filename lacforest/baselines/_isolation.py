"""Isolation forests that score their own rows by the trees that did not see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest

from lacforest._model.arrays import ForestArrays
from lacforest._tree.workspace import NODE
from lacforest.baselines._files import State, StoredState


def average_path_length(n_rows: NDArray[Any]) -> NDArray[np.float64]:
    """Mean depth c(n) of a row in a random binary tree of n rows; 0 up to one row."""
    n = np.maximum(np.asarray(n_rows, dtype=np.float64), 2.0)
    with np.errstate(divide="ignore"):
        length = 2.0 * (np.log(n - 1.0) + np.euler_gamma) - 2.0 * (n - 1.0) / n
    return np.where(n_rows <= 1, 0.0, np.where(n_rows == 2, 1.0, length))


class IsolationTrees:
    """The trees of an isolation forest.

    Parameters
    ----------
    nodes : NODE array of shape (n_nodes,)
        As in `ForestArrays`.
    tree_start : int64 array of shape (n_trees + 1,)
    max_samples : int
        Rows that each tree saw.
    n_features : int
    """

    def __init__(
        self,
        nodes: NDArray[Any],
        tree_start: NDArray[np.int64],
        max_samples: int,
        n_features: int,
    ) -> None:
        self.max_samples = max_samples
        self._arrays = ForestArrays(
            nodes=nodes,
            tree_start=tree_start,
            leaf_values=np.ones((1, 1), dtype=np.float32),
            n_explored=np.zeros(max(0, len(tree_start) - 1), dtype=np.int32),
            explored_counts=np.zeros((0, 2), dtype=np.int64),
            ratio=0.0,
            n_features=n_features,
        )
        self._arrays.validate()
        self._lengths = _path_lengths(self._arrays)

    @classmethod
    def freeze(cls, forest: IsolationForest, max_samples: int) -> IsolationTrees:
        """The trees of a fitted forest of scikit-learn."""
        trees = [_freeze_tree(tree.tree_) for tree in forest.estimators_]
        tree_start = np.concatenate([[0], np.cumsum([len(nodes) for nodes in trees])])
        return cls(
            np.concatenate(trees), tree_start.astype(np.int64), max_samples, forest.n_features_in_
        )

    def score(self, X: NDArray[np.float64], n_jobs: int | None) -> NDArray[np.float64]:
        """Anomaly scores of rows that no tree saw, in (0, 1]: higher is more anomalous."""
        leaves = self._leaves(X, n_jobs)
        total = np.zeros(len(X))
        for tree, of_tree in enumerate(leaves.T):
            total += self._lengths[self._arrays.tree_start[tree] + of_tree]
        return self._score(total, leaves.shape[1])

    def out_of_bag_score(
        self,
        X: NDArray[np.float64],
        seen: Sequence[NDArray[np.intp]],
        n_jobs: int | None,
    ) -> NDArray[np.float64]:
        """Scores of the rows that the forest was grown on; NaN for a row that every tree saw.

        Parameters
        ----------
        X : float64 array of shape (n_rows, n_features)
        seen : sequence of int arrays
            Rows of X that each tree saw.
        n_jobs : int or None
        """
        leaves = self._leaves(X, n_jobs)
        total, n_trees = np.zeros(len(X)), np.zeros(len(X))
        for tree, rows in enumerate(seen):
            is_out = np.ones(len(X), dtype=bool)
            is_out[rows] = False
            total[is_out] += self._lengths[self._arrays.tree_start[tree] + leaves[is_out, tree]]
            n_trees += is_out
        with np.errstate(invalid="ignore"):
            return np.where(n_trees > 0, self._score(total, n_trees), np.nan)

    def _leaves(self, X: NDArray[np.float64], n_jobs: int | None) -> NDArray[np.int32]:
        # scikit-learn grows the trees on float32.
        return self._arrays.leaves(X.astype(np.float32), n_jobs)

    def _score(self, total: NDArray[np.float64], n_trees: Any) -> NDArray[np.float64]:
        """Anomaly score 2^(-mean length / c(max_samples)); 1 where trees are roots only."""
        usual = float(average_path_length(np.array(self.max_samples)))
        if usual == 0:
            return np.ones(len(total))
        score: NDArray[np.float64] = 2.0 ** (-total / (n_trees * usual))
        return score

    def state(self, prefix: str) -> State:
        """What a file keeps of the trees."""
        return {
            f"{prefix}.nodes": self._arrays.nodes,
            f"{prefix}.tree_start": self._arrays.tree_start,
            f"{prefix}.max_samples": self.max_samples,
        }

    @classmethod
    def restore(cls, stored: StoredState, prefix: str, n_features: int) -> IsolationTrees:
        """The trees that a file keeps."""
        return cls(
            stored.array(f"{prefix}.nodes", (f"{prefix}.n_nodes",), NODE),
            stored.array(f"{prefix}.tree_start", (f"{prefix}.n_starts",), np.int64),
            stored.integer(f"{prefix}.max_samples", 1),
            n_features,
        )


def _freeze_tree(tree: Any) -> NDArray[Any]:
    """Nodes of a tree of scikit-learn, renumbered by level so that siblings are neighbours."""
    position = np.zeros(tree.node_count, dtype=np.int32)
    level, n_placed = np.array([0]), 1
    while len(level):
        inner = level[tree.children_left[level] >= 0]
        level = np.column_stack([tree.children_left[inner], tree.children_right[inner]]).ravel()
        position[level] = n_placed + np.arange(len(level))
        n_placed += len(level)
    is_leaf = tree.children_left < 0
    nodes = np.empty(tree.node_count, dtype=NODE)
    nodes["threshold"][position] = np.where(is_leaf, tree.n_node_samples, tree.threshold)
    nodes["feature"][position] = np.where(is_leaf, 0, tree.feature)
    nodes["left"][position] = np.where(is_leaf, ~0, position[tree.children_left])
    return nodes


def _path_lengths(forest: ForestArrays) -> NDArray[np.float64]:
    """Depth of each node, plus the depth that its rows would need to be separated."""
    left, rows = forest.nodes["left"], forest.nodes["threshold"]
    depth = np.zeros(len(left))
    node = start = forest.tree_start[:-1]
    while len(node):
        inner = left[node] >= 0
        start = start[inner]
        child = start + left[node[inner]]
        depth[child] = depth[child + 1] = depth[node[inner]] + 1
        node, start = np.concatenate([child, child + 1]), np.concatenate([start, start])
    return depth + np.where(left < 0, average_path_length(np.where(left < 0, rows, 0.0)), 0.0)
