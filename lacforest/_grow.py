"""The two phases, from coded columns to a frozen forest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from lacforest._coding import RowStack, code_columns, place_thresholds
from lacforest._forest_arrays import PAIRS_PER_THREAD, ForestArrays
from lacforest._freeze import (
    CollectedTrees,
    collect_trees,
    drop_last_class,
    share_leaves,
    split_before,
)
from lacforest._pseudo import ceil_with_tolerance, pseudo_labels
from lacforest._threads import in_threads, spans, useful_threads, wait_for
from lacforest._tree._buffers import StopSignal
from lacforest._tree._builder import grow_trees
from lacforest._tree._criterion import (
    AugmentedGiniCriterion,
    GiniCriterion,
    augmented_proportions,
)
from lacforest._tree._predict import add_coded_values
from lacforest._tree._ranks import CodedColumns

# Python counts further than C: a depth that no tree reaches, rows that no node has.
_NO_LIMIT = 2**31 - 1
_NO_NODE = 2**53
# Rows from which a tree takes far longer than starting a task does.
_LARGE = 100_000


@dataclass(frozen=True)
class TrainingRows:
    """What a forest is grown on: labelled rows [0, n_labeled), then unlabelled ones.

    Attributes
    ----------
    table : RowStack
    classes : uint16 array of shape (n_rows,)
        Class codes; n_known marks unlabelled rows.
    weight : float64 array of shape (n_rows,) or None
        Weights of labelled rows, all positive.
    sampling_weight : float64 array of shape (n_labeled,) or None
        Weights of labelled rows without those of their classes: how many rows each stands for.
    n_labeled, n_unlabeled, n_known : int
    """

    table: RowStack
    classes: NDArray[np.uint16]
    weight: NDArray[np.float64] | None
    sampling_weight: NDArray[np.float64] | None
    n_labeled: int
    n_unlabeled: int
    n_known: int

    @property
    def labeled_total(self) -> float:
        """n_l of Definition 1: labelled rows, by weight."""
        if self.weight is None:
            return float(self.n_labeled)
        return float(self.weight[: self.n_labeled].sum())

    @property
    def has_whole_weights(self) -> bool:
        """Whether all counts are whole numbers, which doubles add without rounding."""
        return self.weight is None or bool((self.weight == np.floor(self.weight)).all())

    @property
    def weight_unit(self) -> float:
        """What counts as one row in ``min_samples_leaf`` and ``min_samples_split``.

        One, unless weights are small throughout: then their mean, or no node could be split.
        """
        if self.weight is None:
            return 1.0
        return min(1.0, self.labeled_total / self.n_labeled) * (1 - 1e-9)


@dataclass(frozen=True)
class GrowthOptions:
    """What shapes the trees, as plain numbers."""

    n_trees: int
    max_features: int
    gamma: float
    max_depth: int | None
    min_samples_split: int
    min_samples_leaf: int
    bootstrap: bool
    entropy: NDArray[np.uint32]
    n_jobs: int | None
    verbose: int


@dataclass(frozen=True)
class GrownForest:
    """A frozen forest and what the two steps found out about the training rows."""

    arrays: ForestArrays
    unlabeled_score: NDArray[np.float64]
    pseudo_labels: NDArray[np.bool_]
    feature_importances: NDArray[np.float64]


@dataclass(frozen=True)
class _Exploration:
    """Trees of Step I in codes, and the thresholds of their inner nodes in order."""

    trees: CollectedTrees
    thresholds: NDArray[np.float64]


class ForestGrower:
    """Runs Algorithm 1 on coded columns.

    Every tree takes its draws from streams of its own, derived from the entropy and the index of
    the tree, so that neither threads nor the number of trees change a tree.
    """

    def __init__(self, rows: TrainingRows, options: GrowthOptions) -> None:
        self.rows = rows
        self.options = options
        self.n_jobs = effective_n_jobs(options.n_jobs)
        self.benches: list[Any] = []
        self.columns: CodedColumns = code_columns(rows.table, self.n_jobs)
        words = np.random.SeedSequence(options.entropy.tolist()).generate_state(
            3 * options.n_trees, np.uint64
        )
        streams = words.reshape(options.n_trees, 3).T
        self.sample_seeds, self.explore_seeds, self.refine_seeds = np.ascontiguousarray(streams)

    def grow(self, theta: float) -> GrownForest:
        """Both steps of Algorithm 1."""
        criterion = AugmentedGiniCriterion(
            theta, self.rows.labeled_total, float(self.rows.n_unlabeled)
        )
        exploration = self._explore(criterion)
        scores = self._score_unlabeled(exploration, criterion)
        chosen = pseudo_labels(scores, theta)
        arrays, importances = self._refine(exploration, chosen, criterion)
        return GrownForest(arrays, scores, chosen, importances)

    def grow_plain(self) -> GrownForest:
        """Grow a random forest of the labelled rows alone, all there is without unlabelled rows."""
        nobody = np.zeros(0, dtype=bool)
        arrays, importances = self._refine(None, nobody, None)
        return GrownForest(arrays, np.zeros(0), nobody, importances)

    def _explore(self, criterion: AugmentedGiniCriterion) -> _Exploration:
        rows, gamma = self.rows, self.options.gamma
        limits = self._limits(search_on=False)
        limits["min_labeled"] = ceil_with_tolerance(gamma * rows.labeled_total)
        if not rows.has_whole_weights:
            # Sums of weights are rounded: an empty side may come out a hair below zero.
            limits["min_labeled"] = (gamma - 1e-12) * rows.labeled_total
        limits["min_unlabeled"] = ceil_with_tolerance(gamma * rows.n_unlabeled)
        everyone = np.ones(rows.table.n_rows, dtype=np.uint8)
        grown = self._grow_all(criterion, limits, everyone, self.explore_seeds, None)
        trees = collect_trees(grown, self.options.n_trees, rows.n_known + 1)
        nobody = np.zeros(len(trees.nodes), dtype=bool)
        thresholds = np.zeros(len(trees.nodes))
        place_thresholds(trees.nodes, nobody, self.columns, rows.table, thresholds)
        return _Exploration(trees, thresholds[trees.is_inner])

    def _score_unlabeled(
        self, exploration: _Exploration, criterion: AugmentedGiniCriterion
    ) -> NDArray[np.float64]:
        """LF'_{k+1} of every unlabelled row (Eqn 7): threads over rows, trees in order."""
        rows, trees = self.rows, exploration.trees
        sums = np.zeros(rows.n_unlabeled)
        values = augmented_proportions(trees.counts, criterion.ratio)
        tree_facts = (trees.nodes.view(np.uint8), trees.tree_start, values)
        n_threads = useful_threads(
            self.n_jobs, rows.n_unlabeled * self.options.n_trees, PAIRS_PER_THREAD
        )
        calls = [
            (self.columns, *tree_facts, rows.n_labeled + first, sums[first:end])
            for first, end in spans(rows.n_unlabeled, n_threads)
        ]
        wait_for(in_threads(add_coded_values, calls, n_threads))
        return sums / self.options.n_trees

    def _refine(
        self,
        exploration: _Exploration | None,
        chosen: NDArray[np.bool_],
        criterion: AugmentedGiniCriterion | None,
    ) -> tuple[ForestArrays, NDArray[np.float64]]:
        rows = self.rows
        explored = None if exploration is None else exploration.trees
        taking_part = np.ones(rows.table.n_rows, dtype=np.uint8)
        taking_part[rows.n_labeled :] = chosen
        grown = self._grow_all(
            GiniCriterion(), self._limits(search_on=True), taking_part, self.refine_seeds, explored
        )
        trees = collect_trees(grown, self.options.n_trees, rows.n_known + 1)
        known = np.zeros(len(trees.nodes), dtype=bool)
        if exploration is not None:
            known = split_before(trees, exploration.trees)
        place_thresholds(trees.nodes, known, self.columns, rows.table)
        if exploration is not None:
            trees.nodes["threshold"][known] = exploration.thresholds
        leaf_values = share_leaves(trees.nodes, trees.impure, rows.n_known + 1)
        decrease = trees.decrease / (rows.labeled_total + chosen.sum())
        if explored is None:
            n_explored = np.zeros(self.options.n_trees, dtype=np.int32)
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
            counts if rows.weight is not None else counts.astype(np.int64),
            0.0 if criterion is None else criterion.ratio,
            rows.table.n_features,
        )
        return arrays, _mean_importances(decrease)

    def _limits(self, search_on: bool) -> dict[str, Any]:
        options = self.options
        unit = self.rows.weight_unit
        return {
            "min_labeled": 0,
            "min_unlabeled": 0,
            "min_leaf": min(options.min_samples_leaf, _NO_NODE) * unit,
            "min_split": min(options.min_samples_split, _NO_NODE) * unit,
            "max_depth": min(options.max_depth or _NO_LIMIT, _NO_LIMIT),
            "max_features": options.max_features,
            "search_on": search_on,
        }

    def _grow_all(
        self,
        criterion: Any,
        limits: dict[str, Any],
        taking_part: NDArray[np.uint8],
        seeds: NDArray[np.uint64],
        explored: CollectedTrees | None,
    ) -> Iterator[Any]:
        """Grow all trees, in threads over blocks of trees; yields them in order."""
        rows, n_trees = self.rows, self.options.n_trees
        # Blocks spare small fits the cost of many tasks; large ones would rather not wait for the
        # last tree of a block, neither with their memory nor with their threads.
        one_by_one = self.options.verbose or rows.table.n_rows >= _LARGE
        n_blocks = n_trees if one_by_one else min(n_trees, 8 * max(2, self.n_jobs))
        stop = StopSignal()
        calls = (
            (
                self.columns,
                rows.classes,
                rows.weight,
                taking_part,
                rows.n_labeled,
                rows.n_known + 1,
                criterion,
                limits,
                seeds[first:end],
                self.sample_seeds[first:end] if self.options.bootstrap else None,
                None if explored is None else explored.trees(first, end),
                stop,
                self.benches,
            )
            for first, end in spans(n_trees, n_blocks)
        )
        try:
            for block in in_threads(grow_trees, calls, self.n_jobs, self.options.verbose):
                yield from block
        except BaseException:
            # joblib does not wait for its threads here: let them end soon instead of never.
            stop.request()
            raise


def _mean_importances(decrease: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over trees of the normalised decrease of impurity, itself normalised.

    Cuts of Step I may increase the estimated impurity: a feature's total is cut off at zero.
    """
    decrease = np.maximum(decrease, 0.0)
    totals = decrease.sum(axis=1, keepdims=True)
    mean: NDArray[np.float64] = (decrease / np.where(totals > 0, totals, 1.0)).mean(axis=0)
    return mean / mean.sum() if mean.sum() > 0 else mean
