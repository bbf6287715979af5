"""Novelty scores in an order without avoidable ties."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    return scores + _TIE_WEIGHT * estimator.novelty_score(X, stage="exploration")
