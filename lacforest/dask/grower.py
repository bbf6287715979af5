"""Growing trees on coded partitions: every tree on its own rows, gathered in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._coding.coded_table import CodedTable
from lacforest._growing.plan import TreePlan, n_pseudo_labels
from lacforest._growing.run import CollectedTrees, join_trees
from lacforest._growing.soft_labels import NewShares
from lacforest._growing.tree_grower import TreeGrower
from lacforest._model.arrays import ForestArrays
from lacforest._tree.coded_columns import CodedColumns
from lacforest._tree.criterion import AugmentedGiniCriterion
from lacforest._utils.threads import spans
from lacforest.dask.engine import Engine, Handle
from lacforest.dask.selection import mark_highest
from lacforest.dask.tasks import (
    Draw,
    TableFacts,
    bundle_rows,
    freeze_votes,
    grow_group,
    score_part,
    settle_trees,
    soften_part,
)

# Bytes of codes that the samples of one group of trees hold, about.
_GROUP_BYTES = 1 << 28


@dataclass
class RowColumn:
    """One entry per unlabelled row, in partitions."""

    parts: Sequence[Handle]
    array: NDArray[Any] | None = None


@dataclass
class PartTrees(CollectedTrees):
    """Trees that are here, and in groups where they were grown.

    Attributes
    ----------
    groups : list of handles
    settled : handle or None
        All trees of Step I with cuts in codes.
    """

    groups: list[Handle] = field(default_factory=list)
    settled: Handle = None


class PartitionGrower(TreeGrower):
    """Grows trees on the partitions of a table by tasks of an engine.

    Parameters
    ----------
    engine : Engine
    parts : sequence of handles
        Coded partitions.
    facts : TableFacts
    shared_facts : handle
        The same facts, for tasks.
    coded : CodedTable
        The fixed subsample in codes.
    sampled : int array
        Numbers of its unlabelled rows.
    """

    def __init__(
        self,
        engine: Engine,
        parts: Sequence[Handle],
        facts: TableFacts,
        shared_facts: Handle,
        coded: CodedTable,
        sampled: NDArray[np.int64],
    ) -> None:
        self.totals = facts.totals
        self.coded = coded
        self._engine = engine
        self._parts = parts
        self._facts = shared_facts
        self._sampled = sampled

    def grow(self, plan: TreePlan) -> PartTrees:
        """Grow all trees of a plan, in groups; see `TreeGrower`."""
        sample, seeds = plan.sample, plan.sample_seeds
        if sample is None or seeds is None:
            raise ValueError("trees on partitions are grown on samples of rows")
        engine, n_trees = self._engine, len(plan.seeds)
        no_column = [None] * len(self._parts)
        marks = no_column if plan.takes_part is None else plan.takes_part.parts
        soft = no_column if plan.drawn is None else plan.drawn.soft.parts
        items = list(zip(self._parts, marks, soft, strict=True))
        settled = plan.explored.settled if isinstance(plan.explored, PartTrees) else None
        # Tasks get what they need of the plan: rows come as the sample that they are.
        bare = replace(plan, takes_part=None, drawn=None, explored=None, sample_seeds=None)
        groups = []
        for first, end in spans(n_trees, self._n_groups(n_trees, sample.rate)):
            labels = None if plan.drawn is None else plan.drawn.seeds[first:end]
            draw = Draw(seeds[first:end], sample.chances, labels)
            bundles = engine.map(bundle_rows, items, draw, to="bundle")
            own = (bundles, bare.take_trees(first, end), first)
            # Submitted group by group: the trees of one come before the bundles of the next.
            groups += engine.map(grow_group, [own], self._facts, settled, to="grow")
        trees = join_trees(engine.gather(groups, "growing trees"))
        if isinstance(plan.criterion, AugmentedGiniCriterion):
            settled = engine.broadcast(
                settle_trees, groups, plan.random_cuts, self._facts, to="settle"
            )
        return PartTrees(
            trees.nodes,
            trees.tree_start,
            trees.counts,
            trees.impure,
            trees.decrease,
            sets=trees.sets,
            groups=groups,
            settled=settled,
        )

    def _n_groups(self, n_trees: int, rate: float) -> int:
        n_rows = rate * (self.totals.n_labeled + self.totals.n_unlabeled)
        n_bytes = n_trees * n_rows * self.totals.n_features
        return min(n_trees, max(self._engine.n_slots, int(n_bytes / _GROUP_BYTES)))

    def score(self, trees: CollectedTrees, criterion: AugmentedGiniCriterion) -> RowColumn:
        """Scores of every partition; see `TreeGrower`."""
        if not isinstance(trees, PartTrees):
            raise TypeError("these trees were not grown on partitions")
        items = [(part,) for part in self._parts]
        return RowColumn(
            self._engine.map(score_part, items, trees.settled, criterion, self._facts, to="score")
        )

    def mark(self, scores: RowColumn, theta: float) -> RowColumn:
        """Marks of every partition; see `TreeGrower`."""
        n_marked = n_pseudo_labels(self.totals.n_unlabeled, theta)
        return RowColumn(mark_highest(self._engine, scores.parts, n_marked))

    def soften(
        self, scores: RowColumn, theta: float, trees: CollectedTrees, hard: ForestArrays
    ) -> RowColumn:
        """Soft labels of every partition; see `TreeGrower`."""
        if not isinstance(trees, PartTrees):
            raise TypeError("these trees were not grown on partitions")
        votes = self._engine.broadcast(freeze_votes, trees.groups, self._facts, to="freeze")
        shares = NewShares.of(self.collect(scores), theta)
        items = list(zip(self._parts, scores.parts, strict=True))
        return RowColumn(
            self._engine.map(soften_part, items, votes, shares, self._facts, to="soften")
        )

    def collect(self, column: RowColumn) -> NDArray[Any]:
        """The entries of all partitions, in order."""
        if column.array is None:
            column.array = np.concatenate(self._engine.gather(column.parts, "collecting scores"))
        return column.array

    def checked_rows(self, marks: RowColumn) -> tuple[CodedColumns, NDArray[np.bool_]]:
        """Columns and marks of the fixed subsample."""
        return self.coded.columns, self.collect(marks)[self._sampled]
