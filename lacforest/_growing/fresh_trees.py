"""Step II by fresh trees: on pseudo-labels, and on labels drawn for every tree anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._growing.plan import DrawnLabels, TreePlan
from lacforest._growing.steps import (
    Exploration,
    PseudoLabels,
    Refinement,
    freeze,
    join_forests,
    whole_counts,
)
from lacforest._growing.tree_grower import TreeGrower
from lacforest._input.training_data import RowTotals
from lacforest._model.arrays import ForestArrays


@dataclass(frozen=True)
class TreeKinds:
    """How many trees of Step II are grown on which labels.

    Attributes
    ----------
    n_hard : int
        Trees on pseudo-labels. They also vote on the known classes of unlabelled rows.
    n_drawn : int
        Trees on drawn labels.
    keeps_hard : bool
        Whether the trees on pseudo-labels predict as well.
    draws : bool
        Whether the variant has trees on drawn labels, at least once there are two trees.
    """

    n_hard: int
    n_drawn: int
    keeps_hard: bool
    draws: bool

    @classmethod
    def of(cls, refinement: str, n_trees: int) -> TreeKinds:
        """The trees of a variant: "hard", "sampled" or "both"."""
        if refinement == "hard":
            return cls(n_trees, 0, True, False)
        if refinement == "sampled":
            return cls(n_trees, n_trees, False, True)
        n_hard = (n_trees + 1) // 2
        return cls(n_hard, n_trees - n_hard, True, True)

    @classmethod
    def added(cls, refinement: str, n_before: int, n_trees: int) -> TreeKinds:
        """The trees that a forest of n_before trees lacks; shares of classes are known by then."""
        before, all_trees = cls.of(refinement, n_before), cls.of(refinement, n_trees)
        n_hard = all_trees.n_hard - before.n_hard if all_trees.keeps_hard else 0
        return replace(all_trees, n_hard=n_hard, n_drawn=all_trees.n_drawn - before.n_drawn)


def refine_fresh(
    grower: TreeGrower,
    plan: TreePlan,
    explored: Exploration,
    pseudo: PseudoLabels,
    kinds: TreeKinds,
    label_seeds: NDArray[np.uint64],
    soft: Any = None,
) -> Refinement:
    """Fresh trees of both kinds, those on pseudo-labels first.

    Labels are drawn from `soft`, the shares of classes that an earlier fit found, or from the votes
    of the trees on pseudo-labels.
    """
    totals = grower.totals
    parts = []
    if kinds.n_hard > 0:
        trees = grower.grow(pseudo.plan(plan.take_trees(0, kinds.n_hard)))
        hard = freeze(totals, trees, plan.labeled_weight(totals) + pseudo.n_per_tree)
        if kinds.draws and soft is None:
            soft = grower.soften(explored.scores, explored.criterion.theta, trees, hard.arrays)
        if kinds.keeps_hard:
            parts.append(hard)
    if kinds.n_drawn > 0:
        first = kinds.n_hard if kinds.keeps_hard else 0
        drawn = DrawnLabels(soft, label_seeds[first:])
        parts.append(refine_on_drawn_labels(grower, plan.take_trees(first), drawn))
    return Refinement(
        reduce(join_forests, [part.arrays for part in parts]),
        np.concatenate([part.decrease for part in parts]),
        soft,
    )


def refine_on_drawn_labels(grower: TreeGrower, plan: TreePlan, labels: DrawnLabels) -> Refinement:
    """Fresh trees on rows of both sides, each with labels of its own for the unlabelled ones."""
    totals = grower.totals
    trees = grower.grow(replace(plan, drawn=labels))
    n_unlabeled = totals.n_unlabeled
    if plan.max_unlabeled is not None:
        n_unlabeled = min(n_unlabeled, plan.max_unlabeled)
    return freeze(totals, trees, plan.labeled_weight(totals) + n_unlabeled)


def freeze_exploration(totals: RowTotals, explored: Exploration) -> ForestArrays:
    """The trees of Step I as a forest of their own, beside the one that predicts."""
    trees = explored.trees
    nodes = trees.nodes.copy()
    nodes["threshold"] = explored.thresholds
    return ForestArrays(
        nodes,
        trees.tree_start,
        np.eye(totals.n_known + 1, dtype=np.float32),
        np.diff(trees.tree_start).astype(np.int32),
        whole_counts(trees.counts, totals),
        explored.criterion.ratio,
        totals.n_features,
        trees.sets,
    )
