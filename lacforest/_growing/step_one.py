"""Step I: explore labelled and unlabelled rows together by augmented Gini impurity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lacforest._growing.collect import CollectedTrees
from lacforest._growing.plan import TreePlan
from lacforest._growing.run import Grower
from lacforest._model.arrays import PAIRS_PER_THREAD
from lacforest._tree.criterion import AugmentedGiniCriterion, augmented_proportions
from lacforest._tree.predict import add_coded_values
from lacforest._utils.threads import in_threads, spans, useful_threads, wait_for


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
    scores : float64 array of shape (n_unlabeled,)
        Average augmented score of each unlabelled row (Eqn 7).
    """

    trees: CollectedTrees
    thresholds: NDArray[np.float64]
    criterion: AugmentedGiniCriterion
    scores: NDArray[np.float64]

    @property
    def decrease(self) -> NDArray[np.float64]:
        """Decrease of augmented Gini impurity per unlabelled row, by tree and feature."""
        return self.trees.decrease / len(self.scores)

    @property
    def made_no_split(self) -> bool:
        """Whether every tree is its root alone."""
        return bool((np.diff(self.trees.tree_start) == 1).all())


def explore(grower: Grower, plan: TreePlan) -> Exploration:
    """Grow the trees of Step I and score the unlabelled rows by them."""
    criterion = plan.criterion
    if not isinstance(criterion, AugmentedGiniCriterion):
        raise TypeError("Step I grows by augmented Gini impurity")
    trees = grower.grow(plan)
    if plan.random_cuts:
        thresholds = np.where(trees.is_inner, trees.nodes["threshold"], 0.0)
        grower.coded.replace_thresholds(trees.nodes)
    else:
        thresholds = grower.coded.find_thresholds(trees.nodes)
    return Exploration(trees, thresholds, criterion, _score_unlabeled(grower, trees, criterion))


def _score_unlabeled(
    grower: Grower, trees: CollectedTrees, criterion: AugmentedGiniCriterion
) -> NDArray[np.float64]:
    """LF'_{k+1} of every unlabelled row (Eqn 7): threads over rows, trees in order."""
    rows, n_trees = grower.rows, len(trees.tree_start) - 1
    sums = np.zeros(rows.n_unlabeled)
    values = augmented_proportions(trees.counts, criterion.ratio)
    tree_facts = (trees.nodes.view(np.uint8), trees.tree_start, values)
    n_threads = useful_threads(grower.n_jobs, rows.n_unlabeled * n_trees, PAIRS_PER_THREAD)
    calls = [
        (grower.coded.columns, *tree_facts, rows.n_labeled + first, sums[first:end])
        for first, end in spans(rows.n_unlabeled, n_threads)
    ]
    wait_for(in_threads(add_coded_values, calls, n_threads))
    return sums / n_trees
