"""Kernels, and functions that are sums of kernels around rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import euclidean_distances
from sklearn.utils import gen_batches

from lacforest._input.parameters import is_real
from lacforest.baselines._files import State, StoredState
from lacforest.baselines._parameters import check_positive

KernelName = Literal["linear", "rbf"]
# Entries of a kernel matrix that prediction keeps in memory at a time.
_BLOCK = 1 << 24


def check_gamma(gamma: Any, *words: str) -> None:
    """Reject anything but a positive number or one of some words."""
    if isinstance(gamma, str) and gamma in words:
        return
    if not is_real(gamma):
        named = ", ".join(f'"{word}"' for word in words)
        raise TypeError(f"gamma must be {named} or a positive number, got {gamma!r}")
    check_positive("gamma", gamma)


def svm_gamma(gamma: Any, X: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Gamma as in `sklearn.svm.SVC`; a row of weight w counts as w rows in the variance."""
    if not isinstance(gamma, str):
        return float(gamma)
    variance = 1.0
    if gamma == "scale" and (weight == weight[0]).all():
        variance = float(X.var())
    elif gamma == "scale":
        mean = np.average(X.mean(axis=1), weights=weight)
        variance = float(np.average(((X - mean) ** 2).mean(axis=1), weights=weight))
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def gaussian_kernel(
    X: NDArray[np.float64], rows: NDArray[np.float64], gamma: float
) -> NDArray[np.float64]:
    """exp(-gamma * squared distance), one column for each of `rows`."""
    kernel: NDArray[np.float64] = euclidean_distances(X, rows, squared=True)
    kernel *= -gamma
    np.exp(kernel, out=kernel)
    return kernel


@dataclass(frozen=True)
class KernelExpansion:
    """Functions f_c(x) = sum_i coefficients[i, c] k(rows[i], x) + biases[c].

    Attributes
    ----------
    kernel : {"linear", "rbf"}
    gamma : float
        Of "rbf".
    rows : float64 array of shape (n_rows, n_features)
    coefficients : float64 array of shape (n_rows, n_functions)
    biases : float64 array of shape (n_functions,)
    """

    kernel: KernelName
    gamma: float
    rows: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    biases: NDArray[np.float64]

    def values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Array (n_rows, n_functions)."""
        found = np.empty((len(X), len(self.biases)))
        for batch in gen_batches(len(X), max(1, _BLOCK // len(self.rows))):
            kernel = kernel_matrix(self.kernel, X[batch], self.rows, self.gamma)
            found[batch] = kernel @ self.coefficients
        found += self.biases
        return found

    def state(self, prefix: str) -> State:
        """What a file keeps of it."""
        return {
            f"{prefix}.kernel": self.kernel,
            f"{prefix}.gamma": self.gamma,
            f"{prefix}.rows": self.rows,
            f"{prefix}.coefficients": self.coefficients,
            f"{prefix}.biases": self.biases,
        }

    @classmethod
    def restore(cls, stored: StoredState, prefix: str, n_functions: str | int) -> KernelExpansion:
        """The expansion that a file keeps."""
        kernel = stored.value(f"{prefix}.kernel")
        if kernel not in ("linear", "rbf"):
            raise ValueError(f"there is no kernel {kernel!r}")
        n_rows = f"{prefix}.n_rows"
        found = cls(
            kernel,
            stored.number(f"{prefix}.gamma", 0.0, np.finfo(float).max),
            stored.array(f"{prefix}.rows", (n_rows, "n_features")),
            stored.array(f"{prefix}.coefficients", (n_rows, n_functions)),
            stored.array(f"{prefix}.biases", (n_functions,)),
        )
        if len(found.rows) == 0:
            raise ValueError(f"{prefix}.rows is empty")
        return found


def kernel_matrix(
    kernel: KernelName, X: NDArray[np.float64], rows: NDArray[np.float64], gamma: float
) -> NDArray[np.float64]:
    """Array (n_rows of X, n_rows of `rows`)."""
    if kernel == "linear":
        with np.errstate(over="ignore", invalid="ignore"):
            product: NDArray[np.float64] = X @ rows.T
        return product
    return gaussian_kernel(X, rows, gamma)
