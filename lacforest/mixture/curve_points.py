"""The ratio curve of an estimate in few points, small enough for a model file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest.mixture._base import ThetaEstimator
from lacforest.mixture._rank_mixture import RankMixture

# More points than a picture can show; a file holds them in less than two kilobytes.
MOST_POINTS = 80
_DECIMALS = 3


def curve_points(estimator: Any) -> NDArray[np.float64] | None:
    """Points of the ratio curve: share of labelled rows, ratio, and the ratio by the fitted curve.

    Parameters
    ----------
    estimator : estimator
        Fitted. Estimators without a curve have no points, as those without scores.

    Returns
    -------
    float64 array of shape (n_points, 3) or None
        NaN in the last column where no curve was fitted.
    """
    if not isinstance(estimator, ThetaEstimator) or not hasattr(estimator, "scores_"):
        return None
    x, ratio = estimator.ratio_curve()
    chosen = np.unique(np.linspace(0, len(x) - 1, MOST_POINTS).round().astype(np.intp))
    x, ratio = x[chosen], ratio[chosen]
    fitted = np.full(len(x), np.nan)
    if isinstance(estimator, RankMixture):
        fitted = estimator.fitted_curve(x)
    return np.column_stack([x, ratio, fitted]).round(_DECIMALS)
