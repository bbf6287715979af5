"""Tables and rows: from what the user passed to what the forest is grown on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from lacforest._coding import RowStack
from lacforest._labels import Labels, check_labels, find_sentinel, make_labels
from lacforest._training_rows import TrainingRows
from lacforest._weights import check_total, check_weight, class_weights

_MAX_KNOWN = 65_534
_MAX_ROWS = 2**32 - 1
# Tables that a forest takes, and those that a method of distances or inner products takes.
FOREST_TABLE: dict[str, Any] = {
    "accept_sparse": ["csr", "csc"],
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": "allow-nan",
}
DENSE_TABLE: dict[str, Any] = {"dtype": np.float64}


def column_names(table: Any) -> list[str] | None:
    """Names of a frame's columns if all are text."""
    columns = getattr(table, "columns", None)
    if columns is None or callable(columns):
        return None
    names = list(columns)
    return names if all(isinstance(name, str) for name in names) else None


_NOT_NUMBERS = ("str", "utf8", "categor", "enum", "date", "time", "duration", "binary", "list")


def _is_text_column(table: Any, index: int, dtype: Any) -> bool:
    """By its type, or by its values if the type says nothing (object, in pandas below 3)."""
    kind = str(dtype).lower()
    if kind != "object":
        return any(word in kind for word in _NOT_NUMBERS)
    column = table.iloc[:, index] if hasattr(table, "iloc") else table[:, index]
    try:
        np.asarray(column).astype(np.float64)
    except (TypeError, ValueError):
        return True
    return False


def reject_text(table: Any, name: str) -> None:
    """Say which columns are not numbers, before a conversion fails without saying."""
    advice = "encode them first, for instance with sklearn.preprocessing.OrdinalEncoder"
    dtypes = getattr(table, "dtypes", None)
    columns = getattr(table, "columns", None)
    if columns is not None and dtypes is not None and not callable(columns):
        text = [
            str(column)
            for index, (column, dtype) in enumerate(zip(columns, dtypes, strict=False))
            if _is_text_column(table, index, dtype)
        ]
        if text:
            raise ValueError(f"{name} has columns that are not numbers: {text}; {advice}")
        return
    array = table if isinstance(table, np.ndarray) else None
    if isinstance(table, list | tuple):
        try:
            array = np.asarray(table)
        except ValueError:
            return  # rows of different lengths: scikit-learn says so
    if array is not None and array.dtype.kind in "mM":
        raise ValueError(f"{name} holds dates (dtype {array.dtype}); {advice}")
    if array is not None and array.dtype.kind in "US":
        raise ValueError(f"{name} holds text (dtype {array.dtype}); {advice}")
    if array is not None and array.dtype.kind == "O":
        try:
            array.astype(np.float64)
        except (TypeError, ValueError) as error:
            message = f"{name} holds values that are not numbers ({error}); {advice}"
            raise type(error)(message) from error


def check_training_table(estimator: Any, X: Any, options: dict[str, Any] = FOREST_TABLE) -> Any:
    """X of fit; sets n_features_in_ and feature_names_in_."""
    reject_text(X, "X")
    return validate_data(estimator, X, reset=True, **options)


def _is_plain_table(estimator: Any, X: Any) -> bool:
    """Whether X is what the trees want: scikit-learn's checks take longer than a row does."""
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
    """X of predict, by what fit asked of tables."""
    reject_text(X, "X")
    return validate_data(estimator, X, reset=False, **options)


def check_prediction_table(estimator: Any, X: Any) -> Any:
    """X of predict: as many features as in fit, in the same order. CSC becomes CSR."""
    if _is_plain_table(estimator, X):
        return X
    checked = check_new_table(estimator, X, FOREST_TABLE)
    return checked.tocsr() if sparse.issparse(checked) else checked


def check_unlabeled_table(
    estimator: Any,
    X_unlabeled: Any,
    names: list[str] | None,
    options: dict[str, Any] = FOREST_TABLE,
) -> Any:
    """X_unlabeled of fit: the columns of X."""
    reject_text(X_unlabeled, "X_unlabeled")
    shape = getattr(X_unlabeled, "shape", None)
    if (shape is not None and len(shape) >= 1 and shape[0] == 0) or (
        isinstance(X_unlabeled, list | tuple) and len(X_unlabeled) == 0
    ):
        raise ValueError(
            "X_unlabeled has no rows: pass rows from deployment (a classifier that is fitted "
            "without X_unlabeled learns the known classes only)"
        )
    table = check_array(X_unlabeled, input_name="X_unlabeled", estimator=estimator, **options)
    if table.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X_unlabeled has {table.shape[1]} features, but X has {estimator.n_features_in_}: "
            "both need the same columns"
        )
    own_names = column_names(X_unlabeled)
    if names is not None and own_names is not None and names != own_names:
        different = [
            f"{ours!r} where X has {theirs!r}"
            for ours, theirs in zip(own_names, names, strict=True)
            if ours != theirs
        ]
        raise ValueError(
            "X_unlabeled must have the columns of X in the same order, but it has "
            + "; ".join(different[:5])
            + ("; and more" if len(different) > 5 else "")
        )
    return table


