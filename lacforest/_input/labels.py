"""Labels and weights of rows: the known classes, the label of the new one, what each row counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from lacforest._input.parameters import MAX_WEIGHT, is_real
from lacforest._utils.classes import Labels
from lacforest._utils.frames import are_equal, find_missing


def reject_masked(values: Any, name: str) -> None:
    """Refuse a masked array with masked entries, where no entry may be missing."""
    if np.ma.is_masked(values):
        place = int(np.flatnonzero(np.ma.getmaskarray(values))[0])
        raise ValueError(
            f"{name} is a masked array, and entry {place} is masked: drop these rows, or pass a "
            "plain array"
        )


def as_labels(y: Any, warn: bool = False, name: str = "y") -> NDArray[Any]:
    """Labels as an array of one dimension, none of them masked."""
    reject_masked(y, name)
    labels: NDArray[Any] = column_or_1d(y, warn=warn)
    if isinstance(y, list | tuple) and labels.dtype.kind in "fU" and np.ndim(y) == 1:
        given = np.array(y, dtype=object)
        if labels.dtype.kind == "U":  # NumPy writes numbers as text, NaN as "nan"
            return labels if labels.tolist() == given.tolist() else given
        check_exact(given, labels)
    return labels


def check_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Check that labels have one type and that none is missing."""
    missing = find_missing(labels)
    if missing.any():
        raise ValueError(
            f"Input y contains NaN: {labels[missing][0]!r} among the labels. If it marks "
            "unlabelled rows, set unlabeled_label=numpy.nan; else drop these rows."
        )
    if labels.dtype.kind == "O":
        types = {type(label) for label in labels}
        if all(is_real(label) for label in labels) or types <= {bool, np.bool_}:
            numbers = np.array(labels.tolist())  # numbers that stood beside a None or text mark
            check_exact(labels, numbers)
            if numbers.dtype.kind != "O":
                return numbers
        if len(types) > 1 and not all(isinstance(label, str) for label in labels):
            names = sorted(kind.__name__ for kind in types)
            raise ValueError(f"y contains labels of several types, {names}: convert y to one type")
        # scikit-learn speaks of bytes and of lists itself.
        odd = [label for label in labels if not isinstance(label, str | bytes | tuple | list)]
        if odd:
            raise ValueError(
                f"Unknown label type: y contains labels such as {odd[0]!r}: convert y to integers "
                "or to strings"
            )
    return labels


def check_exact(labels: NDArray[Any], converted: NDArray[Any]) -> None:
    """Check that labels are equal to what a conversion made of them, so that none became one."""
    for label, other in zip(labels.tolist(), converted.tolist(), strict=True):
        if isinstance(label, int) and label != other:
            raise ValueError(
                f"y contains the label {label!r}, which {converted.dtype} cannot hold exactly: "
                "labels that differ could become one. Convert y to one type of integers, or to "
                "strings."
            )


def find_sentinel(y: NDArray[Any], sentinel: Any) -> NDArray[np.bool_]:
    """Rows of y that are equal to the sentinel. NaN and pandas.NA match all missing values."""
    if np.ndim(sentinel) != 0:
        raise TypeError(f"the mark of unlabelled rows must be a single label, got {sentinel!r}")
    if not are_equal(sentinel, sentinel):
        return find_missing(y)
    if y.dtype.kind == "O":
        return np.array(
            [label is sentinel or are_equal(label, sentinel) for label in y], dtype=bool
        )
    if isinstance(sentinel, str) != (y.dtype.kind in "US"):
        return np.zeros(len(y), dtype=bool)
    return np.asarray(y == sentinel)


def _kind(labels: NDArray[Any]) -> str:
    """The kind of labels: text, number, boolean or other."""
    if labels.dtype.kind == "U" or (
        labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels)
    ):
        return "text"
    if labels.dtype.kind == "b":
        return "boolean"
    return "number" if labels.dtype.kind in "iuf" else "other"


def _automatic_new_label(known: NDArray[Any], kind: str) -> Any:
    if known.dtype == np.uint64:  # no type of integers holds it and -1
        label = int(np.iinfo(known.dtype).max)
        taken = set(known.tolist())
        while label in taken:
            label -= 1
        return label
    if kind == "number":
        label = -1 if -1 not in known else known.min().item() - 1
        if label not in known and label >= np.iinfo(np.int64).min:
            return label
    if kind == "text":
        text = "<new>"
        while text in known:
            text = f"<{text[1:-1]}_>"
        return text
    if kind == "number":
        raise ValueError(
            f"y contains labels from {known.min()!r} to {known.max()!r}, which leaves no value for "
            'new_label="auto": set new_label to a number that is not a label'
        )
    named = kind if kind == "boolean" else known.dtype
    raise ValueError(
        f"y contains {named} labels, which leaves no value for the new class: convert y to "
        "integers or to strings"
    )


def make_labels(known: NDArray[Any], new_label: Any, has_unlabeled: bool) -> Labels:
    """Insert the new class into the sorted known classes."""
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
    if kind == "number" and not np.isfinite(new_label):
        raise ValueError(f"new_label must be finite, got {new_label!r}")
    if new_label in known:
        raise ValueError(
            f"new_label {new_label!r} is already a label in y: choose another one, or 'auto'"
        )
    if kind == "text":
        dtype = known.dtype if known.dtype.kind == "O" else np.result_type(known, given)
    else:
        dtype = np.result_type(known.dtype, np.min_scalar_type(new_label))
    converted = known.astype(dtype)
    if any(ours != theirs for ours, theirs in zip(converted.tolist(), known.tolist(), strict=True)):
        raise ValueError(
            f"new_label {new_label!r} and the labels in y, such as {known[-1]!r}, have no type in "
            f"common that holds them exactly: choose a new_label of the type {known.dtype}"
        )
    own = np.asarray(new_label, dtype=dtype)
    if own in converted:
        raise ValueError(
            f"new_label {new_label!r} becomes the label {own.item()!r} in y when it is converted "
            f"to {dtype}: choose another one"
        )
    index = int(np.searchsorted(converted, own))
    classes = np.insert(converted, index, own)
    return Labels(known, classes, classes[index], index)


