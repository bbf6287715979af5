"""Dask arrays and data frames as lists of partitions, and lazy predictions on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lacforest._utils.extras import load_extra
from lacforest._utils.frames import column_names
from lacforest.dask.reading import RowPlace
from lacforest.dask.recipes import Part, embed_reading


def is_collection(value: Any) -> bool:
    """Whether a value is a dask array, data frame or series."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


def _is_array(value: Any) -> bool:
    return isinstance(value, load_extra("dask.array", "dask").Array)


def _need_collection(value: Any, name: str, local: str) -> None:
    if not is_collection(value):
        raise TypeError(
            f"{name} must be a dask array or data frame, got {type(value).__name__}: make one, for "
            f"instance by dask.array.from_array, or fit a {local} on tables in memory"
        )


def _row_sizes(value: Any) -> tuple[int, ...] | None:
    """Rows of each partition, where they are known."""
    if not _is_array(value) or np.isnan(value.chunks[0]).any():
        return None
    return tuple(value.chunks[0])


def _whole_rows(table: Any, name: str) -> Any:
    """A table whose partitions hold whole rows."""
    if table.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, but it has {table.ndim}")
    if _is_array(table) and len(table.chunks[1]) > 1:
        return table.rechunk({1: -1})
    return table


def _align(column: Any, name: str, table: Any) -> list[Any]:
    """Partitions of y or of weights, divided as those of X."""
    if column.ndim == 2 and not _is_array(column):
        column = column[column.columns[0]]
    ours, theirs = _row_sizes(column), _row_sizes(table)
    if ours is not None and theirs is not None:
        if sum(ours) != sum(theirs):
            raise ValueError(f"{name} has {sum(ours)} entries, but X has {sum(theirs)} rows")
        if ours != theirs:
            column = column.rechunk({0: theirs})
    if not _is_array(column) and not _is_array(table):
        known = column.known_divisions and table.known_divisions
        if known and column.divisions != table.divisions:
            raise ValueError(
                f"X and {name} have different divisions: align them, for instance by "
                f"{name}.repartition(divisions=X.divisions)"
            )
    parts = _delayed_parts(column)
    n_parts = _n_parts(table)
    if len(parts) != n_parts:
        raise ValueError(
            f"X has {n_parts} partitions and {name} has {len(parts)}: divide both at the same rows"
        )
    return parts


def _delayed_parts(collection: Any) -> list[Any]:
    """Partitions as they are divided.

    Data frames are not optimised: reading a single column, Dask joins small files, and y would be
    divided at other rows than X.
    """
    return list(np.ravel(collection.to_delayed(optimize_graph=_is_array(collection))))


def _n_parts(table: Any) -> int:
    return len(table.chunks[0]) if _is_array(table) else int(table.npartitions)


def list_parts(
    X: Any, y: Any, X_unlabeled: Any, sample_weight: Any, local: str
) -> tuple[list[Part], int, list[str] | None]:
    """Partitions of a fit, labelled ones first; the number of columns of X, and their names.

    Parameters
    ----------
    X, y, X_unlabeled, sample_weight : dask collections
        The last two may be None.
    local : str
        Name of the estimator for tables in memory, for messages.
    """
    _need_collection(X, "X", local)
    _need_collection(y, "y", local)
    X = _whole_rows(X, "X")
    names = column_names(X)
    n_features = len(X.columns) if hasattr(X, "columns") else X.shape[1]
    labels = _align(y, "y", X)
    weights: list[Any] = [None] * len(labels)
    if sample_weight is not None:
        _need_collection(sample_weight, "sample_weight", local)
        weights = _align(sample_weight, "sample_weight", X)
    tables = _delayed_parts(X)
    parts: list[tuple[Any, Any, Any, RowPlace]] = [
        (table, label, weight, RowPlace("X", index))
        for index, (table, label, weight) in enumerate(zip(tables, labels, weights, strict=True))
    ]
    if X_unlabeled is not None:
        _need_collection(X_unlabeled, "X_unlabeled", local)
        others = _delayed_parts(_whole_rows(X_unlabeled, "X_unlabeled"))
        parts += [
            (table, None, None, RowPlace("X_unlabeled", index))
            for index, table in enumerate(others)
        ]
    return embed_reading(parts), int(n_features), names


def predict_lazily(
    forest: Any, X: Any, method: Callable[..., Any], like: np.ndarray[Any, Any], classes: Any
) -> Any:
    """Apply a method of a local forest to every partition.

    Parameters
    ----------
    forest : fitted local forest
    X : dask array or data frame
    method : callable
        Takes the forest and a table.
    like : array
        Its result on no rows.
    classes : sequence or None
        Columns of a result of two dimensions.

    Returns
    -------
    dask array; a series or data frame with the index of X where X is a data frame
    """
    dask = load_extra("dask", "dask")
    model = dask.delayed(forest, pure=False)
    X = _whole_rows(X, "X")
    if _is_array(X):
        shape: dict[str, Any] = {"drop_axis": 1}
        if like.ndim == 2:
            shape = {"chunks": (X.chunks[0], (like.shape[1],))}
        return X.map_blocks(
            _predict_block, model, method, like, dtype=like.dtype, meta=like, **shape
        )
    meta = _frame_of(like, X._meta.index[:0], classes)
    return X.map_partitions(_predict_frame, model, method, like, classes, meta=meta)


def _predict_block(table: Any, forest: Any, method: Callable[..., Any], like: Any) -> Any:
    return method(forest, table) if len(table) else like


def _predict_frame(
    frame: Any, forest: Any, method: Callable[..., Any], like: Any, classes: Any
) -> Any:
    return _frame_of(_predict_block(frame, forest, method, like), frame.index, classes)


def _frame_of(values: Any, index: Any, classes: Any) -> Any:
    pandas = load_extra("pandas", "dask")
    if values.ndim == 1:
        return pandas.Series(values, index=index)
    return pandas.DataFrame(values, index=index, columns=list(classes))
