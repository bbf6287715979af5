"""Running a plan: blocks of trees in threads, with scratch memory that they hand on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from lacforest._coding.coded_table import CodedTable
from lacforest._growing.plan import DrawnLabels, TreePlan, pseudo_labels
from lacforest._growing.soft_labels import NewShares, SoftLabels
from lacforest._growing.tree_grower import TreeGrower
from lacforest._input.training_data import RowTotals, TrainingRows
from lacforest._model.arrays import PAIRS_PER_THREAD, ForestArrays
from lacforest._tree.coded_columns import CodedColumns
from lacforest._tree.criterion import AugmentedGiniCriterion, augmented_proportions
from lacforest._tree.grower import grow_trees
from lacforest._tree.growth import GrowthRules, GrowthTable
from lacforest._tree.predict import add_coded_values
from lacforest._tree.sets import CategorySets
from lacforest._tree.workspace import NODE, GrownTree, ScratchPool, StopSignal
from lacforest._utils.array_size import ArraySize
from lacforest._utils.progress import tell
from lacforest._utils.threads import in_threads, spans, useful_threads, wait_for

# Rows from which a tree takes far longer than starting a task does.
_LARGE = 100_000


@dataclass
class CollectedTrees(ArraySize):
    """Grown trees one after the other, cuts still in codes.

    Attributes
    ----------
    nodes : NODE array
        ``left`` of an impure leaf is ``~(n_classes + row)`` of `impure`.
    tree_start : int64 array of shape (n_trees + 1,)
    counts : float64 array of shape (n_nodes, 2)
        Labelled and unlabelled rows of each node; empty after Step II.
    impure : float64 array of shape (n_impure, n_classes)
        Class counts of the leaves that hold several classes.
    decrease : float64 array of shape (n_trees, n_features)
        Total decrease of the criterion.
    sets : CategorySets or None
        Sets of the nodes on categories; None where no column is categorical.
    """

    nodes: NDArray[Any]
    tree_start: NDArray[np.int64]
    counts: NDArray[np.float64]
    impure: NDArray[np.float64]
    decrease: NDArray[np.float64]
    sets: CategorySets | None = None

    @property
    def is_inner(self) -> NDArray[np.bool_]:
        """Nodes that were split."""
        split: NDArray[np.bool_] = self.nodes["left"] >= 0
        return split

    def trees(self, first: int, end: int) -> list[NDArray[Any]]:
        """Nodes of the trees [first, end)."""
        return [self.nodes[self.tree_start[t] : self.tree_start[t + 1]] for t in range(first, end)]

    def take(self, first: int, end: int) -> CollectedTrees:
        """The trees [first, end) of Step I, whose leaves hold no classes."""
        nodes = slice(self.tree_start[first], self.tree_start[end])
        return CollectedTrees(
            self.nodes[nodes],
            self.tree_start[first : end + 1] - self.tree_start[first],
            self.counts[nodes],
            self.impure,
            self.decrease[first:end],
            None if self.sets is None else self.sets.take(first, end),
        )


def collect_trees(
    grown: Iterable[GrownTree], n_trees: int, n_classes: int, is_categorical: NDArray[np.uint8]
) -> CollectedTrees:
    """Append trees as they come, so that a forest never exists twice."""
    nodes = np.empty(0, dtype=NODE)
    starts, counts, impure, decrease, sets = [0], [], [], [], []
    n_impure = 0
    for tree in grown:
        own = tree.nodes
        if len(tree.impure) > 0:
            own["left"][own["left"] < -n_classes] -= n_impure
            n_impure += len(tree.impure)
        starts.append(starts[-1] + len(own))
        if starts[-1] > len(nodes):
            # Room for all trees if they are like those so far; what is never touched costs nothing.
            room = np.empty(int(1.2 * starts[-1] / (len(starts) - 1) * n_trees), dtype=NODE)
            room[: starts[-2]] = nodes[: starts[-2]]
            nodes = room
        nodes[starts[-2] : starts[-1]] = own
        if tree.counts is not None:
            counts.append(tree.counts)
        impure.append(tree.impure)
        decrease.append(tree.decrease)
        sets.append(tree.sets)
    nodes.resize(starts[-1], refcheck=False)
    return CollectedTrees(
        nodes,
        np.array(starts, dtype=np.int64),
        np.concatenate(counts) if counts else np.zeros((0, 2)),
        np.concatenate(impure),
        np.stack(decrease),
        _sets_of_trees(sets, is_categorical) if is_categorical.any() else None,
    )


def _sets_of_trees(
    sets: Sequence[NDArray[np.uint64]], is_categorical: NDArray[np.uint8]
) -> CategorySets:
    starts = np.cumsum([0, *map(len, sets)])
    return CategorySets(is_categorical, np.concatenate(sets), starts)


def join_sets(parts: Sequence[CategorySets | None]) -> CategorySets | None:
    """The sets of all trees of several forests on the same columns, in order."""
    each = [sets for sets in parts if sets is not None]
    if not each:
        return None
    starts = [np.zeros(1, dtype=np.int64)]
    for sets in each:
        starts.append(starts[-1][-1] + sets.tree_start[1:])
    words = np.concatenate([sets.words for sets in each])
    return CategorySets(each[0].is_categorical, words, np.concatenate(starts))


def join_trees(parts: Sequence[CollectedTrees]) -> CollectedTrees:
    """The trees of all parts in one, in order; the parts are left as they are."""
    nodes = np.concatenate([part.nodes for part in parts])
    starts, n_impure = [np.zeros(1, dtype=np.int64)], 0
    for part in parts:
        first = int(starts[-1][-1])
        starts.append(first + part.tree_start[1:])
        own = nodes["left"][first : starts[-1][-1]]
        own[own < -part.impure.shape[1]] -= n_impure
        n_impure += len(part.impure)
    return CollectedTrees(
        nodes,
        np.concatenate(starts),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.impure for part in parts]),
        np.concatenate([part.decrease for part in parts]),
        join_sets([part.sets for part in parts]),
    )


def split_before(trees: CollectedTrees, explored: CollectedTrees) -> NDArray[np.bool_]:
    """Nodes of deepened trees that Step I had split already: their thresholds are known."""
    before = np.zeros(len(trees.nodes), dtype=bool)
    was_inner = explored.is_inner
    for t, first in enumerate(trees.tree_start[:-1]):
        own = was_inner[explored.tree_start[t] : explored.tree_start[t + 1]]
        before[first : first + len(own)] = own
    return before


class Grower(TreeGrower):
    """Grows sets of trees on coded rows.

    A tree depends on the rows, the plan and its own seeds only, so neither the threads nor the
    number of trees changes it.

    Attributes
    ----------
    rows : TrainingRows
    totals : RowTotals
        Of all rows of the fit; `rows` may be the sample of one tree.
    coded : CodedTable
        The table of `rows` in codes.
    n_jobs : int
    """

    def __init__(
        self,
        rows: TrainingRows,
        coded: CodedTable,
        n_jobs: int | None,
        verbose: int = 0,
        totals: RowTotals | None = None,
    ) -> None:
        self.rows = rows
        self.totals = rows.totals if totals is None else totals
        self.coded = coded
        self.n_jobs = effective_n_jobs(n_jobs)
        self._verbose = int(verbose)
        self._pool = ScratchPool()

    def grow(self, plan: TreePlan) -> CollectedTrees:
        """Grow all trees of a plan, in order."""
        trees = collect_trees(
            self._blocks(plan),
            len(plan.seeds),
            self.rows.n_known + 1,
            self.coded.columns.is_categorical,
        )
        if plan.random_cuts:
            explored = None if plan.explored is None else split_before(trees, plan.explored)
            self.coded.move_to_edges(trees.nodes, explored)
        return trees

    def _blocks(self, plan: TreePlan) -> Iterator[GrownTree]:
        rows, n_trees = self.rows, len(plan.seeds)
        n_rows = len(rows.classes)
        # Blocks save forests of many trees the cost of tasks. Large fits run tree by tree: a block
        # would hold its memory, and an idle thread would wait, until its last tree is done.
        one_by_one = self._verbose or n_rows >= _LARGE or plan.drawn is not None
        n_blocks = n_trees if one_by_one else min(n_trees, 32 * max(2, self.n_jobs))
        blocks = spans(n_trees, n_blocks)
        taking_part = np.ones(n_rows, dtype=np.uint8)
        if plan.takes_part is not None:
            taking_part[rows.n_labeled :] = plan.takes_part
        limits = plan.shape.limits(self.totals, plan.rate, plan.max_unlabeled)
        self.coded.copy_rows(plan.shape.max_features, plan.random_cuts)
        rules = GrowthRules(plan.criterion, limits)
        if plan.random_cuts:
            rules = GrowthRules.with_random_cuts(plan.criterion, limits, self.coded.values)
        stop = StopSignal()

        def table_with(classes: NDArray[np.uint16]) -> GrowthTable:
            return GrowthTable(
                self.coded.columns,
                classes,
                taking_part,
                n_labeled=rows.n_labeled,
                n_classes=rows.n_known + 1,
                weight=rows.weight,
                class_factor=rows.class_factor,
                most_rows=(plan.max_labeled, plan.max_unlabeled),
                chances=None if plan.sample is None else plan.sample.chances,
            )

        shared = table_with(rows.classes)

        def grow_block(first: int, end: int) -> list[GrownTree]:
            table = shared
            if plan.drawn is not None:
                table = table_with(self._drawn_classes(plan, plan.drawn, first))
            explored = None if plan.explored is None else plan.explored.take(first, end)
            return grow_trees(
                table,
                rules,
                plan.seeds[first:end],
                None if plan.sample_seeds is None else plan.sample_seeds[first:end],
                None if explored is None else explored.trees(0, end - first),
                stop,
                self._pool,
                None if explored is None else explored.sets,
            )

        grown = in_threads(grow_block, blocks, self.n_jobs, self._verbose)
        try:
            for (_, end), block in zip(blocks, grown, strict=True):
                yield from block
                tell("growing trees", end, n_trees)
        except BaseException:
            # Nothing waits for the threads here: make them return soon.
            stop.request()
            raise

    def _drawn_classes(self, plan: TreePlan, drawn: DrawnLabels, tree: int) -> NDArray[np.uint16]:
        """Class codes of all rows in one tree, those of unlabelled rows drawn."""
        rows, seed = self.rows, int(drawn.seeds[tree])
        if plan.sample is None or plan.sample_seeds is None:
            return np.concatenate([rows.classes[: rows.n_labeled], drawn.soft.draw(seed)])
        classes = rows.classes.copy()
        taken = plan.sample.unlabeled_rows(rows.n_unlabeled, int(plan.sample_seeds[tree]))
        classes[rows.n_labeled + taken] = drawn.soft.draw_rows(taken, seed)
        return classes

    def score(
        self, trees: CollectedTrees, criterion: AugmentedGiniCriterion
    ) -> NDArray[np.float64]:
        """LF'_{k+1} of every unlabelled row (Eqn 7): threads over rows, trees in order."""
        rows = self.rows
        n_trees = len(trees.tree_start) - 1
        n_threads = useful_threads(self.n_jobs, rows.n_unlabeled * n_trees, PAIRS_PER_THREAD)
        return score_rows(
            self.coded.columns, rows.n_labeled, rows.n_unlabeled, trees, criterion, n_threads
        )

    def mark(self, scores: NDArray[np.float64], theta: float) -> NDArray[np.bool_]:
        """Mark the rows with the highest scores; see `TreeGrower`."""
        return pseudo_labels(scores, theta)

    def soften(
        self, scores: NDArray[np.float64], theta: float, trees: CollectedTrees, hard: ForestArrays
    ) -> SoftLabels:
        """Shares of every class in every unlabelled row; see `TreeGrower`."""
        known = hard.probabilities(self.rows.unlabeled_table(), self.n_jobs)[:, :-1]
        new = NewShares.of(scores, theta).at(scores)
        return SoftLabels.of(new, known, self.totals.class_totals, self.rows.class_factor)

    def collect(self, column: NDArray[Any]) -> NDArray[Any]:
        """The entries of a column: it is an array."""
        return column

    def checked_rows(self, marks: NDArray[np.bool_]) -> tuple[CodedColumns, NDArray[np.bool_]]:
        """Columns and marks of all rows."""
        return self.coded.columns, marks


def score_rows(
    columns: CodedColumns,
    first: int,
    n_rows: int,
    trees: CollectedTrees,
    criterion: AugmentedGiniCriterion,
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """Average augmented score of n_rows coded rows from `first` on."""
    sums = np.zeros(n_rows)
    values = augmented_proportions(trees.counts, criterion.ratio)
    tree_facts = (trees.nodes.view(np.uint8), trees.tree_start, values)
    calls = [
        (columns, *tree_facts, first + start, sums[start:end], trees.sets)
        for start, end in spans(n_rows, n_threads)
    ]
    wait_for(in_threads(add_coded_values, calls, n_threads))
    return sums / (len(trees.tree_start) - 1)
