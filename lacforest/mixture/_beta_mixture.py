"""A uniform component and power laws, fitted to where unlabelled scores fall among labelled ones.

An unlabelled row of a known class falls anywhere among the labelled scores with equal chance. Its
position x in (0, 1), the share of labelled rows that look less new, is uniform. A new row falls
near 1. So positions have density

    f(x) = (1 - theta) + theta * sum_k w_k k x^(k - 1),

and theta is the weight of all that is not uniform. (Positions are one minus conformal p-values, and
1 - theta is what multiple testing calls the proportion of true nulls.)
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from lacforest.mixture._score_table import ScoreTable

N_BINS = 100
_N_POWERS = 12
_HIGHEST = 200.0
# Weight of the equation that the weights sum to one, against the others.
_HEAVY = 1e3
_MOST_STEPS = 50
_SHORTEST = 1e-8
# Gain of log-likelihood a row that ends the steps.
_TOLERANCE = 1e-9


def position_counts(table: ScoreTable) -> NDArray[np.float64]:
    """Unlabelled rows by their position among labelled ones, in bins of equal width.

    n labelled rows leave n + 1 gaps, and a known row falls into each with equal chance. A row is
    therefore spread over its gap, and over the labelled rows that tie with it.
    """
    gap = table.labeled.sum() / table.n_labeled
    total = table.labeled.sum() + gap
    end = table.labeled.cumsum()
    start = (end - table.labeled) / total
    end = (end + gap) / total
    edges = np.linspace(0.0, 1.0, N_BINS + 1)
    below = np.clip((edges[:, None] - start) / (end - start), 0.0, 1.0) @ table.unlabeled
    counts: NDArray[np.float64] = np.diff(below)
    return counts


def exponents(lowest: float) -> NDArray[np.float64]:
    """The powers of a mixture, from `lowest` upwards."""
    powers: NDArray[np.float64] = np.geomspace(lowest, _HIGHEST, _N_POWERS)
    return powers


@cache
def components(lowest: float) -> NDArray[np.float64]:
    """Probability of each bin: uniform, then the powers from `lowest` upwards."""
    edges = np.linspace(0.0, 1.0, N_BINS + 1)
    bins: NDArray[np.float64] = np.diff(edges[:, None] ** np.append(1.0, exponents(lowest)), axis=0)
    bins.flags.writeable = False
    return bins


def mixture_weights(
    counts: NDArray[np.float64],
    parts: NDArray[np.float64],
    start: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Maximum-likelihood weights of the components, by Newton steps with bounds.

    Each step minimises the quadratic model of the log-likelihood over non-negative weights that
    sum to one: a small non-negative least-squares problem.

    Parameters
    ----------
    counts : float64 array of shape (n_bins,)
    parts : float64 array of shape (n_bins, n_components)
    start : float64 array of shape (n_components,), optional
        Where to start from; decides the number of steps only.

    Returns
    -------
    float64 array of shape (n_components,)
    """
    n_parts = parts.shape[1]
    seen = counts > 0
    shares, parts = counts[seen] / counts.sum(), parts[seen]
    root = np.sqrt(shares)
    # Every weight positive: no bin with rows in it is impossible at the start.
    weights: NDArray[np.float64] = np.ones(n_parts) if start is None else start + 1e-3
    weights = weights / weights.sum()
    fitted = parts @ weights
    likelihood = float(shares @ np.log(fitted))
    for _ in range(_MOST_STEPS):
        design = np.vstack([parts * (root / fitted)[:, None], np.full(n_parts, _HEAVY)])
        proposal, _ = nnls(design, np.append(2.0 * root, _HEAVY))
        step = proposal / proposal.sum() - weights
        gain, length = 0.0, 2.0
        while gain <= 0.0 and length > _SHORTEST:
            length /= 2.0
            trial = weights + length * step
            with np.errstate(divide="ignore"):
                gain = float(shares @ np.log(parts @ trial)) - likelihood
        if gain <= 0.0:
            break
        weights, likelihood = trial, likelihood + gain
        fitted = parts @ weights
        if gain < _TOLERANCE:
            break
    return weights
