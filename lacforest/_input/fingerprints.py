"""Fingerprints of rows, by which equal rows are recognised."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from lacforest._input.categories import column_types, read_levels, replace_columns
from lacforest._input.tables import is_text_column
from lacforest._utils.frames import as_table


def fingerprints(X: Any) -> NDArray[np.uint64]:
    """A 64-bit number per row: equal rows have equal ones, other rows practically never."""
    table = check_array(
        _without_texts(X),
        accept_sparse="csr",
        dtype=np.float64,
        ensure_all_finite="allow-nan",
        ensure_min_samples=0,
    )
    if sparse.issparse(table):
        table = table.toarray()
    table = np.where(np.isnan(table), np.nan, table + 0.0)  # one NaN, and no negative zero
    bits = np.ascontiguousarray(table).view(np.uint64)
    columns = np.arange(1, bits.shape[1] + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        mixed = _mix(bits ^ _mix(columns * np.uint64(0x9E3779B97F4A7C15)))
        return _mix(mixed.sum(axis=1, dtype=np.uint64))


def _without_texts(X: Any) -> Any:
    """The table with a number in place of each text; missing values are NaN."""
    table = as_table(X)
    if getattr(table, "ndim", 2) != 2 or sparse.issparse(table):
        return table
    types = column_types(table)
    if not types and table.dtype.kind in "OU":
        types = ["object"] * table.shape[1]
    texts = [place for place, dtype in enumerate(types) if is_text_column(table, place, dtype)]
    if not texts:
        return table
    replaced = {}
    for feature, column in read_levels(table, np.array(texts), "X").items():
        numbers = [_number_of(level) for level in column.levels.tolist()]
        replaced[feature] = np.array([*numbers, np.nan])[column.codes]
    return replace_columns(table, replaced)


def _number_of(level: str | float) -> float:
    if not isinstance(level, str):
        return level
    text = level.encode(errors="surrogatepass")
    return float(int.from_bytes(blake2b(text, digest_size=6).digest()))


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The output function of SplitMix64, a bijection in which every bit affects every other."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
