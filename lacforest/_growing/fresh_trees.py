"""Step II by fresh trees: on pseudo-labels, and on labels drawn for every tree anew."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lacforest._growing.collect import join_forests, whole_counts
from lacforest._growing.plan import TreePlan
from lacforest._growing.run import Grower
from lacforest._growing.soft_labels import SoftLabels, new_shares
from lacforest._growing.step_one import Exploration
from lacforest._growing.step_two import Refinement, freeze, n_pseudo_labeled
from lacforest._input.training_data import TrainingRows
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
    """

    n_hard: int
    n_drawn: int
    keeps_hard: bool

    @classmethod
    def of(cls, refinement: str, n_trees: int) -> TreeKinds:
        """The trees of a variant: "hard", "sampled" or "both"."""
        if refinement == "hard":
            return cls(n_trees, 0, True)
        if refinement == "sampled":
            return cls(n_trees, n_trees, False)
        n_hard = (n_trees + 1) // 2
        return cls(n_hard, n_trees - n_hard, True)


def refine_fresh(
    grower: Grower,
    plan: TreePlan,
    explored: Exploration,
    kinds: TreeKinds,
    label_seeds: NDArray[np.uint64],
) -> Refinement:
    """Fresh trees of both kinds, those on pseudo-labels first."""
    hard = refine_on_pseudo_labels(grower, plan.take_trees(0, kinds.n_hard))
    if kinds.n_drawn == 0:
        return hard
    soft = soften(grower, explored, hard.arrays)
    first = kinds.n_hard if kinds.keeps_hard else 0
    drawn = refine_on_drawn_labels(grower, plan.take_trees(first), soft, label_seeds[first:])
    if not kinds.keeps_hard:
        return drawn
    return Refinement(
        join_forests(hard.arrays, drawn.arrays), np.concatenate([hard.decrease, drawn.decrease])
    )


def refine_on_pseudo_labels(grower: Grower, plan: TreePlan) -> Refinement:
    """Fresh trees on labelled and pseudo-labelled rows; all other rows are left out."""
    total = grower.rows.labeled_total + n_pseudo_labeled(plan)
    return freeze(grower.rows, grower.grow(plan), total)


def refine_on_drawn_labels(
    grower: Grower, plan: TreePlan, soft: SoftLabels, label_seeds: NDArray[np.uint64]
) -> Refinement:
    """Fresh trees on all rows, each with labels of its own drawn for the unlabelled ones."""
    rows = grower.rows
    labeled = rows.classes[: rows.n_labeled]

    def classes_of_tree(tree: int) -> NDArray[np.uint16]:
        seed = int(label_seeds[tree])
        if plan.sample is None or plan.sample_seeds is None:
            return np.concatenate([labeled, soft.draw(seed)])
        classes = rows.classes.copy()
        taken = plan.sample.unlabeled_rows(rows.n_unlabeled, int(plan.sample_seeds[tree]))
        classes[rows.n_labeled + taken] = soft.draw_rows(taken, seed)
        return classes

    plan = replace(plan, takes_part=None, max_unlabeled=None, classes_of_tree=classes_of_tree)
    return freeze(rows, grower.grow(plan), rows.labeled_total + rows.n_unlabeled)


def soften(grower: Grower, explored: Exploration, hard: ForestArrays) -> SoftLabels:
    """Shares of every class in every unlabelled row.

    The share of "new" follows from the scores of Step I; known classes share the rest by the votes
    of trees on pseudo-labels.
    """
    rows = grower.rows
    labeled = rows.classes[: rows.n_labeled]
    weight = None if rows.weight is None else rows.weight[: rows.n_labeled]
    prior = np.bincount(labeled, weight, minlength=rows.n_known).astype(np.float64)
    known = hard.probabilities(rows.unlabeled_table(), grower.n_jobs)[:, :-1]
    if rows.class_factor is not None:
        # Leaves of single rows vote by the number of rows nearby, whatever these weigh.
        known = known * rows.class_factor
    return SoftLabels.of(new_shares(explored.scores, explored.criterion.theta), known, prior)


def freeze_exploration(rows: TrainingRows, explored: Exploration) -> ForestArrays:
    """The trees of Step I as a forest of their own, beside the one that predicts."""
    trees = explored.trees
    nodes = trees.nodes.copy()
    nodes["threshold"] = explored.thresholds
    return ForestArrays(
        nodes,
        trees.tree_start,
        np.eye(rows.n_known + 1, dtype=np.float32),
        np.diff(trees.tree_start).astype(np.int32),
        whole_counts(trees.counts, rows),
        explored.criterion.ratio,
        rows.table.n_features,
    )
