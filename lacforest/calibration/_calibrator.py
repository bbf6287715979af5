"""NoveltyCalibrator: rows are called new by a rule whose errors are bounded."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lacforest._input.fingerprints import fingerprints
from lacforest._input.parameters import check_int
from lacforest._input.tables import TakesWhatEstimatorTakes
from lacforest._utils.user_warnings import warn_user
from lacforest.calibration._folds import CalibrationRows, FoldScores
from lacforest.calibration._probability import new_probability_curve
from lacforest.calibration._selection import (
    Selection,
    benjamini_hochberg,
    check_rate,
    check_rates,
    conformal_p_values,
    estimated_fdr,
    fewest_rows,
    largest_rank,
)
from lacforest.calibration.scores import label_rows, ranking_score

_LARGEST_SEED = 2**31


class NoveltyCalibrator(TakesWhatEstimatorTakes, BaseEstimator):
    """Decisions about new rows with a bound on false alarms.

    Some labelled rows are held out of the fit. The share of them that look at least as new as a row
    is that row's p-value: for a row of a known class it is below any level a with probability at
    most a.

    Parameters
    ----------
    estimator : classifier
        Any object with `fit(X, y, X_unlabeled=...)` and `novelty_score`, for instance a forest. It
        is cloned. `predict` also needs its `predict_proba`, `classes_` and `new_class_index_`.
    calibration_size : float in (0, 1) or int, default=0.3
        Labelled rows that are held out: a share of them, or a number.
    max_fpr : float in (0, 1), optional
        The share of known rows that `predict` may call new.
    confidence : float in (0, 1), optional
        With it `max_fpr` holds for this share of all calibration samples, not only on average over
        them. More calibration rows are needed: 230 for 1 % at 90 %.
    random_state : int, RandomState instance or None, default=None
        Seed of the split into calibration rows and others, and of the halves of
        `select_unlabeled`.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on the other labelled rows and on all unlabelled rows.
    calibration_scores_ : ndarray of shape (n_calibration,)
        Scores of the rows held out, in ascending order.
    theta_ : float
        Share of new rows, of `estimator_`.
    classes_ : ndarray
        Labels that `predict` may give, where `estimator_` has them.

    Notes
    -----
    Known rows that are judged must be drawn as the labelled rows are. Where shares of the known
    classes differ in deployment, or rows within a class have drifted, p-values are too small or too
    large.

    The procedure of Benjamini and Hochberg bounds the *mean* of the share of known rows among the
    selected ones over many batches; a single batch can exceed it. Conformal p-values of one batch
    share their calibration rows, and the bound still holds [1]_. For `select_unlabeled` it has been
    checked by simulation only.

    References
    ----------
    .. [1] S. Bates, E. Candes, L. Lei, Y. Romano and M. Sesia, "Testing for outliers with conformal
       p-values", Annals of Statistics 51, 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lacforest import LACExtraTreesClassifier
    >>> from lacforest.calibration import NoveltyCalibrator
    >>> X, y = load_digits(return_X_y=True)
    >>> known = y < 6
    >>> forest = LACExtraTreesClassifier(random_state=0)
    >>> calibrator = NoveltyCalibrator(forest, random_state=0)
    >>> calibrator = calibrator.fit(X[known][::2], y[known][::2], X_unlabeled=X[1::4])
    >>> int(calibrator.select(X[3::4], n_rows=50).mask.sum())
    50
    """

    def __init__(
        self,
        estimator: Any,
        *,
        calibration_size: float | int = 0.3,
        max_fpr: float | None = None,
        confidence: float | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.calibration_size = calibration_size
        self.max_fpr = max_fpr
        self.confidence = confidence
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, *, X_unlabeled: ArrayLike) -> Self:
        """Hold labelled rows out, fit the estimator on the others, and score the ones held out.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            Labelled rows.
        y : array-like of shape (n_rows,)
            Their labels.
        X_unlabeled : like X
            Unlabelled rows from deployment.

        Returns
        -------
        self
        """
        check_rates(self.max_fpr, self.confidence)
        if getattr(self.estimator, "unlabeled_label", None) is not None:
            raise ValueError(
                "the estimator takes unlabelled rows from X by unlabeled_label, but some rows of X "
                "must be held out as known ones: pass unlabelled rows as X_unlabeled, and set "
                "unlabeled_label=None"
            )
        random = check_random_state(self.random_state)
        rows = CalibrationRows.divide(X, y, X_unlabeled, self.calibration_size, random)
        fitted = clone(self.estimator, safe=False).fit(rows.X, rows.y, X_unlabeled=X_unlabeled)
        self._half_seed = int(random.randint(_LARGEST_SEED))
        self._rows: CalibrationRows | None = rows
        self._folds: FoldScores | None = None
        scores = np.sort(ranking_score(fitted, rows.X_calibration))
        self._keep(fitted, scores, fingerprints(X_unlabeled))
        coinciding = np.isin(fingerprints(rows.X_calibration), self._fitted_rows)
        self._coincidence = float(coinciding.mean())
        return self

    def _keep(
        self, fitted: Any, scores: NDArray[np.float64], fitted_rows: NDArray[np.uint64]
    ) -> None:
        self.estimator_ = fitted
        self.calibration_scores_ = scores
        if hasattr(fitted, "classes_"):
            self.classes_ = fitted.classes_
        self.theta_ = float(fitted.theta_) if getattr(fitted, "theta_", None) is not None else 0.0
        self._fitted_rows = fitted_rows

    # ------------------------------------------------------------------ row by row

    def p_value(self, X: ArrayLike) -> NDArray[np.float64]:
        """Share of held-out known rows that look at least as new as each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            Rows that took no part in the fit.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        self._check_fresh(X)
        return conformal_p_values(self.calibration_scores_, ranking_score(self.estimator_, X))

    def threshold(self, max_fpr: float | None = None, confidence: float | None = None) -> float:
        """The largest p-value at which a row is called new.

        Parameters
        ----------
        max_fpr, confidence : float, optional
            In place of the parameters of the same name.
        """
        check_is_fitted(self)
        max_fpr = self.max_fpr if max_fpr is None else max_fpr
        confidence = self.confidence if confidence is None else confidence
        if max_fpr is None:
            raise ValueError("predict needs max_fpr, the share of known rows it may call new")
        check_rates(max_fpr, confidence)
        n_rows = len(self.calibration_scores_)
        rank = largest_rank(n_rows, max_fpr, confidence)
        if rank == 0:
            needed = fewest_rows(max_fpr, confidence)
            sure = "" if confidence is None else f" with confidence {confidence:g}"
            raise ValueError(
                f"max_fpr={max_fpr:g}{sure} needs at least {needed} calibration rows, got "
                f"{n_rows}: raise max_fpr, label more rows, or raise calibration_size"
            )
        return rank / (n_rows + 1)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The new label for rows whose p-value is low enough, else the likeliest known class.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            Rows that took no part in the fit.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        threshold = self.threshold()
        is_new = self.p_value(X) <= threshold
        return label_rows(self.estimator_, X, is_new)

    def new_probability(self, X: ArrayLike) -> NDArray[np.float64]:
        """Calibrated probability that a row is new, by the local false discovery rate.

        The first call fits the estimator twice more, as `select_unlabeled` does.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            Rows that took no part in the fit.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        self._check_fresh(X)
        folds = self._fold_scores()
        knots, probabilities = new_probability_curve(folds.known, folds.unlabeled, self.theta_)
        scores = ranking_score(self.estimator_, X)
        return np.asarray(np.interp(scores, knots, probabilities))

    # ------------------------------------------------------------------ batches

    def select(
        self, X: ArrayLike, *, fdr: float | None = None, n_rows: int | None = None
    ) -> Selection:
        """Rows of a batch to take for new: by a bound on false discoveries, or a number of rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            The whole batch; no row of it took part in the fit.
        fdr : float in (0, 1), optional
            Mean share of known rows among the selected ones.
        n_rows : int, optional
            Select exactly so many, the ones that look newest. Either this or `fdr` must be given.

        Returns
        -------
        Selection
        """
        check_is_fitted(self)
        self._check_fresh(X)
        scores = ranking_score(self.estimator_, X)
        p_values = conformal_p_values(self.calibration_scores_, scores)
        return self.select_judged(scores, p_values, fdr=fdr, n_rows=n_rows)

    def select_unlabeled(self, *, fdr: float) -> Selection:
        """Rows of the unlabelled table of the fit to take for new.

        Each half of them is judged by a fit on the other half. The first call makes these two fits.

        Parameters
        ----------
        fdr : float in (0, 1)
            Mean share of known rows among the selected ones.

        Returns
        -------
        Selection
        """
        check_is_fitted(self)
        self._check_fdr(fdr)
        p_values = self._fold_scores().p_values
        return self._describe(p_values, benjamini_hochberg(p_values, fdr), fdr)

    def judge(
        self, X: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Scores and p-values of rows, whether or not they took part in the fit.

        Rows of the fit are recognised by their values, and get the scores and p-values of
        `select_unlabeled`.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)

        Returns
        -------
        scores, p_values : ndarray of shape (n_rows,)
        is_fitted : ndarray of bool of shape (n_rows,)
            Rows that were recognised.
        """
        check_is_fitted(self)
        scores = ranking_score(self.estimator_, X)
        p_values = conformal_p_values(self.calibration_scores_, scores)
        values, first = np.unique(self._fitted_rows, return_index=True)
        rows = fingerprints(X)
        place = np.minimum(np.searchsorted(values, rows), len(values) - 1)
        is_fitted = values[place] == rows
        if is_fitted.any():
            folds, source = self._fold_scores(), first[place[is_fitted]]
            scores[is_fitted] = folds.unlabeled[source]
            p_values[is_fitted] = folds.p_values[source]
        return scores, p_values, is_fitted

    def select_judged(
        self,
        scores: NDArray[np.float64],
        p_values: NDArray[np.float64],
        *,
        fdr: float | None = None,
        n_rows: int | None = None,
    ) -> Selection:
        """Like `select`, for rows that `judge` has judged, for instance in pieces.

        Parameters
        ----------
        scores, p_values : ndarray of shape (n_rows,)
        fdr, n_rows
            As in `select`.

        Returns
        -------
        Selection
        """
        check_is_fitted(self)
        if (fdr is None) == (n_rows is None):
            raise ValueError("either fdr or n_rows must be given")
        if fdr is not None:
            self._check_fdr(fdr)
            return self._describe(p_values, benjamini_hochberg(p_values, fdr), fdr)
        check_int("n_rows", n_rows, 1)
        if n_rows > len(scores):  # type: ignore[operator]
            raise ValueError(f"n_rows={n_rows} rows cannot be selected from {len(scores)}")
        mask = np.zeros(len(scores), dtype=bool)
        mask[np.argsort(-scores, kind="stable")[:n_rows]] = True
        return self._describe(p_values, mask, None)

    def unlabeled_scores(self) -> NDArray[np.float64]:
        """Scores of the unlabelled rows of the fit by fits that did not use them.

        Returns
        -------
        ndarray of shape (n_unlabeled,)
        """
        check_is_fitted(self)
        return self._fold_scores().unlabeled.copy()

    def _describe(
        self, p_values: NDArray[np.float64], mask: NDArray[np.bool_], fdr: float | None
    ) -> Selection:
        largest = float(p_values[mask].max()) if mask.any() else 0.0
        expected = estimated_fdr(p_values, mask, self.theta_)
        return Selection(mask, p_values, largest, fdr, expected)

    def _fold_scores(self) -> FoldScores:
        """Scores by swapped halves, found once."""
        if self._folds is None:
            if self._rows is None:
                raise ValueError(
                    "this calibrator comes from a file, which does not hold the rows of its fit: "
                    "fit it again"
                )
            self._folds = self._rows.score_by_halves(self.estimator, self._half_seed)
        return self._folds

    # ------------------------------------------------------------------ checks

    def _check_fresh(self, X: ArrayLike) -> None:
        """Refuse rows of the fit: more of them than equal rows of two samples that both vary."""
        found = np.isin(fingerprints(X), self._fitted_rows)
        n_rows, n_calibration = len(found), len(self.calibration_scores_)
        chance = (self._coincidence * n_calibration + 1.0) / (n_calibration + 2.0)
        noise = 3.0 * np.sqrt(chance * (1.0 - chance) * (n_rows + n_rows**2 / n_calibration))
        if int(found.sum()) > n_rows * chance + noise:
            raise ValueError(
                f"{int(found.sum())} of {n_rows} rows are among the unlabelled rows of the fit, "
                "where p-values are not valid: use select_unlabeled for these rows, or pass rows "
                "that took no part in the fit"
            )

    def _check_fdr(self, fdr: float) -> None:
        check_rate("fdr", fdr)
        n_rows = len(self.calibration_scores_)
        if self.theta_ > 0 and (n_rows + 1) * fdr * self.theta_ < 1:
            needed = fewest_rows(fdr * self.theta_, None)
            warn_user(
                f"fdr={fdr:g} with about {self.theta_:.1%} new rows needs some {needed} "
                f"calibration rows, but there are {n_rows}: few or no rows will be selected",
                UserWarning,
            )
