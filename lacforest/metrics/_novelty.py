"""Measures of novelty scores: how well they separate new rows from known ones."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import column_or_1d

from lacforest._input.ground_truth import Truth, read_truth, read_with_known
from lacforest._input.labels import reject_masked
from lacforest._input.parameters import is_real


def _check_finite(scores: NDArray[np.float64], name: str) -> None:
    if not np.isfinite(scores).all():
        row = np.argwhere(~np.isfinite(scores))[0]
        raise ValueError(
            f"{name} must contain finite numbers, but row {row[0]} contains {scores[tuple(row)]}"
        )


def _novelty(y_score: Any, truth: Truth, name: str = "y_score") -> NDArray[np.float64]:
    """One score per row, from scores or from the probabilities of all classes."""
    reject_masked(y_score, name)
    scores: NDArray[np.float64] = np.asarray(y_score, dtype=np.float64)
    if scores.ndim == 2 and scores.shape[1] > 1:
        if truth.labels is None:
            raise ValueError(
                f"y_score has {scores.shape[1]} columns: pass only the column of the new class, or "
                "known_classes to select it"
            )
        if scores.shape[1] != len(truth.labels.classes):
            raise ValueError(
                f"y_score has {scores.shape[1]} columns, but {len(truth.labels.known)} known "
                f"classes and the new one make {len(truth.labels.classes)}"
            )
        scores = scores[:, truth.labels.new_index]
    scores = column_or_1d(scores)
    check_consistent_length(truth.y, scores)
    _check_finite(scores, name)
    return scores


def _known_and_new(
    measure: str, y_true: Any, y_score: Any, known_classes: Any, new_label: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores of known rows and of new rows."""
    truth = read_truth(y_true, known_classes, new_label)
    scores = _novelty(y_score, truth)
    truth.need_new(measure)
    truth.need_known(measure)
    return scores[~truth.is_new], scores[truth.is_new]


def _pairs_in_order(
    low: NDArray[np.float64], high: NDArray[np.float64], value_of_tie: float
) -> float:
    """Number of pairs in which the value of `high` is greater."""
    low = np.sort(low)
    below, up_to = np.searchsorted(low, high, "left"), np.searchsorted(low, high, "right")
    # Exact, because all terms are multiples of one half.
    return float(below.sum() + value_of_tie * (up_to - below).sum())


def new_class_auc(
    y_true: Any,
    y_score: Any,
    *,
    known_classes: Any = None,
    new_label: Any = "auto",
    ties: Literal["half", "lose"] = "half",
) -> float:
    """Probability that a new row has a higher score than a known one (AUC of the new class).

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        True labels. Both new and known rows are required.
    y_score : array-like of shape (n_rows,) or (n_rows, n_known_classes + 1)
        Novelty scores, where a higher score looks newer, or the probabilities of all classes as
        returned by `predict_proba`; the latter require `known_classes`.
    known_classes : list of labels, optional
    new_label : object, default="auto"
        Pass one of them to define which rows of `y_true` are new: those of no class in
        `known_classes`, or those with the label `new_label`. "auto" is the new label of a
        `LACForestClassifier` that is fitted on `known_classes`.
    ties : {"half", "lose"}, default="half"
        The value of a pair of a new and a known row with the same score. The paper's formula
        requires a strictly higher score: "lose". "half" is the convention of scikit-learn and of
        most published results. Constant scores give 0.5 with "half" and 0 with "lose".

    Returns
    -------
    float

    Notes
    -----
    ``make_scorer(new_class_auc, response_method="predict_proba", known_classes=...)`` works for
    two or more known classes. For one known class scikit-learn passes only the column of
    ``classes_[1]``, which is the known class if the new label sorts first. In this case, use
    ``lambda forest, X, y: new_class_auc(y, forest.novelty_score(X), ...)``.

    Examples
    --------
    >>> from lacforest.metrics import new_class_auc
    >>> new_class_auc([0, 1, -1, -1], [0.1, 0.4, 0.4, 0.9], new_label=-1)
    0.875
    >>> new_class_auc([0, 1, -1, -1], [0.1, 0.4, 0.4, 0.9], new_label=-1, ties="lose")
    0.75
    """
    if ties not in ("half", "lose"):
        raise ValueError(f'ties must be "half" or "lose", got {ties!r}')
    known, new = _known_and_new(
        "the AUC of the new class", y_true, y_score, known_classes, new_label
    )
    pairs = _pairs_in_order(known, new, 0.5 if ties == "half" else 0.0)
    return pairs / (len(known) * len(new))


