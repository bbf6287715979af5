"""User input to training rows: every message about bad input is raised here."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from lacforest._coding import RowStack
from lacforest._grow import TrainingRows

_MAX_KNOWN = 65_534
_MAX_ROWS = 2**32 - 1
_TABLE_OPTIONS: dict[str, Any] = {
    "accept_sparse": ["csr", "csc"],
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": "allow-nan",
}


@dataclass(frozen=True)
class Labels:
    """The classes of a forest: known ones in internal order, and where "new" stands among all."""

    known: NDArray[Any]
    classes: NDArray[Any]
    new_label: Any
    new_index: int | None

    @property
    def column_order(self) -> NDArray[np.intp]:
        """Internal class code (new last) of each entry of `classes`."""
        order = np.arange(len(self.classes))
        if self.new_index is not None:
            order = np.insert(np.arange(len(self.known)), self.new_index, len(self.known))
        return order


# ---------------------------------------------------------------------------- parameters


def _is_int(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _check_int(name: str, value: Any, low: int, *, none_allowed: bool = False) -> None:
    if none_allowed and value is None:
        return
    if not _is_int(value):
        or_none = " or None" if none_allowed else ""
        raise TypeError(f"{name} must be an integer{or_none}, got {value!r}")
    if value < low:
        raise ValueError(f"{name} must be at least {low}, got {value!r}")


def check_gamma(gamma: Any) -> float:
    """Gamma of Eqns 5 and 6."""
    if not _is_real(gamma):
        raise TypeError(f"gamma must be a number in [0, 0.5], got {gamma!r}")
    if not 0.0 <= gamma <= 0.5:
        raise ValueError(
            f"gamma must lie in [0, 0.5], got {gamma!r}: each child keeps at least that share of "
            "all labelled and of all unlabelled rows, and there are two children"
        )
    return float(gamma)


def check_theta(theta: Any) -> float:
    """The proportion of the augmented class (Eqn 1)."""
    if not _is_real(theta):
        raise TypeError(f"theta must be a number strictly between 0 and 1, got {theta!r}")
    if not 0.0 < theta < 1.0:
        raise ValueError(
            f"theta must lie strictly between 0 and 1, got {theta!r}: it is the share of "
            "unlabelled rows that belong to the new class"
        )
    return float(theta)


def check_max_features(max_features: Any, n_features: int) -> int:
    """Number of features to draw at a node, tau in the paper."""
    if max_features is None:
        return n_features
    if isinstance(max_features, str):
        if max_features == "sqrt":
            return max(1, int(np.sqrt(n_features)))
        if max_features == "log2":
            return max(1, int(np.log2(n_features)))
    elif _is_int(max_features):
        if 1 <= max_features <= n_features:
            return int(max_features)
        raise ValueError(
            f"max_features must lie between 1 and the number of features, {n_features}, "
            f"got {max_features!r}"
        )
    elif _is_real(max_features) and 0.0 < max_features <= 1.0:
        return max(1, int(max_features * n_features))
    raise ValueError(
        'max_features must be "sqrt", "log2", None, an integer, or a share in (0, 1], '
        f"got {max_features!r}"
    )


def check_tree_parameters(estimator: Any) -> None:
    """Parameters that shape trees and need no data to be checked."""
    _check_int("n_estimators", estimator.n_estimators, 1)
    _check_int("max_depth", estimator.max_depth, 1, none_allowed=True)
    _check_int("min_samples_split", estimator.min_samples_split, 2)
    _check_int("min_samples_leaf", estimator.min_samples_leaf, 1)
    check_gamma(estimator.gamma)
    if not isinstance(estimator.bootstrap, bool | np.bool_):
        raise TypeError(f"bootstrap must be True or False, got {estimator.bootstrap!r}")


# ---------------------------------------------------------------------------- tables


def _column_names(table: Any) -> list[str] | None:
    columns = getattr(table, "columns", None)
    if columns is None or callable(columns):
        return None
    names = list(columns)
    return names if all(isinstance(name, str) for name in names) else None


def _reject_text(table: Any, name: str) -> None:
    """Say which columns are not numbers, before a conversion fails without saying."""
    advice = "encode them first, for instance with sklearn.preprocessing.OrdinalEncoder"
    dtypes = getattr(table, "dtypes", None)
    columns = getattr(table, "columns", None)
    if columns is not None and dtypes is not None and not callable(columns):
        text = [
            str(column)
            for column, dtype in zip(columns, dtypes, strict=False)
            if any(
                word in str(dtype).lower()
                for word in ("str", "utf8", "categor", "enum", "date", "time", "duration")
            )
        ]
        if text:
            raise ValueError(f"{name} has columns that are not numbers: {text}; {advice}")
        return
    array = table if isinstance(table, np.ndarray) else None
    if array is not None and array.dtype.kind in "US":
        raise ValueError(f"{name} holds text (dtype {array.dtype}); {advice}")
    if array is not None and array.dtype.kind == "O":
        try:
            array.astype(np.float64)
        except (TypeError, ValueError) as error:
            message = f"{name} holds values that are not numbers ({error}); {advice}"
            raise type(error)(message) from error


def check_training_table(estimator: Any, X: Any) -> Any:
    """X of fit; sets n_features_in_ and feature_names_in_."""
    _reject_text(X, "X")
    return validate_data(estimator, X, reset=True, **_TABLE_OPTIONS)


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


def check_prediction_table(estimator: Any, X: Any) -> Any:
    """X of predict: as many features as in fit, in the same order. CSC becomes CSR."""
    if _is_plain_table(estimator, X):
        return X
    _reject_text(X, "X")
    checked = validate_data(estimator, X, reset=False, **_TABLE_OPTIONS)
    return checked.tocsr() if sparse.issparse(checked) else checked


def check_unlabeled_table(estimator: Any, X_unlabeled: Any, names: list[str] | None) -> Any:
    """X_unlabeled of fit: the columns of X."""
    _reject_text(X_unlabeled, "X_unlabeled")
    shape = getattr(X_unlabeled, "shape", None)
    if (shape is not None and len(shape) >= 1 and shape[0] == 0) or (
        isinstance(X_unlabeled, list | tuple) and len(X_unlabeled) == 0
    ):
        raise ValueError(
            "X_unlabeled has no rows: pass rows from deployment, or leave X_unlabeled out for a "
            "plain random forest of the known classes"
        )
    table = check_array(
        X_unlabeled, input_name="X_unlabeled", estimator=estimator, **_TABLE_OPTIONS
    )
    if table.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X_unlabeled has {table.shape[1]} features, but X has {estimator.n_features_in_}: "
            "both need the same columns"
        )
    own_names = _column_names(X_unlabeled)
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


# ---------------------------------------------------------------------------- labels


def find_sentinel(y: NDArray[Any], sentinel: Any) -> NDArray[np.bool_]:
    """Rows of y that are marked as unlabelled. NaN and None mark as well as any other value."""
    if isinstance(sentinel, Real) and np.isnan(float(sentinel)):
        return np.array([isinstance(label, Real) and label != label for label in y], dtype=bool)
    if sentinel is None or y.dtype.kind == "O":
        return np.array([label is sentinel or label == sentinel for label in y], dtype=bool)
    if isinstance(sentinel, str) != (y.dtype.kind in "US"):
        return np.zeros(len(y), dtype=bool)
    return np.asarray(y == sentinel)


def _kind(labels: NDArray[Any]) -> str:
    """text, number, boolean or other."""
    if labels.dtype.kind in "US" or (
        labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels)
    ):
        return "text"
    if labels.dtype.kind == "b":
        return "boolean"
    return "number" if labels.dtype.kind in "iuf" else "other"


def _automatic_new_label(known: NDArray[Any], kind: str) -> Any:
    if kind == "number":
        return -1 if -1 not in known else known.min() - 1
    if kind == "text":
        label = "<new>"
        while label in known:
            label = f"<{label[1:-1]}_>"
        return label
    raise ValueError(
        f"y holds {kind} labels, which leaves no value for the new class: convert y to integers or "
        "to strings"
    )


def make_labels(known: NDArray[Any], new_label: Any, has_unlabeled: bool) -> Labels:
    """Where the new class stands among the sorted classes."""
    if not has_unlabeled:
        return Labels(known, known, None, None)
    kind = _kind(known)
    if isinstance(new_label, str) and new_label == "auto":
        new_label = _automatic_new_label(known, kind)
    given = np.asarray(new_label)
    if given.ndim != 0 or _kind(given.reshape(1)) != kind:
        raise TypeError(
            f"new_label must be a {kind} like the labels in y, or 'auto'; got {new_label!r}"
        )
    if new_label in known:
        raise ValueError(
            f"new_label {new_label!r} is a label in y already: choose one that no known class has, "
            "or 'auto'"
        )
    if kind == "text":
        dtype = known.dtype if known.dtype.kind == "O" else np.result_type(known, given)
    else:
        dtype = np.result_type(known.dtype, np.min_scalar_type(new_label))
    index = int(np.searchsorted(known, new_label))
    classes = np.insert(known.astype(dtype), index, new_label)
    return Labels(known, classes, classes[index], index)


# ---------------------------------------------------------------------------- weights


def _check_weight(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    if sample_weight is None:
        return None
    if _is_real(sample_weight):
        sample_weight = np.full(n_rows, float(sample_weight))
    weight = check_array(
        sample_weight,
        ensure_2d=False,
        dtype=np.float64,
        ensure_min_samples=0,
        input_name="sample_weight",
    )
    weight = np.asarray(weight, dtype=np.float64)
    if weight.ndim != 1:
        raise ValueError(f"Sample weights must be 1D, got sample_weight of shape {weight.shape}")
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has {len(weight)} entries, but X has {n_rows} rows")
    if (weight < 0).any():
        where = int(np.flatnonzero(weight < 0)[0])
        raise ValueError(
            f"sample_weight must not be negative, but entry {where} is {weight[where]}"
        )
    return weight


def _class_weights(
    class_weight: Any, known: NDArray[Any], y: NDArray[Any], weight: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """One factor a known class."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f'class_weight must be a dict, "balanced" or None, got {class_weight!r}'
            )
        factors: NDArray[np.float64] = compute_class_weight(
            "balanced", classes=known, y=y, sample_weight=weight
        )
        return factors
    if not isinstance(class_weight, dict):
        raise TypeError(f'class_weight must be a dict, "balanced" or None, got {class_weight!r}')
    unknown = [label for label in class_weight if label not in known]
    if unknown:
        raise ValueError(f"class_weight names labels that y does not have: {unknown}")
    for label, factor in class_weight.items():
        if not _is_real(factor) or not 0.0 <= factor < np.inf:
            raise ValueError(
                f"class_weight of {label!r} must be finite and not negative, got {factor!r}"
            )
    by_label = {label: float(factor) for label, factor in class_weight.items()}
    return np.array([by_label.get(label, 1.0) for label in known.tolist()])


