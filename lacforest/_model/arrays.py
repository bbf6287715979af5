"""A frozen forest: a few arrays for all trees, checked before anything walks them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._input.parameters import MAX_WEIGHT
from lacforest._tree.criterion import augmented_proportions
from lacforest._tree.predict import add_node_values, add_probabilities, find_leaves
from lacforest._tree.sets import CategorySets
from lacforest._tree.workspace import NODE
from lacforest._utils.array_size import ArraySize
from lacforest._utils.threads import in_threads, spans, useful_threads, wait_for

# (row, tree) pairs that make a thread worth its start.
PAIRS_PER_THREAD = 500_000
# Cells of a sparse X that are spread out at a time: 2 MiB of float64.
_SPARSE_CELLS = 1 << 18
# Rows of a node by weight: no fit takes more, rounding included.
_MAX_COUNT = 2 * MAX_WEIGHT


@dataclass(frozen=True)
class ForestArrays(ArraySize):
    """All trees of a forest in one structure of arrays.

    Attributes
    ----------
    nodes : NODE array of shape (n_nodes,)
        Trees one after the other. Inner node: ``value <= threshold`` goes to ``left``, else to
        ``left + 1``; a missing value goes left, or right where ``feature`` is stored as
        ``~feature``. Leaf: ``left`` is ``~row`` of `leaf_values` and ``threshold`` its number of
        rows. Children are numbered within their tree and come after their parent.
    tree_start : int64 array of shape (n_trees + 1,)
    leaf_values : float32 array of shape (n_distinct, n_classes)
        Distinct class distributions of leaves; the first n_classes rows are the identity.
    n_explored : int32 array of shape (n_trees,)
        Nodes of each tree that Step I grew; they come first. 0 in a plain forest.
    explored_counts : int64 or float64 array of shape (sum of n_explored, 2)
        Labelled and unlabelled rows of each node of Step I.
    ratio : float
        (1 - theta) n_u / n_l of Definition 1; 0 in a plain forest.
    n_features : int
    sets : CategorySets or None
        Of a forest with categorical features: ``threshold`` of an inner node on one of them is
        where its set begins in the words of its tree. A category in the set goes to the other side
        than missing values, any other one where they go.
    """

    nodes: NDArray[Any]
    tree_start: NDArray[np.int64]
    leaf_values: NDArray[np.float32]
    n_explored: NDArray[np.int32]
    explored_counts: NDArray[Any]
    ratio: float
    n_features: int
    sets: CategorySets | None = None

    @property
    def n_trees(self) -> int:
        """Trees of the forest."""
        return len(self.n_explored)

    @property
    def n_classes(self) -> int:
        """Columns of the class distributions."""
        return int(self.leaf_values.shape[1])

    @property
    def explored_start(self) -> NDArray[np.int64]:
        """Where each tree's nodes of Step I begin in `explored_counts`."""
        return np.concatenate([[0], np.cumsum(self.n_explored, dtype=np.int64)])

    @property
    def explored_values(self) -> NDArray[np.float64]:
        """vartheta_{C,k+1} of each node of Step I (Definition 1)."""
        return augmented_proportions(self.explored_counts.astype(np.float64), self.ratio)

    def take_tree(self, tree: int) -> ForestArrays:
        """One tree as a forest of its own, without what Step I knew of its nodes."""
        first, end = self.tree_start[tree : tree + 2]
        return replace(
            self,
            nodes=self.nodes[first:end],
            tree_start=np.array([0, end - first]),
            n_explored=np.zeros(1, dtype=np.int32),
            explored_counts=self.explored_counts[:0],
            sets=None if self.sets is None else self.sets.take(tree, tree + 1),
        )

    def probabilities(self, X: Any, n_jobs: int | None) -> NDArray[np.float64]:
        """Mean over trees of the class distributions of each row's leaf."""
        sums = np.zeros((X.shape[0], self.n_classes))
        node_bytes = self.nodes.view(np.uint8)
        for rows, dense in self._dense_blocks(X):
            self._over_rows(
                add_probabilities,
                dense,
                (node_bytes, self.tree_start, self.leaf_values),
                sums[rows],
                n_jobs,
            )
        sums /= sums.sum(axis=1, keepdims=True)
        return sums

    def exploration_scores(self, X: Any, n_jobs: int | None) -> NDArray[np.float64]:
        """LF'_{k+1} of Step I (Eqn 7)."""
        sums = np.zeros(X.shape[0])
        tree_facts = (
            self.nodes.view(np.uint8),
            self.tree_start,
            self.n_explored,
            self.explored_start,
            self.explored_values,
        )
        for rows, dense in self._dense_blocks(X):
            self._over_rows(add_node_values, dense, tree_facts, sums[rows], n_jobs)
        return sums / self.n_trees

    def leaves(self, X: Any, n_jobs: int | None) -> NDArray[np.int32]:
        """Leaf of each row in each tree, numbered within the tree."""
        found = np.empty((X.shape[0], self.n_trees), dtype=np.int32)
        for rows, dense in self._dense_blocks(X):
            self._over_rows(
                find_leaves,
                dense,
                (self.nodes.view(np.uint8), self.tree_start),
                found[rows],
                n_jobs,
            )
        return found

    def _dense_blocks(self, X: Any) -> Iterator[tuple[slice, NDArray[Any]]]:
        """X as dense blocks of rows: whole if it is an array, else small pieces."""
        if isinstance(X, np.ndarray):
            yield slice(None), X
            return
        n_rows = max(1, _SPARSE_CELLS // max(1, self.n_features))
        for first in range(0, X.shape[0], n_rows):
            rows = slice(first, first + n_rows)
            yield rows, X[rows].toarray()

    def _over_rows(
        self,
        kernel: Any,
        X: NDArray[Any],
        tree_facts: tuple[Any, ...],
        out: NDArray[Any],
        n_jobs: int | None,
    ) -> None:
        """Run a row-wise kernel over chunks of rows. A small batch never meets joblib."""
        n_rows = X.shape[0]
        n_threads = 1
        if n_rows * self.n_trees >= 2 * PAIRS_PER_THREAD:
            from joblib import effective_n_jobs

            n_threads = useful_threads(
                effective_n_jobs(n_jobs), n_rows * self.n_trees, PAIRS_PER_THREAD
            )
        if n_threads == 1:
            kernel(X, *tree_facts, out, self.sets)
            return
        calls = [
            (X[first:end], *tree_facts, out[first:end], self.sets)
            for first, end in spans(n_rows, n_threads)
        ]
        wait_for(in_threads(kernel, calls, n_threads))

    def validate(self) -> None:
        """Raise ValueError unless every walk through the arrays ends at a valid leaf."""
        check_arrays(self)


def split_features(stored: NDArray[np.int32]) -> NDArray[Any]:
    """Features of inner nodes, without the mark for the side of missing values."""
    return stored ^ (stored >> 31)


def _require(condition: Any, what: str) -> None:
    if not condition:
        raise ValueError(f"not a valid forest: {what}")


def check_arrays(forest: ForestArrays) -> None:
    """Prove the invariants that the compiled walks rely on; see `ForestArrays`."""
    nodes, tree_start = forest.nodes, forest.tree_start
    expected = {
        "nodes": (nodes, NODE, 1),
        "tree_start": (tree_start, np.int64, 1),
        "leaf_values": (forest.leaf_values, np.float32, 2),
        "n_explored": (forest.n_explored, np.int32, 1),
    }
    for name, (array, dtype, ndim) in expected.items():
        _require(
            isinstance(array, np.ndarray) and array.dtype == dtype and array.ndim == ndim,
            f"{name} has the wrong type or shape",
        )
        _require(array.flags.c_contiguous, f"{name} is not contiguous")
    counts = forest.explored_counts
    _require(
        isinstance(counts, np.ndarray)
        and counts.dtype in (np.int64, np.float64)
        and counts.ndim == 2
        and counts.shape[1] == 2,
        "explored_counts has the wrong type or shape",
    )
    n_trees = len(forest.n_explored)
    _require(n_trees >= 1 and len(tree_start) == n_trees + 1, "the number of trees is unclear")
    _require(tree_start[0] == 0 and tree_start[-1] == len(nodes), "trees do not cover the nodes")
    sizes = np.diff(tree_start)
    _require((sizes >= 1).all() and sizes.max() < 2**31, "a tree has no node, or too many")
    _require(
        (forest.n_explored >= 0).all() and (forest.n_explored <= sizes).all(),
        "Step I has more nodes than the tree",
    )
    _require(
        int(forest.n_explored.sum(dtype=np.int64)) == len(counts),
        "explored_counts does not match n_explored",
    )
    _require(((counts >= 0) & (counts <= _MAX_COUNT)).all(), "a node count makes no sense")
    _require(
        isinstance(forest.ratio, float) and 0.0 <= forest.ratio < np.inf,
        "the ratio of Definition 1 is negative or infinite",
    )
    n_distinct, n_classes = forest.leaf_values.shape
    _require(1 <= n_classes <= n_distinct, "leaf_values misses the leaves of one class")
    _require(
        np.array_equal(forest.leaf_values[:n_classes], np.eye(n_classes)),
        "leaf_values does not begin with the leaves of one class",
    )
    _require(
        np.isfinite(forest.leaf_values).all()
        and (forest.leaf_values >= 0).all()
        and np.allclose(forest.leaf_values.sum(axis=1), 1.0, atol=1e-5),
        "a class distribution does not sum to one",
    )

    tree = np.repeat(np.arange(n_trees), sizes)
    own_id = np.arange(len(nodes)) - tree_start[tree]
    left = nodes["left"].astype(np.int64)
    inner = left >= 0
    _require((~left[~inner] < n_distinct).all(), "a leaf points beyond leaf_values")
    rows = nodes["threshold"][~inner]
    _require(((rows >= 0) & (rows <= _MAX_COUNT)).all(), "a leaf has a senseless number of rows")
    _require(
        (left[inner] > own_id[inner]).all() and (left[inner] + 1 < sizes[tree[inner]]).all(),
        "a child is not after its parent in its own tree",
    )
    feature = split_features(nodes["feature"][inner])
    _require((feature < forest.n_features).all(), "a feature is out of range")
    _require(not np.isnan(nodes["threshold"]).any(), "a threshold is not a number")
    # Exactly one parent each, and children after parents: no cycle, no shared subtree.
    parents = np.zeros(len(nodes), dtype=np.int64)
    first_child = tree_start[tree[inner]] + left[inner]
    np.add.at(parents, first_child, 1)
    np.add.at(parents, first_child + 1, 1)
    parents[tree_start[:-1]] += 1
    _require((parents == 1).all(), "a node has no parent, or several")
    _check_sets(forest)
    n_explored = forest.n_explored[tree[inner]]
    _require(
        ((left[inner] + 1 < n_explored) | (left[inner] >= n_explored)).all(),
        "siblings belong to different steps",
    )


def _check_sets(forest: ForestArrays) -> None:
    """Every node on categories has a set; see `lacforest/_tree/sets.pxd` for its form."""
    sets = forest.sets
    if sets is None:
        return
    _require(isinstance(sets, CategorySets), "its sets of categories are of another type")
    _require(
        len(sets.is_categorical) == forest.n_features
        and len(sets.tree_start) == len(forest.tree_start),
        "its sets of categories are of another forest",
    )
    _require((sets.is_categorical <= 1).all(), "a feature is neither categorical nor not")
    tree, _, place = _nodes_on_categories(forest)
    room = np.diff(sets.tree_start)[tree]
    _require(
        ((place >= 0) & (place < room) & (place == np.floor(place))).all(),
        "a set of categories is not there",
    )
    _, size = _first_and_size(sets.words[sets.tree_start[tree] + place.astype(np.int64)])
    _require((place + 1 + size <= room).all(), "a set of categories is not there")


def check_members(forest: ForestArrays, n_categories: Sequence[int]) -> None:
    """Raise ValueError unless the sets of a valid forest hold codes of categories alone."""
    sets = forest.sets
    if sets is None:
        return
    tree, feature, place = _nodes_on_categories(forest)
    at = sets.tree_start[tree] + place.astype(np.int64)
    first, size = _first_and_size(sets.words[at])
    # Categories that the last word has room for; where it is full, nothing lies beyond them.
    n_here = np.array(n_categories)[feature] - 64 * (first + size - 1)
    beyond = np.where(n_here < 64, sets.words[at + size] >> n_here.astype(np.uint64), 0)
    _require(((size > 0) & (n_here > 0) & (beyond == 0)).all(), "a set holds what is no category")


def _nodes_on_categories(forest: ForestArrays) -> tuple[NDArray[Any], ...]:
    """Tree and feature of each node that splits categories, and the place of its set."""
    assert forest.sets is not None
    inner = forest.nodes["left"] >= 0
    split = split_features(forest.nodes["feature"]) * inner
    nodes = np.flatnonzero(inner & (forest.sets.is_categorical[split] == 1))
    tree = np.searchsorted(forest.tree_start, nodes, side="right") - 1
    return tree, split[nodes], forest.nodes["threshold"][nodes]


def _first_and_size(headers: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first word of each set and its number of words."""
    size = (headers >> np.uint64(32)).astype(np.int64)
    return (headers & np.uint64(2**32 - 1)).astype(np.int64), size
