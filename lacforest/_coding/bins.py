"""Codes of bins: at most 255 per column, from the quantiles of a sample of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._input.tables import RowStack
from lacforest._tree.bins import bin_codes, few_distinct
from lacforest._tree.row_hash import row_words

# Rows that quantiles are taken from, those of the smallest hashes by this seed.
SAMPLED_ROWS = 200_000
SAMPLE_SEED = 0


@dataclass(frozen=True)
class ColumnBins:
    """How one column is coded.

    Attributes
    ----------
    values : float64 array of shape (n_codes,)
        A value of each bin, in ascending order.
    edges : float64 array of shape (n_codes - 1,) or None
        Upper edges of all bins but the last; a bin includes its upper edge. None where every bin is
        one distinct value of the column.
    """

    values: NDArray[np.float64]
    edges: NDArray[np.float64] | None

    @classmethod
    def of(cls, sample: NDArray[Any], max_bins: int) -> ColumnBins:
        """Bins of about equally many values of a sample without missing ones.

        Every bin ends between two distinct values, at the one of the two places around the quantile
        that is closer to it. The quantile is that of the values still to be distributed, so that a
        frequent value takes no bin from the others.
        """
        ordered = np.sort(sample.astype(np.float64) + 0.0)
        # Where the runs of equal values begin, and the end of the last: few calls per bin, since
        # threads that code columns hold the lock of the interpreter here.
        borders = np.concatenate(
            [[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, [len(ordered)]]
        )
        n_values, start = len(ordered), 0
        middles, ends = [], []
        for n_left in range(max_bins, 0, -1):
            end = start + -(-(n_values - start) // n_left)
            run = int(borders.searchsorted(end))
            before, after = int(borders[run - 1]), int(borders[run])
            end = before if before > start and end - before < after - end else after
            middles.append((start + end - 1) // 2)
            if end == n_values:
                break
            ends.append(end)
            start = end
        last = np.array(ends, dtype=np.intp)
        return cls(ordered[middles], _midpoints(ordered[last - 1], ordered[last]))

    def encode(self, column: NDArray[Any]) -> tuple[NDArray[np.uint8], int]:
        """Codes of values and the number of missing ones."""
        edges = self.values[:-1] if self.edges is None else self.edges
        if len(self.values) == 0:
            return np.zeros(len(column), dtype=np.uint8), len(column)
        codes = np.empty(len(column), dtype=np.uint8)
        return codes, bin_codes(column, edges, codes)


def _midpoints(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """The middles of pairs of values, rounded so that each lies below the upper value."""
    middle = 0.5 * low + 0.5 * high
    return np.where((low <= middle) & (middle < high), middle, low)


def sampled_rows(n_rows: int, most: int | None = None) -> NDArray[np.intp] | None:
    """The rows of smallest hash, in ascending order, or None where all are taken.

    By default those that quantiles are taken from.
    """
    most = SAMPLED_ROWS if most is None else most
    if n_rows <= most:
        return None
    words = row_words(0, n_rows, SAMPLE_SEED)
    return np.sort(np.argpartition(words, most)[:most])


def find_bins(column: NDArray[Any], max_bins: int, sample: NDArray[np.intp] | None) -> ColumnBins:
    """The bins of a column: its distinct values, where they are no more than `max_bins`."""
    distinct = few_distinct(column, max_bins)
    if distinct is not None:
        return ColumnBins(distinct, None)
    drawn = column if sample is None else column[sample]
    present = drawn[~np.isnan(drawn)]
    if len(present) == 0:
        # A column that is almost always missing: the few rows that are not decide.
        present = column[~np.isnan(column)]
    return ColumnBins.of(present, max_bins)


def category_codes(column: NDArray[Any], n_categories: int) -> tuple[NDArray[Any], int]:
    """Codes of a column of ranks of categories, and the number of missing ones."""
    is_missing = np.isnan(column)
    codes = np.where(is_missing, n_categories, column).astype(np.min_scalar_type(n_categories))
    return codes, int(is_missing.sum())


def code_by_bins(
    table: RowStack, features: range, max_bins: int, sample: NDArray[np.intp] | None
) -> list[tuple[NDArray[Any], ColumnBins, bool]]:
    """Codes, bins and presence of missing values of some columns; categories keep their codes."""
    coded = []
    for feature in features:
        column = table.column(feature)
        n_categories = table.n_categories[feature]
        if n_categories:
            codes, n_missing = category_codes(column, n_categories)
            bins = ColumnBins(np.arange(n_categories, dtype=np.float64), None)
            coded.append((codes, bins, n_missing > 0))
            continue
        bins = find_bins(column, max_bins, sample)
        codes, n_missing = bins.encode(column)
        coded.append((codes, bins, n_missing > 0))
    return coded