def new_class_average_precision(
    y_true: Any, y_score: Any, *, known_classes: Any = None, new_label: Any = "auto"
) -> float:
    """Average precision of the new class (AUPR), as scikit-learn defines it.

    Parameters
    ----------
    y_true, y_score, known_classes, new_label
        As in `new_class_auc`. A threshold never separates rows of equal score, so constant scores
        give the share of new rows.

    Returns
    -------
    float

    Examples
    --------
    >>> from lacforest.metrics import new_class_average_precision
    >>> new_class_average_precision([0, 1, -1, -1], [0.1, 0.4, 0.4, 0.9], new_label=-1)
    0.8333333333333333
    """
    known, new = _known_and_new(
        "the average precision of the new class", y_true, y_score, known_classes, new_label
    )
    is_new = np.arange(len(known) + len(new)) >= len(known)
    return float(metrics.average_precision_score(is_new, np.concatenate([known, new])))


def fpr_at_tpr(
    y_true: Any,
    y_score: Any,
    tpr: float = 0.95,
    *,
    known_classes: Any = None,
    new_label: Any = "auto",
) -> float:
    """Share of known rows above the threshold that finds a share `tpr` of new rows (FPR@95TPR).

    Rows with a score at or above the threshold count as new. It is the highest threshold that finds
    at least the share `tpr` of new rows.

    Parameters
    ----------
    y_true, y_score
        As in `new_class_auc`.
    tpr : float, default=0.95
        Share of new rows to find, in (0, 1].
    known_classes, new_label
        As in `new_class_auc`.

    Returns
    -------
    float
        Lower is better. Constant scores give 1.

    Examples
    --------
    >>> from lacforest.metrics import fpr_at_tpr
    >>> fpr_at_tpr([0, 1, -1, -1], [0.1, 0.4, 0.4, 0.9], new_label=-1)
    0.5
    """
    if not is_real(tpr) or not 0.0 < tpr <= 1.0:
        raise ValueError(f"tpr must be a number in (0, 1], got {tpr!r}")
    known, new = _known_and_new(
        "the false positive rate", y_true, y_score, known_classes, new_label
    )
    # Divide instead of multiplying: 57 / 60 equals the float 0.95, but 0.95 * 60 may not equal 57.
    found = np.arange(1, len(new) + 1) / len(new)
    threshold = np.sort(new)[::-1][np.searchsorted(found, tpr)]
    return float((known >= threshold).mean())


