"""Estimators of theta by name, and a function that uses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from lacforest.mixture._base import ThetaEstimator
from lacforest.mixture._best_bin import BestBin
from lacforest.mixture._kernel_mean_embedding import KernelMeanEmbedding
from lacforest.mixture._rank_mixture import RankMixture

# The names that `estimate_theta`, the command and the experiments take.
METHODS: dict[str, Callable[..., ThetaEstimator]] = {
    "auto": RankMixture,
    "rank_mixture": RankMixture,
    "best_bin": BestBin,
    "km1": lambda **options: KernelMeanEmbedding("km1", **options),
    "km2": lambda **options: KernelMeanEmbedding("km2", **options),
}
# The names of the estimator that `diagnose` checks.
DIAGNOSED = tuple(name for name, make in METHODS.items() if make is RankMixture)


class ThetaEstimate(NamedTuple):
    """Result of `estimate_theta`: ``theta, (low, high) = estimate_theta(X, X_unlabeled)``."""

    theta: float
    interval: tuple[float, float] | None


def make_estimator(
    method: str = "auto",
    *,
    level: float = 0.9,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> ThetaEstimator:
    """Make an estimator of theta by name.

    Parameters
    ----------
    method : {"auto", "rank_mixture", "best_bin", "km1", "km2"}
        "auto" is "rank_mixture", the best in our experiments.
    level : float, default=0.9
    random_state : int, RandomState instance or None, default=None
    n_jobs : int or None, default=None

    Returns
    -------
    ThetaEstimator
    """
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"method must be one of {sorted(METHODS)}, got {method!r}")
    return METHODS[method](level=level, random_state=random_state, n_jobs=n_jobs)


def estimate_theta(
    X: ArrayLike,
    X_unlabeled: ArrayLike,
    method: str | ThetaEstimator | Any = "auto",
    *,
    level: float = 0.9,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> ThetaEstimate:
    """Estimate the share of new rows among unlabelled ones.

    Parameters
    ----------
    X : array-like, frame or sparse matrix of shape (n_labeled, n_features)
        Labelled rows, a sample of the known classes.
    X_unlabeled : like X, of shape (n_unlabeled, n_features)
        Unlabelled rows from deployment.
    method : {"auto", "rank_mixture", "best_bin", "km1", "km2"} or estimator, default="auto"
        "auto" is "rank_mixture", the best in our experiments. An estimator is cloned and
        keeps its own `level`, `random_state` and `n_jobs`.
    level : float, default=0.9
        Confidence level of the interval.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int or None, default=None

    Returns
    -------
    theta : float
    interval : tuple of float or None
        As a named tuple: ``estimate_theta(X, X_unlabeled).theta`` is the first alone. The interval
        is None if an estimator gives none.

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest.mixture import estimate_theta
    >>> rng = np.random.default_rng(0)
    >>> known, new = rng.normal(size=(2000, 2)), rng.normal(6, 1, size=(1000, 2))
    >>> deployed = np.vstack([known[1000:], new])
    >>> theta, (low, high) = estimate_theta(known[:1000], deployed, random_state=0)
    >>> bool(low <= 0.5 <= high)
    True
    """
    if isinstance(method, str):
        estimator = make_estimator(method, level=level, random_state=random_state, n_jobs=n_jobs)
    else:
        estimator = clone(method)
    estimator.fit(X, X_unlabeled)
    return ThetaEstimate(estimator.theta_, getattr(estimator, "interval_", None))
