"""Categories of the columns of a fit, and the ranks that stand for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._utils.frames import as_table, column_names, find_missing
from lacforest._utils.printable import shown

# Two bytes per code, one code for missing values.
MOST_CATEGORIES = 65_535
# Whole numbers up to here are distinct as float64.
_MOST_NUMBER = 2**53
_FEW_CODES = 1 << 20
# Cells that counting codes may take for each cell of a table, and in any case.
_COUNTED_PER_CELL, _COUNTED = 4, 1 << 16


@dataclass(frozen=True)
class ColumnLevels:
    """One column of one table: its distinct values, and which of them each row has.

    Attributes
    ----------
    levels : array of str objects or float64
    codes : int array of shape (n_rows,)
        Place of each row's value among the levels; -1 = missing.
    """

    levels: NDArray[Any]
    codes: NDArray[np.intp]

    @property
    def is_text(self) -> bool:
        """Whether the categories are text; else they are numbers."""
        return bool(self.levels.dtype == object)


@dataclass(frozen=True)
class TableCategories:
    """The categories of every column of a fit, in ascending order. Their ranks stand for them.

    Attributes
    ----------
    columns : tuple of arrays or None
        Text (of type object) or float64; None where the column holds numbers.
    """

    columns: tuple[NDArray[Any] | None, ...]

    @classmethod
    def of_ranks(cls, n_categories: Sequence[int]) -> TableCategories | None:
        """Categories that are their own ranks; None where all columns hold numbers."""
        if not any(n_categories):
            return None
        return cls(tuple(np.arange(n, dtype=np.float64) if n else None for n in n_categories))

    @property
    def is_categorical(self) -> NDArray[np.bool_]:
        """Which columns hold categories."""
        return np.array([column is not None for column in self.columns])

    @property
    def n_categories(self) -> tuple[int, ...]:
        """Categories of each column; 0 where it holds numbers."""
        return tuple(0 if column is None else len(column) for column in self.columns)

    def encode(self, table: Any, name: str, levels: dict[int, ColumnLevels] | None = None) -> Any:
        """The table with ranks in place of categories; NaN where missing, or not in the fit.

        Parameters
        ----------
        table : array or frame with the columns of the fit
        name : str
            Of the table, in messages.
        levels : dict of ColumnLevels, optional
            The columns of categories, if they have been read already.
        """
        reject_sparse(table, name)
        table = as_table(table)
        if levels is None:
            levels = read_levels(table, np.flatnonzero(self.is_categorical), name)
        replaced = {}
        for feature, known in enumerate(self.columns):
            if known is not None:
                own = levels[feature]
                if len(own.levels) and len(known) and own.is_text != (known.dtype == object):
                    kinds = ("text", "numbers") if own.is_text else ("numbers", "text")
                    raise ValueError(
                        f"{where_is(table, feature, name)} holds {kinds[0]}, but its categories in "
                        f"fit were {kinds[1]}"
                    )
                replaced[feature] = _ranks(own, known)
        return replace_columns(table, replaced)


def reject_sparse(table: Any, name: str) -> None:
    """Refuse a sparse table, whose columns cannot be replaced by ranks."""
    if hasattr(table, "tocsr"):  # without scipy, which is slow to import
        raise TypeError(
            f"{name} is sparse, and categorical_features need a dense table: use {name}.toarray(), "
            "or one-hot codes without categorical_features"
        )


def column_types(table: Any) -> list[Any]:
    dtypes = getattr(table, "dtypes", None)
    return [] if dtypes is None else list(dtypes)


def where_is(table: Any, feature: int, name: str) -> str:
    names = column_names(table)
    return f"column {feature if names is None else shown(names[feature])} of {name}"


def read_levels(table: Any, features: NDArray[np.intp], name: str) -> dict[int, ColumnLevels]:
    """Distinct values of columns that are text or numbers; `name` is that of the table."""
    found = _levels_of_codes(table, features)
    if found is None:
        found = {
            feature: _read_column(table, feature, where_is(table, feature, name))
            for feature in features.tolist()
        }
    return found


def _levels_of_codes(table: Any, features: NDArray[np.intp]) -> dict[int, ColumnLevels] | None:
    """The same of small whole numbers, which are counted; None where a column has any others."""
    if not isinstance(table, np.ndarray) or table.dtype.kind not in "fiu" or len(table) == 0:
        return None
    values = table[:, features]
    is_present = values == values
    if not (~is_present | ((values >= 0) & (values < _FEW_CODES))).all():
        return None
    codes = np.where(is_present, values, -1).astype(np.intp)
    n_columns, n_codes = len(features), int(codes.max(initial=-1)) + 1
    if ((codes != values) & is_present).any() or n_columns * (n_codes + 1) > max(
        _COUNTED_PER_CELL * codes.size, _COUNTED
    ):
        return None
    columns = np.arange(n_columns)
    # Missing values, -1, are counted behind the codes, as indices from the end are.
    place = np.where(is_present, codes, n_codes) + columns * (n_codes + 1)
    occurs = np.bincount(place.ravel(), minlength=n_columns * (n_codes + 1)) > 0
    occurs = occurs.reshape(n_columns, n_codes + 1)
    rank = occurs.cumsum(axis=1) - 1
    rank[:, n_codes] = -1
    ranks = np.ascontiguousarray(rank[columns, codes].T)
    return {
        feature: ColumnLevels(np.flatnonzero(own[:n_codes]).astype(np.float64), ranks[j])
        for j, (feature, own) in enumerate(zip(features.tolist(), occurs, strict=True))
    }


def _read_column(table: Any, feature: int, where: str) -> ColumnLevels:
    """Distinct values of a column that are text or numbers; `where` names it in messages."""
    try:
        values, codes, is_declared = _find_levels(table, feature)
    except TypeError as error:  # of values that have no hash
        raise ValueError(
            f"{where} has categories that are neither all text nor all numbers ({error}): convert "
            "them to text"
        ) from error
    return ColumnLevels(_checked_levels(values, where, is_declared), codes)


def _find_levels(table: Any, feature: int) -> tuple[NDArray[Any], NDArray[np.intp], bool]:
    """Distinct values, the place of each row's value, whether a type declares them."""
    is_declared = False
    if hasattr(table, "iloc"):
        column = table.iloc[:, feature]
        is_declared = str(column.dtype) == "category"
        column = column if is_declared else column.astype("category")
        values, codes = column.cat.categories.to_numpy(), column.cat.codes.to_numpy()
        # A type may declare categories that no row has.
        present = np.unique(codes[codes >= 0])
        place = np.full(len(values) + 1, -1)  # the last one for missing values, whose code is -1
        place[present] = np.arange(len(present))
        values, codes = values[present], place[codes]
    else:
        if isinstance(table, np.ndarray):
            column = table[:, feature]
        else:
            is_declared = str(column_types(table)[feature]).lower().startswith(("categor", "enum"))
            column = np.array(table[:, feature].to_list(), dtype=object)
        values, codes = _factorize(column)
    return values, codes, is_declared


