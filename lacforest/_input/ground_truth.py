"""True labels: the one place where hidden classes become the new class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from lacforest._input.labels import as_labels, check_labels, find_sentinel, make_labels
from lacforest._utils.classes import Labels


def two_or_more_classes(y: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """At least two classes, so that one can be hidden, and the class index of each row."""
    labels = check_labels(as_labels(y))
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has {len(classes)} class, but at least two are needed: one to hide and one to keep"
        )
    return classes, codes


def list_labels(labels: list[Any]) -> str:
    """Labels for a message, at most twenty of them."""
    shown = ", ".join(map(repr, labels[:20]))
    return shown + (f" and {len(labels) - 20} more" if len(labels) > 20 else "")


def _in(labels: list[Any], others: list[Any]) -> NDArray[np.bool_]:
    """Which labels are among others, by Python's equality: NumPy may take 1 for the class '1'."""
    among = set(others)
    return np.array([label in among for label in labels], dtype=bool)


def find_named(classes: NDArray[Any], hidden: Any) -> NDArray[np.bool_]:
    """Which classes are in the list of hidden ones."""
    named, present = list(hidden), classes.tolist()
    missing = [label for label in named if label not in present]
    if missing:
        raise ValueError(f"hidden names {missing}, but the classes in y are {list_labels(present)}")
    if not named:
        raise ValueError("hidden is empty: name at least one class")
    is_hidden = _in(present, named)
    if is_hidden.all():
        raise ValueError("hidden names every class in y: leave at least one known")
    return is_hidden


def _sorted_known(known_classes: Any, classes: NDArray[Any]) -> NDArray[Any]:
    """Known classes as the forest stores them; they must be of the type of the labels in y."""
    if isinstance(known_classes, str) or not np.iterable(known_classes):
        raise TypeError(f"known_classes must be a list of classes, got {known_classes!r}")
    listed = list(known_classes)
    if not listed:
        raise ValueError("known_classes is empty: name at least one class")
    known: NDArray[Any] = np.unique(check_labels(column_or_1d(np.asarray(listed))))
    for ours, theirs in zip(known.tolist()[:1], classes.tolist()[:1], strict=False):
        # Text never equals a number, so every row would count as new.
        if isinstance(ours, str) != isinstance(theirs, str):
            raise TypeError(
                f"known_classes contains {ours!r} and y contains {theirs!r}, which differ in type: "
                "convert one of them"
            )
    return known


def rename(
    classes: NDArray[Any], codes: NDArray[np.intp], is_hidden: NDArray[np.bool_], labels: Labels
) -> NDArray[Any]:
    """Labels of the rows, with hidden classes replaced by the label of the new class."""
    renamed = classes.astype(np.result_type(classes, labels.classes))
    renamed[is_hidden] = labels.new_label
    return renamed[codes]


def _mask_all_but(y: Any, known_classes: Any, new_label: Any) -> tuple[NDArray[Any], Labels]:
    classes, codes = np.unique(check_labels(as_labels(y)), return_inverse=True)
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
        The label that replaces them. "auto" is the new label of a `LACForestClassifier` that is
        fitted on the other classes: -1 for numbers, "<new>" for text.
    known_classes : list of labels
        The classes to keep, instead of `hidden`. Every other label is replaced, also `new_label`
        itself, so that labels which are already masked do not change.

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
        raise TypeError("pass either hidden or known_classes, and not both")
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
    """True labels with hidden classes masked, and which rows are new.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
    new_label : object
    labels : Labels or None
        All classes; None if the caller did not name the known ones.
    is_new : bool ndarray of shape (n_rows,)
    """

    y: NDArray[Any]
    new_label: Any
    labels: Labels | None
    is_new: NDArray[np.bool_]

    def need_new(self, measure: str) -> None:
        """Raise if there are no new rows."""
        if not self.is_new.any():
            raise ValueError(
                f"{measure} is undefined: y_true has no new row, that is, no row with the label "
                f"{self.new_label!r}"
            )

    def need_known(self, measure: str) -> None:
        """Raise if there are no known rows."""
        if self.is_new.all():
            raise ValueError(f"{measure} is undefined: y_true has no row of a known class")

    def check_predicted(self, y_pred: Any) -> NDArray[Any]:
        """Predictions, one per row, that name only known classes and the new one."""
        predicted = as_labels(y_pred, name="y_pred")
        check_consistent_length(self.y, predicted)
        if self.labels is not None:
            classes = self.labels.classes.tolist()
            foreign = sorted(set(predicted.tolist()) - set(classes), key=str)
            if foreign:
                raise ValueError(
                    f"y_pred contains {list_labels(foreign)}, but the known classes and the new "
                    f"label are {list_labels(classes)}: is known_classes complete, and is "
                    "new_label the one that the classifier predicts?"
                )
        return predicted


def read_with_known(y_true: Any, known_classes: Any, new_label: Any) -> tuple[Truth, Labels]:
    """Which rows of y_true are new, and all classes."""
    y, labels = _mask_all_but(y_true, known_classes, new_label)
    return Truth(y, labels.new_label, labels, find_sentinel(y, labels.new_label)), labels


def read_truth(y_true: Any, known_classes: Any, new_label: Any) -> Truth:
    """Which rows of y_true are new: those outside `known_classes`, or those with `new_label`."""
    if known_classes is not None:
        return read_with_known(y_true, known_classes, new_label)[0]
    if isinstance(new_label, str) and new_label == "auto":
        raise ValueError(
            "it is not known which rows of y_true are new: pass known_classes, or the new_label "
            "that marks them"
        )
    y = check_labels(as_labels(y_true))
    return Truth(y, new_label, None, find_sentinel(y, new_label))
