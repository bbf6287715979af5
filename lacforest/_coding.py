"""Columns to rank codes before the forest grows, codes back to thresholds after it has grown."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lacforest._threads import in_threads, spans, useful_threads
from lacforest._tree._ranks import (
    CodedColumns,
    ColumnValues,
    assign_thresholds,
    code_thresholds,
    nodes_by_feature,
    rank_codes,
)

# Bytes a row that coding one column needs beside the codes it makes.
_SCRATCH_BYTES = 36
# Cells of the table that make a thread worth its start.
_CELLS_PER_THREAD = 1 << 20


@dataclass(frozen=True)
class RowStack:
    """Tables stacked by rows without copying them.

    Attributes
    ----------
    parts : sequence of dense arrays or CSC matrices with equally many columns
    order : int array or None
        Row i of the stack is row order[i] of the parts put below each other.
    """

    parts: Sequence[Any]
    order: NDArray[np.intp] | None = None

    @property
    def n_rows(self) -> int:
        """Rows of the stack."""
        if self.order is not None:
            return len(self.order)
        return sum(part.shape[0] for part in self.parts)

    @property
    def n_features(self) -> int:
        """Columns of every part."""
        return int(self.parts[0].shape[1])

    def take(self, rows: NDArray[np.intp]) -> RowStack:
        """Some rows of the stack."""
        return RowStack(self.parts, rows if self.order is None else self.order[rows])

    def rows_from(self, first: int) -> Any:
        """Rows [first, n_rows) as a dense array or CSR; a part that is just these is not copied."""
        n_parts = len(self.parts)
        if self.order is None and n_parts == 2 and self.parts[0].shape[0] == first:
            part = self.parts[1]
            return part.tocsr() if sparse.issparse(part) else part
        return self.take(np.arange(first, self.n_rows)).table()

    def table(self) -> Any:
        """All rows as one dense array, or as CSR if a part is sparse."""
        if any(sparse.issparse(part) for part in self.parts):
            table = sparse.vstack(self.parts, format="csr")
        else:
            table = self.parts[0] if len(self.parts) == 1 else np.concatenate(self.parts)
        return table if self.order is None else table[self.order]

    def column(self, feature: int) -> NDArray[Any]:
        """One column as a dense vector of floats."""
        values = [_dense_column(part, feature) for part in self.parts]
        column = values[0] if len(values) == 1 else np.concatenate(values)
        return column if self.order is None else column[self.order]


def _dense_column(part: Any, feature: int) -> NDArray[Any]:
    if not sparse.issparse(part):
        column: NDArray[Any] = part[:, feature]
        return column
    column = np.zeros(part.shape[0], dtype=part.dtype)
    stored = slice(part.indptr[feature], part.indptr[feature + 1])
    column[part.indices[stored]] = part.data[stored]
    return column


def _width(n_distinct: int) -> Any:
    """Smallest type that holds n_distinct codes and the one for missing values."""
    if n_distinct <= 0xFF:
        return np.uint8
    return np.uint16 if n_distinct <= 0xFFFF else np.uint32


def _code_block(table: RowStack, features: range) -> list[tuple[NDArray[Any], int, int]]:
    n_rows = table.n_rows
    bits = np.empty((2, n_rows), dtype=np.uint64)
    order = np.empty((2, n_rows), dtype=np.uint32)
    coded = []
    for feature in features:
        codes = np.empty(n_rows, dtype=np.uint32)
        n_codes, n_missing = rank_codes(table.column(feature), bits, order, codes)
        coded.append((codes.astype(_width(n_codes), copy=False), n_codes, n_missing))
    return coded


def _check_room(table: RowStack) -> None:
    """Refuse a sparse table whose codes, which are dense, cannot fit in memory."""
    if not any(sparse.issparse(part) for part in table.parts):
        return
    n_rows, n_features = table.n_rows, table.n_features
    distinct = np.ones(n_features, dtype=np.int64)
    for part in table.parts:
        distinct += np.diff(part.indptr) if sparse.issparse(part) else part.shape[0]
    needed = n_rows * int(np.where(distinct <= 0xFF, 1, np.where(distinct <= 0xFFFF, 2, 4)).sum())
    installed = _installed_memory()
    if installed is not None and needed > installed:
        raise MemoryError(
            f"the code table of {n_rows} rows and {n_features} features may need "
            f"{needed / 2**30:.1f} GiB, and this machine has {installed / 2**30:.1f} GiB. "
            "Sparse X is trained on dense rank codes of one to four bytes a cell: select features "
            "first (for instance by sklearn.feature_selection.SelectKBest), or pass fewer rows."
        )


def _installed_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def code_columns(table: RowStack, n_jobs: int) -> CodedColumns:
    """Rank-code every column of the table, in threads over blocks of columns."""
    _check_room(table)
    n_features = table.n_features
    # Coding is a small part of a fit: rather one thread less than scratch memory beyond a third
    # of the codes themselves.
    n_threads = useful_threads(n_jobs, 4 * n_features, 3 * _SCRATCH_BYTES)
    n_threads = useful_threads(n_threads, table.n_rows * n_features, _CELLS_PER_THREAD)
    n_blocks = min(n_features, n_threads if n_threads == 1 else 4 * n_threads)
    blocks = in_threads(
        _code_block,
        [(table, range(first, end)) for first, end in spans(n_features, n_blocks)],
        n_threads,
    )
    coded = [column for block in blocks for column in block]
    return CodedColumns(
        [codes for codes, _, _ in coded],
        [n_codes for _, n_codes, _ in coded],
        [n_missing > 0 for _, _, n_missing in coded],
    )


def split_features(stored: NDArray[np.int32]) -> NDArray[Any]:
    """Features of inner nodes, with the mark for missing values taken off."""
    return stored ^ (stored >> 31)


def place_thresholds(
    nodes: NDArray[Any],
    skip: NDArray[np.bool_],
    columns: CodedColumns,
    table: RowStack,
    thresholds: NDArray[np.float64] | None = None,
) -> None:
    """Thresholds of inner nodes, into `thresholds` or in place of the cuts.

    The distinct values of a column are scattered back by its codes, one column at a time, so that
    no fit has to keep them.
    """
    for feature, members in _members_by_feature(nodes, skip, table.n_features):
        values = _distinct_values(columns, table, feature)
        assign_thresholds(nodes, members, values, thresholds)


def _members_by_feature(
    nodes: NDArray[Any], skip: NDArray[np.bool_], n_features: int
) -> Iterator[tuple[int, NDArray[np.uint32]]]:
    members, edges = nodes_by_feature(nodes, skip.view(np.uint8), n_features)
    for feature in np.flatnonzero(np.diff(edges)).tolist():
        yield feature, members[edges[feature] : edges[feature + 1]]


def _distinct_values(columns: CodedColumns, table: RowStack, feature: int) -> NDArray[np.float64]:
    values = np.empty(columns.n_codes[feature] + 1)  # one more for missing values
    values[columns.columns[feature]] = table.column(feature)
    return values[:-1]


def column_values(columns: CodedColumns, table: RowStack) -> ColumnValues:
    """The distinct values of all columns, which random cuts are drawn between."""
    return ColumnValues(
        [_distinct_values(columns, table, feature) for feature in range(table.n_features)]
    )


def code_random_cuts(nodes: NDArray[Any], values: ColumnValues) -> None:
    """Cuts in codes in place of the thresholds that random cuts left in inner nodes."""
    nobody = np.zeros(len(nodes), dtype=bool)
    for feature, members in _members_by_feature(nodes, nobody, len(values.values)):
        code_thresholds(nodes, members, values.values[feature])
