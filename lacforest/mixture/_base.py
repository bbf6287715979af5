"""Base of all estimators of theta: scores, then theta, then its interval."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_array, check_is_fitted

from lacforest._coding.coded_table import code_columns
from lacforest._input.categorical_columns import FROM_DTYPE
from lacforest._input.labels import check_weight
from lacforest._input.parameters import check_int, check_level, check_n_jobs
from lacforest._input.tables import RowStack, by_column, check_training_table, check_unlabeled_table
from lacforest._input.training_data import code_categories
from lacforest._tree.coded_columns import CodedColumns
from lacforest._utils.frames import column_names
from lacforest.mixture._cross_fit import check_scorer, cross_fit_scores
from lacforest.mixture._forest_scores import forest_scores
from lacforest.mixture._score_table import Scores, ScoreTable

# If there are more distinct scores, neighbours are counted together, so that the cost of an
# estimate and its bootstrap does not grow with the number of rows.
MOST_VALUES = 2_000


class ThetaWarning(UserWarning):
    """The data do not determine how many unlabelled rows are new, or whether any are."""


class ThetaEstimator(BaseEstimator, metaclass=ABCMeta):
    """Base of all estimators of theta, the share of new rows among unlabelled ones.

    A subclass computes theta from one-dimensional scores. A score measures how much a row looks
    like the unlabelled sample, by a model that was not fitted on this row.
    """

    theta_: float
    interval_: tuple[float, float] | None
    scores_: Scores

    # Columns of type category are split by sets; see `lacforest._input.categorical_columns`.
    categorical_features: ClassVar[str] = FROM_DTYPE

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.scorer, "__sklearn_tags__"):
            tags.input_tags = get_tags(self.scorer).input_tags
        else:
            tags.input_tags.allow_nan = self.scorer == "forest"
            tags.input_tags.sparse = True
        return tags

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
            The number of rows that each labelled row represents.

        Returns
        -------
        self
        """
        self._check_parameters()
        return self.fit_stack(*self.stack_rows(X, X_unlabeled, sample_weight))

    def stack_rows(
        self, X: Any, X_unlabeled: Any, sample_weight: Any = None
    ) -> tuple[RowStack, int, NDArray[np.float64] | None]:
        """Check tables for `fit_stack`; labelled rows of weight zero are left out."""
        if X_unlabeled is None:
            raise ValueError(
                "X_unlabeled is None: theta is the share of new rows among unlabelled ones, so "
                "unlabelled rows are required"
            )
        names = column_names(X)
        categories, (X, X_unlabeled, _) = code_categories(self, X, X_unlabeled, None)
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
        n_categories = None if categories is None else categories.n_categories
        stack = RowStack([by_column(labeled), by_column(unlabeled)], order, n_categories)
        return stack, n_labeled, weight

    def fit_stack(
        self,
        stack: RowStack,
        n_labeled: int,
        weight: NDArray[np.float64] | None = None,
        columns: CodedColumns | None = None,
    ) -> Self:
        """Estimate theta from stacked rows that are already checked, and possibly coded.

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
                "row(s): rows are scored by models that are fitted on other rows, so at least two "
                "of each are needed. Pass more rows, or theta as a number."
            )
        score_seed, bootstrap_seed = self._seeds()
        columns = self._code(stack, columns)
        scores = self._score_stack(stack, n_labeled, weight, columns, score_seed)
        sides = Scores(scores[:n_labeled], scores[n_labeled:])
        self._fit_table(sides, weight, bootstrap_seed)
        if columns is not None:
            self._test_novelty(columns, n_labeled, weight)
        return self

    def fit_control(
        self,
        stack: RowStack,
        n_labeled: int,
        n_control: int,
        weight: NDArray[np.float64] | None = None,
        columns: CodedColumns | None = None,
    ) -> Self:
        """Estimate theta by comparing unlabelled rows with a few known rows of deployment.

        All labelled rows help to learn the scores, but only those of the control rows are compared
        with the scores of unlabelled rows: known rows of deployment are like them whatever the
        other labelled rows look like.

        Parameters
        ----------
        stack : RowStack
            Labelled rows first.
        n_labeled : int
            Control rows included.
        n_control : int
            The last labelled rows are known rows of deployment.
        weight, columns
            As in `fit_stack`.
        """
        self._check_parameters()
        score_seed, bootstrap_seed = self._seeds()
        columns = self._code(stack, columns)
        scores = self._score_stack(stack, n_labeled, weight, columns, score_seed)
        sides = Scores(scores[n_labeled - n_control : n_labeled], scores[n_labeled:])
        return self._fit_table(sides, None, bootstrap_seed)

    def _code(self, stack: RowStack, columns: CodedColumns | None) -> CodedColumns | None:
        """The columns of the stack as rank codes where the scorer is the forest, otherwise None."""
        if not isinstance(self.scorer, str) or self.scorer != "forest":
            return None
        return code_columns(stack, effective_n_jobs(self.n_jobs)) if columns is None else columns

    def _score_stack(
        self,
        stack: RowStack,
        n_labeled: int,
        weight: NDArray[np.float64] | None,
        columns: CodedColumns | None,
        seed: int,
    ) -> NDArray[np.float64]:
        """How much each row looks unlabelled, by models that did not see it."""
        if columns is not None:
            return forest_scores(columns, n_labeled, seed, self.n_jobs, weight)
        return cross_fit_scores(self.scorer, stack.table(), n_labeled, self.cv, seed, self.n_jobs)

    def fit_scores(
        self, labeled: ArrayLike, unlabeled: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Estimate theta from given scores.

        Parameters
        ----------
        labeled : array-like of shape (n_labeled,)
            Scores of labelled rows by models that were not fitted on them. Higher looks newer.
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
                raise ValueError(f"{name} must have one score per row, got shape {array.shape}")
            sides.append(array)
        weight = check_weight(sample_weight, len(sides[0]))
        if weight is not None:
            if not weight.any():
                raise ValueError("sample_weight is zero for every labelled row")
            sides[0], weight = sides[0][weight > 0], weight[weight > 0]
        return self._fit_table(Scores(*sides), weight, self._seeds()[1])

    def _seeds(self) -> list[int]:
        """Seeds of the scores and of the bootstrap."""
        random_state = check_random_state(self.random_state)
        return [int(word) for word in random_state.randint(0, 2**32, size=2, dtype=np.uint32)]

    def _fit_table(
        self, scores: Scores, weight: NDArray[np.float64] | None, bootstrap_seed: int
    ) -> Self:
        table = ScoreTable.of(scores.labeled, scores.unlabeled, weight).grouped(MOST_VALUES)
        self.theta_ = self._estimate(table)
        self.interval_ = None
        if self.n_bootstrap > 0:
            rng = np.random.default_rng(bootstrap_seed)
            samples = (table.resampled(rng) for _ in range(int(self.n_bootstrap)))
            self._ends = np.array([self._replicate(sample) for sample in samples])
            self.interval_ = self._interval(self._ends, table)
        self.scores_ = scores
        self._table = table
        return self

    def _interval(self, ends: NDArray[np.float64], table: ScoreTable) -> tuple[float, float]:
        """Percentiles of the replicates, widened to contain the estimate itself."""
        tail = (1.0 - self.level) / 2.0
        low, high = np.quantile(ends[:, 0], tail), np.quantile(ends[:, 1], 1.0 - tail)
        return min(self.theta_, float(low)), max(self.theta_, float(high))

    def _check_parameters(self) -> None:
        check_scorer(self.scorer)
        check_n_jobs(self.n_jobs)
        check_int("n_bootstrap", self.n_bootstrap, 0)
        check_level(self.level)

    def _test_novelty(
        self, columns: CodedColumns, n_labeled: int, weight: NDArray[np.float64] | None
    ) -> None:
        """Test whether anything is new, where an estimator does so."""
        return

    @abstractmethod
    def _estimate(self, table: ScoreTable) -> float:
        """Theta in [0, 1]; may store the starting point of `_replicate`."""

    @abstractmethod
    def _replicate(self, table: ScoreTable) -> tuple[float, ...]:
        """Values of one bootstrap sample: for the lower and the upper end, then any others."""

    def ratio_curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Ratio of the shares of unlabelled and labelled rows, among rows that look known.

        For each score, x is the share of labelled rows with that score or a lower one, and y the
        same share of unlabelled rows divided by x. Towards x = 0 all rows are known, and y tends to
        1 - theta.

        Returns
        -------
        x, y : float64 arrays
        """
        check_is_fitted(self)
        return self._table.ratio_curve()
