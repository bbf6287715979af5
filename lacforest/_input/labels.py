"""Labels: which rows have one, the known classes, and the label of the new class."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from lacforest._input.parameters import is_real


@dataclass(frozen=True)
class Labels:
    """The classes of a forest: known ones in internal order, and the index of the new class."""

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


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except (TypeError, ValueError):  # pandas.NA is neither equal nor different
        return False


def _find_missing(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Rows of y with NaN, None or pandas.NA: values that differ from themselves, and None."""
    if y.dtype.kind != "O":
        return np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)
    return np.array([label is None or not _equal(label, label) for label in y], dtype=bool)


def reject_masked(values: Any, name: str) -> None:
    """Refuse a masked array with masked entries, where no entry may be missing."""
    if np.ma.is_masked(values):
        place = int(np.flatnonzero(np.ma.getmaskarray(values))[0])
        raise ValueError(
            f"{name} is a masked array, and entry {place} is masked: drop these rows, or pass a "
            "plain array"
        )


def as_labels(y: Any, warn: bool = False) -> NDArray[Any]:
    """Labels as an array of one dimension, none of them masked."""
    reject_masked(y, "y")
    labels: NDArray[Any] = column_or_1d(y, warn=warn)
    if labels.dtype.kind == "f" and isinstance(y, list | tuple) and np.ndim(y) == 1:
        check_exact(np.array(y, dtype=object), labels)
    return labels


def check_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Check that labels have one type and that none is missing."""
    missing = _find_missing(labels)
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
            return numbers
        if len(types) > 1 and not all(isinstance(label, str) for label in labels):
            names = sorted(kind.__name__ for kind in types)
            raise ValueError(f"y contains labels of several types, {names}: convert y to one type")
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
    """Rows of y that are equal to the sentinel. NaN also matches None and pandas.NA."""
    if isinstance(sentinel, Real) and np.isnan(float(sentinel)):
        return _find_missing(y)
    if y.dtype.kind == "O":
        return np.array([label is sentinel or _equal(label, sentinel) for label in y], dtype=bool)
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
    raise ValueError(
        f"y contains {kind} labels, which leaves no value for the new class: convert y to integers "
        "or to strings"
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
