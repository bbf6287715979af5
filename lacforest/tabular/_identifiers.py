"""Columns of numbers that tell rows apart rather than describe them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# A column with fewer values than this is never taken for an id.
FEW = 20
# Time stamps from 1990 to 2050, in seconds since 1970 and in smaller units.
_EPOCH = (631_152_000, 2_524_608_000)
_UNITS = (1, 10**3, 10**6, 10**9)


def why_identifier(columns: Sequence[NDArray[np.float64]]) -> str | None:
    """Why a column looks like an id, a counter or a time stamp; None if it does not.

    Parameters
    ----------
    columns : sequence of arrays
        The column in each table, in the order of rows. NaN is missing.
    """
    arrays = [values[~np.isnan(values)] for values in columns]
    if any(len(values) < FEW for values in arrays):
        return None
    every = np.concatenate(arrays)
    n_distinct = [len(np.unique(values)) for values in arrays]
    mostly_distinct = all(2 * n >= len(v) for n, v in zip(n_distinct, arrays, strict=True))
    if mostly_distinct and _are_stamps(every):
        return "it looks like a time stamp, counted from 1970"
    # Beyond this, every float is whole.
    if (every != np.floor(every)).any() or np.abs(every).max() >= 2.0**64:
        return None
    if all(n == len(v) for n, v in zip(n_distinct, arrays, strict=True)):
        return "it is a different integer in every row, like an id"
    if mostly_distinct and (_rises(arrays) or _rises([-values for values in arrays])):
        return "it only rises or only falls from row to row, like a counter"
    if _are_calendar_days(every):
        return "it looks like a date, written as year, month and day"
    return None


def _rises(arrays: Sequence[NDArray[np.float64]]) -> bool:
    return all((np.diff(values) >= 0).all() for values in arrays)


def _are_stamps(values: NDArray[np.float64]) -> bool:
    low, high = values.min(), values.max()
    return any(_EPOCH[0] * unit <= low and high <= _EPOCH[1] * unit for unit in _UNITS)


def _are_calendar_days(values: NDArray[np.float64]) -> bool:
    """Whether all numbers are like 20240131."""
    year, month, day = values // 10_000, values // 100 % 100, values % 100
    inside = [(1900, year, 2100), (1, month, 12), (1, day, 31)]
    return all(bool((low <= part).all() and (part <= high).all()) for low, part, high in inside)
