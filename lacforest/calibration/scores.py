"""Novelty scores in an order without avoidable ties, and labels by a rule of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Small enough to leave the order of different scores alone.
_TIE_WEIGHT = 1e-9


def ranking_score(estimator: Any, X: Any) -> NDArray[np.float64]:
    """Novelty scores of rows; where they tie, the exploration score of a forest decides.

    Parameters
    ----------
    estimator : classifier
        Fitted, with `novelty_score`.
    X : array-like of shape (n_rows, n_features)

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    scores: NDArray[np.float64] = np.asarray(estimator.novelty_score(X), dtype=np.float64)
    if not hasattr(estimator, "unlabeled_score_"):
        return scores
    explored: NDArray[np.float64] = estimator.novelty_score(X, stage="exploration")
    return scores + _TIE_WEIGHT * explored


def label_rows(estimator: Any, X: ArrayLike, is_new: NDArray[np.bool_]) -> NDArray[Any]:
    """The new label where rows are called new, else the likeliest known class."""
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"{type(estimator).__name__} has no probabilities, from which the likeliest known "
            "class could be read: use p_value or select"
        )
    probabilities = np.array(estimator.predict_proba(X))
    probabilities[:, estimator.new_class_index_] = np.where(is_new, 2.0, -1.0)
    labels: NDArray[Any] = estimator.classes_[probabilities.argmax(axis=1)]
    return labels
