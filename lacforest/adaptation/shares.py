"""Shares of all classes in a batch, from the votes of a fitted forest, by EM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Votes of a forest are less sure than they should be; squares of them are about right.
EXPONENT = 2.0
_LEAST_VOTE = 1e-3
_LEAST_PRIOR = 1e-4
_MOST_STEPS = 500
_TOLERANCE = 1e-6
_RESAMPLES = 60
# Errors of theta beyond those of sampling, which resampling does not show.
_ALLOWANCE = 0.02


@dataclass(frozen=True)
class BatchShares:
    """Shares of all classes in a batch, the new class last.

    Attributes
    ----------
    shares : ndarray of shape (n_known + 1,)
    resampled : ndarray of shape (n_resamples, n_known + 1)
        The same for batches drawn from this one with replacement.
    """

    shares: NDArray[np.float64]
    resampled: NDArray[np.float64]

    def theta_interval(self, level: float) -> tuple[float, float]:
        """Interval of the share of new rows, by resampling, with an allowance of 0.02."""
        low, high = np.quantile(self.resampled[:, -1], _tails(level))
        theta = float(self.shares[-1])
        low, high = min(float(low), theta) - _ALLOWANCE, max(float(high), theta) + _ALLOWANCE
        return max(low, 0.0), min(high, 1.0)

    @property
    def known_shares(self) -> NDArray[np.float64]:
        """Shares of the known classes among known rows."""
        return _among_known(self.shares)

    def known_shares_interval(self, level: float) -> NDArray[np.float64]:
        """Intervals of `known_shares`, one line per class."""
        ends = np.quantile(_among_known(self.resampled), _tails(level), axis=0)
        point = self.known_shares
        return np.column_stack([np.minimum(ends[0], point), np.maximum(ends[1], point)])


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


def _among_known(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    known = shares[..., :-1]
    normalised: NDArray[np.float64] = known / known.sum(axis=-1, keepdims=True)
    return normalised


def sharpen(votes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Votes as probabilities that are as sure as they should be."""
    sharp = np.clip(votes, _LEAST_VOTE, 1.0) ** EXPONENT
    normalised: NDArray[np.float64] = sharp / sharp.sum(axis=1, keepdims=True)
    return normalised


def estimate_shares(
    votes: NDArray[np.float64], prior: NDArray[np.float64], seed: int = 0
) -> BatchShares:
    """Maximum likelihood of the shares of classes in a batch (Saerens et al., 2002).

    Parameters
    ----------
    votes : ndarray of shape (n_rows, n_known + 1)
        Probabilities of the classes by the forest, the new class last.
    prior : ndarray of shape (n_known + 1,)
        Shares in the rows that the forest was fitted on.
    seed : int, default=0
        Of the resampled batches.

    Returns
    -------
    BatchShares
    """
    prior = np.maximum(prior, _LEAST_PRIOR)
    prior = prior / prior.sum()
    ratio = sharpen(votes) / prior
    ratio = ratio[np.lexsort(ratio.T)]  # sums do not depend on the order of rows
    shares = _maximise(ratio, np.full((1, len(ratio)), 1.0 / len(ratio)), prior)
    drawn = np.random.default_rng(seed).multinomial(
        len(ratio), np.full(len(ratio), 1.0 / len(ratio)), size=_RESAMPLES
    )
    return BatchShares(shares[0], _maximise(ratio, drawn / len(ratio), shares[0]))


def _maximise(
    ratio: NDArray[np.float64], weights: NDArray[np.float64], start: NDArray[np.float64]
) -> NDArray[np.float64]:
    """EM for several weightings of the same rows at once."""
    shares = np.tile(start, (len(weights), 1))
    for _ in range(_MOST_STEPS):
        likelihood = shares @ ratio.T
        updated = shares * ((weights / likelihood) @ ratio)
        updated /= updated.sum(axis=1, keepdims=True)
        change = float(np.abs(updated - shares).max())
        shares = updated
        if change < _TOLERANCE:
            break
    return shares
