"""One table in codes: values to codes before trees grow, cuts to thresholds afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse

from lacforest._coding.bins import (
    ColumnBins,
    category_codes,
    code_by_bins,
    sampled_rows,
)
from lacforest._coding.stored_table import StoredTable
from lacforest._input.parameters import MOST_BINS
from lacforest._input.tables import RowStack
from lacforest._tree.bins import move_to_edges
from lacforest._tree.coded_columns import CodedColumns, ColumnValues
from lacforest._tree.ranks import assign_thresholds, code_thresholds, nodes_by_feature, rank_codes
from lacforest._utils.threads import in_threads, spans, useful_threads

# Rows beyond which max_bins="auto" codes by bins; measured in docs/developer/benchmarks.rst.
ROWS_TO_BIN = 15_000
# Bytes per row that coding one column needs beside the codes it makes.
_SCRATCH_BYTES = 36
# Scratch memory that threads may take however small the codes are.
_FREE_SCRATCH = 16 << 20
# Cells of the table that make a thread worth its start.
_CELLS_PER_THREAD = 1 << 17


@dataclass(frozen=True)
class CodedTable:
    """A table and its codes, with the way back from cuts in codes to thresholds in values.

    Attributes
    ----------
    table : RowStack, StoredTable or None
        None where bins tell all that is needed of it.
    columns : CodedColumns
        Written once per fit, then only read.
    bins : tuple of ColumnBins or None
        What the codes of each column stand for; None where they are the exact ranks of its values.
    """

    table: RowStack | StoredTable | None
    columns: CodedColumns
    bins: tuple[ColumnBins, ...] | None = None

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.columns.columns)

    @cached_property
    def values(self) -> ColumnValues:
        """A value per code of all columns; random cuts are drawn between them."""
        values = [self._distinct_values(feature) for feature in range(self.n_features)]
        return ColumnValues(values)

    def copy_rows(self, n_drawn: int, are_random: bool) -> None:
        """Hold the codes row by row as well, if the search of a node reads them faster so."""
        # A stored table is one that memory has no room for.
        if not isinstance(self.table, StoredTable):
            self.columns.copy_rows(n_drawn, are_random)

    def find_thresholds(self, nodes: NDArray[Any]) -> NDArray[np.float64]:
        """Thresholds of inner nodes whose cuts are codes; 0 in leaves.

        Each cut becomes the last code at or below its threshold, so that ``code <= last`` and
        ``value <= threshold`` select the same rows of the whole table, not only of the node.
        """
        thresholds = np.zeros(len(nodes))
        no_nodes = np.zeros(len(nodes), dtype=bool)
        for feature, members in self._members_by_feature(nodes, no_nodes):
            if self._is_categorical(feature):
                thresholds[members] = nodes["threshold"][members]
            else:
                assign_thresholds(
                    nodes, members, self._distinct_values(feature), thresholds, self._edges(feature)
                )
        return thresholds

    def settle_cuts(self, nodes: NDArray[Any], are_random: bool) -> NDArray[np.float64]:
        """Thresholds of inner nodes as `find_thresholds` does; random cuts left them in nodes."""
        if not are_random:
            return self.find_thresholds(nodes)
        thresholds = np.where(nodes["left"] >= 0, nodes["threshold"], 0.0)
        self.replace_thresholds(nodes)
        return thresholds

    def replace_cuts(self, nodes: NDArray[Any], skip: NDArray[np.bool_] | None = None) -> None:
        """Write thresholds in place of the cuts of inner nodes.

        Parameters
        ----------
        nodes : NODE array
        skip : bool array of shape (n_nodes,), optional
            Nodes to leave as they are.
        """
        if skip is None:
            skip = np.zeros(len(nodes), dtype=bool)
        for feature, members in self._members_by_feature(nodes, skip):
            if not self._is_categorical(feature):
                assign_thresholds(
                    nodes, members, self._distinct_values(feature), None, self._edges(feature)
                )

    def replace_thresholds(self, nodes: NDArray[Any]) -> None:
        """Write cuts in place of the thresholds that random cuts left in inner nodes."""
        no_nodes = np.zeros(len(nodes), dtype=bool)
        for feature, members in self._members_by_feature(nodes, no_nodes):
            if not self._is_categorical(feature):
                code_thresholds(nodes, members, self.values.values[feature])

    def move_to_edges(self, nodes: NDArray[Any], skip: NDArray[np.bool_] | None = None) -> None:
        """Move thresholds that random cuts left inside bins to the edges of these bins.

        Codes and values then divide all rows alike. Nodes to skip hold no thresholds.
        """
        if self.bins is None or all(bins.edges is None for bins in self.bins):
            return
        if skip is None:
            skip = np.zeros(len(nodes), dtype=bool)
        for feature, members in self._members_by_feature(nodes, skip):
            bins = self.bins[feature]
            if bins.edges is not None:
                move_to_edges(nodes, members, bins.values, bins.edges)

    def take(self, rows: NDArray[np.intp]) -> CodedTable:
        """The codes of some rows. Bins stay as they are; exact ranks are those of these rows."""
        table = None if self.table is None else self.table.take(rows)
        if self.bins is None:
            assert table is not None  # exact ranks come with the values that they rank
            return code_table(table, 1)
        taken = [column[rows] for column in self.columns.columns]
        own = self.columns
        columns = CodedColumns(taken, own.n_codes, own.has_missing, own.is_categorical)
        return CodedTable(table, columns, self.bins)

    def _is_categorical(self, feature: int) -> bool:
        """Whether nodes on a feature hold the place of a set, in codes as in values."""
        return bool(self.columns.is_categorical[feature])

    def _members_by_feature(
        self, nodes: NDArray[Any], skip: NDArray[np.bool_]
    ) -> Iterator[tuple[int, NDArray[np.uint32]]]:
        members, edges = nodes_by_feature(nodes, skip.view(np.uint8), self.n_features)
        for feature in np.flatnonzero(np.diff(edges)).tolist():
            yield feature, members[edges[feature] : edges[feature + 1]]

    def _edges(self, feature: int) -> NDArray[np.float64] | None:
        return None if self.bins is None else self.bins[feature].edges

    def _distinct_values(self, feature: int) -> NDArray[np.float64]:
        """Values of one column by code; exact ones are scattered back unless they are kept."""
        if self._is_categorical(feature):
            return np.arange(self.columns.n_codes[feature], dtype=np.float64)
        if self.bins is not None:
            return self.bins[feature].values
        if "values" in self.__dict__:
            kept: NDArray[np.float64] = self.values.values[feature]
            return kept
        assert isinstance(self.table, RowStack), "only exact ranks are without bins"
        values = np.empty(self.columns.n_codes[feature] + 1)  # one more for missing values
        values[self.columns.columns[feature]] = self.table.column(feature)
        return values[:-1]


def code_table(
    table: RowStack | StoredTable, n_jobs: int | None, max_bins: Any = None
) -> CodedTable:
    """Code every column of a table: by exact ranks, or by at most `max_bins` bins.

    Parameters
    ----------
    table : RowStack or StoredTable
        A stored table keeps the codes that it has.
    n_jobs : int or None
    max_bins : int, "auto" or None, default=None
        Columns without more distinct values keep exact ranks. None codes all columns by exact
        ranks; "auto" does so up to `ROWS_TO_BIN` rows.
    """
    if isinstance(table, StoredTable):
        n_codes = [len(bins.values) for bins in table.bins]
        is_categorical = np.asarray(table.n_categories) > 0
        columns = CodedColumns(list(table.codes), n_codes, table.has_missing, is_categorical)
        return CodedTable(table, columns, tuple(table.bins))
    most = n_bins(max_bins, table.n_rows)
    if most is None:
        return CodedTable(table, code_columns(table, n_jobs))
    sample = sampled_rows(table.n_rows)
    coded = in_column_blocks(code_by_bins, table, n_jobs, most, sample)
    columns = CodedColumns(
        [codes for codes, _, _ in coded],
        [len(bins.values) for _, bins, _ in coded],
        [has_missing for _, _, has_missing in coded],
        np.asarray(table.n_categories) > 0,
    )
    return CodedTable(table, columns, tuple(bins for _, bins, _ in coded))


def n_bins(max_bins: Any, n_rows: int) -> int | None:
    """Most bins of a column in a table of n_rows; None codes every distinct value apart."""
    if isinstance(max_bins, str):
        return None if n_rows <= ROWS_TO_BIN else MOST_BINS
    return None if max_bins is None else int(max_bins)


def _code_block(table: RowStack, features: range) -> list[tuple[NDArray[Any], int, int]]:
    n_rows = table.n_rows
    bits = np.empty((2, n_rows), dtype=np.uint64)
    order = np.empty((2, n_rows), dtype=np.uint32)
    coded = []
    for feature in features:
        n_categories = table.n_categories[feature]
        if n_categories:
            codes, n_missing = category_codes(table.column(feature), n_categories)
            coded.append((codes, n_categories, n_missing))
            continue
        codes = np.empty(n_rows, dtype=np.uint32)
        n_codes, n_missing = rank_codes(table.column(feature), bits, order, codes)
        # The smallest type that holds all codes: with missing values, one more than there are.
        largest = n_codes - (n_missing == 0)
        narrow = codes.astype(np.min_scalar_type(largest), copy=False)
        coded.append((narrow, n_codes, n_missing))
    return coded


def _check_memory(table: RowStack) -> None:
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
            "Sparse X is trained on dense rank codes of one to four bytes per cell: select "
            "features first (for instance by sklearn.feature_selection.SelectKBest), or pass "
            "fewer rows."
        )


def _installed_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def in_column_blocks(
    code_block: Callable[..., list[Any]], table: RowStack, n_jobs: int | None, *arguments: Any
) -> list[Any]:
    """What code_block(table, features, *arguments) says of all columns, by blocks in threads."""
    n_features, n_rows = table.n_features, table.n_rows
    # Coding is a small part of a fit: limit threads so that their scratch memory stays below a
    # third of the codes themselves, unless it is small anyway.
    scratch = max(4 * n_features * n_rows // 3, _FREE_SCRATCH)
    n_threads = useful_threads(effective_n_jobs(n_jobs), scratch, _SCRATCH_BYTES * n_rows)
    n_threads = useful_threads(n_threads, n_rows * n_features, _CELLS_PER_THREAD)
    n_blocks = min(n_features, n_threads if n_threads == 1 else 4 * n_threads)
    blocks = in_threads(
        code_block,
        [(table, range(first, end), *arguments) for first, end in spans(n_features, n_blocks)],
        n_threads,
    )
    return [column for block in blocks for column in block]


def code_columns(table: RowStack, n_jobs: int | None) -> CodedColumns:
    """Rank-code every column of the table, in threads over blocks of columns."""
    _check_memory(table)
    coded = in_column_blocks(_code_block, table, n_jobs)
    return CodedColumns(
        [codes for codes, _, _ in coded],
        [n_codes for _, n_codes, _ in coded],
        [n_missing > 0 for _, _, n_missing in coded],
        np.asarray(table.n_categories) > 0,
    )
