"""RankMixture: theta as the part of unlabelled ranks that is not uniform."""

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

# The lowest power in the density of new rows. Steeper shapes put overlap down to known rows (low
# theta), flatter ones to new rows (high theta).
_POWER = 5.0
_STEEP = 8.0
_FLAT = 3.0


class RankMixture(ThetaEstimator):
    """Theta from the ranks of unlabelled scores among labelled ones.

    The rank of a known row among labelled rows is uniform; new rows rank high. `theta_` is the
    maximum-likelihood weight of everything that is not uniform, in a mixture of the uniform density
    with power laws ``k x**(k - 1)``, k from 5 upwards. Where BestBin reads theta from one point of
    the ratio curve, this uses all of it, which lowers the variance.

    The interval covers two uncertainties: that of sampling, by a bootstrap over scores, and that of
    how new rows overlap with known ones. Its lower end comes from fits that allow only steep
    densities of new rows (k from 8), its upper end from fits that allow flat ones (k from 3).

    Parameters
    ----------
    scorer : {"forest", "svc"} or classifier, default="forest"
        What tells unlabelled from labelled rows. "forest" scores rows out of bag by a forest on
        rank codes; "svc" is an RBF-SVC, cross-fitted, as is any scikit-learn classifier.
    cv : int or splitter, default=5
        Folds where the scorer is not "forest".
    level : float, default=0.9
        Level of `interval_`.
    n_bootstrap : int, default=100
        Bootstrap samples of scores for the interval; 0 leaves it out.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int or None, default=None
        Threads. The result is the same for any number.

    Attributes
    ----------
    theta_ : float
        Share of new rows among unlabelled ones.
    interval_ : tuple of float or None
    scores_ : Scores
        Scores of labelled and unlabelled rows; higher looks newer.

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
        self._weights = mixture_weights(counts, components(_POWER))
        self._steep = mixture_weights(counts, components(_STEEP))
        self._flat = mixture_weights(counts, components(_FLAT))
        return float(1.0 - self._weights[0])

    def _replicate(self, table: ScoreTable) -> tuple[float, float]:
        counts = position_counts(table)
        steep = mixture_weights(counts, components(_STEEP), self._steep)
        flat = mixture_weights(counts, components(_FLAT), self._flat)
        return float(1.0 - steep[0]), float(1.0 - flat[0])

    def shape_range(self) -> tuple[float, float]:
        """Theta if new rows are taken to overlap little with known ones, and if much.

        How far the two lie apart says how much the estimate depends on what the data cannot show.
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
        powers = x[:, None] ** (exponents(_POWER) - 1)
        curve: NDArray[np.float64] = self._weights[0] + powers @ self._weights[1:]
        return curve
