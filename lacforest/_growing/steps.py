"""The two steps: explore by augmented Gini impurity, then refine by Gini impurity."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._growing.plan import TreePlan, n_pseudo_labels, pseudo_label_cap
from lacforest._growing.run import CollectedTrees, join_sets, join_trees, split_before
from lacforest._growing.tree_grower import TreeGrower
from lacforest._input.training_data import RowTotals
from lacforest._model.arrays import ForestArrays
from lacforest._tree.criterion import AugmentedGiniCriterion


@dataclass(frozen=True)
class Exploration:
    """Trees of Step I and what they find in the unlabelled rows.

    Attributes
    ----------
    trees : CollectedTrees
        Cuts in codes.
    thresholds : float64 array of shape (n_nodes,)
        The same cuts in values; 0 in leaves.
    criterion : AugmentedGiniCriterion
    scores : column of float64
        Average augmented score of each unlabelled row (Eqn 7), as the grower keeps it.
    """

    trees: CollectedTrees
    thresholds: NDArray[np.float64]
    criterion: AugmentedGiniCriterion
    scores: Any

    @property
    def decrease(self) -> NDArray[np.float64]:
        """Decrease of augmented Gini impurity per unlabelled row, by tree and feature."""
        return self.trees.decrease / self.criterion.n_unlabeled

    @property
    def made_no_split(self) -> bool:
        """Whether every tree is its root alone."""
        return bool((np.diff(self.trees.tree_start) == 1).all())

    def after(self, first: int) -> Exploration:
        """The trees from `first` on, with the scores by all of them."""
        if first == 0:
            return self
        own = self.trees.take(first, len(self.trees.tree_start) - 1)
        nodes = slice(len(self.thresholds) - len(own.nodes), None)
        return replace(self, trees=own, thresholds=self.thresholds[nodes])


@dataclass(frozen=True)
class PseudoLabels:
    """Unlabelled rows that Step II takes for new.

    Attributes
    ----------
    marked : column of bool
        As the grower keeps it.
    n_marked : int
        How many there are.
    most_per_tree : int or None
        Most of them in one tree, which draws its own; None takes all.
    """

    marked: Any
    n_marked: int
    most_per_tree: int | None

    @property
    def n_per_tree(self) -> float:
        """How many of them a tree has."""
        cap = self.most_per_tree
        return float(self.n_marked if cap is None else min(self.n_marked, cap))

    def plan(self, plan: TreePlan) -> TreePlan:
        """The same plan on labelled rows and on these."""
        return replace(plan, takes_part=self.marked, max_unlabeled=self.most_per_tree)


def explore(grower: TreeGrower, plan: TreePlan, before: Exploration | None = None) -> Exploration:
    """Grow the trees of Step I and score the unlabelled rows by them.

    Where an earlier fit has grown the first trees of the plan, only the others are grown; rows are
    scored by all of them.
    """
    criterion = plan.criterion
    if not isinstance(criterion, AugmentedGiniCriterion):
        raise TypeError("Step I grows by augmented Gini impurity")
    n_before = 0 if before is None else len(before.trees.tree_start) - 1
    if before is not None and n_before == len(plan.seeds):
        return before
    trees = grower.grow(plan.take_trees(n_before))
    thresholds = grower.coded.settle_cuts(trees.nodes, plan.random_cuts)
    if before is not None:
        trees = join_trees([before.trees, trees])
        thresholds = np.concatenate([before.thresholds, thresholds])
    scores = grower.score(trees, criterion)
    return Exploration(trees, thresholds, criterion, scores)


def label(
    grower: TreeGrower, explored: Exploration, rate: float, upper: float, cap: float | None
) -> PseudoLabels:
    """Give the floor(theta * n_u) rows that look newest a pseudo-label.

    Parameters
    ----------
    grower : TreeGrower
    explored : Exploration
    rate : float
        Rows of a tree per row of the table.
    upper : float
        The largest plausible theta, which the cap allows for.
    cap : float or None
        The parameter `pseudo_cap`.
    """
    totals, theta = grower.totals, explored.criterion.theta
    most = pseudo_label_cap(totals.labeled_rows * rate, theta, upper, cap)
    marked = grower.mark(explored.scores, theta)
    return PseudoLabels(marked, n_pseudo_labels(totals.n_unlabeled, theta), most)


@dataclass(frozen=True)
class Refinement:
    """Frozen trees of Step II.

    Attributes
    ----------
    arrays : ForestArrays
    decrease : float64 array of shape (n_trees, n_features)
        Decrease of Gini impurity per row, by tree and feature.
    soft : column of SoftLabels or None
        Shares of classes in the unlabelled rows, where trees drew labels from them.
    """

    arrays: ForestArrays
    decrease: NDArray[np.float64]
    soft: Any = None


@dataclass(frozen=True)
class GrownForest:
    """What both steps hand over to the estimator.

    Attributes
    ----------
    predicting : ForestArrays
    exploring : ForestArrays or None
        The trees of Step I, where they are not the ones that predict.
    scores : float64 array of shape (n_unlabeled,)
        Average augmented score of each unlabelled row (Eqn 7).
    marked : bool array of shape (n_unlabeled,)
        Rows with a pseudo-label.
    decrease : float64 array of shape (n_trees, n_features)
        Decrease of impurity, by tree and feature: one line per tree, or per tree of either step
        where the trees of Step I do not predict.
    exploration : Exploration or None
        What Step I found; None in a plain forest.
    soft : column of SoftLabels or None
        See `Refinement`.
    """

    predicting: ForestArrays
    exploring: ForestArrays | None
    scores: NDArray[np.float64]
    marked: NDArray[np.bool_]
    decrease: NDArray[np.float64]
    exploration: Exploration | None = None
    soft: Any = None

    @property
    def n_trees(self) -> int:
        """Trees that predict."""
        return self.predicting.n_trees

    @property
    def importances(self) -> NDArray[np.float64]:
        """Importance of each feature."""
        return mean_importances(self.decrease)

    def after(self, before: GrownForest) -> GrownForest:
        """These trees behind those of an earlier fit, which stay as they are."""
        return replace(
            self,
            predicting=join_forests(before.predicting, self.predicting),
            decrease=np.concatenate([before.decrease, self.decrease]),
        )


def refine_plain(grower: TreeGrower, plan: TreePlan) -> GrownForest:
    """Trees of the labelled rows alone: all there is to learn without unlabelled rows."""
    totals = grower.totals
    trees = grower.grow(plan)
    if not plan.random_cuts:
        grower.coded.replace_cuts(trees.nodes)
    refined = freeze(totals, trees, totals.labeled_total)
    arrays = refined.arrays
    leaf_values = drop_last_class(arrays.nodes, arrays.leaf_values)
    return GrownForest(
        replace(arrays, leaf_values=leaf_values),
        None,
        np.zeros(0),
        np.zeros(0, dtype=bool),
        refined.decrease,
    )


def deepen(
    grower: TreeGrower, plan: TreePlan, explored: Exploration, pseudo: PseudoLabels
) -> Refinement:
    """Grow the trees of Step I on from their leaves, on labelled and pseudo-labelled rows."""
    totals = grower.totals
    trees = grower.grow(replace(pseudo.plan(plan), explored=explored.trees))
    is_explored = split_before(trees, explored.trees)
    if not plan.random_cuts:
        grower.coded.replace_cuts(trees.nodes, is_explored)
    trees.nodes["threshold"][is_explored] = explored.thresholds[explored.trees.is_inner]
    refined = freeze(totals, trees, plan.labeled_weight(totals) + pseudo.n_per_tree)
    arrays = replace(
        refined.arrays,
        n_explored=np.diff(explored.trees.tree_start).astype(np.int32),
        explored_counts=whole_counts(explored.trees.counts, totals),
        ratio=explored.criterion.ratio,
    )
    return replace(refined, arrays=arrays)


def freeze(totals: RowTotals, trees: CollectedTrees, n_rows: float) -> Refinement:
    """Share leaf distributions and divide the decrease of impurity by the rows of a tree."""
    arrays = ForestArrays(
        trees.nodes,
        trees.tree_start,
        share_leaves(trees.nodes, trees.impure, totals.n_known + 1),
        np.zeros(len(trees.tree_start) - 1, dtype=np.int32),
        whole_counts(np.zeros((0, 2)), totals),
        0.0,
        totals.n_features,
        trees.sets,
    )
    return Refinement(arrays, trees.decrease / n_rows)


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
    """The trees of two forests of the same classes and totals in one forest."""
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
        explored_counts=np.concatenate([first.explored_counts, second.explored_counts]),
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
