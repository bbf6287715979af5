"""What all estimators of theta share: scores, then a share, then its interval."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from lacforest._coding import RowStack, code_columns
from lacforest._parameters import check_int, check_n_jobs, is_real
from lacforest._tree._ranks import CodedColumns
from lacforest._validation import (
    by_column,
    check_training_table,
    check_unlabeled_table,
    column_names,
)
from lacforest._weights import check_weight
from lacforest.mixture._cross_fit import check_scorer, cross_fit_scores
from lacforest.mixture._forest_scores import forest_scores
from lacforest.mixture._score_table import Scores, ScoreTable

# Beyond this many distinct scores neighbours are counted together, so that neither an estimate nor
# its bootstrap grows with the number of rows.
_MOST_VALUES = 2_000


class ThetaWarning(UserWarning):
    """The data cannot tell how many unlabelled rows are new, or whether any are."""


class ThetaEstimator(BaseEstimator, metaclass=ABCMeta):
    """Base of all estimators of theta, the share of new rows among unlabelled ones.

    A subclass says how theta follows from one-dimensional scores. The scores say how much a row
    looks like the unlabelled sample, given by a model that did not see the row.
    """

    theta_: float
    interval_: tuple[float, float] | None
    scores_: Scores

    def __init__(
        self,
        scorer: Any = "forest",
        *,
        cv: Any = 5,
        level: float = 0.9,
        n_bootstrap: int = 100,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.scorer = scorer
        self.cv = cv
        self.level = level
        self.n_bootstrap = n_bootstrap
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self, X: ArrayLike, X_unlabeled: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Estimate theta.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_labeled, n_features)
            Labelled rows, a sample of the known classes.
        X_unlabeled : like X, of shape (n_unlabeled, n_features)
            Unlabelled rows from deployment.
        sample_weight : array-like of shape (n_labeled,), optional
            How many rows each labelled row stands for.

        Returns
        -------
        self
        """
        self._check_parameters()
        return self.fit_stack(*self.stack_rows(X, X_unlabeled, sample_weight))

    def stack_rows(
        self, X: Any, X_unlabeled: Any, sample_weight: Any = None
    ) -> tuple[RowStack, int, NDArray[np.float64] | None]:
        """Checked tables as `fit_stack` takes them; labelled rows of weight zero are left out."""
        if X_unlabeled is None:
            raise ValueError(
                "X_unlabeled is None: theta is the share of new rows among unlabelled ones, so "
                "there must be some"
            )
        names = column_names(X)
        labeled = check_training_table(self, X)
        unlabeled = check_unlabeled_table(self, X_unlabeled, names)
        weight = check_weight(sample_weight, labeled.shape[0])
        order = None
        n_labeled = labeled.shape[0]
        if weight is not None and not weight.all():
            kept = np.flatnonzero(weight)
            if len(kept) == 0:
                raise ValueError("sample_weight is zero for every labelled row")
            order = np.concatenate([kept, n_labeled + np.arange(unlabeled.shape[0])])
            n_labeled, weight = len(kept), weight[kept]
        return RowStack([by_column(labeled), by_column(unlabeled)], order), n_labeled, weight

    def fit_stack(
        self,
        stack: RowStack,
        n_labeled: int,
        weight: NDArray[np.float64] | None = None,
        columns: CodedColumns | None = None,
    ) -> Self:
        """Estimate theta from stacked rows; for callers that have checked and coded them already.

        Parameters
        ----------
        stack : RowStack
            Labelled rows first.
        n_labeled : int
        weight : float64 array of shape (n_labeled,), optional
            Positive weights of labelled rows.
        columns : CodedColumns, optional
            The columns of the stack as rank codes.
        """
        self._check_parameters()
        n_unlabeled = stack.n_rows - n_labeled
        if n_labeled < 2 or n_unlabeled < 2:
            raise ValueError(
                f"theta cannot be estimated from {n_labeled} labelled and {n_unlabeled} unlabelled "
                "row(s): a row is scored by models that saw others of its side, so two of each are "
                "the least. Pass more rows, or theta as a number."
            )
        score_seed, bootstrap_seed = self._seeds()
        if isinstance(self.scorer, str) and self.scorer == "forest":
            if columns is None:
                columns = code_columns(stack, effective_n_jobs(self.n_jobs))
            scores = forest_scores(columns, n_labeled, score_seed, self.n_jobs)
        else:
            scores = cross_fit_scores(
                self.scorer, stack.table(), n_labeled, self.cv, score_seed, self.n_jobs
            )
        sides = Scores(scores[:n_labeled], scores[n_labeled:])
        return self._fit_table(sides, weight, bootstrap_seed)

    def fit_scores(
        self, labeled: ArrayLike, unlabeled: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Estimate theta from scores that are there already.

        Parameters
        ----------
        labeled : array-like of shape (n_labeled,)
            Scores of labelled rows by models that did not see them. Higher looks newer.
        unlabeled : array-like of shape (n_unlabeled,)
            Scores of unlabelled rows, likewise.
        sample_weight : array-like of shape (n_labeled,), optional

        Returns
        -------
        self
        """
        self._check_parameters()
        sides = []
        for name, scores in (("labeled", labeled), ("unlabeled", unlabeled)):
            array = check_array(scores, ensure_2d=False, dtype=np.float64, input_name=name)
            if array.ndim != 1:
                raise ValueError(f"{name} must hold one score a row, got shape {array.shape}")
            sides.append(array)
        weight = check_weight(sample_weight, len(sides[0]))
        if weight is not None:
            if not weight.any():
                raise ValueError("sample_weight is zero for every labelled row")
            sides[0], weight = sides[0][weight > 0], weight[weight > 0]
        return self._fit_table(Scores(*sides), weight, self._seeds()[1])

    def _seeds(self) -> list[int]:
        """Seeds of scores and of the bootstrap."""
        random_state = check_random_state(self.random_state)
        return [int(word) for word in random_state.randint(0, 2**32, size=2, dtype=np.uint32)]

    def _fit_table(
        self, scores: Scores, weight: NDArray[np.float64] | None, bootstrap_seed: int
    ) -> Self:
        table = ScoreTable.of(scores.labeled, scores.unlabeled, weight).grouped(_MOST_VALUES)
        self.theta_ = self._estimate(table)
        self.interval_ = None
        if self.n_bootstrap > 0:
            rng = np.random.default_rng(bootstrap_seed)
            samples = (table.resampled(rng) for _ in range(int(self.n_bootstrap)))
            self._ends = np.array([self._replicate(sample) for sample in samples])
            self.interval_ = self._interval(self._ends)
        self.scores_ = scores
        self._table = table
        return self

    def _interval(self, ends: NDArray[np.float64]) -> tuple[float, float]:
        """Percentiles of the replicates, widened to hold the estimate itself."""
        tail = (1.0 - self.level) / 2.0
        low, high = np.quantile(ends[:, 0], tail), np.quantile(ends[:, 1], 1.0 - tail)
        return min(self.theta_, float(low)), max(self.theta_, float(high))

    def _check_parameters(self) -> None:
        check_scorer(self.scorer)
        check_n_jobs(self.n_jobs)
        check_int("n_bootstrap", self.n_bootstrap, 0)
        if not is_real(self.level):
            raise TypeError(f"level must be a number in (0, 1), got {self.level!r}")
        if not 0.0 < self.level < 1.0:
            raise ValueError(f"level must lie strictly between 0 and 1, got {self.level!r}")

    @abstractmethod
    def _estimate(self, table: ScoreTable) -> float:
        """Theta in [0, 1]; may keep what `_replicate` starts from."""

    @abstractmethod
    def _replicate(self, table: ScoreTable) -> tuple[float, float]:
        """What one bootstrap sample says of the lower and of the upper end of the interval."""

    def ratio_curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Share of unlabelled rows over share of labelled rows, among the rows that look known.

        At each score: x is the share of labelled rows with that score or a lower one, and y the
        same share of unlabelled rows divided by x. Towards x = 0 only known rows are left, and y
        tends to 1 - theta.

        Returns
        -------
        x, y : float64 arrays
        """
        check_is_fitted(self)
        return self._table.ratio_curve()
