"""The two phases, from coded columns to a frozen forest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from lacforest._coding import RowStack, code_columns, find_thresholds
from lacforest._forest_arrays import ForestArrays
from lacforest._pseudo import ceil_with_tolerance, pseudo_labels
from lacforest._threads import in_threads, spans
from lacforest._tree._builder import NODE, StopSignal, grow_trees
from lacforest._tree._criterion import (
    AugmentedGiniCriterion,
    GiniCriterion,
    augmented_proportions,
)
from lacforest._tree._predict import add_coded_values
from lacforest._tree._ranks import CodedColumns

_NO_LIMIT = 2**31 - 1


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
    n_labeled, n_unlabeled, n_known : int
    """

    table: RowStack
    classes: NDArray[np.uint16]
    weight: NDArray[np.float64] | None
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


@dataclass
class _Exploration:
    """Trees of Step I in codes, one after the other."""

    nodes: NDArray[Any]
    tree_start: NDArray[np.int64]
    counts: NDArray[np.float64]
    thresholds: NDArray[np.float64]
    importances: NDArray[np.float64]

    def trees(self, first: int, end: int) -> list[NDArray[Any]]:
        return [self.nodes[self.tree_start[t] : self.tree_start[t + 1]] for t in range(first, end)]


class ForestGrower:
    """Runs Algorithm 1 on coded columns.

    Every tree takes its draws from streams of its own, derived from the entropy and the index of
    the tree, so that neither threads nor the number of trees change a tree.
    """

    def __init__(self, rows: TrainingRows, options: GrowthOptions) -> None:
        self.rows = rows
        self.options = options
        self.n_jobs = effective_n_jobs(options.n_jobs)
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
        limits["min_labeled"] = gamma * rows.labeled_total * (1 - 1e-9)
        if rows.weight is None:
            limits["min_labeled"] = ceil_with_tolerance(gamma * rows.n_labeled)
        limits["min_unlabeled"] = ceil_with_tolerance(gamma * rows.n_unlabeled)
        everyone = np.ones(rows.table.n_rows, dtype=np.uint8)
        grown = self._grow_all(criterion, limits, everyone, self.explore_seeds, None)

        sizes = [len(nodes) for nodes, _, _, _ in grown]
        nodes = np.concatenate([nodes for nodes, _, _, _ in grown])
        counts = np.concatenate([counts for _, counts, _, _ in grown])
        importances = np.stack([importances for _, _, _, importances in grown])
        thresholds = np.zeros(len(nodes))
        inner = np.flatnonzero(nodes["left"] >= 0)
        thresholds[inner] = find_thresholds(nodes, inner, self.columns, rows.table)
        return _Exploration(
            nodes, _starts(sizes), counts, thresholds, importances / rows.n_unlabeled
        )

    def _score_unlabeled(
        self, exploration: _Exploration, criterion: AugmentedGiniCriterion
    ) -> NDArray[np.float64]:
        """LF'_{k+1} of every unlabelled row (Eqn 7): threads over rows, trees in order."""
        rows = self.rows
        sums = np.zeros(rows.n_unlabeled)
        values = augmented_proportions(exploration.counts, criterion.ratio)
        tree_facts = (exploration.nodes.view(np.uint8), exploration.tree_start, values)
        in_threads(
            add_coded_values,
            [
                (self.columns, *tree_facts, rows.n_labeled + first, sums[first:end])
                for first, end in spans(rows.n_unlabeled, self.n_jobs)
            ],
            self.n_jobs,
        )
        return sums / self.options.n_trees

    def _refine(
        self,
        exploration: _Exploration | None,
        chosen: NDArray[np.bool_],
        criterion: AugmentedGiniCriterion | None,
    ) -> tuple[ForestArrays, NDArray[np.float64]]:
        rows, n_trees = self.rows, self.options.n_trees
        taking_part = np.ones(rows.table.n_rows, dtype=np.uint8)
        taking_part[rows.n_labeled :] = chosen
        grown = self._grow_all(
            GiniCriterion(),
            self._limits(search_on=True),
            taking_part,
            self.refine_seeds,
            None if exploration is None else exploration.trees,
        )
        decrease = np.stack([importances for _, _, _, importances in grown])
        decrease /= rows.labeled_total + chosen.sum()
        if exploration is None:
            n_explored = np.zeros(n_trees, dtype=np.int32)
            counts = np.zeros((0, 2))
        else:
            decrease += exploration.importances
            n_explored = np.diff(exploration.tree_start).astype(np.int32)
            counts = exploration.counts
        nodes, tree_start, leaf_values = self._freeze(grown, exploration, n_explored)
        frozen = ForestArrays(
            nodes,
            tree_start,
            leaf_values,
            n_explored,
            counts if rows.weight is not None else counts.astype(np.int64),
            0.0 if criterion is None else criterion.ratio,
            rows.table.n_features,
        )
        return frozen, _mean_importances(decrease)

    def _freeze(
        self, grown: list[Any], exploration: _Exploration | None, n_explored: NDArray[np.int32]
    ) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.float32]]:
        """Put all trees into one array, replace cuts by thresholds, share equal leaves.

        Trees are emptied as they are copied, so that only one of them exists twice.
        """
        n_classes = self.rows.n_known + 1
        tree_start = _starts([len(nodes) for nodes, _, _, _ in grown])
        nodes = np.empty(tree_start[-1], dtype=NODE)
        impure, impure_start = [], [0]
        for t in range(len(grown)):
            own, _, leaves, _ = grown[t]
            # Impure leaves of the tree follow those of the trees before it.
            own["left"][own["left"] < -n_classes] -= impure_start[-1]
            nodes[tree_start[t] : tree_start[t + 1]] = own
            impure.append(leaves)
            impure_start.append(impure_start[-1] + len(leaves))
            grown[t] = None
        self._place_thresholds(nodes, tree_start, exploration, n_explored)
        leaf_values = _share_leaves(nodes, np.concatenate(impure), n_classes)
        if exploration is None:
            # A plain forest knows no class beyond the labelled ones: drop its row and column.
            n_known = n_classes - 1
            leaf_values = np.delete(leaf_values[:, :n_known], n_known, axis=0)
            nodes["left"][nodes["left"] < -n_known] += 1
        return nodes, tree_start, leaf_values

    def _place_thresholds(
        self,
        nodes: NDArray[Any],
        tree_start: NDArray[np.int64],
        exploration: _Exploration | None,
        n_explored: NDArray[np.int32],
    ) -> None:
        """Overwrite the cuts of inner nodes by thresholds, some trees at a time to save memory."""
        table = self.rows.table
        was_split = np.zeros(len(nodes), dtype=bool)  # in Step I: their thresholds are known
        if exploration is not None:
            for t, first in enumerate(tree_start[:-1]):
                own = slice(exploration.tree_start[t], exploration.tree_start[t + 1])
                was_split[first : first + n_explored[t]] = exploration.nodes["left"][own] >= 0
            known = exploration.thresholds[exploration.nodes["left"] >= 0]
        chunk = max(1 << 18, table.n_rows * table.n_features // 8)
        first = 0
        while first < self.options.n_trees:
            reach = np.searchsorted(tree_start, tree_start[first] + chunk, side="right") - 1
            end = max(first + 1, int(reach))
            span = slice(tree_start[first], tree_start[end])
            here = nodes[span]
            members = np.flatnonzero((here["left"] >= 0) & ~was_split[span])
            here["threshold"][members] = find_thresholds(here, members, self.columns, table)
            first = end
        if exploration is not None:
            nodes["threshold"][was_split] = known

    def _limits(self, search_on: bool) -> dict[str, Any]:
        options = self.options
        unit = self.rows.weight_unit
        return {
            "min_labeled": 0,
            "min_unlabeled": 0,
            "min_leaf": options.min_samples_leaf * unit,
            "min_split": options.min_samples_split * unit,
            "max_depth": _NO_LIMIT if options.max_depth is None else options.max_depth,
            "max_features": options.max_features,
            "search_on": search_on,
        }

    def _grow_all(
        self,
        criterion: Any,
        limits: dict[str, Any],
        taking_part: NDArray[np.uint8],
        seeds: NDArray[np.uint64],
        explored: Callable[[int, int], list[NDArray[Any]]] | None,
    ) -> list[Any]:
        """Grow all trees, in threads over blocks of trees."""
        rows, n_trees = self.rows, self.options.n_trees
        n_blocks = min(n_trees, 1 if self.n_jobs == 1 else 8 * self.n_jobs)
        if self.options.verbose:
            n_blocks = n_trees
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
                None if explored is None else explored(first, end),
                stop,
            )
            for first, end in spans(n_trees, n_blocks)
        )
        try:
            blocks = in_threads(grow_trees, calls, self.n_jobs, self.options.verbose)
        except BaseException:
            # joblib does not wait for its threads here: let them end soon instead of never.
            stop.request()
            raise
        return [tree for block in blocks for tree in block]


def _starts(sizes: list[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def _share_leaves(
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


def _mean_importances(decrease: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over trees of the normalised decrease of impurity, itself normalised.

    Cuts of Step I may increase the estimated impurity: a feature's total is cut off at zero.
    """
    decrease = np.maximum(decrease, 0.0)
    totals = decrease.sum(axis=1, keepdims=True)
    mean: NDArray[np.float64] = (decrease / np.where(totals > 0, totals, 1.0)).mean(axis=0)
    return mean / mean.sum() if mean.sum() > 0 else mean
