"""KM1 and KM2 on two lists of scores, with the full kernel matrix and a general QP solver."""

import math

import numpy as np
from scipy import sparse


def median_distance(scores):
    """Root of the median squared distance over all ordered pairs, including the diagonal."""
    return math.sqrt(np.median(np.subtract.outer(scores, scores) ** 2))


def kernel(scores, width):
    return np.exp(-(np.subtract.outer(scores, scores) ** 2) / (2 * width**2))


def length(matrix, vector):
    """Norm in the kernel space; rounding can make squares of short vectors negative."""
    return math.sqrt(max(0.0, vector @ matrix @ vector))


class Samples:
    """Unlabelled rows first, then the labelled ones."""

    def __init__(self, labeled, unlabeled, width=None):
        self.n_labeled, self.n_unlabeled = len(labeled), len(unlabeled)
        self.scores = np.concatenate([unlabeled, labeled])
        self.width = self.best_width() if width is None else width
        self.kernel = kernel(self.scores, self.width)
        self.mmd = length(self.kernel, self.between())

    def mixed(self, on_unlabeled, on_labeled):
        return np.repeat(
            [on_unlabeled / self.n_unlabeled, on_labeled / self.n_labeled],
            [self.n_unlabeled, self.n_labeled],
        )

    def between(self):
        return self.mixed(1.0, -1.0)

    def best_width(self):
        widths = [median_distance(self.scores) * 10**power for power in (-1, -0.5, 0, 0.5, 1)]
        return max(widths, key=lambda width: length(kernel(self.scores, width), self.between()))

    def distance(self, lam):
        target = self.mixed(lam, 1 - lam)
        return length(self.kernel, target - nearest_distribution(self.kernel, target))

    def slope(self, lam, step):
        return (self.distance(lam + step) - self.distance(lam)) / step

    def threshold(self, variant, mixing):
        by_size = 1 / math.sqrt(min(self.n_labeled, self.n_unlabeled))
        if variant == "km1" and by_size / self.mmd <= 0.9:
            return by_size
        return (1 - mixing) * self.slope(1.0, 0.05) + mixing * self.mmd

    def known_share(self, variant, mixing=0.25):
        """kappa, and the smallest margin of the decisions that led to it."""
        threshold = self.threshold(variant, mixing)
        left, right, margin = 1.0, 8.0, math.inf
        while right - left > 0.04:
            middle = (left + right) / 2
            slope = self.slope(middle, 0.02)
            margin = min(margin, abs(slope - threshold))
            if slope > threshold:
                right = middle
            else:
                left = middle
        lam = (left + right) / 2
        return (lam - 1) / lam, margin


def nearest_distribution(matrix, target):
    """min over v of (u - v)' K (u - v), where v >= 0 and sum(v) = 1."""
    return smallest_on_simplex(matrix, matrix @ target)


def smallest_on_simplex(matrix, linear):
    """min over v of v' K v - 2 l' v, where v >= 0 and sum(v) = 1."""
    import clarabel

    n_points = len(linear)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    # Kernel matrices are nearly singular: less regularisation than the default, for accuracy.
    settings.static_regularization_constant = 1e-14
    settings.static_regularization_proportional = 0.0
    solver = clarabel.DefaultSolver(
        sparse.triu(2 * matrix, format="csc"),
        -2 * linear,
        sparse.vstack([np.ones((1, n_points)), -sparse.eye_array(n_points)], format="csc"),
        np.concatenate([[1.0], np.zeros(n_points)]),
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n_points)],
        settings,
    )
    result = solver.solve()
    assert result.status == clarabel.SolverStatus.Solved
    solution = np.maximum(result.x, 0.0)
    return solution / solution.sum()
