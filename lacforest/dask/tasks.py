"""Tasks of a distributed fit after coding: pure functions of coded partitions and trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._coding.bins import ColumnBins
from lacforest._coding.coded_table import CodedTable
from lacforest._growing.plan import TreePlan
from lacforest._growing.run import CollectedTrees, Grower, join_trees, score_rows
from lacforest._growing.soft_labels import NewShares, SoftLabels
from lacforest._growing.steps import freeze
from lacforest._input.tables import RowStack
from lacforest._input.training_data import RowTotals, TrainingRows
from lacforest._model.arrays import ForestArrays
from lacforest._tree.coded_columns import CodedColumns
from lacforest._tree.criterion import AugmentedGiniCriterion
from lacforest._tree.row_hash import sample_rows
from lacforest._utils.array_size import ArraySize
from lacforest.dask.facts import Numbers
from lacforest.dask.reading import ReadingRules, RowPlace, read_again

# Rows that votes are asked for at a time: their values are doubles, eight times the codes.
_BLOCK = 1 << 16


@dataclass(frozen=True)
class TableFacts:
    """What all tasks know of the whole table.

    Attributes
    ----------
    totals : RowTotals
    known : array of shape (n_known,)
        Labels of the known classes, sorted.
    bins : tuple of ColumnBins
    has_missing : bool array of shape (n_features,)
    class_factor : float64 array of shape (n_known,) or None
        Part of each class in the weights that comes from its share in deployment.
    """

    totals: RowTotals
    known: NDArray[Any]
    bins: tuple[ColumnBins, ...]
    has_missing: NDArray[np.bool_]
    class_factor: NDArray[np.float64] | None

    def columns(self, codes: NDArray[np.uint8]) -> CodedColumns:
        """Codes of shape (n_features, n_rows) as the kernels read them."""
        return CodedColumns(
            list(codes), [len(own.values) for own in self.bins], self.has_missing.tolist()
        )

    def coded(self, codes: NDArray[np.uint8]) -> CodedTable:
        """The same, with the way back to thresholds."""
        return CodedTable(None, self.columns(codes), self.bins)

    def no_rows(self) -> CodedTable:
        """For thresholds alone."""
        return self.coded(np.zeros((len(self.bins), 1), dtype=np.uint8))


@dataclass(frozen=True)
class CodedPart(ArraySize):
    """A partition in codes of one byte.

    Attributes
    ----------
    numbers : Numbers
    labeled : uint8 array of shape (n_features, n_labeled)
    classes : uint16 array of shape (n_labeled,)
    weight : float64 array of shape (n_labeled,) or None
    unlabeled : uint8 array of shape (n_features, n_unlabeled)
    """

    numbers: Numbers
    labeled: NDArray[np.uint8]
    classes: NDArray[np.uint16]
    weight: NDArray[np.float64] | None
    unlabeled: NDArray[np.uint8]


def encode(table: NDArray[Any], bins: tuple[ColumnBins, ...]) -> NDArray[np.uint8]:
    """Codes of a table, columns first."""
    codes = np.empty((len(bins), len(table)), dtype=np.uint8)
    for feature, own in enumerate(bins):
        if len(table):
            codes[feature] = own.encode(np.ascontiguousarray(table[:, feature]))[0]
    return codes


def code_part(
    X: Any,
    y: Any,
    weight: Any,
    place: RowPlace,
    numbers: Numbers,
    rules: ReadingRules,
    facts: TableFacts,
) -> CodedPart:
    """Read a partition for the last time; its floats are released with this task."""
    rows = read_again(X, y, weight, place, rules, numbers.digest)
    classes = np.searchsorted(facts.known, rows.labels).astype(np.uint16)
    total = None
    if facts.totals.is_weighted:
        total = np.ones(len(classes)) if rows.weight is None else rows.weight
        if facts.class_factor is not None:
            total = total * facts.class_factor[classes]
    return CodedPart(
        numbers,
        encode(rows.labeled, facts.bins),
        classes,
        total,
        encode(rows.unlabeled, facts.bins),
    )


@dataclass(frozen=True)
class Draw:
    """Which rows the trees of a group take.

    Attributes
    ----------
    seeds : uint64 array of shape (n_trees,)
        Seeds of their samples.
    chances : float64 array
        See `RowSample`.
    label_seeds : uint64 array of shape (n_trees,) or None
        Seeds of the labels that unlabelled rows get.
    """

    seeds: NDArray[np.uint64]
    chances: NDArray[np.float64]
    label_seeds: NDArray[np.uint64] | None = None


@dataclass(frozen=True)
class TreeRows(ArraySize):
    """Rows of one tree from one partition.

    Attributes
    ----------
    labeled : uint8 array of shape (n_features, n_labeled)
    classes : uint16 array of shape (n_labeled,)
    weight : float64 array of shape (n_labeled,) or None
    unlabeled : uint8 array of shape (n_features, n_unlabeled)
    drawn : uint16 array of shape (n_unlabeled,) or None
        Class codes drawn for unlabelled rows.
    """

    labeled: NDArray[np.uint8]
    classes: NDArray[np.uint16]
    weight: NDArray[np.float64] | None
    unlabeled: NDArray[np.uint8]
    drawn: NDArray[np.uint16] | None


def bundle_rows(
    part: CodedPart, marks: NDArray[np.bool_] | None, soft: SoftLabels | None, draw: Draw
) -> list[TreeRows]:
    """The rows of a partition that each tree of a group takes, in ascending order.

    With marks, unlabelled rows without one do not take part and are not sent.
    """
    bundle = []
    first, start = part.numbers.labeled, part.numbers.unlabeled
    for tree, word in enumerate(draw.seeds):
        seed = int(word)
        end = first + len(part.classes)
        labeled = sample_rows(first, end, seed, draw.chances) - first
        end = start + part.unlabeled.shape[1]
        numbers = sample_rows(start, end, seed ^ (2**64 - 1), draw.chances)
        if marks is not None:
            numbers = numbers[marks[numbers - start]]
        drawn = None
        if soft is not None and draw.label_seeds is not None:
            drawn = soft.draw_rows(numbers, int(draw.label_seeds[tree]), start)
        bundle.append(
            TreeRows(
                np.take(part.labeled, labeled, axis=1),
                part.classes[labeled],
                None if part.weight is None else part.weight[labeled],
                np.take(part.unlabeled, numbers - start, axis=1),
                drawn,
            )
        )
    return bundle


def grow_group(
    bundles: Sequence[list[TreeRows]],
    plan: TreePlan,
    first: int,
    facts: TableFacts,
    explored: CollectedTrees | None,
) -> CollectedTrees:
    """Grow the trees of a group, each on its own rows from all partitions.

    Parameters
    ----------
    bundles : sequence of lists of TreeRows
        One list per partition.
    plan : TreePlan
        Of the trees of the group.
    first : int
        Index of the first of them among all trees.
    facts : TableFacts
    explored : CollectedTrees or None
        All trees of Step I, where they are to be grown on from.
    """
    grown = []
    for tree in range(len(plan.seeds)):
        own = plan.take_trees(tree, tree + 1)
        if explored is not None:
            own = replace(own, explored=explored.take(first + tree, first + tree + 1))
        rows, codes = _join_rows([bundle[tree] for bundle in bundles], facts)
        is_augmented = isinstance(plan.criterion, AugmentedGiniCriterion)
        if rows.n_labeled == 0 or (is_augmented and rows.n_unlabeled == 0):
            kind = "labelled" if rows.n_labeled == 0 else "unlabelled"
            raise ValueError(
                f"the sample of tree {first + tree} holds no {kind} row: raise rows_per_tree"
            )
        grown.append(Grower(rows, facts.coded(codes), 1, totals=facts.totals).grow(own))
    return join_trees(grown)


def _join_rows(
    parts: Sequence[TreeRows], facts: TableFacts
) -> tuple[TrainingRows, NDArray[np.uint8]]:
    """Labelled rows of all partitions, then unlabelled ones."""
    blocks = [part.labeled for part in parts] + [part.unlabeled for part in parts]
    codes = np.empty((len(facts.bins), sum(own.shape[1] for own in blocks)), dtype=np.uint8)
    np.concatenate(blocks, axis=1, out=codes)  # columns must be contiguous, whatever blocks are
    labeled = np.concatenate([part.classes for part in parts])
    n_unlabeled = codes.shape[1] - len(labeled)
    n_known = facts.totals.n_known
    others = [
        np.full(part.unlabeled.shape[1], n_known, dtype=np.uint16)
        if part.drawn is None
        else part.drawn
        for part in parts
    ]
    weight = None
    if facts.totals.is_weighted:
        weights = [part.weight for part in parts if part.weight is not None]
        weight = np.concatenate([*weights, np.ones(n_unlabeled)])
    rows = TrainingRows(
        table=RowStack(()),  # the trees see codes only
        classes=np.concatenate([labeled, *others]),
        weight=weight,
        sampling_weight=None,
        n_labeled=len(labeled),
        n_unlabeled=n_unlabeled,
        n_known=n_known,
        class_factor=facts.class_factor,
    )
    return rows, codes


def settle_trees(
    groups: Sequence[CollectedTrees], are_random: bool, facts: TableFacts
) -> CollectedTrees:
    """All trees of Step I, their cuts in codes, ready to be walked."""
    trees = join_trees(groups)
    facts.no_rows().settle_cuts(trees.nodes, are_random)
    return trees


def score_part(
    part: CodedPart, trees: CollectedTrees, criterion: AugmentedGiniCriterion, facts: TableFacts
) -> NDArray[np.float64]:
    """Average augmented scores of the unlabelled rows of a partition."""
    n_rows = part.unlabeled.shape[1]
    if n_rows == 0:
        return np.zeros(0)
    return score_rows(facts.columns(part.unlabeled), 0, n_rows, trees, criterion)


def freeze_votes(groups: Sequence[CollectedTrees], facts: TableFacts) -> ForestArrays:
    """Fresh trees on pseudo-labels as a forest that votes on classes."""
    return freeze(facts.totals, join_trees(groups), 1.0).arrays


def soften_part(
    part: CodedPart,
    scores: NDArray[np.float64],
    hard: ForestArrays,
    shares: NewShares,
    facts: TableFacts,
) -> SoftLabels:
    """Shares of all classes in the unlabelled rows of a partition.

    Thresholds lie at edges of bins, so that any value of a bin reaches the same leaves as its rows.
    """
    values = [np.append(own.values, np.nan) for own in facts.bins]
    n_rows, n_known = part.unlabeled.shape[1], facts.totals.n_known
    votes = np.empty((n_rows, n_known))
    for first in range(0, n_rows, _BLOCK):
        codes = part.unlabeled[:, first : first + _BLOCK]
        table = np.column_stack([own[code] for own, code in zip(values, codes, strict=True)])
        votes[first : first + _BLOCK] = hard.probabilities(table, 1)[:, :-1]
    totals = facts.totals.class_totals
    return SoftLabels.of(shares.at(scores), votes, totals, facts.class_factor)
