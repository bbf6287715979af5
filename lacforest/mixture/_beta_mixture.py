"""A mixture of a uniform density and power laws for the ranks of unlabelled among labelled scores.

The score of an unlabelled row of a known class has any rank among the labelled scores with equal
probability: its position x in (0, 1), the share of labelled rows that look less new, is uniform.
The position of a new row is near 1. Positions therefore have the density

    f(x) = (1 - theta) + theta * sum_k w_k k x^(k - 1),

and theta is the weight of the non-uniform part. (Positions are one minus conformal p-values, and
1 - theta is the proportion of true null hypotheses in multiple testing.)
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from lacforest._utils.products import product
from lacforest.mixture._score_table import ScoreTable

# Probability of each bin under each component: an array, or a sparse one.
Parts: TypeAlias = Any

N_BINS = 100
_N_POWERS = 12
_HIGHEST = 200.0
# Weight of the equation that the weights sum to one, relative to the others.
_HEAVY = 1e3
_MOST_STEPS = 50
_SHORTEST = 1e-8
# Stop when the gain of log-likelihood per row falls below this.
_TOLERANCE = 1e-9
_MOST_EM_STEPS = 3_000
# With more components a Newton step, which is cubic in their number, takes too long.
MOST_PARTS = 300
_MOST_LARGE_STEPS = 300


def position_counts(table: ScoreTable, n_bins: int = N_BINS) -> NDArray[np.float64]:
    """Unlabelled rows by their position among labelled ones, in bins of equal width.

    n labelled rows form n + 1 gaps, and a known row is in each of them with equal probability. The
    count of a row is therefore spread over its gap, and over the labelled rows of equal score.
    """
    gap = table.labeled.sum() / table.n_labeled
    total = table.labeled.sum() + gap
    end = table.labeled.cumsum()
    start = (end - table.labeled) / total
    end = (end + gap) / total
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    is_below = np.clip((edges[:, None] - start) / (end - start), 0.0, 1.0)
    counts: NDArray[np.float64] = np.diff(product(is_below, table.unlabeled))
    return counts


def exponents(lowest: float) -> NDArray[np.float64]:
    """The exponents of a mixture, from `lowest` upwards."""
    powers: NDArray[np.float64] = np.geomspace(lowest, _HIGHEST, _N_POWERS)
    return powers


@cache
def components(lowest: float) -> NDArray[np.float64]:
    """Bin probabilities of the components: uniform, then the powers from `lowest` upwards."""
    edges = np.linspace(0.0, 1.0, N_BINS + 1)
    bins: NDArray[np.float64] = np.diff(edges[:, None] ** np.append(1.0, exponents(lowest)), axis=0)
    bins.flags.writeable = False
    return bins


def mixture_weights(
    counts: NDArray[np.float64],
    parts: Parts,
    start: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Maximum-likelihood weights of the components, by Newton steps with bounds.

    Each step maximises the quadratic model of the log-likelihood over non-negative weights that sum
    to one, which is a small non-negative least-squares problem.

    Parameters
    ----------
    counts : float64 array of shape (n_bins,)
    parts : float64 array of shape (n_bins, n_components)
        Sparse if it has more than `MOST_PARTS` components.
    start : float64 array of shape (n_components,), optional
        Initial weights, which affect only the number of steps.

    Returns
    -------
    float64 array of shape (n_components,)
    """
    n_parts = parts.shape[1]
    seen = counts > 0
    shares, parts = counts[seen] / counts.sum(), parts[seen]
    root = np.sqrt(shares)
    # All weights are positive, so that no bin with rows has probability zero at the start.
    weights: NDArray[np.float64] = np.ones(n_parts) if start is None else start + 1e-3
    weights = weights / weights.sum()
    fitted = product(parts, weights)
    likelihood = float(shares @ np.log(fitted))
    if n_parts > MOST_PARTS:
        return _climb(shares, parts, weights)
    for _ in range(_MOST_STEPS):
        design = np.vstack([parts * (root / fitted)[:, None], np.full(n_parts, _HEAVY)])
        try:
            proposal, _ = nnls(design, np.append(2.0 * root, _HEAVY), maxiter=30 * n_parts)
        except RuntimeError:
            # nnls may cycle on sparse counts: fall back to steps that cannot fail.
            return _climb(shares, parts, weights)
        step = proposal / proposal.sum() - weights
        gain, length = 0.0, 2.0
        while gain <= 0.0 and length > _SHORTEST:
            length /= 2.0
            trial = weights + length * step
            with np.errstate(divide="ignore"):
                gain = float(shares @ np.log(product(parts, trial))) - likelihood
        if gain <= 0.0:
            break
        weights, likelihood = trial, likelihood + gain
        fitted = product(parts, weights)
        if gain < _TOLERANCE:
            break
    return weights


def log_likelihood(
    counts: NDArray[np.float64], parts: NDArray[np.float64], weights: NDArray[np.float64]
) -> float:
    """Log-likelihood of the counts, as a sum over rows."""
    seen = counts > 0
    return float(counts[seen] @ np.log(product(parts[seen], weights)))


def _climb(
    shares: NDArray[np.float64], parts: Parts, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Maximum-likelihood weights by expectation maximisation: slower, but always uphill."""
    likelihood = -np.inf
    weights = weights + 1e-3  # what is zero stays zero
    weights /= weights.sum()
    n_steps = _MOST_EM_STEPS if parts.shape[1] <= MOST_PARTS else _MOST_LARGE_STEPS
    for _ in range(n_steps):
        fitted = product(parts, weights)
        before, likelihood = likelihood, float(shares @ np.log(fitted))
        weights = weights * product(parts.T, shares / fitted)
        weights /= weights.sum()
        if likelihood - before < _TOLERANCE:
            break
    return weights