# ---------------------------------------------------------------------------- all of fit


def check_training_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any, X_unlabeled: Any
) -> tuple[TrainingRows, Labels]:
    """Stack labelled above unlabelled rows and code the labels.

    Labelled rows of weight zero are left out: they are not there. Their label stays a class.
    """
    names = _column_names(X)
    table = check_training_table(estimator, X)
    if y is None:
        raise ValueError(
            "This LACForestClassifier estimator requires y to be passed, but the target y is None"
        )
    labels = column_or_1d(y, warn=True)
    if len(labels) != table.shape[0]:
        raise ValueError(f"y has {len(labels)} labels, but X has {table.shape[0]} rows")
    sentinel = estimator.unlabeled_label
    has_sentinel = sentinel is not None
    marked = find_sentinel(labels, sentinel) if has_sentinel else np.zeros(len(labels), dtype=bool)
    if has_sentinel and X_unlabeled is not None:
        raise ValueError(
            "unlabelled rows are given twice, in X_unlabeled and by unlabeled_label: choose one"
        )
    if marked.all():
        raise ValueError("y holds no label: every row is marked by unlabeled_label")
    labels = labels[~marked]
    if labels.dtype.kind == "O" and all(_is_real(label) for label in labels):
        labels = np.array(labels.tolist())  # numbers beside a None or a text that marks
    if labels.dtype.kind == "f":
        check_array(labels, ensure_2d=False, input_name="y")
    check_classification_targets(labels)

    known, codes = np.unique(labels, return_inverse=True)
    if len(known) > _MAX_KNOWN:
        raise ValueError(f"y has {len(known)} classes; at most {_MAX_KNOWN} are supported")
    weight = _check_weight(sample_weight, table.shape[0])
    weight = None if weight is None else weight[~marked]
    factors = _class_weights(estimator.class_weight, known, labels, weight)
    if factors is not None:
        weight = factors[codes] if weight is None else weight * factors[codes]
    kept = np.ones(len(labels), dtype=bool) if weight is None else weight > 0
    if not kept.any():
        raise ValueError("sample_weight is zero for every labelled row: nothing is left to learn")

    parts = [table]
    if X_unlabeled is not None:
        parts.append(check_unlabeled_table(estimator, X_unlabeled, names))
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
        table=RowStack([_by_column(part) for part in parts], order),
        classes=np.concatenate(
            [codes[kept], np.full(n_unlabeled, len(known))], dtype=np.uint16, casting="unsafe"
        ),
        weight=row_weight,
        n_labeled=n_labeled,
        n_unlabeled=n_unlabeled,
        n_known=len(known),
    )
    return rows, make_labels(known, estimator.new_label, n_unlabeled > 0)


def _by_column(part: Any) -> Any:
    if not sparse.issparse(part):
        return part
    part = part.tocsc()
    if not part.has_canonical_format:
        part = part.copy()
        part.sum_duplicates()
    return part
