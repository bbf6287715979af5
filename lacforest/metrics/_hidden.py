"""Labels of hidden classes: the one place where they become the label of the new class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from lacforest._labels import Labels, check_labels, find_sentinel, make_labels


def two_or_more_classes(y: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Classes, one of which can be hidden, and the class number of each row."""
    labels = check_labels(column_or_1d(y))
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has {len(classes)} class: hiding one and knowing another takes two or more"
        )
    return classes, codes


def list_labels(labels: list[Any]) -> str:
    """Labels for a message, the first twenty of many."""
    shown = ", ".join(map(repr, labels[:20]))
    return shown + (f" and {len(labels) - 20} more" if len(labels) > 20 else "")


def _in(labels: list[Any], others: list[Any]) -> NDArray[np.bool_]:
    """Which labels are among others. Python's equality: NumPy's would let 1 be the class '1'."""
    among = set(others)
    return np.array([label in among for label in labels], dtype=bool)


def find_named(classes: NDArray[Any], hidden: Any) -> NDArray[np.bool_]:
    """Which classes a list of hidden ones names."""
    named, present = list(hidden), classes.tolist()
    missing = [label for label in named if label not in present]
    if missing:
        raise ValueError(f"hidden names {missing}, but the classes in y are {list_labels(present)}")
    if not named:
        raise ValueError("hidden names no class: name at least one")
    is_hidden = _in(present, named)
    if is_hidden.all():
        raise ValueError("hidden names every class in y: leave at least one known")
    return is_hidden


def _sorted_known(known_classes: Any, classes: NDArray[Any]) -> NDArray[Any]:
    """Known classes as the forest keeps them, of the type of the labels in y."""
    if isinstance(known_classes, str) or not np.iterable(known_classes):
        raise TypeError(f"known_classes must be a list of classes, got {known_classes!r}")
    listed = list(known_classes)
    if not listed:
        raise ValueError("known_classes names no class: name at least one")
    known: NDArray[Any] = np.unique(check_labels(column_or_1d(np.asarray(listed))))
    for ours, theirs in zip(known.tolist()[:1], classes.tolist()[:1], strict=False):
        # A text is never equal to a number: every row would count as new.
        if isinstance(ours, str) != isinstance(theirs, str):
            raise TypeError(
                f"known_classes holds {ours!r} and y holds {theirs!r}, labels of different types: "
                "convert one of them"
            )
    return known


def rename(
    classes: NDArray[Any], codes: NDArray[np.intp], is_hidden: NDArray[np.bool_], labels: Labels
) -> NDArray[Any]:
    """Labels of the rows, with the label of the new class for every hidden one."""
    renamed = classes.astype(np.result_type(classes, labels.classes))
    renamed[is_hidden] = labels.new_label
    return renamed[codes]


def _mask_all_but(y: Any, known_classes: Any, new_label: Any) -> tuple[NDArray[Any], Labels]:
    classes, codes = np.unique(check_labels(column_or_1d(y)), return_inverse=True)
    known = _sorted_known(known_classes, classes)
    labels = make_labels(known, new_label, has_unlabeled=True)
    return rename(classes, codes, ~_in(classes.tolist(), known.tolist()), labels), labels


def mask_hidden(
    y: Any, hidden: Any = None, new_label: Any = "auto", *, known_classes: Any = None
) -> NDArray[Any]:
    """Replace the labels of hidden classes by the label of the new class.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of all classes.
    hidden : list of labels
        Classes to hide; at least one, and not all.
    new_label : object, default="auto"
        What stands for them. "auto" is what `LACForestClassifier` calls the new class when it is
        fitted on the other classes: -1 for numbers, "<new>" for text.
    known_classes : list of labels
        In place of `hidden`: the classes to keep. Every other label is hidden, `new_label` itself
        included, so that labels which are masked already stay as they are.

    Returns
    -------
    ndarray of shape (n_rows,)

    Examples
    --------
    >>> from lacforest.model_selection import mask_hidden
    >>> mask_hidden([0, 1, 2, 1], [1])
    array([ 0, -1,  2, -1])
    >>> mask_hidden(["cat", "owl", "<new>"], known_classes=["cat", "dog"])
    array(['cat', '<new>', '<new>'], dtype='<U5')
    """
    if (hidden is None) == (known_classes is None):
        raise TypeError("pass either hidden or known_classes: one of them decides what is hidden")
    if hidden is None:
        return _mask_all_but(y, known_classes, new_label)[0]
    if isinstance(hidden, str) or not np.iterable(hidden):
        raise TypeError(f"hidden must be a list of classes, got {hidden!r}")
    classes, codes = two_or_more_classes(y)
    is_hidden = find_named(classes, hidden)
    labels = make_labels(classes[~is_hidden], new_label, has_unlabeled=True)
    return rename(classes, codes, is_hidden, labels)


@dataclass(frozen=True, eq=False)
class Truth:
    """What rows are: labels without hidden classes, and which of them are new.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
    new_label : object
    labels : Labels or None
        All classes; None where the caller did not name the known ones.
    is_new : bool ndarray of shape (n_rows,)
    """

    y: NDArray[Any]
    new_label: Any
    labels: Labels | None
    is_new: NDArray[np.bool_]

    def need_new(self, measure: str) -> None:
        """Refuse a truth without new rows."""
        if not self.is_new.any():
            raise ValueError(
                f"{measure} is not defined: y_true holds no new row, that is none with the label "
                f"{self.new_label!r}"
            )

    def need_known(self, measure: str) -> None:
        """Refuse a truth without known rows."""
        if self.is_new.all():
            raise ValueError(f"{measure} is not defined: y_true holds no row of a known class")


def read_with_known(y_true: Any, known_classes: Any, new_label: Any) -> tuple[Truth, Labels]:
    """Which rows of y_true are new, and what all classes are."""
    y, labels = _mask_all_but(y_true, known_classes, new_label)
    return Truth(y, labels.new_label, labels, find_sentinel(y, labels.new_label)), labels


def read_truth(y_true: Any, known_classes: Any, new_label: Any) -> Truth:
    """Which rows of y_true are new: those outside `known_classes`, or those with `new_label`."""
    if known_classes is not None:
        return read_with_known(y_true, known_classes, new_label)[0]
    if isinstance(new_label, str) and new_label == "auto":
        raise ValueError(
            "which rows of y_true are new? Pass known_classes, or the new_label that marks them"
        )
    y = check_labels(column_or_1d(y_true))
    return Truth(y, new_label, None, find_sentinel(y, new_label))
