"""Small products of matrices, computed by the thread that asks for them.

Threads of BLAS wait for more work in a busy loop, for some tens of milliseconds after a product.
Between two steps of a fit they take a core from trees that grow next.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# Multiplications from which on BLAS is worth its threads.
_MANY = 50_000_000


def product(left: Any, right: NDArray[np.float64]) -> NDArray[np.float64]:
    """``left @ right`` of a matrix, dense or sparse, and a vector or a matrix.

    The bits of a small product do not depend on the number of threads of BLAS.
    """
    if sparse.issparse(left) or left.size * right[0].size > _MANY:
        return np.asarray(left @ right)
    found: NDArray[np.float64] = np.einsum(
        "ij,j->i" if right.ndim == 1 else "ij,jk->ik", left, right
    )
    return found
