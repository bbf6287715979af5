"""Growing trees on coded columns: what both forests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from lacforest._coding import code_columns
from lacforest._forest_arrays import PAIRS_PER_THREAD, ForestArrays
from lacforest._freeze import CollectedTrees, collect_trees
from lacforest._pseudo import ceil_with_tolerance
from lacforest._threads import in_threads, spans, useful_threads, wait_for
from lacforest._training_rows import TrainingRows
from lacforest._tree._buffers import StopSignal
from lacforest._tree._builder import grow_trees
from lacforest._tree._criterion import (
    AugmentedGiniCriterion,
    GiniCriterion,
    augmented_proportions,
)
from lacforest._tree._predict import add_coded_values
from lacforest._tree._ranks import CodedColumns, ColumnValues
from lacforest._watching import tell

# Python counts further than C: a depth that no tree reaches, rows that no node has.
_NO_LIMIT = 2**31 - 1
_NO_NODE = 2**53
# Rows from which a tree takes far longer than starting a task does.
_LARGE = 100_000


@dataclass(frozen=True)
class GrowthOptions:
    """What shapes the trees of either forest, as plain numbers."""

    n_trees: int
    max_features: int
    max_depth: int | None
    min_samples_split: int
    min_samples_leaf: int
    entropy: NDArray[np.uint32]
    n_jobs: int | None
    verbose: int


@dataclass(frozen=True)
class GrownForest:
    """A frozen forest and what the two steps found out about the training rows.

    Attributes
    ----------
    arrays : ForestArrays
        What predicts.
    explored : ForestArrays or None
        The trees of Step I, where they are not the ones that predict.
    unlabeled_score : float64 array of shape (n_unlabeled,)
    pseudo_labels : bool array of shape (n_unlabeled,)
    feature_importances : float64 array of shape (n_features,)
    """

    arrays: ForestArrays
    explored: ForestArrays | None
    unlabeled_score: NDArray[np.float64]
    pseudo_labels: NDArray[np.bool_]
    feature_importances: NDArray[np.float64]


@dataclass(frozen=True)
class TreePlan:
    """How a set of trees is to be grown.

    Attributes
    ----------
    criterion : AugmentedGiniCriterion or GiniCriterion
    limits : dict
        The fields of ``Limits``.
    seeds : uint64 array of shape (n_trees,)
        One stream of draws a tree.
    taking_part : uint8 array of shape (n_rows,)
        Rows that count.
    values : ColumnValues or None
        Given, the candidate of a feature is one random cut; None tries every cut.
    classes_of_tree : callable or None
        Class codes of all rows, by the index of the tree; None takes those of the training rows.
    sample_seeds : uint64 array of shape (n_trees,) or None
        Streams of bootstrap draws; None takes every row once.
    explored : CollectedTrees or None
        Trees to go on from.
    """

    criterion: AugmentedGiniCriterion | GiniCriterion
    limits: dict[str, Any]
    seeds: NDArray[np.uint64]
    taking_part: NDArray[np.uint8]
    values: ColumnValues | None = None
    classes_of_tree: Callable[[int], NDArray[np.uint16]] | None = None
    sample_seeds: NDArray[np.uint64] | None = None
    explored: CollectedTrees | None = None


class ForestGrower:
    """Grows sets of trees on coded columns, in threads over blocks of trees.

    Every tree takes its draws from streams of its own, derived from the entropy and the index of
    the tree, so that neither threads nor the number of trees change a tree.
    """

    def __init__(self, rows: TrainingRows, options: GrowthOptions) -> None:
        self.rows = rows
        self.options = options
        self.n_jobs = effective_n_jobs(options.n_jobs)
        self.benches: list[Any] = []
        self.columns: CodedColumns = code_columns(rows.table, self.n_jobs)

    def grow(self, theta: float) -> GrownForest:
        """Both steps."""
        raise NotImplementedError

    def grow_plain(self) -> GrownForest:
        """Grow a forest of the labelled rows alone, all there is without unlabelled rows."""
        raise NotImplementedError

    def limits(
        self,
        min_leaf: int,
        *,
        search_on: bool,
        gamma: float | None = None,
        max_features: int | None = None,
    ) -> dict[str, Any]:
        """The fields of ``Limits``; gamma adds the constraints of Eqns 5 and 6."""
        options, rows = self.options, self.rows
        unit = rows.weight_unit
        limits: dict[str, Any] = {
            "min_labeled": 0,
            "min_unlabeled": 0,
            "min_leaf": min(min_leaf, _NO_NODE) * unit,
            "min_split": min(options.min_samples_split, _NO_NODE) * unit,
            "max_depth": min(options.max_depth or _NO_LIMIT, _NO_LIMIT),
            "max_features": options.max_features if max_features is None else max_features,
            "search_on": search_on,
        }
        if gamma is not None:
            limits["min_labeled"] = ceil_with_tolerance(gamma * rows.labeled_total)
            if not rows.has_whole_weights:
                # Sums of weights are rounded: an empty side may come out a hair below zero.
                limits["min_labeled"] = (gamma - 1e-12) * rows.labeled_total
            limits["min_unlabeled"] = ceil_with_tolerance(gamma * rows.n_unlabeled)
        return limits

    def grow_trees(self, plan: TreePlan) -> CollectedTrees:
        """Grow all trees of a plan; they come in order, whichever thread grew them."""
        return collect_trees(self._blocks(plan), len(plan.seeds), self.rows.n_known + 1)

    def _blocks(self, plan: TreePlan) -> Iterator[Any]:
        rows, n_trees = self.rows, len(plan.seeds)
        # Blocks spare small fits the cost of many tasks; large ones would rather not wait for the
        # last tree of a block, neither with their memory nor with their threads.
        one_by_one = (
            self.options.verbose or rows.table.n_rows >= _LARGE or plan.classes_of_tree is not None
        )
        n_blocks = n_trees if one_by_one else min(n_trees, 8 * max(2, self.n_jobs))
        blocks = spans(n_trees, n_blocks)
        stop = StopSignal()
        calls = (
            (
                self.columns,
                plan.values,
                rows.classes if plan.classes_of_tree is None else plan.classes_of_tree(first),
                rows.weight,
                plan.taking_part,
                rows.n_labeled,
                rows.n_known + 1,
                plan.criterion,
                plan.limits,
                plan.seeds[first:end],
                None if plan.sample_seeds is None else plan.sample_seeds[first:end],
                None if plan.explored is None else plan.explored.trees(first, end),
                stop,
                self.benches,
            )
            for first, end in blocks
        )
        grown = in_threads(grow_trees, calls, self.n_jobs, self.options.verbose)
        try:
            for (_, end), block in zip(blocks, grown, strict=True):
                yield from block
                tell("growing trees", end, n_trees)
        except BaseException:
            # joblib does not wait for its threads here: let them end soon instead of never.
            stop.request()
            raise

    def score_unlabeled(
        self, trees: CollectedTrees, criterion: AugmentedGiniCriterion
    ) -> NDArray[np.float64]:
        """LF'_{k+1} of every unlabelled row (Eqn 7): threads over rows, trees in order."""
        rows, n_trees = self.rows, len(trees.tree_start) - 1
        sums = np.zeros(rows.n_unlabeled)
        values = augmented_proportions(trees.counts, criterion.ratio)
        tree_facts = (trees.nodes.view(np.uint8), trees.tree_start, values)
        n_threads = useful_threads(self.n_jobs, rows.n_unlabeled * n_trees, PAIRS_PER_THREAD)
        calls = [
            (self.columns, *tree_facts, rows.n_labeled + first, sums[first:end])
            for first, end in spans(rows.n_unlabeled, n_threads)
        ]
        wait_for(in_threads(add_coded_values, calls, n_threads))
        return sums / n_trees

    def whole_counts(self, counts: NDArray[np.float64]) -> NDArray[Any]:
        """Rows of nodes as integers, unless rows carry weights."""
        return counts if self.rows.weight is not None else counts.astype(np.int64)


def mean_importances(decrease: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over trees of the normalised decrease of impurity, itself normalised.

    Cuts of Step I may increase the estimated impurity: a feature's total is cut off at zero.
    """
    decrease = np.maximum(decrease, 0.0)
    totals = decrease.sum(axis=1, keepdims=True)
    mean: NDArray[np.float64] = (decrease / np.where(totals > 0, totals, 1.0)).mean(axis=0)
    return mean / mean.sum() if mean.sum() > 0 else mean