def check_weight(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Check the weights of rows; a number is the weight of every row."""
    if sample_weight is None:
        return None
    if is_real(sample_weight):
        sample_weight = np.full(n_rows, float(sample_weight))
    reject_masked(sample_weight, "sample_weight")
    try:
        weight = check_array(
            sample_weight,
            ensure_2d=False,
            dtype=np.float64,
            ensure_min_samples=0,
            input_name="sample_weight",
        )
    except (TypeError, ValueError) as error:
        if "sample_weight" in str(error):
            raise
        raise ValueError(f"sample_weight must be numbers: {error}") from error
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


def check_total(weight: NDArray[np.float64], source: str) -> None:
    """Raise if squares of the sum overflow or underflow: no cut would then reduce the impurity."""
    with np.errstate(over="ignore"):
        total = weight.sum()
    if total > MAX_WEIGHT:
        raise ValueError(
            f"{source} is too large: its sum is {total:.3g}, and the limit is {MAX_WEIGHT:g}. "
            "Scale it down."
        )
    if total < 1 / MAX_WEIGHT:
        raise ValueError(
            f"{source} is too small: its sum is {total:.3g}, and the limit is {1 / MAX_WEIGHT:g}. "
            "Scale it up."
        )


def class_weights(
    class_weight: Any, known: NDArray[Any], y: NDArray[Any], weight: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """One factor per known class."""
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
    classes = known.tolist()
    unknown = [label for label in class_weight if label not in classes]
    if unknown:
        raise ValueError(f"class_weight names labels that are not in y: {unknown}")
    for label, factor in class_weight.items():
        if not is_real(factor) or not 0.0 <= factor < np.inf:
            raise ValueError(
                f"class_weight of {label!r} must be finite and not negative, got {factor!r}"
            )
    by_label = {label: float(factor) for label, factor in class_weight.items()}
    return np.array([by_label.get(label, 1.0) for label in classes])


@dataclass(frozen=True)
class LabeledWeights:
    """Weights of the labelled rows that are left, those of weight zero being dropped.

    Attributes
    ----------
    kept : bool array of shape (n_given,)
        Which labelled rows are left.
    weight : float64 array of shape (n_labeled,) or None
        All positive; None if every weight is 1.
    sampling : float64 array of shape (n_labeled,) or None
        The same without the factors of classes: how many rows each row stands for.
    class_factors : float64 array of shape (n_known,) or None
        Factors by `class_weight`.
    """

    kept: NDArray[np.bool_]
    weight: NDArray[np.float64] | None
    sampling: NDArray[np.float64] | None
    class_factors: NDArray[np.float64] | None = None


def labeled_weights(
    estimator: Any,
    sample_weight: Any,
    marked: NDArray[np.bool_],
    known: NDArray[Any],
    codes: NDArray[np.intp],
) -> LabeledWeights:
    """Weights by row times weights by class.

    Parameters
    ----------
    estimator : estimator
        Its `class_weight` counts, if it has one.
    sample_weight : array-like or None
        Of all rows of X.
    marked : bool array
        Which rows of X are unlabelled; their weights are not used.
    known : array
        The known classes.
    codes : int array
        Index in `known` of each labelled row.
    """
    weight = check_weight(sample_weight, len(marked))
    weight = None if weight is None else weight[~marked]
    sampling = weight
    class_weight = getattr(estimator, "class_weight", None)
    factors = class_weights(class_weight, known, known[codes], weight)
    source = "sample_weight"
    if factors is not None:
        source = "class_weight" if weight is None else "sample_weight times class_weight"
        with np.errstate(over="ignore"):
            weight = factors[codes] if weight is None else weight * factors[codes]
    if weight is None:
        return LabeledWeights(np.ones(len(codes), dtype=bool), None, None)
    kept = weight > 0
    if not kept.any():
        raise ValueError(f"{source} is zero for every labelled row: nothing is left to learn")
    check_total(weight, source)
    sampling = None if sampling is None else sampling[kept]
    own = None if (weight[kept] == 1.0).all() else weight[kept]
    return LabeledWeights(kept, own, sampling, factors)


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
    labels = as_labels(y, warn=True)
    if len(labels) != n_rows:
        raise ValueError(f"y has {len(labels)} labels, but X has {n_rows} rows")
    sentinel = estimator.unlabeled_label
    has_sentinel = sentinel is not None
    marked = find_sentinel(labels, sentinel) if has_sentinel else np.zeros(len(labels), dtype=bool)
    if has_sentinel and has_unlabeled:
        raise ValueError(
            "unlabelled rows are given twice, in X_unlabeled and by unlabeled_label: use one"
        )
    if marked.all():
        raise ValueError("y contains no label: every row is marked by unlabeled_label")
    labels = check_labels(labels[~marked])
    if labels.dtype.kind == "f":
        check_array(labels, ensure_2d=False, input_name="y")
    check_classification_targets(labels)
    return labels, marked
