"""Distance from a point to the convex hull of many corners, by column generation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls


@dataclass(frozen=True)
class Nearest:
    """The point of a convex hull that is nearest to a given point.

    Attributes
    ----------
    distance : float
    support : int array
        Corners of which the nearest point is a convex combination.
    weights : float array
        Their weights, which are positive and sum to one.
    excess : float
        Upper bound of the error of the distance.
    """

    distance: float
    support: NDArray[np.intp]
    weights: NDArray[np.float64]
    excess: float


def nearest_in_hull(
    corners: NDArray[np.float64],
    point: NDArray[np.float64],
    start: NDArray[np.intp],
    tolerance: float,
) -> Nearest:
    """Nearest point of the hull of all corners, which are the rows of an array.

    The problem is solved for a few corners by least squares. Corners beyond the supporting
    hyperplane are added until none lies beyond it by more than the tolerance. Only local maxima
    along the rows are added: neighbouring rows are similar, so that one represents the others.

    Parameters
    ----------
    corners : array of shape (n_corners, n_dimensions)
    point : array of shape (n_dimensions,)
    start : int array
        Initial corners, at least one: the support of a nearby point saves most of the work.
    tolerance : float
        Largest error of the distance.
    """
    n_dimensions = len(point)
    target = np.zeros(n_dimensions + 1)
    target[-1] = 1.0
    candidates, previous = start, math.inf
    while True:
        # The minimum of |sum_i y_i (c_i - x)|^2 + (sum_i y_i - 1)^2 over y >= 0 is at a multiple of
        # the weights: for a sum s the value is s^2 d^2 + (s - 1)^2, which increases with d.
        system = np.empty((n_dimensions + 1, len(candidates)))
        np.subtract(corners[candidates].T, point[:, np.newaxis], out=system[:-1])
        system[-1] = 1.0
        solution, _ = nnls(system, target, maxiter=30 * (len(candidates) + n_dimensions))
        chosen = solution.nonzero()[0]
        support = candidates[chosen]
        weights = solution[chosen]
        weights /= weights.sum()
        residual = -(system[:-1, chosen] @ weights)
        distance = math.sqrt(residual @ residual)
        if distance <= tolerance:
            return Nearest(distance, support, weights, distance)
        heights = corners @ residual
        peaks = _local_maxima(heights)
        # The whole hull is below the hyperplane through the highest corner, normal to the residual.
        excess = (heights[peaks].max() - heights[support] @ weights) / distance
        if excess <= tolerance or distance >= previous:
            return Nearest(distance, support, weights, min(max(excess, 0.0), distance))
        joining = peaks[heights[peaks] > heights[support].max()]
        candidates, previous = np.concatenate([support, joining]), distance


def _local_maxima(heights: NDArray[np.float64]) -> NDArray[np.intp]:
    """Indices with a rise before and none after; values beyond both ends count as lower."""
    rises = np.empty(len(heights) + 1, dtype=bool)
    rises[0], rises[-1] = True, False
    np.greater(heights[1:], heights[:-1], out=rises[1:-1])
    return (rises[:-1] > rises[1:]).nonzero()[0]
