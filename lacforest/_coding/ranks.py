"""Exact rank codes of the columns of a table."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse

from lacforest._input.tables import RowStack
from lacforest._tree.ranks import CodedColumns, rank_codes
from lacforest._utils.threads import in_threads, spans, useful_threads

# Bytes per row that coding one column needs beside the codes it makes.
_SCRATCH_BYTES = 36
# Cells of the table that make a thread worth its start.
_CELLS_PER_THREAD = 1 << 20


def _width(n_distinct: int) -> Any:
    """Smallest type that holds n_distinct codes and the one for missing values."""
    if n_distinct <= 0xFF:
        return np.uint8
    return np.uint16 if n_distinct <= 0xFFFF else np.uint32


def category_codes(column: NDArray[Any], n_categories: int) -> tuple[NDArray[Any], int]:
    """Codes of a column of ranks of categories, and the number of missing ones."""
    is_missing = np.isnan(column)
    codes = np.where(is_missing, n_categories, column).astype(_width(n_categories))
    return codes, int(is_missing.sum())


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
        coded.append((codes.astype(_width(n_codes), copy=False), n_codes, n_missing))
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
    n_features = table.n_features
    # Coding is a small part of a fit: limit threads so that their scratch memory stays below a
    # third of the codes themselves.
    n_threads = useful_threads(effective_n_jobs(n_jobs), 4 * n_features, 3 * _SCRATCH_BYTES)
    n_threads = useful_threads(n_threads, table.n_rows * n_features, _CELLS_PER_THREAD)
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
