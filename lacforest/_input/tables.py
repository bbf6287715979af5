"""Tables as fit and predict accept them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import validate_data

from lacforest._utils.frames import column_names, fill_masked
from lacforest._utils.printable import shown
from lacforest._utils.user_warnings import warn_user

# What forests accept, and what methods based on distances or inner products accept.
FOREST_TABLE: dict[str, Any] = {
    "accept_sparse": ["csr", "csc"],
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": "allow-nan",
}
DENSE_TABLE: dict[str, Any] = {"dtype": np.float64}

_NOT_NUMBERS = ("str", "utf8", "categor", "enum", "date", "time", "duration", "binary", "list")
_IN_PIPELINES = (
    "A Pipeline transforms X, but not rows that are passed as step__X_unlabeled=. Inside a "
    "Pipeline mark rows by unlabeled_label="
)
_UNTRANSFORMED = (
    f"X_unlabeled does not look like X: {{what}}. {_IN_PIPELINES}; elsewhere transform X_unlabeled "
    "in the same way as X."
)
_ENCODING = "encode them first, for instance with sklearn.preprocessing.OrdinalEncoder"
_AS_CATEGORIES = "or name columns of text in categorical_features"
# Rows that are looked at; transformations show in few.
_COMPARED_ROWS = 2_000
# Share of unlabelled rows outside the range of labelled ones that makes a column foreign.
_FOREIGN_SHARE = 0.95


class TakesGapsAndSparse:
    """An estimator that takes a FOREST_TABLE, as its tags say."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


class TakesWhatEstimatorTakes:
    """An estimator that hands its tables to another one, its parameter `estimator`."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags = get_tags(self.estimator).input_tags  # type: ignore[attr-defined]
        return tags


def _listed(names: list[str]) -> str:
    return f"[{', '.join(names[:10])}{', ...' if len(names) > 10 else ''}]"


def is_text_column(table: Any, index: int, dtype: Any) -> bool:
    """Judge by the type, or by the values if the type is object (text in pandas below 3)."""
    kind = str(dtype).lower()
    if kind != "object":
        return any(word in kind for word in _NOT_NUMBERS)
    column = table.iloc[:, index] if hasattr(table, "iloc") else table[:, index]
    try:
        np.asarray(column).astype(np.float64)
    except (TypeError, ValueError):
        return True
    return False


def check_columns(table: Any, name: str) -> None:
    """Check that a frame has columns, and that no two have the same name."""
    columns = getattr(table, "columns", None)
    if columns is None or callable(columns):
        return
    counts = Counter(columns)
    if not counts:
        raise ValueError(f"{name} has 0 feature(s): a table needs at least one column")
    twice = [shown(column) for column, n_columns in counts.items() if n_columns > 1]
    if twice:
        raise ValueError(
            f"{name} has more than one column called {', '.join(twice[:5])}: rename or drop them"
        )


def reject_dask(estimator: Any, **tables: Any) -> None:
    """Refuse dask collections, which would be loaded whole, and name the class that takes them."""
    own = type(estimator).__name__
    for name, table in tables.items():
        if hasattr(table, "__dask_graph__"):
            raise TypeError(
                f"{name} is a dask collection: fit lacforest.dask.Dask{own} on it, or pass "
                f"{name}.compute() to {own} if it fits in memory"
            )


def reject_text(table: Any, name: str, advice: str = _ENCODING) -> None:
    """Name the columns that are not numbers, before a conversion fails without naming them."""
    check_columns(table, name)
    dtypes = getattr(table, "dtypes", None)
    columns = getattr(table, "columns", None)
    if columns is not None and dtypes is not None and not callable(columns):
        text = [
            shown(column)
            for index, (column, dtype) in enumerate(zip(columns, dtypes, strict=False))
            if is_text_column(table, index, dtype)
        ]
        if text:
            raise ValueError(f"{name} has columns that are not numbers: {_listed(text)}; {advice}")
        return
    array = table if isinstance(table, np.ndarray) else None
    if isinstance(table, list | tuple):
        try:
            array = np.asarray(table)
        except ValueError:
            return  # rows of different lengths: scikit-learn raises
    if array is not None and array.dtype.kind in "mM":
        raise ValueError(f"{name} contains dates (dtype {array.dtype}); {advice}")
    if array is not None and array.dtype.kind in "US":
        raise ValueError(f"{name} contains text (dtype {array.dtype}); {advice}")
    if array is not None and array.dtype.kind == "O":
        try:
            array.astype(np.float64)
        except (TypeError, ValueError) as error:
            message = f"{name} contains values that are not numbers ({error}); {advice}"
            raise type(error)(message) from error


def check_training_table(estimator: Any, X: Any, options: dict[str, Any] = FOREST_TABLE) -> Any:
    """Check X of fit, and set n_features_in_ and feature_names_in_."""
    takes_categories = hasattr(estimator, "categorical_features")
    reject_text(X, "X", f"{_ENCODING}, {_AS_CATEGORIES}" if takes_categories else _ENCODING)
    return validate_data(estimator, fill_masked(X), reset=True, **options)


def _is_plain_table(estimator: Any, X: Any) -> bool:
    """Whether X needs no conversion: scikit-learn's checks take longer than predicting a row."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in (np.float64, np.float32)
        and X.dtype.isnative
        and X.shape[0] > 0
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
        and not np.isinf(X).any()
    )


