"""Shares of classes in unlabelled rows, and labels drawn from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from lacforest._coding.bins import sampled_rows
from lacforest._tree.row_hash import classes_at, row_shares
from lacforest._utils.array_size import ArraySize

# How much faster the log-odds of a share grow than those of a score: votes of trees that were grown
# on the same rows are too timid.
SHARPNESS = 4.0
# Scores beyond these say no more than these.
_LOWEST_SCORE = 0.001
# What the prior weighs beside the vote of a forest: it decides only where there is no vote at all.
_PRIOR_WEIGHT = 1e-9
_N_BISECTIONS = 64


@dataclass(frozen=True)
class NewShares:
    """Share of "new" in unlabelled rows as a function of their scores.

    The share is ``expit(4 logit(s) + b)`` with s clipped to [0.001, 0.999] and b such that the
    mean is theta: over all rows, or over the 200,000 of smallest hash where there are more.

    Attributes
    ----------
    theta : float
    offset : float
        The b of the formula; not used where theta is 0 or 1.
    """

    theta: float
    offset: float

    @classmethod
    def of(cls, scores: NDArray[np.float64], theta: float) -> NewShares:
        """Find b by the scores of all unlabelled rows."""
        theta = min(max(theta, 0.0), 1.0)
        if theta in (0.0, 1.0):
            return cls(theta, 0.0)
        sample = sampled_rows(len(scores))
        odds = _odds(scores if sample is None else scores[sample])
        # Log-odds of every row lie below logit(theta) at the lower end, and above it at the upper.
        low, high = logit(theta) - odds.max(), logit(theta) - odds.min()
        for _ in range(_N_BISECTIONS):
            middle = 0.5 * (low + high)
            if expit(odds + middle).mean() < theta:
                low = middle
            else:
                high = middle
        return cls(theta, float(0.5 * (low + high)))

    def at(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The shares of rows with these scores."""
        if self.theta in (0.0, 1.0):
            return np.full(len(scores), self.theta)
        shares: NDArray[np.float64] = expit(_odds(scores) + self.offset)
        return shares


def _odds(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    sharpened: NDArray[np.float64] = SHARPNESS * logit(
        np.clip(scores, _LOWEST_SCORE, 1.0 - _LOWEST_SCORE)
    )
    return sharpened


@dataclass(frozen=True)
class SoftLabels(ArraySize):
    """Class shares of unlabelled rows, ready for drawing.

    Attributes
    ----------
    edges : float64 array of shape (n_unlabeled, n_known)
        Cumulated shares: of "new", then of the known classes but the last.
    """

    edges: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        new: NDArray[np.float64],
        known: NDArray[np.float64],
        prior: NDArray[np.float64],
        class_factor: NDArray[np.float64] | None = None,
    ) -> SoftLabels:
        """From the share of "new" and the votes for known classes, which share the rest.

        Parameters
        ----------
        new : float64 array of shape (n_unlabeled,)
        known : float64 array of shape (n_unlabeled, n_known)
            Votes in any scale.
        prior : float64 array of shape (n_known,)
            What known classes share where there is no vote.
        class_factor : float64 array of shape (n_known,) or None
            What rows of a class weigh more by than as labelled. Leaves of single rows vote by the
            number of rows nearby, whatever these weigh, so that votes lack the factor.
        """
        if class_factor is not None:
            known = known * class_factor
        votes = known + _PRIOR_WEIGHT * prior / prior.sum()
        rest = 1.0 - new
        votes *= rest[:, np.newaxis] / votes.sum(axis=1, keepdims=True)
        return cls(np.cumsum(np.column_stack([new, votes[:, :-1]]), axis=1))

    def draw(self, seed: int) -> NDArray[np.uint16]:
        """One class code per row, drawn by its shares; n_known is "new"."""
        uniform = np.random.default_rng(seed).random(len(self.edges))
        return classes_at(uniform, self.edges)

    def draw_rows(self, rows: NDArray[np.int64], seed: int, first: int = 0) -> NDArray[np.uint16]:
        """Class codes of some rows by their hashes: those of a row depend on no other row.

        `first` is the number of the row that the first entry of `edges` belongs to.
        """
        return classes_at(row_shares(rows, seed), self.edges[rows - first])