def _factorize(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Distinct values and their places in a plain column; -1 where it is missing."""
    if column.dtype.kind != "O":
        values, codes = np.unique(column, return_inverse=True)
        n_values = int((values == values).sum())  # NaN comes last
        return values[:n_values], np.where(codes < n_values, codes, -1)
    places: dict[Any, int] = {}
    codes = np.array(
        [
            -1 if is_missing else places.setdefault(value, len(places))
            for value, is_missing in zip(column.tolist(), find_missing(column), strict=True)
        ],
        dtype=np.intp,
    )
    values = np.empty(len(places), dtype=object)
    values[:] = list(places)
    return values, codes


def _checked_levels(values: NDArray[Any], where: str, is_declared: bool) -> NDArray[Any]:
    """Categories as text or as float64. Numbers that no type declares as categories are codes."""
    is_number = values.dtype.kind in "biuf"
    if not is_number and all(isinstance(value, str) for value in values):
        return np.array([str(value) for value in values], dtype=object)
    is_number = is_number or all(
        isinstance(value, int | float | np.integer | np.floating | np.bool_) for value in values
    )
    if not is_number:
        odd = next(value for value in values if not isinstance(value, str))
        raise ValueError(
            f"{where} has categories that are neither all text nor all numbers, such as "
            f"{shown(odd)}: convert them to text"
        )
    numbers = values.astype(np.float64)
    if np.isinf(numbers).any():
        raise ValueError(f"{where} has an infinite category: replace it")
    # Of whole numbers beyond, neighbours become one number.
    if values.dtype.kind in "iuO" and (np.abs(numbers) > _MOST_NUMBER).any():
        raise ValueError(
            f"{where} has categories beyond 2**53, some of which become the same number: convert "
            "them to text"
        )
    if not is_declared:
        wrong = numbers[~((numbers >= 0) & (numbers <= _MOST_NUMBER) & (numbers % 1 == 0))]
        if len(wrong):
            raise ValueError(
                f"{where} is categorical and holds {wrong[0]:g}: codes of categories are whole "
                "numbers from 0 on, and NaN where they are missing"
            )
    return numbers


def _ranks(own: ColumnLevels, known: NDArray[Any]) -> NDArray[np.float64]:
    if np.array_equal(own.levels, known):
        return np.where(own.codes < 0, np.nan, own.codes)
    rank_of = {category: rank for rank, category in enumerate(known.tolist())}
    ranks = [float(rank_of.get(level, np.nan)) for level in own.levels.tolist()]
    return np.array([*ranks, np.nan])[own.codes]


def replace_columns(table: Any, columns: dict[int, NDArray[np.float64]]) -> Any:
    """The table with other columns in some places; the original is left as it is."""
    if hasattr(table, "iloc"):
        copy = table.copy(deep=False)
        for feature, ranks in columns.items():
            copy.isetitem(feature, ranks)
        return copy
    if isinstance(table, np.ndarray):
        is_float = table.dtype.kind == "f"
        copy = table.astype(table.dtype if is_float else object)
        for feature, ranks in columns.items():
            copy[:, feature] = ranks
        return copy
    names = list(table.columns)
    series = [type(table[:, f])(names[f], ranks) for f, ranks in columns.items()]
    return table.with_columns(series)
