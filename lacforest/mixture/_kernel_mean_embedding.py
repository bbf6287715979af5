"""KernelMeanEmbedding: the paper's estimator of theta."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from lacforest._input.parameters import check_int, is_real
from lacforest._input.tables import RowStack
from lacforest._tree.coded_columns import CodedColumns
from lacforest.mixture._base import ThetaEstimator
from lacforest.mixture._kernel_mean import KernelMean
from lacforest.mixture._score_table import Scores, ScoreTable


class KernelMeanEmbedding(ThetaEstimator):
    """Theta by kernel mean embedding, KM1 or KM2, on one-dimensional scores.

    Let F be the distribution of unlabelled and H that of labelled scores. Then
    lam F - (lam - 1) H is a distribution up to lam = 1 / theta. Its distance from all distributions
    on the sample, in the feature space of a Gaussian kernel, is zero up to there and then grows;
    theta is read from the lam at which the slope exceeds a threshold [1]_.

    The defaults follow the LACForest paper: 5-fold decision values of an RBF-SVC, then KM2. One
    default does not: the time of the SVC grows almost with the square of the number of rows, so it
    gets at most `max_rows` rows of each side; ``max_rows=None`` is the paper's method. The
    distances are exact: the kernel matrix of one-dimensional scores has a low rank, and the
    quadratic programs are solved in this low-dimensional space.

    Parameters
    ----------
    variant : {"km1", "km2"}, default="km2"
        Rule for the threshold of the slope.
    scorer : {"svc", "forest"} or classifier, default="svc"
        The model that separates unlabelled from labelled rows: an RBF-SVC with C = 1 and gamma
        equal to the reciprocal of the median squared distance of its training rows, any
        scikit-learn classifier, or a forest on rank codes, scored out of bag.
    cv : int or splitter, default=5
        Folds, if the scorer is not "forest".
    bandwidth : float or None, default=None
        Standard deviation of the kernel on scores. None means the one of five multiples of the
        median distance that separates labelled and unlabelled scores best.
    mixing : float in [0, 1], default=0.25
        Weight of the final slope in the threshold of KM2: 0.2 as published, 0.25 in implementations
        of learning with an augmented class.
    max_rows : int or None, default=2000
        Number of rows of each side that a scorer other than "forest" gets. If there are more, that
        many are drawn at random, and theta is estimated from them alone. None means all rows.
    subsample : int or None, default=None
        Number of rows to draw from each side. The paper uses 1,000 for its neural forest.
    n_subsamples : int, default=10
        Number of subsamples over which theta is averaged, if `subsample` is set.
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
        Share of new rows among unlabelled ones; at least 1/8, because the search for lam ends at 8.
    interval_ : tuple of float or None
    scores_ : object
        Scores of labelled and unlabelled rows, ``scores_.labeled`` and ``scores_.unlabeled``, of
        all subsamples one after the other; higher scores look newer.

    References
    ----------
    .. [1] H. Ramaswamy, C. Scott and A. Tewari, "Mixture Proportion Estimation via Kernel
       Embeddings of Distributions", ICML 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest.mixture import KernelMeanEmbedding
    >>> rng = np.random.default_rng(0)
    >>> known, new = rng.normal(size=(2000, 2)), rng.normal(6, 1, size=(1000, 2))
    >>> estimator = KernelMeanEmbedding(n_bootstrap=0, random_state=0)
    >>> estimator.fit(known[:1000], np.vstack([known[1000:], new]))
    KernelMeanEmbedding(n_bootstrap=0, random_state=0)
    >>> abs(estimator.theta_ - 0.5) < 0.05
    True
    """

    def __init__(
        self,
        variant: Literal["km1", "km2"] = "km2",
        scorer: Any = "svc",
        *,
        cv: Any = 5,
        bandwidth: float | None = None,
        mixing: float = 0.25,
        max_rows: int | None = 2000,
        subsample: int | None = None,
        n_subsamples: int = 10,
        level: float = 0.9,
        n_bootstrap: int = 100,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            scorer,
            cv=cv,
            level=level,
            n_bootstrap=n_bootstrap,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.variant = variant
        self.bandwidth = bandwidth
        self.mixing = mixing
        self.max_rows = max_rows
        self.subsample = subsample
        self.n_subsamples = n_subsamples

    def fit_stack(
        self,
        stack: RowStack,
        n_labeled: int,
        weight: NDArray[np.float64] | None = None,
        columns: CodedColumns | None = None,
    ) -> Self:
        """Estimate theta from stacked rows, averaged over subsamples if `subsample` is set."""
        if self.subsample is None:
            return self._fit_some(stack, n_labeled, weight, columns)
        self._check_parameters()
        rng = np.random.default_rng(self._seeds()[0])
        parts = []
        for seed in rng.integers(2**32, size=self.n_subsamples).tolist():
            drawn = _draw(rng, n_labeled, stack.n_rows, self.subsample)
            part: Self = clone(self).set_params(subsample=None, random_state=seed)
            parts.append(
                part.fit_stack(
                    stack.take(np.concatenate(drawn)),
                    len(drawn[0]),
                    None if weight is None else weight[drawn[0]],
                )
            )
        self.theta_ = float(np.mean([part.theta_ for part in parts]))
        self.scores_ = Scores(
            np.concatenate([part.scores_.labeled for part in parts]),
            np.concatenate([part.scores_.unlabeled for part in parts]),
        )
        self._table = ScoreTable.of(self.scores_.labeled, self.scores_.unlabeled)
        self.interval_ = None
        if self.n_bootstrap > 0:
            ends = np.mean([part._ends for part in parts], axis=0)
            self.interval_ = self._interval(ends, self._table)
        return self

    def _fit_some(
        self,
        stack: RowStack,
        n_labeled: int,
        weight: NDArray[np.float64] | None,
        columns: CodedColumns | None,
    ) -> Self:
        """Estimate theta from at most `max_rows` rows of either side."""
        self._check_parameters()
        n_most = max(n_labeled, stack.n_rows - n_labeled)
        if self.scorer == "forest" or self.max_rows is None or n_most <= self.max_rows:
            return super().fit_stack(stack, n_labeled, weight, columns)
        rng = np.random.default_rng(self._seeds()[0])
        drawn = _draw(rng, n_labeled, stack.n_rows, self.max_rows)
        return super().fit_stack(
            stack.take(np.concatenate(drawn)),
            len(drawn[0]),
            None if weight is None else weight[drawn[0]],
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.variant not in ("km1", "km2"):
            raise ValueError(f'variant must be "km1" or "km2", got {self.variant!r}')
        check_int("max_rows", self.max_rows, 2, none_allowed=True)
        check_int("subsample", self.subsample, 2, none_allowed=True)
        check_int("n_subsamples", self.n_subsamples, 1)
        if not is_real(self.mixing) or not 0.0 <= self.mixing <= 1.0:
            raise ValueError(f"mixing must be a number in [0, 1], got {self.mixing!r}")
        if self.bandwidth is not None and not (
            is_real(self.bandwidth) and 0.0 < self.bandwidth < np.inf
        ):
            raise ValueError(f"bandwidth must be a positive number or None, got {self.bandwidth!r}")

    def _estimate(self, table: ScoreTable) -> float:
        self._embedding = KernelMean(table.values, table.labeled, table.unlabeled, self.bandwidth)
        return 1.0 - self._embedding.known_share(self.variant, self.mixing).share

    def _replicate(self, table: ScoreTable) -> tuple[float, float]:
        other = self._embedding.resampled(table.labeled, table.unlabeled)
        theta = 1.0 - other.known_share(self.variant, self.mixing).share
        return theta, theta


def _draw(
    rng: np.random.Generator, n_labeled: int, n_rows: int, n_most: int
) -> list[NDArray[np.intp]]:
    """At most `n_most` rows of either side, in ascending order."""
    sides = (np.arange(n_labeled), np.arange(n_labeled, n_rows))
    return [np.sort(rng.choice(side, min(n_most, len(side)), replace=False)) for side in sides]