def check_new_table(estimator: Any, X: Any, options: dict[str, Any]) -> Any:
    """Check X of predict by the rules of fit."""
    reject_text(X, "X")
    return validate_data(estimator, fill_masked(X), reset=False, **options)


def check_prediction_table(estimator: Any, X: Any) -> Any:
    """Check X of predict: the features of fit in the same order. CSC becomes CSR."""
    categories = getattr(estimator, "_categories", None)
    if categories is not None:
        X = _with_ranks(estimator, X, categories)
    if _is_plain_table(estimator, X):
        return X
    checked = check_new_table(estimator, X, FOREST_TABLE)
    return checked.tocsr() if sparse.issparse(checked) else checked


def _with_ranks(estimator: Any, X: Any, categories: Any) -> Any:
    """X with ranks in place of categories, unless it has not the columns of fit."""
    shape: Any = np.shape(X) if isinstance(X, list | tuple) else getattr(X, "shape", ())
    if len(shape) != 2:
        return X
    if shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input"
        )
    names, known = column_names(X), getattr(estimator, "feature_names_in_", None)
    if names is not None and known is not None and names != list(known):
        # scikit-learn says which names are wrong, before it looks at values.
        validate_data(estimator, X, reset=False, skip_check_array=True)
    return categories.encode(X, "X")


def check_unlabeled_table(
    estimator: Any,
    X_unlabeled: Any,
    names: list[str] | None,
    options: dict[str, Any] = FOREST_TABLE,
) -> Any:
    """Check X_unlabeled of fit, which has the columns of X."""
    reject_text(X_unlabeled, "X_unlabeled", f"encode them as in X. {_IN_PIPELINES}")
    X_unlabeled = fill_masked(X_unlabeled)
    shape = getattr(X_unlabeled, "shape", None)
    if (shape is not None and len(shape) >= 1 and shape[0] == 0) or (
        isinstance(X_unlabeled, list | tuple) and len(X_unlabeled) == 0
    ):
        raise ValueError(
            "X_unlabeled has no rows: pass rows from deployment, or leave X_unlabeled out to learn "
            "the known classes only"
        )
    table = check_array(X_unlabeled, input_name="X_unlabeled", estimator=estimator, **options)
    check_same_columns(table, X_unlabeled, "X_unlabeled", estimator.n_features_in_, names)
    return table


def check_same_columns(
    table: Any, given: Any, source: str, n_features: int, names: list[str] | None
) -> None:
    """Refuse a table that does not have the columns of X.

    Parameters
    ----------
    table : array or sparse matrix
        The table after conversion.
    given : table
        As the user passed it.
    source : str
        Name of the table in messages.
    n_features : int
        Columns of X.
    names : list of str or None
        Their names.
    """
    if table.shape[1] != n_features:
        raise ValueError(
            f"{source} has {table.shape[1]} features, but X has {n_features}: "
            "both must have the same columns"
            + (f". {_IN_PIPELINES}." if source == "X_unlabeled" else "")
        )
    own_names = column_names(given)
    if names is not None and own_names is not None and names != own_names:
        different = [
            f"{shown(ours)} where X has {shown(theirs)}"
            for ours, theirs in zip(own_names, names, strict=True)
            if ours != theirs
        ]
        raise ValueError(
            f"{source} must have the columns of X in the same order, but it has "
            + "; ".join(different[:5])
            + ("; and more" if len(different) > 5 else "")
        )


