"""KernelMeanEmbedding: the estimator of theta that the paper uses."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from lacforest._coding import RowStack
from lacforest._parameters import check_int, is_real
from lacforest._tree._ranks import CodedColumns
from lacforest.mixture._base import ThetaEstimator
from lacforest.mixture._kernel_mean import KernelMean
from lacforest.mixture._score_table import Scores, ScoreTable


class KernelMeanEmbedding(ThetaEstimator):
    """Theta by kernel mean embedding, KM1 or KM2, on one-dimensional scores.

    With F the distribution of unlabelled and H that of labelled scores, lam F - (lam - 1) H is a
    distribution up to lam = 1 / theta. Its distance from all distributions on the sample, in the
    space of a Gaussian kernel, is flat up to there and rises from there on; theta is read from
    where the slope passes a threshold [1]_.

    The defaults are the route of the LACForest paper: decision values of an RBF-SVC, 5-fold, then
    KM2. The distances are exact: the kernel of scores on a line has few dimensions, and the
    quadratic programmes are solved there.

    Parameters
    ----------
    variant : {"km1", "km2"}, default="km2"
        Threshold of the slope.
    scorer : {"svc", "forest"} or classifier, default="svc"
        What tells unlabelled from labelled rows: an RBF-SVC with C = 1 and gamma one over the
        median squared distance of its training rows, any scikit-learn classifier, or out-of-bag
        scores of a forest on rank codes.
    cv : int or splitter, default=5
        Folds where the scorer is not "forest".
    bandwidth : float or None, default=None
        Standard deviation of the kernel on scores. None takes, of five multiples of the median
        distance, the one that tells labelled from unlabelled scores best.
    mixing : float in [0, 1], default=0.25
        Weight of the last slope in the threshold of KM2: 0.2 as published, 0.25 in programs for
        learning with an augmented class.
    subsample : int or None, default=None
        Rows of either side to use, drawn at random. The paper takes 1,000 for its neural forest.
    n_subsamples : int, default=10
        Subsamples over which theta is averaged, where `subsample` is set.
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
        Share of new rows among unlabelled ones. Not below 1/8: the search for lam ends at 8.
    interval_ : tuple of float or None
    scores_ : Scores
        Scores of labelled and unlabelled rows, of all subsamples in a row; higher looks newer.

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
        self.subsample = subsample
        self.n_subsamples = n_subsamples

    def fit_stack(
        self,
        stack: RowStack,
        n_labeled: int,
        weight: NDArray[np.float64] | None = None,
        columns: CodedColumns | None = None,
    ) -> Self:
        """Estimate theta from stacked rows, averaged over subsamples if there are to be any."""
        if self.subsample is None:
            return super().fit_stack(stack, n_labeled, weight, columns)
        self._check_parameters()
        rng = np.random.default_rng(self._seeds()[0])
        sides = (np.arange(n_labeled), np.arange(n_labeled, stack.n_rows))
        parts = []
        for seed in rng.integers(2**32, size=self.n_subsamples).tolist():
            drawn = [
                np.sort(rng.choice(side, min(self.subsample, len(side)), replace=False))
                for side in sides
            ]
            part: Self = clone(self).set_params(subsample=None, random_state=seed)
            parts.append(
                part.fit_stack(
                    stack.take(np.concatenate(drawn)),
                    len(drawn[0]),
                    None if weight is None else weight[drawn[0]],
                )
            )
        self.theta_ = float(np.mean([part.theta_ for part in parts]))
        self.interval_ = None
        if self.n_bootstrap > 0:
            self.interval_ = self._interval(np.mean([part._ends for part in parts], axis=0))
        self.scores_ = Scores(
            np.concatenate([part.scores_.labeled for part in parts]),
            np.concatenate([part.scores_.unlabeled for part in parts]),
        )
        self._table = ScoreTable.of(self.scores_.labeled, self.scores_.unlabeled)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.variant not in ("km1", "km2"):
            raise ValueError(f'variant must be "km1" or "km2", got {self.variant!r}')
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
