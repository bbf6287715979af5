"""What a fit must know of all partitions before it codes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._coding.bins import SAMPLE_SEED
from lacforest._tree.bins import few_distinct
from lacforest._tree.row_hash import row_words
from lacforest._utils.array_size import ArraySize
from lacforest.dask.reading import ReadingRules, RowPlace, read_again, read_rows


@dataclass(frozen=True)
class RowFacts:
    """Rows of one partition.

    Attributes
    ----------
    n_labeled, n_unlabeled : int
    every_label : array
        Distinct labels, also of rows that weigh nothing.
    labels : array of shape (n_groups,)
    weights : float64 array of shape (n_groups,) or None
    counts : int64 array of shape (n_groups,)
        Labelled rows in groups of equal label and weight.
    digest : str
    """

    n_labeled: int
    n_unlabeled: int
    every_label: NDArray[Any]
    labels: NDArray[Any]
    weights: NDArray[np.float64] | None
    counts: NDArray[np.int64]
    digest: str


@dataclass(frozen=True)
class ColumnFacts:
    """Columns of one or several partitions.

    Attributes
    ----------
    distinct : tuple of float64 arrays or None
        Distinct values of each column; None where there are more than `most`.
    has_missing : bool array of shape (n_features,)
    most : int
    """

    distinct: tuple[NDArray[np.float64] | None, ...]
    has_missing: NDArray[np.bool_]
    most: int

    def merge(self, other: ColumnFacts) -> ColumnFacts:
        """Facts of the rows of both."""
        distinct = tuple(
            _union(one, two, self.most)
            for one, two in zip(self.distinct, other.distinct, strict=True)
        )
        return ColumnFacts(distinct, self.has_missing | other.has_missing, self.most)


def _union(
    one: NDArray[np.float64] | None, two: NDArray[np.float64] | None, most: int
) -> NDArray[np.float64] | None:
    if one is None or two is None:
        return None
    both: NDArray[np.float64] = np.unique(np.concatenate([one, two]))
    return both if len(both) <= most else None


def find_facts(
    X: Any, y: Any, weight: Any, place: RowPlace, rules: ReadingRules
) -> tuple[RowFacts, ColumnFacts]:
    """Read a partition for the first time."""
    rows = read_rows(X, y, weight, place, rules)
    values, groups = np.unique(rows.labels, return_inverse=True)
    weights = None
    if rows.weight is None:
        counts = np.bincount(groups, minlength=len(values))
    else:
        pairs, counts = np.unique(
            np.column_stack([groups.astype(np.float64), rows.weight]), axis=0, return_counts=True
        )
        values, weights = values[pairs[:, 0].astype(np.intp)], pairs[:, 1]
    facts = RowFacts(
        len(rows.labeled),
        len(rows.unlabeled),
        rows.every_label,
        values,
        weights,
        counts.astype(np.int64),
        rows.digest,
    )
    distinct, has_missing = [], []
    for feature in range(rules.n_features):
        column = np.concatenate([rows.labeled[:, feature], rows.unlabeled[:, feature]])
        distinct.append(few_distinct(column, rules.max_bins) if len(column) else np.zeros(0))
        has_missing.append(bool(np.isnan(column).any()))
    return facts, ColumnFacts(tuple(distinct), np.array(has_missing), rules.max_bins)


def rows_of(facts: tuple[RowFacts, ColumnFacts]) -> RowFacts:
    """The first of both."""
    return facts[0]


def columns_of(facts: tuple[RowFacts, ColumnFacts]) -> ColumnFacts:
    """The second of both."""
    return facts[1]


@dataclass(frozen=True)
class Numbers:
    """Where a partition's rows are in the whole table.

    Attributes
    ----------
    labeled, unlabeled : int
        Number of the first row of each kind, counted within its kind.
    n_labeled : int
        Labelled rows of all partitions, which come before all unlabelled ones.
    digest : str
        The partition's, when it was first read.
    """

    labeled: int
    unlabeled: int
    n_labeled: int
    digest: str


@dataclass(frozen=True)
class SampledRows(ArraySize):
    """Rows of small hashes, labelled ones first.

    Attributes
    ----------
    n_labeled : int
    words : uint64 array of shape (n_rows,)
        Hashes of the rows.
    numbers : int64 array of shape (n_rows,)
        Labelled and unlabelled rows are numbered apart.
    table : float array of shape (n_rows, n_features)
    labels : array of shape (n_labeled,)
    weight, sampling : float64 arrays of shape (n_labeled,) or None
    """

    n_labeled: int
    words: NDArray[np.uint64]
    numbers: NDArray[np.int64]
    table: NDArray[Any]
    labels: NDArray[Any]
    weight: NDArray[np.float64] | None
    sampling: NDArray[np.float64] | None


def take_sample(
    X: Any,
    y: Any,
    weight: Any,
    place: RowPlace,
    numbers: Numbers,
    rules: ReadingRules,
    bound: int,
) -> SampledRows:
    """The rows of a partition whose hash in the whole table does not exceed `bound`."""
    rows = read_again(X, y, weight, place, rules, numbers.digest)
    first, last = numbers.labeled, numbers.n_labeled + numbers.unlabeled
    labeled_words = row_words(first, first + len(rows.labeled), SAMPLE_SEED)
    unlabeled_words = row_words(last, last + len(rows.unlabeled), SAMPLE_SEED)
    labeled = np.flatnonzero(labeled_words <= np.uint64(bound))
    unlabeled = np.flatnonzero(unlabeled_words <= np.uint64(bound))
    return SampledRows(
        n_labeled=len(labeled),
        words=np.concatenate([labeled_words[labeled], unlabeled_words[unlabeled]]),
        numbers=np.concatenate([first + labeled, numbers.unlabeled + unlabeled]),
        table=np.concatenate([rows.labeled[labeled], rows.unlabeled[unlabeled]]),
        labels=rows.labels[labeled],
        weight=None if rows.weight is None else rows.weight[labeled],
        sampling=None if rows.sampling is None else rows.sampling[labeled],
    )
