"""Rows of a fit, judged by fits that did not use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_scalar

from lacforest._input.labels import as_labels, check_labels
from lacforest._utils.frames import count_rows, take_rows
from lacforest.calibration._selection import check_rate, conformal_p_values
from lacforest.calibration.scores import ranking_score


@dataclass(frozen=True)
class FoldScores:
    """Scores by two fits, each on one half of the unlabelled rows.

    Attributes
    ----------
    known : ndarray of shape (2 * n_calibration,)
        Scores of the calibration rows by both fits.
    unlabeled : ndarray of shape (n_unlabeled,)
        Score of each unlabelled row by the fit that did not use it.
    p_values : ndarray of shape (n_unlabeled,)
        Of the unlabelled rows among calibration rows, by the same fit.
    """

    known: NDArray[np.float64]
    unlabeled: NDArray[np.float64]
    p_values: NDArray[np.float64]


@dataclass(frozen=True)
class CalibrationRows:
    """The rows of a calibrated fit.

    Attributes
    ----------
    X, y
        Labelled rows of the fit.
    X_calibration
        Labelled rows that were held out.
    X_unlabeled
    """

    X: Any
    y: NDArray[Any]
    X_calibration: Any
    X_unlabeled: Any

    @classmethod
    def divide(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        X_unlabeled: ArrayLike,
        size: float | int,
        random: np.random.RandomState,
    ) -> CalibrationRows:
        """Hold labelled rows out, by class."""
        labels = check_labels(as_labels(y))
        if len(labels) != count_rows(X):
            raise ValueError(f"y has {len(labels)} labels, but X has {count_rows(X)} rows")
        held_out = _hold_out(labels, size, random)
        fitted, judged = (take_rows(X, np.flatnonzero(chosen)) for chosen in (~held_out, held_out))
        return cls(fitted, labels[~held_out], judged, X_unlabeled)

    def score_by_halves(self, estimator: Any, seed: int) -> FoldScores:
        """Fit on each half of the unlabelled rows, and score the other half."""
        table: Any = self.X_unlabeled
        n_unlabeled = count_rows(table)
        if n_unlabeled < 2:
            raise ValueError("two halves of the unlabelled rows are needed, but there is one row")
        order = np.random.RandomState(seed).permutation(n_unlabeled)
        scores, p_values, known = np.empty(n_unlabeled), np.empty(n_unlabeled), []
        for side in (0, 1):
            judged, others = (np.sort(order[first::2]) for first in (side, 1 - side))
            fitted = clone(estimator).fit(self.X, self.y, X_unlabeled=take_rows(table, others))
            calibration = np.sort(ranking_score(fitted, self.X_calibration))
            scores[judged] = ranking_score(fitted, take_rows(table, judged))
            p_values[judged] = conformal_p_values(calibration, scores[judged])
            known.append(calibration)
        return FoldScores(np.concatenate(known), scores, p_values)


def _hold_out(
    labels: NDArray[Any], size: float | int, random: np.random.RandomState
) -> NDArray[np.bool_]:
    """The calibration rows, drawn by class. Classes of one row stay in the fit."""
    from sklearn.model_selection import train_test_split  # slow to import

    if isinstance(size, float):
        check_rate("calibration_size", size)
    else:
        check_scalar(size, "calibration_size", int, min_val=1, max_val=len(labels) - 1)
    values, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    divisible = np.flatnonzero(counts[codes] >= 2)
    try:
        _, chosen = train_test_split(
            divisible, test_size=size, random_state=random, stratify=codes[divisible]
        )
    except ValueError as error:
        raise ValueError(
            f"calibration_size={size!r} of {len(labels)} labelled rows of {len(values)} classes "
            f"cannot be held out by class: {error}"
        ) from error
    held_out = np.zeros(len(labels), dtype=bool)
    held_out[chosen] = True
    return held_out
