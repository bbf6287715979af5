"""Fingerprints of rows of numbers, without scikit-learn, whose import takes long."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def row_fingerprints(table: NDArray[np.float64]) -> NDArray[np.uint64]:
    """A 64-bit number per row of a dense table: equal rows have equal ones, and NaN equals NaN."""
    table = np.where(np.isnan(table), np.nan, table + 0.0)  # one NaN, and no negative zero
    bits = np.ascontiguousarray(table).view(np.uint64)
    columns = np.arange(1, bits.shape[1] + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        mixed = _mix(bits ^ _mix(columns * np.uint64(0x9E3779B97F4A7C15)))
        return _mix(mixed.sum(axis=1, dtype=np.uint64))


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The output function of SplitMix64, a bijection in which every bit affects every other."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
