"""The paper's estimate of theta with a dense QP solver, as a reference for time.

KM2 of Ramaswamy, Scott and Tewari (2016) on 5-fold SVC scores of labelled against unlabelled rows.
The interior-point method factorises a dense matrix of all rows in each step with LAPACK.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from sklearn.metrics import euclidean_distances
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

Vector = NDArray[np.float64]

_FOLD_SEED = 2020
_SLOPE_SHARE = 0.75  # weight of the initial slope in the threshold of KM2
_LARGEST = 8.0
_RESOLUTION = 0.04
_MOST_STEPS = 60


def project_on_simplex(kernel: Vector, linear: Vector, tolerance: float = 1e-9) -> Vector:
    """The probability vector v that minimises ``v @ kernel @ v / 2 - linear @ v``.

    Mehrotra's predictor-corrector method.
    """
    n = len(linear)
    v, z, y = np.full(n, 1.0 / n), np.ones(n), 0.0
    for _ in range(_MOST_STEPS):
        dual = kernel @ v - linear - z - y
        primal = 1.0 - v.sum()
        gap = v @ z / n
        if n * gap < tolerance and np.abs(dual).max() < tolerance and abs(primal) < tolerance:
            break
        matrix = kernel.copy()
        matrix[np.diag_indices(n)] += z / v
        factor = cho_factor(matrix, overwrite_a=True, check_finite=False)
        dv, dz, dy = _direction(factor, v, z, dual, primal, v * z)
        reached = (v + _longest(v, dv) * dv) @ (z + _longest(z, dz) * dz) / n
        target = v * z + dv * dz - gap * (reached / gap) ** 3
        dv, dz, dy = _direction(factor, v, z, dual, primal, target)
        length = 0.99 * min(_longest(v, dv), _longest(z, dz))
        v, z, y = v + length * dv, z + length * dz, y + length * dy
    return v


def _direction(
    factor: Any, v: Vector, z: Vector, dual: Vector, primal: float, target: Vector
) -> tuple[Vector, Vector, float]:
    """Newton step that removes both residuals and reduces v * z by target."""
    both = np.column_stack([-dual - target / v, np.ones(len(v))])
    free, ones = cho_solve(factor, both, check_finite=False).T
    dy = (primal - free.sum()) / ones.sum()
    dv = free + dy * ones
    return dv, -(target + z * dv) / v, dy


def _longest(values: Vector, step: Vector) -> float:
    """Largest step length, up to 1, that keeps the values positive."""
    falling = step < 0
    return float(np.min(-values[falling] / step[falling], initial=1.0))


def svc_scores(X: Any, X_unlabeled: Any) -> tuple[Vector, Vector]:
    """Out-of-fold decision values of labelled and unlabelled rows; higher values look newer.

    Parameters
    ----------
    X, X_unlabeled : ndarray of shape (n_rows, n_features)
    """
    table = np.concatenate([X, X_unlabeled])
    is_unlabeled = np.arange(len(table)) >= len(X)
    scores = np.empty(len(table))
    folds = StratifiedKFold(5, shuffle=True, random_state=_FOLD_SEED)
    for train, test in folds.split(table, is_unlabeled):
        median = np.median(euclidean_distances(table[train], squared=True))
        model = SVC(gamma=1.0 / median).fit(table[train], is_unlabeled[train])
        scores[test] = model.decision_function(table[test])
    return scores[: len(X)], scores[len(X) :]


def _length(kernel: Vector, weights: Vector) -> float:
    """Norm of a weighted sum in the feature space of the kernel."""
    return math.sqrt(max(float(weights @ kernel @ weights), 0.0))


def _choose_kernel(scores: Vector, difference: Vector) -> tuple[Vector, float]:
    """Of five kernels, the one with the largest distance between the samples, and the distance."""
    squared = (scores[:, None] - scores) ** 2
    width = 2 * np.median(squared)
    kernels = [np.exp(-squared / (width * factor)) for factor in (0.01, 0.1, 1.0, 10.0, 100.0)]
    lengths = [_length(kernel, difference) for kernel in kernels]
    best = int(np.argmax(lengths))
    return kernels[best], lengths[best]


def dense_theta(labeled: Vector, unlabeled: Vector) -> float:
    """Theta by KM2, with a dense QP per distance.

    Parameters
    ----------
    labeled, unlabeled : float64 arrays
        Scores of labelled and unlabelled rows.

    Returns
    -------
    float
    """
    n_labeled, n_unlabeled = len(labeled), len(unlabeled)
    mixture = np.repeat([0.0, 1.0 / n_unlabeled], [n_labeled, n_unlabeled])
    component = np.repeat([1.0 / n_labeled, 0.0], [n_labeled, n_unlabeled])
    kernel, largest = _choose_kernel(np.concatenate([labeled, unlabeled]), mixture - component)

    def distance(factor: float) -> float:
        point = factor * mixture + (1 - factor) * component
        return _length(kernel, point - project_on_simplex(kernel, kernel @ point))

    start = (distance(1.05) - distance(1.0)) / 0.05
    threshold = _SLOPE_SHARE * start + (1 - _SLOPE_SHARE) * largest
    low, high = 1.0, _LARGEST
    while high - low > _RESOLUTION:
        middle = (low + high) / 2
        half = _RESOLUTION / 2
        if (distance(middle + half) - distance(middle)) / half > threshold:
            high = middle
        else:
            low = middle
    return 2 / (low + high)
