"""Algorithm 1 of the paper, from coded columns to a frozen forest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lacforest._coding import place_thresholds
from lacforest._forest_arrays import ForestArrays
from lacforest._freeze import CollectedTrees, drop_last_class, share_leaves, split_before
from lacforest._grow import ForestGrower, GrownForest, GrowthOptions, TreePlan, mean_importances
from lacforest._pseudo import pseudo_labels
from lacforest._training_rows import TrainingRows
from lacforest._tree._criterion import AugmentedGiniCriterion, GiniCriterion


@dataclass(frozen=True)
class LACForestOptions(GrowthOptions):
    """What shapes the trees of the paper's forest, as plain numbers."""

    gamma: float
    bootstrap: bool


@dataclass(frozen=True)
class _Exploration:
    """Trees of Step I in codes, and the thresholds of their inner nodes in order."""

    trees: CollectedTrees
    thresholds: NDArray[np.float64]


class LACForestGrower(ForestGrower):
    """Runs Algorithm 1 on coded columns."""

    options: LACForestOptions

    def __init__(self, rows: TrainingRows, options: LACForestOptions) -> None:
        super().__init__(rows, options)
        words = np.random.SeedSequence(options.entropy.tolist()).generate_state(
            3 * options.n_trees, np.uint64
        )
        streams = words.reshape(options.n_trees, 3).T
        samples, self.explore_seeds, self.refine_seeds = np.ascontiguousarray(streams)
        self.sample_seeds = samples if options.bootstrap else None

    def grow(self, theta: float) -> GrownForest:
        """Both steps of Algorithm 1."""
        criterion = AugmentedGiniCriterion(
            theta, self.rows.labeled_total, float(self.rows.n_unlabeled)
        )
        exploration = self._explore(criterion)
        scores = self.score_unlabeled(exploration.trees, criterion)
        chosen = pseudo_labels(scores, theta)
        arrays, importances = self._refine(exploration, chosen, criterion)
        return GrownForest(arrays, None, scores, chosen, importances)

    def grow_plain(self) -> GrownForest:
        """Grow a random forest of the labelled rows alone, all there is without unlabelled rows."""
        nobody = np.zeros(0, dtype=bool)
        arrays, importances = self._refine(None, nobody, None)
        return GrownForest(arrays, None, np.zeros(0), nobody, importances)

    def _explore(self, criterion: AugmentedGiniCriterion) -> _Exploration:
        rows, options = self.rows, self.options
        limits = self.limits(options.min_samples_leaf, search_on=False, gamma=options.gamma)
        everyone = np.ones(rows.table.n_rows, dtype=np.uint8)
        trees = self.grow_trees(
            TreePlan(
                criterion, limits, self.explore_seeds, everyone, sample_seeds=self.sample_seeds
            )
        )
        nobody = np.zeros(len(trees.nodes), dtype=bool)
        thresholds = np.zeros(len(trees.nodes))
        place_thresholds(trees.nodes, nobody, self.columns, rows.table, thresholds)
        return _Exploration(trees, thresholds[trees.is_inner])

    def _refine(
        self,
        exploration: _Exploration | None,
        chosen: NDArray[np.bool_],
        criterion: AugmentedGiniCriterion | None,
    ) -> tuple[ForestArrays, NDArray[np.float64]]:
        rows, options = self.rows, self.options
        explored = None if exploration is None else exploration.trees
        taking_part = np.ones(rows.table.n_rows, dtype=np.uint8)
        taking_part[rows.n_labeled :] = chosen
        trees = self.grow_trees(
            TreePlan(
                GiniCriterion(),
                self.limits(options.min_samples_leaf, search_on=True),
                self.refine_seeds,
                taking_part,
                sample_seeds=self.sample_seeds,
                explored=explored,
            )
        )
        known = np.zeros(len(trees.nodes), dtype=bool)
        if exploration is not None:
            known = split_before(trees, exploration.trees)
        place_thresholds(trees.nodes, known, self.columns, rows.table)
        if exploration is not None:
            trees.nodes["threshold"][known] = exploration.thresholds
        leaf_values = share_leaves(trees.nodes, trees.impure, rows.n_known + 1)
        decrease = trees.decrease / (rows.labeled_total + chosen.sum())
        if explored is None:
            n_explored = np.zeros(options.n_trees, dtype=np.int32)
            counts = np.zeros((0, 2))
            leaf_values = drop_last_class(trees.nodes, leaf_values)
        else:
            n_explored = np.diff(explored.tree_start).astype(np.int32)
            counts = explored.counts
            decrease += explored.decrease / rows.n_unlabeled
        arrays = ForestArrays(
            trees.nodes,
            trees.tree_start,
            leaf_values,
            n_explored,
            self.whole_counts(counts),
            0.0 if criterion is None else criterion.ratio,
            rows.table.n_features,
        )
        return arrays, mean_importances(decrease)
