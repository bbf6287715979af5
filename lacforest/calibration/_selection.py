"""Conformal p-values, and rows selected from a batch by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from lacforest._input.parameters import is_real

# Rates below need more rows than any table has; numbers of rows stay finite.
_LEAST_RATE = 1e-15


@dataclass(frozen=True)
class Selection:
    """Rows of a batch that were selected as new.

    Attributes
    ----------
    mask : ndarray of bool of shape (n_rows,)
        The selected rows.
    p_values : ndarray of shape (n_rows,)
        Of all rows.
    threshold : float
        The largest p-value among selected rows; 0 if there are none.
    fdr : float or None
        The bound on the false discovery rate that was asked for; None if a number of rows was.
    estimated_fdr : float
        Estimate of the share of known rows among the selected ones.
    """

    mask: NDArray[np.bool_]
    p_values: NDArray[np.float64]
    threshold: float
    fdr: float | None
    estimated_fdr: float

    @property
    def rows(self) -> NDArray[np.intp]:
        """Positions of the selected rows, smallest p-value first."""
        chosen = np.flatnonzero(self.mask)
        return chosen[np.argsort(self.p_values[chosen], kind="stable")]

    def __str__(self) -> str:
        asked = "" if self.fdr is None else f" at a false discovery rate of {self.fdr:g}"
        return (
            f"{int(self.mask.sum())} of {len(self.mask)} rows selected{asked}; about "
            f"{self.estimated_fdr:.1%} of them are expected to be known"
        )


def conformal_p_values(
    calibration: NDArray[np.float64], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """P-values of rows among held-out known rows: (1 + calibration scores >= score) / (n + 1).

    Parameters
    ----------
    calibration : ndarray of shape (n_calibration,)
        Scores of known rows, in ascending order.
    scores : ndarray of shape (n_rows,)

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    n = len(calibration)
    p_values: NDArray[np.float64] = (1 + n - np.searchsorted(calibration, scores, "left")) / (n + 1)
    return p_values


def benjamini_hochberg(p_values: NDArray[np.float64], fdr: float) -> NDArray[np.bool_]:
    """The rows that the procedure of Benjamini and Hochberg rejects at the level `fdr`."""
    n = len(p_values)
    ordered = np.sort(p_values)
    below = np.flatnonzero(ordered <= fdr * np.arange(1, n + 1) / n)
    if not len(below):
        return np.zeros(n, dtype=bool)
    mask: NDArray[np.bool_] = p_values <= ordered[below[-1]]
    return mask


def estimated_fdr(p_values: NDArray[np.float64], mask: NDArray[np.bool_], theta: float) -> float:
    """Known rows expected among the selected ones, as a share of them; 0 where none is selected."""
    if not mask.any():
        return 0.0
    expected = (1.0 - theta) * len(p_values) * float(p_values[mask].max())
    return min(1.0, expected / int(mask.sum()))


def largest_rank(n_calibration: int, max_fpr: float, confidence: float | None) -> int:
    """Largest k for which flagging p-values up to k / (n + 1) keeps the false positive rate.

    On average over calibration samples the rate is k / (n + 1); over these samples it has the
    distribution Beta(k, n + 1 - k). With a confidence, `max_fpr` holds for that share of them.
    """
    mean_rank = int(np.floor(max_fpr * (n_calibration + 1) + 1e-9))
    if confidence is None:
        return mean_rank
    ranks = np.arange(1, n_calibration + 1)
    kept = beta.cdf(max_fpr, ranks, n_calibration + 1 - ranks) >= confidence
    return int(kept.sum())  # the chance falls with the rank


def fewest_rows(max_fpr: float, confidence: float | None) -> int:
    """Calibration rows that are needed before any row can be flagged."""
    max_fpr = max(max_fpr, _LEAST_RATE)
    if confidence is None:
        return int(np.ceil(1.0 / max_fpr - 1e-9)) - 1
    return int(np.ceil(np.log1p(-confidence) / np.log1p(-max_fpr)))


def check_rate(name: str, value: Any) -> None:
    """Refuse what is no rate strictly between 0 and 1."""
    if not is_real(value):
        raise TypeError(f"{name} must be a number in (0, 1), got {value!r}")
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}")


def check_rates(max_fpr: Any, confidence: Any) -> None:
    """Check the two parameters of a bound on false alarms."""
    for name, value in (("max_fpr", max_fpr), ("confidence", confidence)):
        if value is not None:
            check_rate(name, value)
    if confidence is not None and max_fpr is None:
        raise ValueError("confidence is about max_fpr: give max_fpr too")
