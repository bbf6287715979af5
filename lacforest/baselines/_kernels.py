"""Gaussian kernels, and the width that methods take where none is given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import euclidean_distances

from lacforest._parameters import is_real
from lacforest.baselines._base import check_positive


def check_gamma(gamma: Any, *words: str) -> None:
    """A positive number, or one of some words."""
    if isinstance(gamma, str) and gamma in words:
        return
    if not is_real(gamma):
        named = ", ".join(f'"{word}"' for word in words)
        raise TypeError(f"gamma must be {named} or a positive number, got {gamma!r}")
    check_positive("gamma", gamma)


def gaussian_kernel(
    X: NDArray[np.float64], rows: NDArray[np.float64], gamma: float
) -> NDArray[np.float64]:
    """exp(-gamma * squared distance), one column for each of `rows`."""
    kernel: NDArray[np.float64] = euclidean_distances(X, rows, squared=True)
    kernel *= -gamma
    np.exp(kernel, out=kernel)
    return kernel
