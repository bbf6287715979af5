"""Running a plan: blocks of trees in threads, with scratch memory that they hand on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from lacforest._coding.coded_table import CodedTable
from lacforest._growing.collect import CollectedTrees, collect_trees, split_before
from lacforest._growing.plan import TreePlan
from lacforest._input.training_data import TrainingRows
from lacforest._tree.grower import grow_trees
from lacforest._tree.growth import GrowthRules, GrowthTable
from lacforest._tree.workspace import GrownTree, ScratchPool, StopSignal
from lacforest._utils.progress import tell
from lacforest._utils.threads import in_threads, spans

# Rows from which a tree takes far longer than starting a task does.
_LARGE = 100_000


class Grower:
    """Grows sets of trees on coded rows.

    A tree depends on the rows, the plan and its own seeds only, so neither the threads nor the
    number of trees changes it.

    Attributes
    ----------
    rows : TrainingRows
    coded : CodedTable
        The table of `rows` in codes.
    n_jobs : int
    """

    def __init__(
        self, rows: TrainingRows, coded: CodedTable, n_jobs: int | None, verbose: int = 0
    ) -> None:
        self.rows = rows
        self.coded = coded
        self.n_jobs = effective_n_jobs(n_jobs)
        self._verbose = int(verbose)
        self._pool = ScratchPool()

    def grow(self, plan: TreePlan) -> CollectedTrees:
        """Grow all trees of a plan, in order."""
        trees = collect_trees(self._blocks(plan), len(plan.seeds), self.rows.n_known + 1)
        if plan.random_cuts:
            explored = None if plan.explored is None else split_before(trees, plan.explored)
            self.coded.move_to_edges(trees.nodes, explored)
        return trees

    def _blocks(self, plan: TreePlan) -> Iterator[GrownTree]:
        rows, n_trees = self.rows, len(plan.seeds)
        # Blocks save small fits the cost of many tasks. Large fits run tree by tree: a block would
        # hold its memory, and an idle thread would wait, until its last tree is done.
        one_by_one = (
            self._verbose or rows.table.n_rows >= _LARGE or plan.classes_of_tree is not None
        )
        n_blocks = n_trees if one_by_one else min(n_trees, 8 * max(2, self.n_jobs))
        blocks = spans(n_trees, n_blocks)
        taking_part = np.ones(rows.table.n_rows, dtype=np.uint8)
        if plan.takes_part is not None:
            taking_part[rows.n_labeled :] = plan.takes_part
        limits = plan.shape.limits(rows, plan.rate)
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
                max_unlabeled=plan.max_unlabeled,
                chances=None if plan.sample is None else plan.sample.chances,
            )

        shared = table_with(rows.classes)

        def grow_block(first: int, end: int) -> list[GrownTree]:
            if plan.classes_of_tree is None:
                table = shared
            else:
                table = table_with(plan.classes_of_tree(first))
            return grow_trees(
                table,
                rules,
                plan.seeds[first:end],
                None if plan.sample_seeds is None else plan.sample_seeds[first:end],
                None if plan.explored is None else plan.explored.trees(first, end),
                stop,
                self._pool,
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
