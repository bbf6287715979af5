"""Ensembles of nearest neighbours, the detector of SENNE (Cai et al., IJCAI 2019)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances


class NearestNeighborEnsemble:
    """How far rows are outside of balls around samples of each known class.

    A ball reaches from a sampled row to the nearest other row of its sample. A row in the smallest
    ball around it, of radius r, has the score 1 - r' / r, where r' is the radius of the ball of the
    nearest other row; a row outside of all balls has the score 1. Scores are averaged over
    samples, and the class with the lowest mean is predicted.

    Parameters
    ----------
    n_samples : int, default=100
        Samples of each class.
    sample_size : int, default=20
    random_state : int, default=0
    """

    def __init__(self, n_samples: int = 100, sample_size: int = 20, random_state: int = 0) -> None:
        self.n_samples, self.sample_size = n_samples, sample_size
        self.random_state = random_state

    def fit(self, X: NDArray[np.float64], y: NDArray[Any]) -> Self:
        """Draw samples of each class, and their balls."""
        rng = np.random.default_rng(self.random_state)
        self.classes_ = np.unique(y)
        self._balls = []
        for value in self.classes_.tolist():
            own = np.flatnonzero(y == value)
            for _ in range(self.n_samples):
                centers = X[rng.choice(own, self.sample_size, replace=False)]
                distances = pairwise_distances(centers)
                np.fill_diagonal(distances, np.inf)
                radii = distances.min(axis=1)
                self._balls.append((centers, radii, radii[distances.argmin(axis=1)]))
        return self

    def scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean score of each row with respect to each class."""
        of_samples = []
        for centers, radii, neighbor_radii in self._balls:
            reach = np.where(pairwise_distances(X, centers) <= radii, radii, np.inf)
            smallest = reach.argmin(axis=1)
            ratio = neighbor_radii[smallest] / np.maximum(radii[smallest], np.finfo(float).tiny)
            of_samples.append(np.where(np.isinf(reach.min(axis=1)), 1.0, 1.0 - ratio))
        shape = len(self.classes_), self.n_samples, len(X)
        means: NDArray[np.float64] = np.reshape(of_samples, shape).mean(axis=1).T
        return means

    def best_accuracy(self, X: NDArray[np.float64], y: NDArray[Any], new: Any) -> float:
        """Accuracy with the best of all thresholds of the score above which rows are new."""
        scores = self.scores(X)
        lowest, named = scores.min(axis=1), self.classes_[scores.argmin(axis=1)]
        order = np.argsort(lowest, kind="stable")
        right_as_known, right_as_new = (named == y)[order], (y == new)[order]
        # Rows before a cut are known, those from it on are new.
        right = np.append(0, np.cumsum(right_as_known)) + np.append(
            np.cumsum(right_as_new[::-1])[::-1], 0
        )
        cuts = np.append(True, np.append(np.diff(lowest[order]) > 0, True))
        return float(right[cuts].max() / len(y))
