"""ShareMixture: theta together with the shares of all known classes in deployment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from lacforest._coding.coded_table import CodedTable, code_table
from lacforest._input.categorical_columns import FROM_DTYPE
from lacforest._input.parameters import check_int, check_level, check_n_jobs, share_ratio
from lacforest._input.tables import TakesGapsAndSparse
from lacforest._input.training_data import TrainingRows, check_training_rows
from lacforest.mixture._base import MOST_VALUES
from lacforest.mixture._forest_scores import class_scores
from lacforest.mixture._rank_mixture import FLAT_POWER, STEEP_POWER, RankMixture
from lacforest.mixture._score_table import ScoreTable
from lacforest.mixture._shares import (
    LEAST_PART,
    N_ROUNDS,
    ClassScores,
    fit_shares,
    novelty,
    share_covariance,
    share_variance,
    shift_statistic,
)

# Shift statistics up to this one occur without any shift; see docs/guide/shares.rst.
LARGEST_CHANCE_SHIFT = 3.5
# By the first trees and labelled shares, 4 of 636 shifts that all trees found lay below this
# statistic, and so did 80 % of the tables without a shift.
_SURELY_CHANCE = 1.5
# Groups by chance tell classes apart by 1; such groups cannot show a shift.
_LEAST_TOLD_APART = 1.2


class ShareMixture(TakesGapsAndSparse, BaseEstimator):
    """Theta and the share of every known class among unlabelled rows.

    Estimators such as `RankMixture` assume that known classes occur in deployment in the shares in
    which they were labelled. This one does not: it compares, class by class, where the unlabelled
    rows fall among the labelled ones, and finds the shares of all known classes and theta together
    by maximum likelihood. It assumes that each known class looks in deployment as it was labelled,
    and that rows somewhere tell the known classes apart and are hardly ever new.

    Parameters
    ----------
    known_shares : array-like of shape (n_known,), optional
        Shares of the known classes among known rows where they are known, in the order of the
        sorted labels: then theta alone is estimated.
    level : float, default=0.9
        Level of the intervals.
    n_bootstrap : int, default=50
        Samples of rows and shares for the interval of theta; 0 leaves all intervals out.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int or None, default=None
        Threads. The result is the same for any number.

    Attributes
    ----------
    theta_ : float
        Share of new rows among unlabelled ones.
    interval_ : tuple of float or None
    classes_ : ndarray of shape (n_known,)
    known_shares_ : ndarray of shape (n_known,)
        Shares of the known classes among the known unlabelled rows; they sum to 1.
    known_shares_interval_ : ndarray of shape (n_known, 2) or None
    labeled_shares_ : ndarray of shape (n_known,)
        Shares of the known classes among the labelled rows.
    share_shift_ : float
        How far the two lie apart, as a mean squared z-score: about 1 where nothing moved.
    has_shifted_ : bool
        Whether `share_shift_` is larger than chance explains, and rows tell the classes apart.
    distinction_ : float or None
        How well trees tell the known classes apart on labelled rows that they did not see: 0 by
        chance, 1 at best. None with one class, or with given shares.

    See Also
    --------
    RankMixture : Theta alone, where known classes keep their shares.

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest.mixture import ShareMixture
    >>> rng = np.random.default_rng(0)
    >>> centre = np.array([[0.0, 0.0], [6.0, 0.0], [3.0, 9.0]])
    >>> X = centre[np.repeat([0, 1], 200)] + rng.normal(size=(400, 2))
    >>> y = np.repeat(["a", "b"], 200)
    >>> deployed = np.repeat([0, 1, 2], [100, 500, 400])  # one of six known rows is an "a"
    >>> X_unlabeled = centre[deployed] + rng.normal(size=(1000, 2))
    >>> mixture = ShareMixture(random_state=0).fit(X, y, X_unlabeled)
    >>> round(mixture.theta_, 1), mixture.known_shares_.round(1).tolist(), mixture.has_shifted_
    (0.4, [0.2, 0.8], True)
    """

    # Columns of type category are split by sets; see `lacforest._input.categorical_columns`.
    categorical_features: ClassVar[str] = FROM_DTYPE

    def __init__(
        self,
        *,
        known_shares: ArrayLike | None = None,
        level: float = 0.9,
        n_bootstrap: int = 50,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.known_shares = known_shares
        self.level = level
        self.n_bootstrap = n_bootstrap
        self.random_state = random_state
        self.n_jobs = n_jobs

    theta_: float
    interval_: tuple[float, float] | None
    known_shares_: NDArray[np.float64]
    known_shares_interval_: NDArray[np.float64] | None
    share_shift_: float
    has_shifted_: bool
    distinction_: float | None

    # What checking of training rows asks of an estimator.
    unlabeled_label: Any = None
    new_label: Any = "auto"

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_unlabeled: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Estimate theta and all shares.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_labeled, n_features)
            Labelled rows.
        y : array-like of shape (n_labeled,)
            Their labels.
        X_unlabeled : like X, of shape (n_unlabeled, n_features)
            Unlabelled rows from deployment.
        sample_weight : array-like of shape (n_labeled,), optional
            How many rows each labelled row stands for.

        Returns
        -------
        self
        """
        self._check_parameters()
        if X_unlabeled is None:
            raise ValueError(
                "X_unlabeled is None: shares are those of classes among unlabelled rows, so there "
                "must be some"
            )
        rows, labels = check_training_rows(self, X, y, sample_weight, X_unlabeled)
        self.classes_ = labels.known
        return self.fit_shift(rows, code_table(rows.table, self.n_jobs)).fit_intervals()

    def fit_shift(self, rows: TrainingRows, coded: CodedTable) -> Self:
        """Estimate all but the intervals, from rows that were checked and coded already.

        Parameters
        ----------
        rows : TrainingRows
        coded : CodedTable
            The table of `rows` in codes.
        """
        *_, scores = self._start(rows, coded)
        self._test_shift(scores)
        return self._find_theta(scores)

    def find_shift(self, rows: TrainingRows, coded: CodedTable) -> Self:
        """What `fit_shift` finds if shares have moved; else no more than that they have not.

        Most tables without a shift show it by the first trees, and the others are not grown. Theta
        is left out then, because it is a matter of ranks alone.
        """
        scores = self._start(rows, coded)
        self._test_shift(next(scores), n_rounds=1)
        if self.share_shift_ > _SURELY_CHANCE:
            by_all = next(scores)
            self._test_shift(by_all)
            if self.has_shifted_:
                self._find_theta(by_all)
        return self

    def _start(self, rows: TrainingRows, coded: CodedTable) -> Iterator[ClassScores]:
        """Check parameters and rows, and score the rows by the first trees, then by all."""
        self._check_parameters()
        if rows.n_labeled < 2 or rows.n_unlabeled < 2:
            raise ValueError(
                f"shares cannot be estimated from {rows.n_labeled} labelled and "
                f"{rows.n_unlabeled} unlabelled row(s): a row is scored by trees that saw others "
                "of its side, so two of each are the least. Pass more rows, or known_shares."
            )
        random_state = check_random_state(self.random_state)
        seed, self._seed = random_state.randint(0, 2**32, size=2, dtype=np.uint32).tolist()
        return class_scores(rows, coded, seed, self.n_jobs)

    def _test_shift(self, scores: ClassScores, n_rounds: int = N_ROUNDS) -> None:
        """Set the shares, and whether they have moved."""
        self.labeled_shares_ = scores.labeled_shares
        variance = self._find_shares(scores, n_rounds)
        self.share_shift_ = shift_statistic(
            self.known_shares_, self.labeled_shares_, variance, len(scores.labeled)
        )
        fitted = self._share_fit
        self.distinction_ = None if fitted is None else fitted.distinction
        sees = fitted is None or fitted.told_apart > _LEAST_TOLD_APART
        self.has_shifted_ = sees and self.share_shift_ > LARGEST_CHANCE_SHIFT

    def _find_theta(self, scores: ClassScores) -> Self:
        """Set theta under the shares that were found."""
        labeled, unlabeled, weight = _weighted_scores(scores, self.known_shares_)
        by_rank = RankMixture(level=self.level, n_bootstrap=0, random_state=0)
        by_rank.fit_scores(labeled, unlabeled, weight)
        self.theta_, self.interval_ = by_rank.theta_, None
        self.scores_ = by_rank.scores_
        self._by_rank = by_rank
        self.known_shares_interval_ = None
        self._class_scores = scores
        return self

    def _find_shares(self, scores: ClassScores, n_rounds: int) -> NDArray[np.float64]:
        """Set the shares among known rows, and return their variance."""
        self._share_fit = None
        if self.known_shares is None:
            self._share_fit = fit_shares(scores, n_rounds=n_rounds)
            self.known_shares_ = self._share_fit.known_shares
            return share_variance(self._share_fit, scores.labeled_shares, scores.class_sizes)
        given = np.asarray(self.known_shares, dtype=np.float64)
        if given.shape != (scores.n_known,) or not (given >= 0).all() or not given.sum() > 0:
            raise ValueError(
                f"known_shares must be one share per known class, {scores.n_known} of them, and "
                f"not negative, got {self.known_shares!r}"
            )
        self.known_shares_ = given / given.sum()
        return np.zeros(scores.n_known)

    def fit_intervals(self) -> Self:
        """Add the intervals to what `fit_shift` found.

        Shares deviate by the information of the fitted mixture; theta by resampled rows, each time
        with shares that deviate. Both are widened by how much new rows may overlap known ones:
        shares are lowest, and theta is highest, where new rows may overlap a lot (flat densities of
        new rows), and the other way round.
        """
        if self.n_bootstrap == 0:
            return self
        scores, known = self._class_scores, self.known_shares_
        covariance = np.zeros((len(known), len(known)))
        if self._share_fit is not None:
            covariance = share_covariance(self._share_fit, scores.class_sizes)
            ends = [
                fit_shares(scores, start=known, n_rounds=1, lowest=lowest).known_shares
                for lowest in (FLAT_POWER, STEEP_POWER)
            ]
            wide = norm.ppf(0.5 + self.level / 2) * np.sqrt(np.maximum(covariance.diagonal(), 0.0))
            self.known_shares_interval_ = np.column_stack(
                [
                    np.maximum(np.min([*ends, known], axis=0) - wide, 0.0),
                    np.minimum(np.max([*ends, known], axis=0) + wide, 1.0),
                ]
            )
        rng = np.random.default_rng(self._seed)
        root = _root(covariance)
        thetas = []
        for _ in range(int(self.n_bootstrap)):
            drawn = np.maximum(known + root @ rng.normal(size=len(known)), 0.0)
            table = _score_table(scores, drawn / drawn.sum() if drawn.any() else known)
            thetas.append(self._by_rank._replicate(table.resampled(rng)))
        self.interval_ = self._by_rank._interval(np.array(thetas), _score_table(scores, known))
        return self

    def _check_parameters(self) -> None:
        check_level(self.level)
        check_int("n_bootstrap", self.n_bootstrap, 0)
        check_n_jobs(self.n_jobs)


def _root(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """A matrix whose product with its transpose is the covariance."""
    values, vectors = np.linalg.eigh(covariance)
    root: NDArray[np.float64] = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


def _weighted_scores(
    scores: ClassScores, known: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Novelty of both sides and weights of labelled rows under shares in deployment."""
    ratio = share_ratio(known, scores.labeled_shares, LEAST_PART)
    return (
        novelty(scores.labeled, ratio),
        novelty(scores.unlabeled, ratio),
        scores.weight * ratio[scores.classes],
    )


def _score_table(scores: ClassScores, known: NDArray[np.float64]) -> ScoreTable:
    """Novelty of both sides under shares in deployment, counted by value."""
    return ScoreTable.of(*_weighted_scores(scores, known)).grouped(MOST_VALUES)
