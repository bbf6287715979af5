"""Shares of all classes in a batch, from the votes of a fitted forest, by EM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from lacforest._utils.findings import FALSE_ALARMS

# Votes of a forest are less sure than they should be; squares of them are about right. Rows that
# look both new and known get too few votes for "new", because many labels of unlabelled rows are
# drawn: odds of "new" times this are right on average. Both were chosen on development tables; see
# docs/guide/after.rst.
EXPONENT = 2.0
NEW_ODDS = 1.7
_LEAST_VOTE = 1e-3
_LEAST_PRIOR = 1e-4
_MOST_STEPS = 500
_TOLERANCE = 1e-6
_RESAMPLES = 60
# Errors of theta beyond those of sampling, which resampling does not show.
_ALLOWANCE = 0.02
# Rows below which a batch tells nothing for sure: resampling one row gives this row each time.
FEWEST_ROWS = 10


@dataclass(frozen=True)
class BatchShares:
    """Shares of all classes in a batch, the new class last.

    Attributes
    ----------
    shares : ndarray of shape (n_known + 1,)
    resampled : ndarray of shape (n_resamples, n_known + 1)
        The same for batches drawn from this one with replacement.
    p_value : float
        Of the claim that batch and fit have the same shares.
    n_rows : int
        Rows of the batch.
    """

    shares: NDArray[np.float64]
    resampled: NDArray[np.float64]
    p_value: float
    n_rows: int

    @property
    def is_too_small(self) -> bool:
        """Whether the batch has too few rows for any claim about it."""
        return self.n_rows < FEWEST_ROWS

    @property
    def have_moved(self) -> bool:
        """Whether the shares of the fit do not explain the batch."""
        return self.p_value < FALSE_ALARMS and not self.is_too_small

    def theta_interval(self, level: float) -> tuple[float, float]:
        """Interval of the share of new rows, by resampling, with an allowance of 0.02.

        Of a batch that is too small, all of [0, 1].
        """
        if self.is_too_small:
            return 0.0, 1.0
        low, high = np.quantile(self.resampled[:, -1], _tails(level))
        theta = float(self.shares[-1])
        low, high = min(float(low), theta) - _ALLOWANCE, max(float(high), theta) + _ALLOWANCE
        return max(low, 0.0), min(high, 1.0)

    @property
    def known_shares(self) -> NDArray[np.float64]:
        """Shares of the known classes among known rows."""
        return _among_known(self.shares)

    def known_shares_interval(self, level: float) -> NDArray[np.float64]:
        """Intervals of `known_shares`, one line per class, found like `theta_interval`."""
        if self.is_too_small:
            return np.tile([0.0, 1.0], (len(self.shares) - 1, 1))
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
    sharp[:, -1] *= NEW_ODDS
    normalised: NDArray[np.float64] = sharp / sharp.sum(axis=1, keepdims=True)
    return normalised


def estimate_shares(
    votes: NDArray[np.float64], prior: NDArray[np.float64], n_fitted: int, seed: int = 0
) -> BatchShares:
    """Maximum likelihood of the shares of classes in a batch (Saerens et al., 2002).

    Parameters
    ----------
    votes : ndarray of shape (n_rows, n_known + 1)
        Probabilities of the classes by the forest, the new class last.
    prior : ndarray of shape (n_known + 1,)
        Shares in the rows that the forest was fitted on.
    n_fitted : int
        Unlabelled rows of the fit, whose shares are the prior.
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
    n_rows = len(ratio)
    shares = _maximise(ratio, np.full((1, n_rows), 1.0 / n_rows), prior)[0]
    drawn = np.random.default_rng(seed).multinomial(
        n_rows, np.full(n_rows, 1.0 / n_rows), size=_RESAMPLES
    )
    resampled = _maximise(ratio, drawn / n_rows, shares)
    return BatchShares(shares, resampled, _compare(ratio, shares, prior, n_fitted), n_rows)


def _compare(
    ratio: NDArray[np.float64],
    shares: NDArray[np.float64],
    prior: NDArray[np.float64],
    n_fitted: int,
) -> float:
    """How well the shares of the fit explain a batch: p-value of a likelihood-ratio test.

    The shares of the fit are themselves those of a sample, and theta is so only up to the allowance
    of its interval.
    """
    explained = ratio @ _nearest_to_fit(ratio, prior)
    gain = 2.0 * float(np.log((ratio @ shares) / explained).sum())
    both = n_fitted / (n_fitted + len(ratio))
    return float(chdtrc(len(prior) - 1, max(gain * both, 0.0)))


def _nearest_to_fit(ratio: NDArray[np.float64], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """The likeliest shares with theta about as in the fit, and known shares as in the fit."""
    before = float(prior[-1])
    two = np.column_stack([ratio[:, :-1] @ _among_known(prior), ratio[:, -1]])
    weights = np.full((1, len(ratio)), 1.0 / len(ratio))
    theta = float(_maximise(two, weights, np.array([1.0 - before, before]))[0, 1])
    # The likelihood has a single peak.
    theta = min(max(theta, before - _ALLOWANCE, 0.0), before + _ALLOWANCE, 1.0)
    return np.append((1.0 - theta) * _among_known(prior), theta)


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
