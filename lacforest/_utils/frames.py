"""Tables in the forms that users pass, whatever library they are of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def column_names(table: Any) -> list[str] | None:
    """Column names of a frame, if all of them are text."""
    columns = getattr(table, "columns", None)
    if columns is None or callable(columns):
        return None
    names = list(columns)
    return names if all(isinstance(name, str) for name in names) else None


def fill_masked(table: Any) -> Any:
    """A masked array as a plain one, in which masked values are missing."""
    if not isinstance(table, np.ma.MaskedArray):
        return table
    if table.dtype.kind not in "fiub" or not np.ma.is_masked(table):
        return table.data
    floats: Any = table.astype(np.result_type(table.dtype, np.float32))
    return floats.filled(np.nan)


def as_table(table: Any) -> Any:
    """A frame as it is; nested lists as an array that keeps text and numbers apart."""
    if hasattr(table, "columns") and not callable(table.columns):
        return table
    if isinstance(table, list | tuple):
        table = np.array(table, dtype=object)
    return fill_masked(table)


def count_rows(table: Any) -> int:
    """Rows of a frame, an array, a sparse matrix or nested lists."""
    return int(table.shape[0]) if hasattr(table, "shape") else len(table)


def take_rows(table: Any, rows: NDArray[np.intp]) -> Any:
    """The given rows of such a table."""
    table = as_table(table)
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    return table.tocsr()[rows] if hasattr(table, "tocsr") else table[rows]


def are_equal(one: Any, other: Any) -> bool:
    """Whether two values are equal; pandas.NA is not, not even to itself."""
    try:
        return bool(one == other)
    except (TypeError, ValueError):  # pandas.NA is neither equal nor different
        return False


def find_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Places of NaN, NaT, None or pandas.NA: values that differ from themselves, and None."""
    if values.dtype.kind != "O":
        is_missing: NDArray[np.bool_] = values != values
        return is_missing
    return np.array([label is None or not are_equal(label, label) for label in values], dtype=bool)
