"""The width of a Gaussian kernel where the caller gives none."""

from __future__ import annotations

from typing import Any

import numpy as np

# Rows among which the median of pairwise distances is taken exactly.
_MEDIAN_ROWS = 2_000


def median_gamma(X: Any, rng: np.random.Generator) -> float:
    """Reciprocal of the median squared distance between rows, each paired with itself too."""
    from sklearn.metrics import euclidean_distances  # slow to import

    n_rows = X.shape[0]
    if n_rows > _MEDIAN_ROWS:
        X = X[np.sort(rng.choice(n_rows, _MEDIAN_ROWS, replace=False))]
    median = float(np.median(euclidean_distances(X, squared=True)))
    # More than half of all pairs coincide: any width separates the same few points.
    return 1.0 / median if median > 0 else 1.0