def check_training_labels(
    estimator: Any, y: Any, n_rows: int, has_unlabeled: bool
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Labels of the labelled rows, and which rows of X are marked as unlabelled.

    Parameters
    ----------
    estimator : estimator
        With the parameter `unlabeled_label`.
    y : array-like
        Labels of X.
    n_rows : int
        Rows of X.
    has_unlabeled : bool
        Whether unlabelled rows are given apart from X.
    """
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            "is None"
        )
    labels = column_or_1d(y, warn=True)
    if len(labels) != n_rows:
        raise ValueError(f"y has {len(labels)} labels, but X has {n_rows} rows")
    sentinel = estimator.unlabeled_label
    has_sentinel = sentinel is not None
    marked = find_sentinel(labels, sentinel) if has_sentinel else np.zeros(len(labels), dtype=bool)
    if has_sentinel and has_unlabeled:
        raise ValueError(
            "unlabelled rows are given twice, in X_unlabeled and by unlabeled_label: choose one"
        )
    if marked.all():
        raise ValueError("y holds no label: every row is marked by unlabeled_label")
    labels = check_labels(labels[~marked])
    if labels.dtype.kind == "f":
        check_array(labels, ensure_2d=False, input_name="y")
    check_classification_targets(labels)
    return labels, marked


def check_training_rows(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    X_unlabeled: Any,
    *,
    options: dict[str, Any] = FOREST_TABLE,
    always_new: bool = False,
) -> tuple[TrainingRows, Labels]:
    """Stack labelled above unlabelled rows and code the labels.

    Labelled rows of weight zero are left out: they are not there. Their label stays a class. There
    is a new class if there are unlabelled rows, or if the method can find one without them
    (`always_new`).
    """
    names = column_names(X)
    table = check_training_table(estimator, X, options)
    labels, marked = check_training_labels(estimator, y, table.shape[0], X_unlabeled is not None)

    known, codes = np.unique(labels, return_inverse=True)
    if len(known) > _MAX_KNOWN:
        raise ValueError(f"y has {len(known)} classes; at most {_MAX_KNOWN} are supported")
    weight = check_weight(sample_weight, table.shape[0])
    weight = None if weight is None else weight[~marked]
    sampling_weight = weight
    class_weight = getattr(estimator, "class_weight", None)
    factors = class_weights(class_weight, known, labels, weight)
    source = "sample_weight"
    if factors is not None:
        source = "class_weight" if weight is None else "sample_weight times class_weight"
        with np.errstate(over="ignore"):
            weight = factors[codes] if weight is None else weight * factors[codes]
    kept = np.ones(len(labels), dtype=bool) if weight is None else weight > 0
    if not kept.any():
        raise ValueError(f"{source} is zero for every labelled row: nothing is left to learn")
    if weight is not None:
        check_total(weight, source)

    parts = [table]
    if X_unlabeled is not None:
        parts.append(check_unlabeled_table(estimator, X_unlabeled, names, options))
    n_unlabeled = int(marked.sum()) if X_unlabeled is None else parts[1].shape[0]
    order = None
    if marked.any() or not kept.all():
        below = [] if X_unlabeled is None else [table.shape[0] + np.arange(n_unlabeled)]
        order = np.concatenate([np.flatnonzero(~marked)[kept], np.flatnonzero(marked), *below])
    n_labeled = int(kept.sum())
    if n_labeled + n_unlabeled > _MAX_ROWS:
        raise ValueError(f"at most {_MAX_ROWS} rows are supported")
    if weight is not None and (weight[kept] == 1.0).all():
        weight = None
    row_weight = None
    if weight is not None:
        row_weight = np.concatenate([weight[kept], np.ones(n_unlabeled)])
    rows = TrainingRows(
        table=RowStack([by_column(part) for part in parts], order),
        classes=np.concatenate(
            [codes[kept], np.full(n_unlabeled, len(known))], dtype=np.uint16, casting="unsafe"
        ),
        weight=row_weight,
        sampling_weight=None if sampling_weight is None else sampling_weight[kept],
        n_labeled=n_labeled,
        n_unlabeled=n_unlabeled,
        n_known=len(known),
    )
    return rows, make_labels(known, estimator.new_label, always_new or n_unlabeled > 0)


def by_column(part: Any) -> Any:
    """A table whose columns can be read one by one: dense, or CSC without duplicates."""
    if not sparse.issparse(part):
        return part
    part = part.tocsc()
    if not part.has_canonical_format:
        part = part.copy()
        part.sum_duplicates()
    return part
