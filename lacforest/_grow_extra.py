"""Our own two steps by extremely randomised trees; docs/extra-trees.rst gives the formulas."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lacforest._coding import code_random_cuts, column_values, place_thresholds
from lacforest._forest_arrays import ForestArrays
from lacforest._freeze import (
    CollectedTrees,
    drop_last_class,
    join_forests,
    share_leaves,
    split_before,
)
from lacforest._grow import ForestGrower, GrownForest, GrowthOptions, TreePlan, mean_importances
from lacforest._pseudo import pseudo_labels
from lacforest._soft_labels import SoftLabels, new_shares
from lacforest._training_rows import TrainingRows
from lacforest._tree._criterion import AugmentedGiniCriterion, GiniCriterion


@dataclass(frozen=True)
class ExtraTreesOptions(GrowthOptions):
    """What shapes the trees, as plain numbers; those of `GrowthOptions` speak of Step II.

    Attributes
    ----------
    n_explorers : int
        Trees of Step I.
    min_explored_leaf : int
        Rows, labelled and unlabelled, of a leaf of Step I.
    max_explored_features : int
        Features drawn at a node of Step I.
    gamma : float
        Constraints of Eqns 5 and 6 in Step I; 0 asks for nothing.
    every_cut : bool
        Whether Step I tries every cut of a drawn feature, as the paper does.
    refinement : {"both", "hard", "sampled", "deepen"}
    """

    n_explorers: int
    min_explored_leaf: int
    max_explored_features: int
    gamma: float
    every_cut: bool
    refinement: str


@dataclass(frozen=True)
class _Refined:
    """Frozen trees of Step II, and the decrease of impurity a row by feature of each."""

    arrays: ForestArrays
    decrease: NDArray[np.float64]


class ExtraTreesGrower(ForestGrower):
    """Explores by augmented Gini impurity, then grows fresh trees on hard and on sampled labels."""

    options: ExtraTreesOptions

    def __init__(self, rows: TrainingRows, options: ExtraTreesOptions) -> None:
        super().__init__(rows, options)
        self.values = column_values(self.columns, rows.table)
        sequences = np.random.SeedSequence(options.entropy.tolist()).spawn(3)
        counts = (options.n_explorers, options.n_trees, options.n_trees)
        streams = [
            sequence.generate_state(count, np.uint64).astype(np.uint64)
            for sequence, count in zip(sequences, counts, strict=True)
        ]
        self.explore_seeds, self.refine_seeds, self.label_seeds = streams

    def grow(self, theta: float) -> GrownForest:
        """Explore, label, refine."""
        rows, options = self.rows, self.options
        criterion = AugmentedGiniCriterion(theta, rows.labeled_total, float(rows.n_unlabeled))
        trees, thresholds = self._explore(criterion)
        scores = self.score_unlabeled(trees, criterion)
        chosen = pseudo_labels(scores, theta)
        explored: ForestArrays | None = None
        if options.refinement == "deepen":
            refined = self._deepen(trees, thresholds, chosen, criterion)
        else:
            explored = self._freeze_exploration(trees, thresholds, criterion)
            n_hard = options.n_trees
            if options.refinement == "both":
                n_hard = (options.n_trees + 1) // 2
            refined = self._refine_on_hard_labels(chosen, n_hard)
            if options.refinement != "hard":
                soft = self._soft_labels(refined.arrays, scores, theta)
                if options.refinement == "sampled":
                    refined = self._refine_on_sampled_labels(soft, 0)
                elif n_hard < options.n_trees:
                    sampled = self._refine_on_sampled_labels(soft, n_hard)
                    refined = _Refined(
                        join_forests(refined.arrays, sampled.arrays),
                        np.concatenate([refined.decrease, sampled.decrease]),
                    )
        decrease = np.concatenate([trees.decrease / rows.n_unlabeled, refined.decrease])
        return GrownForest(refined.arrays, explored, scores, chosen, mean_importances(decrease))

    def grow_plain(self) -> GrownForest:
        """Extremely randomised trees of the labelled rows alone."""
        nobody = np.zeros(0, dtype=bool)
        refined = self._refine_on_hard_labels(nobody, self.options.n_trees)
        arrays = refined.arrays
        nodes = arrays.nodes.copy()
        plain = replace(arrays, nodes=nodes, leaf_values=drop_last_class(nodes, arrays.leaf_values))
        return GrownForest(plain, None, np.zeros(0), nobody, mean_importances(refined.decrease))

    # ------------------------------------------------------------------ Step I

    def _explore(
        self, criterion: AugmentedGiniCriterion
    ) -> tuple[CollectedTrees, NDArray[np.float64]]:
        """Trees of Step I in codes, and the thresholds of all their nodes (0 in leaves)."""
        rows, options = self.rows, self.options
        gamma = options.gamma if options.gamma > 0 else None
        trees = self.grow_trees(
            TreePlan(
                criterion,
                self.limits(
                    options.min_explored_leaf,
                    search_on=False,
                    gamma=gamma,
                    max_features=options.max_explored_features,
                ),
                self.explore_seeds,
                np.ones(rows.table.n_rows, dtype=np.uint8),
                values=None if options.every_cut else self.values,
            )
        )
        thresholds = np.zeros(len(trees.nodes))
        if options.every_cut:
            nobody = np.zeros(len(trees.nodes), dtype=bool)
            place_thresholds(trees.nodes, nobody, self.columns, rows.table, thresholds)
        else:
            thresholds[trees.is_inner] = trees.nodes["threshold"][trees.is_inner]
            code_random_cuts(trees.nodes, self.values)
        return trees, thresholds

    def _freeze_exploration(
        self,
        trees: CollectedTrees,
        thresholds: NDArray[np.float64],
        criterion: AugmentedGiniCriterion,
    ) -> ForestArrays:
        nodes = trees.nodes.copy()
        nodes["threshold"] = thresholds
        return ForestArrays(
            nodes,
            trees.tree_start,
            np.eye(self.rows.n_known + 1, dtype=np.float32),
            np.diff(trees.tree_start).astype(np.int32),
            self.whole_counts(trees.counts),
            criterion.ratio,
            self.rows.table.n_features,
        )

    # ------------------------------------------------------------------ Step II

    def _refine_on_hard_labels(self, chosen: NDArray[np.bool_], n_trees: int) -> _Refined:
        """Trees on labelled and pseudo-labelled rows; all other rows are left out."""
        rows = self.rows
        plan = self._refinement_plan(chosen, self.refine_seeds[:n_trees])
        return self._freeze(self.grow_trees(plan), rows.labeled_total + float(chosen.sum()))

    def _refine_on_sampled_labels(self, soft: SoftLabels, first: int) -> _Refined:
        """Trees on all rows, each with labels of its own for the unlabelled ones."""
        rows = self.rows
        everyone = np.ones(rows.n_unlabeled, dtype=bool)
        label_seeds = self.label_seeds[first:]

        def classes_of_tree(tree: int) -> NDArray[np.uint16]:
            drawn = soft.draw(int(label_seeds[tree]))
            return np.concatenate([rows.classes[: rows.n_labeled], drawn])

        plan = replace(
            self._refinement_plan(everyone, self.refine_seeds[first:]),
            classes_of_tree=classes_of_tree,
        )
        return self._freeze(self.grow_trees(plan), rows.labeled_total + rows.n_unlabeled)

    def _deepen(
        self,
        explored: CollectedTrees,
        thresholds: NDArray[np.float64],
        chosen: NDArray[np.bool_],
        criterion: AugmentedGiniCriterion,
    ) -> _Refined:
        """The trees of Step I, grown on from their leaves."""
        rows = self.rows
        words = np.random.SeedSequence(self.refine_seeds.tolist()).generate_state(
            self.options.n_explorers, np.uint64
        )
        seeds = words.astype(np.uint64)
        plan = replace(self._refinement_plan(chosen, seeds), explored=explored)
        trees = self.grow_trees(plan)
        known = split_before(trees, explored)
        trees.nodes["threshold"][known] = thresholds[explored.is_inner]
        refined = self._freeze(trees, rows.labeled_total + float(chosen.sum()))
        arrays = replace(
            refined.arrays,
            n_explored=np.diff(explored.tree_start).astype(np.int32),
            explored_counts=self.whole_counts(explored.counts),
            ratio=criterion.ratio,
        )
        return _Refined(arrays, refined.decrease)

    def _refinement_plan(self, chosen: NDArray[np.bool_], seeds: NDArray[np.uint64]) -> TreePlan:
        rows, options = self.rows, self.options
        taking_part = np.ones(rows.table.n_rows, dtype=np.uint8)
        taking_part[rows.n_labeled :] = chosen
        limits = self.limits(options.min_samples_leaf, search_on=True)
        return TreePlan(GiniCriterion(), limits, seeds, taking_part, values=self.values)

    def _freeze(self, trees: CollectedTrees, n_rows: float) -> _Refined:
        arrays = ForestArrays(
            trees.nodes,
            trees.tree_start,
            share_leaves(trees.nodes, trees.impure, self.rows.n_known + 1),
            np.zeros(len(trees.tree_start) - 1, dtype=np.int32),
            self.whole_counts(np.zeros((0, 2))),
            0.0,
            self.rows.table.n_features,
        )
        return _Refined(arrays, trees.decrease / n_rows)

    def _soft_labels(
        self, refined: ForestArrays, scores: NDArray[np.float64], theta: float
    ) -> SoftLabels:
        """Shares of every class in every unlabelled row."""
        rows = self.rows
        labeled = rows.classes[: rows.n_labeled]
        weight = None if rows.weight is None else rows.weight[: rows.n_labeled]
        prior = np.bincount(labeled, weight, minlength=rows.n_known).astype(np.float64)
        known = refined.probabilities(rows.unlabeled_table(), self.options.n_jobs)[:, :-1]
        return SoftLabels.of(new_shares(scores, theta), known, prior)
