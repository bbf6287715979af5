"""One tree of a fitted forest as scikit-learn users know it, derived from the frozen arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from lacforest._input.parameters import check_int
from lacforest._model.arrays import ForestArrays, split_features
from lacforest._model.category_sets import set_codes, written_set
from lacforest._tree.criterion import AugmentedGiniCriterion, GiniCriterion

_LEAF = -1
_UNDEFINED = -2


class NoSuchTreeError(IndexError, ValueError):
    """There is no tree of this number: a wrong place in a sequence, and a wrong argument."""


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


class TreeView:
    """Read-only view of one tree.

    Arrays have one entry a node, the root first, children after their parents. A leaf has -1 for
    its children and -2 for its feature and threshold, as in scikit-learn.

    Parameters
    ----------
    forest : ForestArrays
    index : int
        Which tree.
    criterion : AugmentedGiniCriterion or None
        The criterion of Step I; None in a plain forest.
    column_order : int array of shape (n_classes,)
        Columns of `value` in the order of ``classes_``.
    """

    def __init__(
        self,
        forest: ForestArrays,
        index: int,
        criterion: AugmentedGiniCriterion | None,
        column_order: NDArray[np.intp],
    ) -> None:
        self._forest = forest
        self._index = index
        self._criterion = criterion
        self._column_order = column_order
        first, end = forest.tree_start[index : index + 2]
        self._nodes = forest.nodes[first:end]
        self._is_leaf = self._nodes["left"] < 0
        self._n_explored = int(forest.n_explored[index])
        start = int(forest.explored_start[index])
        self._explored_counts = forest.explored_counts[start : start + self._n_explored]

    def __repr__(self) -> str:
        return (
            f"TreeView(node_count={self.node_count}, n_leaves={self.n_leaves}, "
            f"max_depth={self.max_depth})"
        )

    @property
    def node_count(self) -> int:
        """Nodes of the tree."""
        return len(self._nodes)

    @property
    def n_leaves(self) -> int:
        """Leaves of the tree."""
        return int(self._is_leaf.sum())

    @property
    def n_features(self) -> int:
        """Features the tree was grown on."""
        return self._forest.n_features

    @cached_property
    def children_left(self) -> NDArray[np.int32]:
        """Left child of each node."""
        return _frozen(np.where(self._is_leaf, _LEAF, self._nodes["left"]))

    @cached_property
    def children_right(self) -> NDArray[np.int32]:
        """Right child of each node."""
        return _frozen(np.where(self._is_leaf, _LEAF, self._nodes["left"] + 1))

    @cached_property
    def feature(self) -> NDArray[np.int32]:
        """Feature each node splits on."""
        return _frozen(np.where(self._is_leaf, _UNDEFINED, split_features(self._nodes["feature"])))

    @cached_property
    def threshold(self) -> NDArray[np.float64]:
        """Values at or below it go left. Infinite where the cut is present | missing.

        NaN where a node splits categories, see `category_set`.
        """
        found = np.where(self._is_leaf, float(_UNDEFINED), self._nodes["threshold"])
        return _frozen(np.where(self._splits_categories, np.nan, found))

    @cached_property
    def _splits_categories(self) -> NDArray[np.bool_]:
        sets = self._forest.sets
        if sets is None:
            return np.zeros(self.node_count, dtype=bool)
        split = split_features(self._nodes["feature"]) * ~self._is_leaf
        splits: NDArray[np.bool_] = ~self._is_leaf & (sets.is_categorical[split] == 1)
        return splits

    def category_set(self, node: int) -> NDArray[np.intp] | None:
        """Ranks of the categories that go to the other side than missing values.

        All others go where missing values go. None where the node does not split categories.
        """
        if self._forest.sets is None or not self._splits_categories[node]:
            return None
        return set_codes(self._forest.sets, self._index, int(self._nodes["threshold"][node]))

    def conditions(self, node: int, name: str, categories: Sequence[Any] | None) -> tuple[str, str]:
        """What rows that go left and right have in common, as text.

        Parameters
        ----------
        node : int
            An inner node.
        name : str
            Of its feature.
        categories : sequence or None
            Names of the categories of the feature, if it has any.
        """
        cut, to_left = self.threshold[node], bool(self.missing_go_to_left[node])
        codes = self.category_set(node)
        if codes is None:
            left, right = f"{name} <= {cut:.6g}", f"{name} > {cut:.6g}"
            return (f"{left} or missing", right) if to_left else (left, f"{right} or missing")
        inside = f"{name} in {written_set(codes, categories)}"
        outside = f"{name} not in {written_set(codes, categories)}, or missing"
        return (outside, inside) if to_left else (inside, outside)

    @cached_property
    def missing_go_to_left(self) -> NDArray[np.bool_]:
        """Whether a missing value goes left."""
        return _frozen(~self._is_leaf & (self._nodes["feature"] >= 0))

    @cached_property
    def phase(self) -> NDArray[np.int8]:
        """1 for the nodes of Step I, 2 for those of Step II."""
        phases = np.full(self.node_count, 2, dtype=np.int8)
        phases[: self._n_explored] = 1
        return _frozen(phases)

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """Depth of each node; the root has 0."""
        depths = np.zeros(self.node_count, dtype=np.int32)
        for node in np.flatnonzero(~self._is_leaf):
            left = self._nodes["left"][node]
            depths[left : left + 2] = depths[node] + 1
        return _frozen(depths)

    @property
    def max_depth(self) -> int:
        """Depth of the deepest leaf."""
        return int(self.depth.max())

    @cached_property
    def _class_counts(self) -> NDArray[np.float64]:
        """Labelled and pseudo-labelled rows of each class, by node, the new class last."""
        counts = np.zeros((self.node_count, self._forest.n_classes))
        leaves = self._nodes[self._is_leaf]
        counts[self._is_leaf] = (
            self._forest.leaf_values[~leaves["left"]] * leaves["threshold"][:, None]
        )
        if self._forest.explored_counts.dtype != np.float64:
            counts = np.rint(counts)  # undo the rounding of float32 distributions
        elif self._criterion is not None:
            counts[:, -1] = np.rint(counts[:, -1])  # pseudo-labelled rows weigh 1
        for node in np.flatnonzero(~self._is_leaf)[::-1]:
            left = self._nodes["left"][node]
            counts[node] = counts[left] + counts[left + 1]
        return counts

    @cached_property
    def value(self) -> NDArray[np.float64]:
        """Class distribution of labelled and pseudo-labelled rows, columns as in ``classes_``."""
        counts = self._class_counts
        totals = counts.sum(axis=1, keepdims=True)
        shares = counts / np.where(totals > 0, totals, 1.0)
        empty = totals[:, 0] == 0
        shares[empty & self._is_leaf] = self._forest.leaf_values[
            ~self._nodes["left"][empty & self._is_leaf]
        ]
        return _frozen(shares[:, self._column_order])

    @cached_property
    def weighted_n_node_samples(self) -> NDArray[np.float64]:
        """Labelled and pseudo-labelled rows of each node, by weight: those `value` is made of."""
        return _frozen(self._class_counts.sum(axis=1))

    @cached_property
    def n_labeled(self) -> NDArray[np.float64]:
        """Labelled rows of each node, by weight."""
        n_known = self._forest.n_classes - (self._criterion is not None)
        return _frozen(self._class_counts[:, :n_known].sum(axis=1))

    @cached_property
    def n_unlabeled(self) -> NDArray[np.float64]:
        """Unlabelled rows of a node of Step I; pseudo-labelled rows of a node of Step II."""
        if self._criterion is None:
            return _frozen(np.zeros(self.node_count))
        rows = self._class_counts[:, -1].copy()
        rows[: self._n_explored] = self._explored_counts[:, 1]
        return _frozen(rows)

    @cached_property
    def impurity(self) -> NDArray[np.float64]:
        """Augmented Gini of a node of Step I (Definition 1), Gini of a node of Step II."""
        impurities = np.empty(self.node_count)
        gini = GiniCriterion()
        for node, counts in enumerate(self._class_counts):
            if node < self._n_explored and self._criterion is not None:
                impurities[node] = self._criterion.impurity(counts[:-1], self.n_unlabeled[node])
            else:
                impurities[node] = gini.impurity(counts)
        return _frozen(impurities)

    def export_text(
        self,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[Any] | None = None,
        categories: Sequence[Any] | None = None,
    ) -> str:
        """Text of the tree, one line a node, each marked I or II by the step that made it.

        Parameters
        ----------
        feature_names : sequence of str, optional
        class_names : sequence, optional
            In the order of the columns of `value`.
        categories : sequence, optional
            Categories of each feature, as ``categories_`` of the forest.
        """
        n_classes = self.value.shape[1]
        features = check_names(feature_names, self.n_features, "feature_names", "feature_{}")
        classes = check_names(class_names, n_classes, "class_names", "class {}")
        lines = []
        stack = [(0, "")]
        while stack:
            node, branch = stack.pop()
            step = "I " if self.phase[node] == 1 else "II"
            indent = "|   " * int(self.depth[node])
            facts = (
                f"labelled={self.n_labeled[node]:g} unlabelled={self.n_unlabeled[node]:g} "
                f"impurity={self.impurity[node]:.4f}"
            )
            if self._is_leaf[node]:
                best = int(self.value[node].argmax())
                facts += f" -> {classes[best]} ({self.value[node, best]:.2f})"
            lines.append(f"{step} {indent}{branch or 'root'}  [{facts}]")
            if self._is_leaf[node]:
                continue
            feature = int(self.feature[node])
            known = None if categories is None else categories[feature]
            left, right = self.conditions(node, features[feature], known)
            stack.append((int(self.children_right[node]), right))
            stack.append((int(self.children_left[node]), left))
        return "\n".join(lines)


def check_names(given: Sequence[Any] | None, n: int, argument: str, pattern: str) -> list[str]:
    """`given` as text, or names by `pattern` if there are none."""
    if given is None:
        return [pattern.format(i) for i in range(n)]
    if len(given) != n:
        raise ValueError(f"{argument} has {len(given)} names, but there are {n}")
    return [str(name) for name in given]


class TreeViews(Sequence[TreeView]):
    """The trees of a fitted forest, made when asked for.

    Parameters
    ----------
    forest : ForestArrays
    criterion : AugmentedGiniCriterion or None
    column_order : int array of shape (n_classes,)
        See `TreeView`.
    """

    def __init__(
        self,
        forest: ForestArrays,
        criterion: AugmentedGiniCriterion | None,
        column_order: NDArray[np.intp],
    ) -> None:
        self._forest = forest
        self._criterion = criterion
        self._column_order = column_order

    def __len__(self) -> int:
        return self._forest.n_trees

    @overload
    def __getitem__(self, index: int) -> TreeView: ...
    @overload
    def __getitem__(self, index: slice) -> list[TreeView]: ...
    def __getitem__(self, index: int | slice) -> TreeView | list[TreeView]:
        chosen = range(len(self))[index]
        if isinstance(chosen, range):
            return [self[i] for i in chosen]
        return TreeView(self._forest, chosen, self._criterion, self._column_order)

    def one(self, number: int) -> TreeView:
        """The tree that a user asks for by its number, where a wrong one must be explained."""
        check_int("tree", number, -len(self))
        if number >= len(self):
            raise NoSuchTreeError(
                f"tree is {number}, but the forest has {len(self)}: count from 0 to {len(self) - 1}"
            )
        return self[int(number)]

    @property
    def arrays(self) -> ForestArrays:
        """All trees at once, as they are stored."""
        return self._forest

    @property
    def column_order(self) -> NDArray[np.intp]:
        """Columns of ``arrays.leaf_values`` in the order of ``classes_``."""
        return self._column_order


def find_all_of_forest(forest: Any) -> TreeViews:
    """The trees of a forest that predicts by them alone: not adapted to a batch."""
    trees = find_trees(forest)
    if forest._class_factors is not None:
        raise ValueError(
            "this forest was adapted to a batch, and its trees alone do not predict as it does: "
            "export the forest that adapt was called on, or fit again"
        )
    return trees


def find_trees(forest: Any) -> TreeViews:
    """The trees of a fitted forest of this package, whichever class it is of."""
    # Imported here, because views of trees need no scikit-learn.
    from sklearn.pipeline import Pipeline

    if isinstance(forest, Pipeline) or hasattr(forest, "best_estimator_"):
        raise TypeError(
            f"{type(forest).__name__} holds more than trees: pass the forest inside it "
            "(pipeline[-1], search.best_estimator_), and rows as that forest sees them"
        )
    # Looked up on the class: on an unfitted forest the property raises, and should.
    has_trees = isinstance(getattr(type(forest), "estimators_", None), property)
    if not has_trees or not isinstance(forest.estimators_, TreeViews):
        raise TypeError(f"forest must be a fitted forest of lacforest, got {type(forest).__name__}")
    return forest.estimators_