def _open_set_rows(
    y_true: Any, y_proba: Any, novelty: Any, known_classes: Any, new_label: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Scores of new rows, of known rows, and of known rows whose class is predicted correctly."""
    truth, labels = read_with_known(y_true, known_classes, new_label)
    if list(known_classes) != labels.known.tolist():
        # A list in another order suggests that the columns are in another order as well.
        raise ValueError(
            "known_classes must be sorted and without duplicates, like forest.known_classes_: the "
            "columns of y_proba are in that order"
        )
    n_known = len(labels.known)
    proba = np.asarray(y_proba, dtype=np.float64)
    if proba.ndim != 2 or proba.shape[1] not in (n_known, n_known + 1):
        raise ValueError(
            f"y_proba must have {n_known} columns, one per known class, or {n_known + 1} with that "
            f"of the new class; its shape is {proba.shape}"
        )
    check_consistent_length(truth.y, proba)
    _check_finite(proba, "y_proba")
    if proba.shape[1] == n_known and novelty is None:
        raise ValueError("y_proba has no column of the new class: pass novelty, one score per row")
    scores = _novelty(proba if novelty is None else column_or_1d(novelty), truth, "novelty")
    if proba.shape[1] > n_known:
        proba = proba[:, labels.classes != labels.new_label]
    truth.need_new("the open-set classification rate")
    truth.need_known("the open-set classification rate")
    known = ~truth.is_new
    found = known & (labels.known[proba.argmax(axis=1)] == truth.y)
    return scores[truth.is_new], scores[known], scores[found]


def oscr_curve(
    y_true: Any,
    y_proba: Any,
    novelty: Any = None,
    *,
    known_classes: Any,
    new_label: Any = "auto",
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Curve of the open-set classification rate (OSCR), over all thresholds of the novelty.

    A row counts as known if its novelty is at most the threshold, and then gets the known class of
    the highest probability. The curve shows correctly classified known rows against new rows that
    count as known.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        True labels. Both new and known rows are required.
    y_proba : array-like of shape (n_rows, n_known_classes) or (n_rows, n_known_classes + 1)
        Probabilities of the known classes, in sorted order, or of all classes, as returned by
        `predict_proba`. Ties go to the first class.
    novelty : array-like of shape (n_rows,), optional
        Novelty scores, where a higher score looks newer. By default the column of the new class.
        Dhamija et al. [1]_, who have no such column, use ``1 - y_proba.max(axis=1)``.
    known_classes : list of labels
        Sorted; every other label of `y_true` is new.
    new_label : object, default="auto"
        Label of the new class, which determines its column among `n_known_classes + 1`. "auto" is
        the new label of a `LACForestClassifier` that is fitted on `known_classes`.

    Returns
    -------
    fpr : ndarray of shape (n_thresholds,)
        Share of new rows that count as known, ascending from 0 to 1.
    ccr : ndarray of shape (n_thresholds,)
        Share of known rows that count as known and get the right class, ascending from 0 to the
        accuracy on known rows without a threshold.
    thresholds : ndarray of shape (n_thresholds,)
        The first is -inf, at which no row counts as known.

    References
    ----------
    .. [1] A. R. Dhamija, M. Günther and T. E. Boult, "Reducing Network Agnostophobia",
       NeurIPS 2018.

    Examples
    --------
    >>> from lacforest.metrics import oscr_curve
    >>> proba = [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.5, 0.5]]
    >>> fpr, ccr, thresholds = oscr_curve(
    ...     [0, 1, 7, 8], proba, [0.1, 0.3, 0.2, 0.9], known_classes=[0, 1]
    ... )
    >>> fpr.tolist(), ccr.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """
    new, known, found = _open_set_rows(y_true, y_proba, novelty, known_classes, new_label)
    thresholds = np.unique(np.concatenate([new, known]))

    def rate(scores: NDArray[np.float64], n_rows: int) -> NDArray[np.float64]:
        counts = np.searchsorted(np.sort(scores), thresholds, "right")
        return np.concatenate([[0.0], counts / n_rows])

    return rate(new, len(new)), rate(found, len(known)), np.concatenate([[-np.inf], thresholds])


def oscr_score(
    y_true: Any,
    y_proba: Any,
    novelty: Any = None,
    *,
    known_classes: Any,
    new_label: Any = "auto",
) -> float:
    """Area under `oscr_curve`.

    It is the probability that a known row is classified correctly and has a lower novelty than a
    new row, where ties count half. If all known rows are classified correctly, it equals the AUC of
    the new class; otherwise it is lower.

    Parameters
    ----------
    y_true, y_proba, novelty, known_classes, new_label
        As in `oscr_curve`.

    Returns
    -------
    float

    Examples
    --------
    >>> from lacforest.metrics import oscr_score
    >>> proba = [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.5, 0.5]]
    >>> oscr_score([0, 1, 7, 8], proba, [0.1, 0.3, 0.2, 0.9], known_classes=[0, 1])
    0.75
    """
    new, known, found = _open_set_rows(y_true, y_proba, novelty, known_classes, new_label)
    return _pairs_in_order(found, new, 0.5) / (len(known) * len(new))
