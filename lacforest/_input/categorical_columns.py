"""Categorical columns of a fit: which they are, and what categories its tables have in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lacforest._input.categories import (
    MOST_CATEGORIES,
    ColumnLevels,
    TableCategories,
    column_types,
    read_levels,
    reject_sparse,
    where_is,
)
from lacforest._utils.frames import as_table, column_names
from lacforest._utils.printable import shown

FROM_DTYPE = "from_dtype"


def find_categories(
    categorical_features: Any, tables: Sequence[tuple[str, Any]]
) -> tuple[TableCategories | None, dict[str, Any]]:
    """The categories of all tables of a fit, and these tables with ranks in their place.

    Parameters
    ----------
    categorical_features : "from_dtype", array-like of bool, int or str, or None
    tables : sequence of (name, table)
        X comes first; names are for messages.

    Returns
    -------
    categories : TableCategories or None
        None where no column is categorical.
    tables : dict of str to table
    """
    chosen = categorical_columns(categorical_features, tables[0][1])
    if not chosen.any():
        return None, dict(tables)
    for source, table in tables:
        reject_sparse(table, source)
    dense = [(source, as_table(table)) for source, table in tables]
    for _, table in dense:
        # A table of another width is refused by the checks that follow.
        if getattr(table, "ndim", 2) != 2 or table.shape[1] != len(chosen):
            return None, dict(tables)
    columns: list[NDArray[Any] | None] = [None] * len(chosen)
    features = np.flatnonzero(chosen)
    levels = {source: read_levels(table, features, source) for source, table in dense}
    for feature in features.tolist():
        columns[feature] = _distinct(
            [(where_is(table, feature, source), levels[source][feature]) for source, table in dense]
        )
    found = TableCategories(tuple(columns))
    return found, {source: found.encode(table, source, levels[source]) for source, table in dense}


def code_tables(
    categorical_features: Any, X: Any, X_unlabeled: Any, control: Any
) -> tuple[TableCategories | None, tuple[Any, Any, Any]]:
    """The categories of the tables of a fit; X, X_unlabeled and control with ranks in their place.

    Control is a pair of table and labels. What is no such pair is left to later checks.
    """
    tables = [("X", X)]
    if X_unlabeled is not None:
        tables.append(("X_unlabeled", X_unlabeled))
    is_pair = isinstance(control, tuple | list) and len(control) == 2
    if is_pair:
        tables.append(("X_known of control", control[0]))
    categories, coded = find_categories(categorical_features, tables)
    if is_pair:
        control = (coded["X_known of control"], control[1])
    return categories, (coded["X"], coded.get("X_unlabeled"), control)


def categorical_columns(given: Any, X: Any) -> NDArray[np.bool_]:
    """Which columns of X hold categories, by the parameter `categorical_features`."""
    table = X if sparse.issparse(X) else as_table(X)
    shape: Any = getattr(table, "shape", ())
    n_features = int(shape[1]) if len(shape) == 2 else 0
    chosen = np.zeros(n_features, dtype=bool)
    if given is None or n_features == 0:
        return chosen
    if isinstance(given, str):
        if given != FROM_DTYPE:
            raise ValueError(
                f'categorical_features must be "{FROM_DTYPE}", None, or a list of names, places '
                f"or a mask of columns, got {given!r}"
            )
        for feature, dtype in enumerate(column_types(table)):
            chosen[feature] = str(dtype).lower().startswith(("categor", "enum"))
        return chosen
    wanted = np.asarray(given)
    if wanted.ndim != 1 or (wanted.size and wanted.dtype.kind not in "biuUO"):
        raise ValueError(
            "categorical_features must be a vector of names, places or booleans, got "
            f"{shown(given)}"
        )
    if wanted.dtype.kind == "b":
        if len(wanted) != n_features:
            raise ValueError(
                f"categorical_features is a mask of {len(wanted)} columns, but X has {n_features}"
            )
        return wanted.copy()
    if wanted.dtype.kind in "UO":
        return _chosen_by_name(wanted.tolist(), table, chosen)
    outside = wanted[(wanted < 0) | (wanted >= n_features)] if wanted.size else wanted
    if len(outside):
        raise ValueError(
            f"categorical_features names column {outside[0]}, but X has columns 0 to "
            f"{n_features - 1}"
        )
    chosen[wanted.astype(np.intp)] = True
    return chosen


def _chosen_by_name(wanted: list[Any], table: Any, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    names = column_names(table)
    if names is None:
        raise ValueError(
            "categorical_features holds names of columns, but X is not a frame with names: pass "
            "their places"
        )
    unknown = [shown(name) for name in wanted if name not in names]
    if unknown:
        raise ValueError(
            f"categorical_features names columns that X does not have: {', '.join(unknown[:5])}"
        )
    for name in wanted:
        chosen[names.index(name)] = True
    return chosen


def _distinct(columns: Sequence[tuple[str, ColumnLevels]]) -> NDArray[Any]:
    """The categories of a column in all tables, in ascending order.

    Parameters
    ----------
    columns : sequence of (where, ColumnLevels)
        The column in each table, and its name in messages.
    """
    filled = [(where, own) for where, own in columns if len(own.levels)]
    for where, own in filled[1:]:
        if own.is_text != filled[0][1].is_text:
            raise ValueError(
                f"{where} holds {'text' if own.is_text else 'numbers'}, but {filled[0][0]} does "
                "not: its categories must be of one kind"
            )
    if not filled:
        return np.zeros(0)
    distinct = {level for _, own in filled for level in own.levels.tolist()}
    if len(distinct) > MOST_CATEGORIES:
        raise ValueError(
            f"{columns[0][0]} has {len(distinct)} categories, and at most {MOST_CATEGORIES} are "
            "possible: drop it if it only tells rows apart, or merge rare categories"
        )
    return np.array(sorted(distinct), dtype=filled[0][1].levels.dtype)