@dataclass(frozen=True)
class RowStack:
    """Tables stacked by rows without copying them.

    Attributes
    ----------
    parts : sequence of dense arrays or CSC matrices with the same number of columns
    order : int array or None
        Row i of the stack is row order[i] of the concatenated parts.
    categories : tuple of int or None
        Categories of each column, 0 where it holds numbers. Columns with categories hold their
        ranks. None where no column has any.
    """

    parts: Sequence[Any]
    order: NDArray[np.intp] | None = None
    categories: tuple[int, ...] | None = None

    @property
    def n_categories(self) -> tuple[int, ...]:
        """Categories of each column; 0 where it holds numbers."""
        return (0,) * self.n_features if self.categories is None else self.categories

    @property
    def n_rows(self) -> int:
        """Number of rows of the stack."""
        if self.order is not None:
            return len(self.order)
        return sum(part.shape[0] for part in self.parts)

    @property
    def n_features(self) -> int:
        """Number of columns of every part."""
        return int(self.parts[0].shape[1])

    def take(self, rows: NDArray[np.intp]) -> RowStack:
        """The given rows of the stack."""
        chosen = rows if self.order is None else self.order[rows]
        return RowStack(self.parts, chosen, self.categories)

    def rows_from(self, first: int) -> Any:
        """Rows [first, n_rows) as a dense array or CSR; not copied if they are exactly one part."""
        n_parts = len(self.parts)
        if self.order is None and n_parts == 2 and self.parts[0].shape[0] == first:
            part = self.parts[1]
            return part.tocsr() if sparse.issparse(part) else part
        return self.take(np.arange(first, self.n_rows)).table()

    def table(self) -> Any:
        """All rows as one dense array, or as CSR if a part is sparse."""
        if any(sparse.issparse(part) for part in self.parts):
            table = sparse.vstack(self.parts, format="csr")
        else:
            table = self.parts[0] if len(self.parts) == 1 else np.concatenate(self.parts)
        return table if self.order is None else table[self.order]

    def column(self, feature: int) -> NDArray[Any]:
        """One column as a dense vector of floats."""
        values = [_dense_column(part, feature) for part in self.parts]
        column = values[0] if len(values) == 1 else np.concatenate(values)
        return column if self.order is None else column[self.order]


def _dense_column(part: Any, feature: int) -> NDArray[Any]:
    if not sparse.issparse(part):
        column: NDArray[Any] = part[:, feature]
        return column
    column = np.zeros(part.shape[0], dtype=part.dtype)
    stored = slice(part.indptr[feature], part.indptr[feature + 1])
    column[part.indices[stored]] = part.data[stored]
    return column


def by_column(part: Any) -> Any:
    """The table with columns that can be read one by one: dense, or CSC without duplicates."""
    if not sparse.issparse(part):
        return part
    part = part.tocsc()
    if not part.has_canonical_format:
        part = part.copy()
        part.sum_duplicates()
    return part


def warn_if_untransformed(labeled: Any, unlabeled: Any) -> None:
    """Warn where X was scaled or projected, but X_unlabeled was not.

    Detected are labelled columns that are all standardised or all scaled to [0, 1] beside
    unlabelled ones far outside of their range, and tables most of whose columns have no values in
    common. Small tables, sparse ones and missing values raise no alarm.

    Parameters
    ----------
    labeled, unlabeled : array or sparse matrix of shape (n_rows, n_features)
        Checked tables.
    """
    if not (isinstance(labeled, np.ndarray) and isinstance(unlabeled, np.ndarray)):
        return
    if min(len(labeled), len(unlabeled)) < 10:
        return
    there = _some_rows(unlabeled)
    low, high = _ends(_some_rows(labeled))
    varied = low < high  # False where all values are missing
    if not varied.any():
        return
    outside = np.where(np.isnan(there), False, (there < low) | (there > high))[:, varied]
    foreign = outside.mean(axis=0) >= _FOREIGN_SHARE
    n_foreign, n_columns = int(foreign.sum()), len(foreign)
    if n_foreign == 0:  # the usual case: labelled rows need not be read whole
        return
    scaled = _scaling_of(np.asarray(labeled[:, varied], dtype=np.float64))
    if scaled is not None:
        _warn(f"X is {scaled}, and X_unlabeled is not")
    elif n_columns >= 3 and 2 * n_foreign > n_columns:
        _warn(f"{n_foreign} of {n_columns} columns have almost no values in the range of X")


def _warn(what: str) -> None:
    warn_user(_UNTRANSFORMED.format(what=what), UserWarning)


def _some_rows(table: Any) -> NDArray[np.float64]:
    step = max(1, len(table) // _COMPARED_ROWS)
    return np.asarray(table[::step], dtype=np.float64)


def _ends(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Smallest and largest value of each column; infinite ends where all values are missing."""
    missing = np.isnan(table)
    low = np.where(missing, np.inf, table).min(axis=0)
    return low, np.where(missing, -np.inf, table).max(axis=0)


def _scaling_of(table: NDArray[np.float64]) -> str | None:
    low, high = _ends(table)
    if np.allclose(low, 0.0, atol=1e-6) and np.allclose(high, 1.0, atol=1e-6):
        return "scaled to [0, 1]"
    means, deviations = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
    if np.allclose(means, 0.0, atol=1e-4) and np.allclose(deviations, 1.0, atol=1e-4):
        return "standardised"
    return None
