"""Labels: which rows carry one, what the known classes are, what the new class is called."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._parameters import is_real


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


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except (TypeError, ValueError):  # pandas.NA is neither equal nor different
        return False


def _find_missing(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Rows of y that hold NaN, None or pandas.NA: what is not equal to itself, and None."""
    if y.dtype.kind != "O":
        return np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)
    return np.array([label is None or not _equal(label, label) for label in y], dtype=bool)


def check_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels of one type, none of them missing."""
    missing = _find_missing(labels)
    if missing.any():
        raise ValueError(
            f"Input y contains NaN: {labels[missing][0]!r} among the labels. If it marks "
            "unlabelled rows, set unlabeled_label=numpy.nan; else drop these rows."
        )
    if labels.dtype.kind == "O":
        types = {type(label) for label in labels}
        if all(is_real(label) for label in labels) or types <= {bool, np.bool_}:
            return np.array(labels.tolist())  # numbers beside a None or a text that marks
        if len(types) > 1 and not all(isinstance(label, str) for label in labels):
            names = sorted(kind.__name__ for kind in types)
            raise ValueError(f"y mixes labels of several types, {names}: convert y to one of them")
    return labels


def find_sentinel(y: NDArray[Any], sentinel: Any) -> NDArray[np.bool_]:
    """Rows of y that are marked as unlabelled. NaN marks None and pandas.NA as well as NaN."""
    if isinstance(sentinel, Real) and np.isnan(float(sentinel)):
        return _find_missing(y)
    if y.dtype.kind == "O":
        return np.array([label is sentinel or _equal(label, sentinel) for label in y], dtype=bool)
    if isinstance(sentinel, str) != (y.dtype.kind in "US"):
        return np.zeros(len(y), dtype=bool)
    return np.asarray(y == sentinel)


def _kind(labels: NDArray[Any]) -> str:
    """text, number, boolean or other."""
    if labels.dtype.kind == "U" or (
        labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels)
    ):
        return "text"
    if labels.dtype.kind == "b":
        return "boolean"
    return "number" if labels.dtype.kind in "iuf" else "other"


def _automatic_new_label(known: NDArray[Any], kind: str) -> Any:
    if kind == "number":
        return -1 if -1 not in known else known.min().item() - 1
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
    if kind == "number" and not np.isfinite(new_label):
        raise ValueError(f"new_label must be finite, got {new_label!r}")
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
