"""Step II: refine by Gini impurity on labelled rows and on what Step I found."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lacforest._growing.collect import (
    CollectedTrees,
    drop_last_class,
    mean_importances,
    share_leaves,
    split_before,
    whole_counts,
)
from lacforest._growing.plan import TreePlan
from lacforest._growing.step_one import Exploration
from lacforest._growing.tree_grower import TreeGrower
from lacforest._input.row_totals import RowTotals
from lacforest._model.arrays import ForestArrays


@dataclass(frozen=True)
class Refinement:
    """Frozen trees of Step II.

    Attributes
    ----------
    arrays : ForestArrays
    decrease : float64 array of shape (n_trees, n_features)
        Decrease of Gini impurity per row, by tree and feature.
    """

    arrays: ForestArrays
    decrease: NDArray[np.float64]


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
    importances : float64 array of shape (n_features,)
    """

    predicting: ForestArrays
    exploring: ForestArrays | None
    scores: NDArray[np.float64]
    marked: NDArray[np.bool_]
    importances: NDArray[np.float64]


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
        mean_importances(refined.decrease),
    )


def deepen(grower: TreeGrower, plan: TreePlan, explored: Exploration, n_marked: int) -> Refinement:
    """Grow the trees of Step I on from their leaves, on labelled and pseudo-labelled rows."""
    totals = grower.totals
    trees = grower.grow(replace(plan, explored=explored.trees))
    is_explored = split_before(trees, explored.trees)
    if not plan.random_cuts:
        grower.coded.replace_cuts(trees.nodes, is_explored)
    trees.nodes["threshold"][is_explored] = explored.thresholds[explored.trees.is_inner]
    refined = freeze(totals, trees, totals.labeled_total + n_pseudo_labeled(plan, n_marked))
    arrays = replace(
        refined.arrays,
        n_explored=np.diff(explored.trees.tree_start).astype(np.int32),
        explored_counts=whole_counts(explored.trees.counts, totals),
        ratio=explored.criterion.ratio,
    )
    return replace(refined, arrays=arrays)


def n_pseudo_labeled(plan: TreePlan, n_marked: int) -> float:
    """Rows with a pseudo-label in each tree, of the `n_marked` that there are."""
    return float(n_marked if plan.max_unlabeled is None else min(n_marked, plan.max_unlabeled))


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
