"""The probability of being new as a function of the score, without labels of new rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_TINY = 1e-9


def new_probability_curve(
    known: NDArray[np.float64], unlabeled: NDArray[np.float64], theta: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Knots of the calibrated probability of "new": scores, and probabilities at them.

    With f0 the density of the score among known rows and f among unlabelled ones, a row of score s
    is new with probability ``1 - (1 - theta) f0(s) / f(s)``, one minus the local false discovery
    rate. The ratio is found by isotonic regression of "unlabelled" on the score, both samples
    weighing the same.

    Parameters
    ----------
    known, unlabeled : ndarray
        Scores of rows that no fit behind them has used.
    theta : float
        Share of new rows among the unlabelled ones.
    """
    from sklearn.isotonic import IsotonicRegression  # slow to import

    scores = np.concatenate([known, unlabeled])
    is_unlabeled = np.repeat([0.0, 1.0], [len(known), len(unlabeled)])
    weights = np.repeat([1.0 / len(known), 1.0 / len(unlabeled)], [len(known), len(unlabeled)])
    regression = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    regression.fit(scores, is_unlabeled, weights)
    share = np.clip(regression.y_thresholds_, _TINY, 1.0)
    probability = np.clip(1.0 - (1.0 - theta) * (1.0 - share) / share, 0.0, 1.0)
    return regression.X_thresholds_.astype(np.float64), probability.astype(np.float64)
