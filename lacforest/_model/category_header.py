"""The part of a file's header about categorical columns: their categories."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._input.categories import MOST_CATEGORIES, TableCategories
from lacforest._model.container import ModelFileError
from lacforest._model.values import decode_labels, encode_labels


def encode_categories(categories: TableCategories) -> list[Any]:
    """One entry per column: None for numbers, an empty dict for a column that is always missing."""
    return [
        None if column is None else encode_labels(column) if len(column) else {}
        for column in categories.columns
    ]


def decode_categories(stored: Any) -> TableCategories:
    """The categories that `encode_categories` was given."""
    if not isinstance(stored, list):
        raise ModelFileError("the categories are not a list")
    return TableCategories(tuple(_decode_column(entry) for entry in stored))


def _decode_column(entry: Any) -> NDArray[Any] | None:
    if entry is None:
        return None
    if entry == {}:
        return np.zeros(0)
    if not isinstance(entry, dict) or not {"dtype", "items"} <= set(entry):
        raise ModelFileError("the categories of a column are invalid")
    column = decode_labels(entry, "the categories of a column")
    if column.dtype not in (np.dtype(object), np.dtype(np.float64)):
        raise ModelFileError("the categories of a column are neither text nor numbers")
    items = column.tolist()
    if len(items) > MOST_CATEGORIES or items != sorted(items):
        raise ModelFileError("the categories of a column are too many, or not in order")
    if column.dtype == np.float64 and not np.isfinite(column).all():
        raise ModelFileError("a category is not a finite number")
    return column
