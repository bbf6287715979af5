"""Whether unlabelled rows missed the transformation of labelled ones, as in a Pipeline they can."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._utils.user_warnings import warn_user

_ADVICE = (
    "X_unlabeled does not look like X: {what}. A Pipeline transforms X, but not rows that are "
    "passed as step__X_unlabeled=. Inside a Pipeline mark rows by unlabeled_label=; elsewhere "
    "transform X_unlabeled in the same way as X."
)
# Rows that are looked at; transformations show in few.
_ROWS = 2_000
# Share of unlabelled rows outside the range of labelled ones that makes a column foreign.
_FOREIGN = 0.95


def warn_if_untransformed(labeled: Any, unlabeled: Any) -> None:
    """Warn where X was scaled or projected, but X_unlabeled was not.

    Detected are labelled columns that are all standardised or all scaled to [0, 1] beside
    unlabelled ones far outside of their range, and tables most of whose columns have no values in
    common. Small tables, sparse ones and missing values raise no alarm.

    Parameters
    ----------
    labeled, unlabeled : array or sparse matrix of shape (n_rows, n_features)
        Checked tables.
    """
    if not (isinstance(labeled, np.ndarray) and isinstance(unlabeled, np.ndarray)):
        return
    if min(len(labeled), len(unlabeled)) < 10:
        return
    there = _some_rows(unlabeled)
    low, high = _ends(_some_rows(labeled))
    varied = low < high  # False where all values are missing
    if not varied.any():
        return
    outside = np.where(np.isnan(there), False, (there < low) | (there > high))[:, varied]
    foreign = outside.mean(axis=0) >= _FOREIGN
    n_foreign, n_columns = int(foreign.sum()), len(foreign)
    if n_foreign == 0:  # the usual case: labelled rows need not be read whole
        return
    scaled = _scaling_of(np.asarray(labeled[:, varied], dtype=np.float64))
    if scaled is not None:
        _warn(f"X is {scaled}, and X_unlabeled is not")
    elif n_columns >= 3 and 2 * n_foreign > n_columns:
        _warn(f"{n_foreign} of {n_columns} columns have almost no values in the range of X")


def _warn(what: str) -> None:
    warn_user(_ADVICE.format(what=what), UserWarning)


def _some_rows(table: Any) -> NDArray[np.float64]:
    step = max(1, len(table) // _ROWS)
    return np.asarray(table[::step], dtype=np.float64)


def _ends(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Smallest and largest value of each column; infinite ends where all values are missing."""
    missing = np.isnan(table)
    low = np.where(missing, np.inf, table).min(axis=0)
    return low, np.where(missing, -np.inf, table).max(axis=0)


def _scaling_of(table: NDArray[np.float64]) -> str | None:
    low, high = _ends(table)
    if np.allclose(low, 0.0, atol=1e-6) and np.allclose(high, 1.0, atol=1e-6):
        return "scaled to [0, 1]"
    means, deviations = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
    if np.allclose(means, 0.0, atol=1e-4) and np.allclose(deviations, 1.0, atol=1e-4):
        return "standardised"
    return None
