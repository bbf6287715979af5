"""RankMixture: theta as the non-uniform part of the ranks of unlabelled rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lacforest.mixture._base import ThetaEstimator
from lacforest.mixture._beta_mixture import (
    components,
    exponents,
    mixture_weights,
    position_counts,
)
from lacforest.mixture._score_table import ScoreTable

# The lowest power in the density of new rows. Steeper shapes attribute overlap to known rows (low
# theta), flatter ones to new rows (high theta).
POWER = 5.0
STEEP_POWER = 8.0
FLAT_POWER = 3.0


class RankMixture(ThetaEstimator):
    """Theta from the ranks of unlabelled scores among labelled ones.

    The rank of a known row among labelled rows is uniform; new rows rank high. `theta_` is the
    maximum-likelihood weight of the non-uniform part in a mixture of the uniform density and power
    laws ``k x**(k - 1)`` with k from 5 upwards. BestBin reads theta from one point of the ratio
    curve; this estimator uses the whole curve, which reduces the variance.

    The interval covers two uncertainties: that of sampling, by a bootstrap over scores, and that of
    the overlap of new and known rows. Its lower end comes from fits that allow only steep densities
    of new rows (k from 8), its upper end from fits that also allow flat ones (k from 3).

    Parameters
    ----------
    scorer : {"forest", "svc"} or classifier, default="forest"
        The model that separates unlabelled from labelled rows. "forest" computes out-of-bag
        scores of a forest on rank codes; "svc" is an RBF-SVC. It and any scikit-learn classifier
        are cross-fitted.
    cv : int or splitter, default=5
        Folds, if the scorer is not "forest".
    level : float, default=0.9
        Confidence level of `interval_`.
    n_bootstrap : int, default=100
        Number of bootstrap samples of scores for the interval; 0 means no interval.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.

    Attributes
    ----------
    theta_ : float
        Share of new rows among unlabelled ones.
    interval_ : tuple of float or None
    scores_ : object
        Scores of labelled and unlabelled rows, ``scores_.labeled`` and ``scores_.unlabeled``;
        higher scores look newer.

    Notes
    -----
    The position of an unlabelled row is one minus its conformal p-value, and ``1 - theta`` is what
    multiple testing calls the proportion of true null hypotheses.

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest.mixture import RankMixture
    >>> rng = np.random.default_rng(0)
    >>> known, new = rng.normal(size=(2000, 2)), rng.normal(6, 1, size=(1000, 2))
    >>> estimator = RankMixture(random_state=0).fit(known[:1000], np.vstack([known[1000:], new]))
    >>> abs(estimator.theta_ - 0.5) < 0.05
    True
    """

    def _estimate(self, table: ScoreTable) -> float:
        counts = position_counts(table)
        self._weights = mixture_weights(counts, components(POWER))
        self._steep = mixture_weights(counts, components(STEEP_POWER))
        self._flat = mixture_weights(counts, components(FLAT_POWER))
        return float(1.0 - self._weights[0])

    def _replicate(self, table: ScoreTable) -> tuple[float, float]:
        counts = position_counts(table)
        steep = mixture_weights(counts, components(STEEP_POWER), self._steep)
        flat = mixture_weights(counts, components(FLAT_POWER), self._flat)
        return float(1.0 - steep[0]), float(1.0 - flat[0])

    def shape_range(self) -> tuple[float, float]:
        """Theta if new rows overlap little with known ones, and if they overlap much.

        The difference shows how much the estimate depends on this assumption, which the data
        cannot verify.
        """
        check_is_fitted(self)
        return float(1.0 - self._steep[0]), float(1.0 - self._flat[0])

    def fitted_curve(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The fitted counterpart of `ratio_curve`.

        Parameters
        ----------
        x : float64 array
            Shares of labelled rows, in [0, 1].

        Returns
        -------
        float64 array
            The fitted share of unlabelled rows over x; ``1 - theta_`` at x = 0.
        """
        check_is_fitted(self)
        x = np.asarray(x, dtype=np.float64)
        powers = x[:, None] ** (exponents(POWER) - 1)
        curve: NDArray[np.float64] = self._weights[0] + powers @ self._weights[1:]
        return curve
