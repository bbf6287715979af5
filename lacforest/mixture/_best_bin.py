"""Best-bin estimation (Garg et al., NeurIPS 2021) on out-of-bag forest scores."""

from __future__ import annotations

import numpy as np

from lacforest.mixture._base import ThetaEstimator
from lacforest.mixture._score_table import ScoreTable

# Confidence and weight of the bound, as published.
_DELTA = 0.1
_GAMMA = 0.01


def best_bin(table: ScoreTable) -> tuple[float, float]:
    """Point of the ratio curve with the lowest upper confidence bound.

    Let q_l and q_u be the shares of labelled and unlabelled rows up to a score. The point minimises

        q_u / q_l + (1 + gamma) / q_l (sqrt(log(4/delta) / 2 n_u) + sqrt(log(4/delta) / 2 n_l)).

    Returns
    -------
    x, ratio : float
        q_l and q_u / q_l at that point.
    """
    x, ratio = table.ratio_curve()
    noise = np.sqrt(np.log(4 / _DELTA) / (2 * np.array([table.n_labeled, table.n_unlabeled])))
    best = int(np.argmin(ratio + (1 + _GAMMA) * noise.sum() / x))
    return float(x[best]), float(ratio[best])


class BestBin(ThetaEstimator):
    """Theta from the best bin: the scores below the threshold at which rows are most surely known.

    Among rows that look known, unlabelled rows are ``1 - theta`` times as frequent as labelled
    ones. The bin is chosen by an upper confidence bound of that ratio [1]_.

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
    chosen_ : tuple of float
        The point of `ratio_curve` that theta is read from.

    References
    ----------
    .. [1] S. Garg, Y. Wu, A. Smola, S. Balakrishnan and Z. Lipton, "Mixture Proportion Estimation
       and PU Learning: A Modern Approach", NeurIPS 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest.mixture import BestBin
    >>> rng = np.random.default_rng(0)
    >>> known, new = rng.normal(size=(2000, 2)), rng.normal(6, 1, size=(1000, 2))
    >>> estimator = BestBin(random_state=0).fit(known[:1000], np.vstack([known[1000:], new]))
    >>> abs(estimator.theta_ - 0.5) < 0.05
    True
    """

    def _estimate(self, table: ScoreTable) -> float:
        self.chosen_ = best_bin(table)
        return max(0.0, 1.0 - self.chosen_[1])

    def _replicate(self, table: ScoreTable) -> tuple[float, float]:
        theta = max(0.0, 1.0 - best_bin(table)[1])
        return theta, theta
