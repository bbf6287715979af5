"""Measures of novelty scores: how well they set new rows apart from known ones."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import column_or_1d

from lacforest._parameters import is_real
from lacforest.metrics._hidden import Truth, read_truth, read_with_known


def _check_finite(scores: NDArray[np.float64], name: str) -> None:
    if not np.isfinite(scores).all():
        row = np.argwhere(~np.isfinite(scores))[0]
        raise ValueError(
            f"{name} must hold finite numbers, but row {row[0]} holds {scores[tuple(row)]}"
        )


def _novelty(y_score: Any, truth: Truth, name: str = "y_score") -> NDArray[np.float64]:
    """One score a row, from scores or from probabilities of all classes."""
    scores: NDArray[np.float64] = np.asarray(y_score, dtype=np.float64)
    if scores.ndim == 2 and scores.shape[1] > 1:
        if truth.labels is None:
            raise ValueError(
                f"y_score has {scores.shape[1]} columns: pass the one of the new class, or "
                "known_classes to find it by"
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
    """Pairs of which `high` has the greater value."""
    low = np.sort(low)
    below, up_to = np.searchsorted(low, high, "left"), np.searchsorted(low, high, "right")
    # Whole numbers, and halves of them: exact.
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
        What the rows are. Both new and known rows are needed.
    y_score : array-like of shape (n_rows,) or (n_rows, n_known_classes + 1)
        Novelty scores, higher for newer rows, or the probabilities of all classes as
        `predict_proba` gives them; the latter need `known_classes`.
    known_classes : list of labels, optional
    new_label : object, default="auto"
        Pass one of them to say which rows of `y_true` are new: those that are in none of
        `known_classes`, or those with the label `new_label`. "auto" is what `LACForestClassifier`
        calls the new class if it was fitted on `known_classes`.
    ties : {"half", "lose"}, default="half"
        What a new and a known row of the same score count. The paper's formula asks for a score
        that is strictly higher: "lose". "half" is what scikit-learn, and with it most published
        figures, count. It makes constant scores 0.5 where "lose" makes them 0.

    Returns
    -------
    float

    Notes
    -----
    ``make_scorer(new_class_auc, response_method="predict_proba", known_classes=...)`` works for
    two and more known classes. For one known class scikit-learn passes on the column of
    ``classes_[1]`` alone, which is the known class if the new label sorts first. Then write
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
        As in `new_class_auc`. Rows of equal score are called new together, so constant scores
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
    """Share of known rows that are called new where a share `tpr` of new rows is (FPR@95TPR).

    Rows are called new from a threshold on: the highest that calls at least the share `tpr` of
    new rows new.

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
    # Divided, not multiplied: 57 of 60 rows are the float 0.95, and 0.95 * 60 is not always 57.
    found = np.arange(1, len(new) + 1) / len(new)
    threshold = np.sort(new)[::-1][np.searchsorted(found, tpr)]
    return float((known >= threshold).mean())


def _open_set_rows(
    y_true: Any, y_proba: Any, novelty: Any, known_classes: Any, new_label: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Scores of new rows, of known rows, and of those known rows whose class is found."""
    truth, labels = read_with_known(y_true, known_classes, new_label)
    if list(known_classes) != labels.known.tolist():
        # A list in another order hints at columns in another order.
        raise ValueError(
            "known_classes must be sorted and without repetition, as forest.known_classes_ is: "
            "columns of y_proba are in that order"
        )
    n_known = len(labels.known)
    proba = np.asarray(y_proba, dtype=np.float64)
    if proba.ndim != 2 or proba.shape[1] not in (n_known, n_known + 1):
        raise ValueError(
            f"y_proba must have {n_known} columns, one for each known class, or {n_known + 1} with "
            f"that of the new class; its shape is {proba.shape}"
        )
    check_consistent_length(truth.y, proba)
    _check_finite(proba, "y_proba")
    if proba.shape[1] == n_known and novelty is None:
        raise ValueError(
            "y_proba has no column of the new class: pass novelty, one score for each row"
        )
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
    """Open-set classification rate: known rows classified right against new rows let in.

    A row is taken for known if its novelty is at most a threshold, and then it gets the known
    class of the highest probability.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        What the rows are. Both new and known rows are needed.
    y_proba : array-like of shape (n_rows, n_known_classes) or (n_rows, n_known_classes + 1)
        Probabilities of the known classes, in sorted order, or of all classes, as `predict_proba`
        gives them. Of equal ones the first counts.
    novelty : array-like of shape (n_rows,), optional
        Novelty scores, higher for newer rows. By default the column of the new class. Dhamija et
        al. [1]_ have no such column and take ``1 - y_proba.max(axis=1)``.
    known_classes : list of labels
        Sorted; every other label of `y_true` is new.
    new_label : object, default="auto"
        Label of the new class, which decides its column among `n_known_classes + 1`. "auto" is
        what `LACForestClassifier` calls it if it was fitted on `known_classes`.

    Returns
    -------
    fpr : ndarray of shape (n_thresholds,)
        Share of new rows that are taken for known, ascending from 0 to 1.
    ccr : ndarray of shape (n_thresholds,)
        Share of known rows that are taken for known and get their own class, ascending from 0 to
        the accuracy on known rows without a threshold.
    thresholds : ndarray of shape (n_thresholds,)
        The first is -inf, where no row is taken for known.

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

    It is the probability that a known row is classified right and has a lower novelty than a new
    row, where equal ones count half: the AUC of the new class if all known rows are classified
    right, and less if not.

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
