"""Maximum likelihood of the two-parameter Weibull distribution, for many samples at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Values below this share of the largest one are raised to it, because zero has no logarithm.
_LEAST = 1e-9
# Bounds of the search for the shape. A sample of equal values has no finite shape.
_SHAPES = (1e-2, 1e4)
_N_HALVINGS = 60


def fit_weibull(samples: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shape and scale of each row of `samples`.

    The shape k is the root of sum t^k ln t / sum t^k - 1/k - mean ln t, which increases with k; the
    scale is (mean t^k)^(1/k). Values are divided by the largest one of their row, so that no power
    overflows.

    Parameters
    ----------
    samples : float64 array of shape (n_samples, n_values)
        Not negative.

    Returns
    -------
    shape, scale : float64 arrays of shape (n_samples,)
    """
    largest = samples.max(axis=1)
    # A sample of zeros is treated as one of a small number.
    largest = np.where(largest > 0, largest, _LEAST)
    samples = np.where(samples.any(axis=1, keepdims=True), samples, _LEAST)
    logarithms = np.log(np.maximum(samples / largest[:, None], _LEAST))
    mean_logarithm = logarithms.mean(axis=1)
    low, high = (np.full(len(samples), np.log(end)) for end in _SHAPES)
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        shape = np.exp(middle)
        powers = np.exp(shape[:, None] * logarithms)
        slope = (powers * logarithms).sum(axis=1) / powers.sum(axis=1)
        is_above = slope - 1.0 / shape - mean_logarithm > 0
        high = np.where(is_above, middle, high)
        low = np.where(is_above, low, middle)
    shape = np.exp((low + high) / 2)
    powers = np.exp(shape[:, None] * logarithms)
    scale: NDArray[np.float64] = largest * powers.mean(axis=1) ** (1.0 / shape)
    return shape, scale
