"""Step I: explore labelled and unlabelled rows together by augmented Gini impurity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._growing.collect import CollectedTrees
from lacforest._growing.plan import TreePlan
from lacforest._growing.tree_grower import TreeGrower
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


def explore(grower: TreeGrower, plan: TreePlan) -> Exploration:
    """Grow the trees of Step I and score the unlabelled rows by them."""
    criterion = plan.criterion
    if not isinstance(criterion, AugmentedGiniCriterion):
        raise TypeError("Step I grows by augmented Gini impurity")
    trees = grower.grow(plan)
    thresholds = grower.coded.settle_cuts(trees.nodes, plan.random_cuts)
    scores = grower.score(trees, criterion)
    return Exploration(trees, thresholds, criterion, scores)
