"""RankMixture: theta as the non-uniform part of the ranks of unlabelled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from lacforest._tree.coded_columns import CodedColumns
from lacforest._utils.findings import FALSE_ALARMS
from lacforest.mixture._base import ThetaEstimator
from lacforest.mixture._beta_mixture import (
    components,
    exponents,
    log_likelihood,
    mixture_weights,
    position_counts,
)
from lacforest.mixture._novelty_test import novelty_p_value
from lacforest.mixture._score_table import ScoreTable

# The lowest power in the density of new rows. Steeper shapes attribute overlap to known rows (low
# theta), flatter ones to new rows (high theta).
POWER = 5.0
STEEP_POWER = 8.0
FLAT_POWER = 3.0
# The flattest shape. It replaces the default one where the likelihood shows that new and known rows
# overlap, and gives the upper end of the interval everywhere.
OVERLAP_POWER = 2.0
# Gain of log-likelihood at which both shapes have the same weight, and the width of the transition,
# both times the share of labelled rows: the likelihood takes ranks among labelled rows for exact,
# so it overstates the evidence where few rows are labelled.
_OVERLAP_GAIN = 6.0
_OVERLAP_WIDTH = 2.0 / 3.0


class RankMixture(ThetaEstimator):
    """Theta from the ranks of unlabelled scores among labelled ones.

    The rank of a known row among labelled rows is uniform; new rows rank high. `theta_` is the
    maximum-likelihood weight of the non-uniform part in a mixture of the uniform density and power
    laws ``k x**(k - 1)`` with k from 5 upwards, or from 2 upwards where the likelihood shows that
    new and known rows overlap. BestBin reads theta from one point of the ratio curve; this
    estimator uses the whole curve, which reduces the variance.

    The interval covers two uncertainties: that of sampling, by a bootstrap over scores, and that of
    the overlap of new and known rows. Its lower end comes from fits that allow only steep densities
    of new rows (k from 8), its upper end from fits that also allow flat ones (k from 2), so it is
    wide where the ratio curve has no level part. It is at least as wide above the estimate as the
    noise of the ratio of the two tables among the half of the rows that look most known. New rows
    that look like known ones everywhere are beyond any interval. Where a test of "nothing is new"
    is not rejected, the lower end is 0.

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
    moderate_upper_ : float or None
        The upper end if new rows overlap moderately with known ones (k from 3). Decisions that a
        wide interval would make useless rely on it; None without an interval.
    p_value_ : float or None
        p-value of "no unlabelled row is new": values up to 0.05 occur in at most 5 % of cases if
        nothing is new. None where it cannot be tested: with given scores, another scorer,
        weights, control rows, or too few rows.
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

    p_value_: float | None = None
    moderate_upper_: float | None = None
    _weights: NDArray[np.float64]
    _steep: NDArray[np.float64]

    def _test_novelty(
        self, columns: CodedColumns, n_labeled: int, weight: NDArray[np.float64] | None
    ) -> None:
        # Weighted rows are not exchangeable with unlabelled ones.
        if weight is None or np.ptp(weight) == 0:
            seed = int(np.random.SeedSequence(self._seeds()).generate_state(1)[0])
            self.p_value_ = novelty_p_value(columns, n_labeled, seed, self.n_jobs)
        if self.finds_nothing_new and self.interval_ is not None:
            self.interval_ = (0.0, self.interval_[1])

    @property
    def finds_nothing_new(self) -> bool:
        """Whether the test of "nothing is new" was made and not rejected."""
        return self.p_value_ is not None and self.p_value_ > FALSE_ALARMS

    def _estimate(self, table: ScoreTable) -> float:
        self.p_value_ = self.moderate_upper_ = None
        counts = position_counts(table)
        self._weights = mixture_weights(counts, components(POWER))
        self._steep = mixture_weights(counts, components(STEEP_POWER))
        self._overlap = mixture_weights(counts, components(OVERLAP_POWER))
        gain = log_likelihood(counts, components(OVERLAP_POWER), self._overlap)
        gain -= log_likelihood(counts, components(POWER), self._weights)
        gain *= table.n_labeled / (table.n_labeled + table.n_unlabeled)
        self._overlap_weight = float(expit((gain - _OVERLAP_GAIN) / _OVERLAP_WIDTH))
        return float(1.0 - self._blend(self._weights[0], self._overlap[0]))

    def _blend(self, default: Any, overlap: Any) -> Any:
        """Between a value of the default shape and that of the flattest one."""
        return default + self._overlap_weight * (overlap - default)

    def _replicate(self, table: ScoreTable) -> tuple[float, ...]:
        counts = position_counts(table)
        shapes = (
            (STEEP_POWER, self._steep),
            (OVERLAP_POWER, self._overlap),
            (FLAT_POWER, None),
        )
        return tuple(
            float(1.0 - mixture_weights(counts, components(power), start)[0])
            for power, start in shapes
        )

    def _interval(self, ends: NDArray[np.float64], table: ScoreTable) -> tuple[float, float]:
        low, high = super()._interval(ends, table)
        moderate = float(np.quantile(ends[:, 2], (1.0 + self.level) / 2.0))
        self.moderate_upper_ = max(self.theta_, moderate)
        # 1.96 at the default level; with 1.64 the interval missed too often at theta = 0.1.
        noise = norm.ppf((3.0 + self.level) / 4.0) * np.sqrt(
            1.0 / table.n_labeled + 1.0 / table.n_unlabeled
        )
        least_high = 1.0 - (1.0 - self.theta_) * max(0.0, 1.0 - float(noise))
        return low, max(high, least_high)

    def shape_range(self) -> tuple[float, float]:
        """Theta if new rows overlap little with known ones, and if they overlap much.

        The difference shows how much the estimate depends on this assumption, which the data
        cannot verify.
        """
        check_is_fitted(self)
        shapes = (float(1.0 - self._steep[0]), float(1.0 - self._overlap[0]))
        return min(shapes), max(shapes)

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
        curve: NDArray[np.float64] = self._blend(
            _curve(x, POWER, self._weights), _curve(x, OVERLAP_POWER, self._overlap)
        )
        return curve


def _curve(
    x: NDArray[np.float64], lowest: float, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Ratio curve of a mixture of the uniform density and powers from `lowest` upwards."""
    powers = x[:, None] ** (exponents(lowest) - 1)
    curve: NDArray[np.float64] = weights[0] + powers @ weights[1:]
    return curve
