"""Rows that a network is trained on, and rows that it is judged by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from lacforest.neural._rows import Rows


@dataclass(frozen=True)
class NetworkRows:
    """Rows that a module is trained on.

    Attributes
    ----------
    labeled : Rows
    codes : int64 tensor of shape (n_labeled,)
        Class codes, on the CPU.
    weight : float64 tensor of shape (n_labeled,) or None
        Weights of labelled rows, on the CPU; None if all are 1.
    unlabeled : Rows or None
        None where the method has no use for them.
    theta : float
        Share of new rows among unlabelled ones; 0 where there are none.
    n_classes : int
        Number of known classes.
    """

    labeled: Rows
    codes: Tensor
    weight: Tensor | None
    unlabeled: Rows | None
    theta: float
    n_classes: int


@dataclass(frozen=True)
class ValidationRows:
    """Rows that a module is judged by after each epoch.

    Attributes
    ----------
    labeled : Rows
    codes : int array of shape (n_labeled,)
        Class codes; the number of known classes stands for the new one.
    weight : float64 array of shape (n_labeled,) or None
    unlabeled : Rows or None
        With unlabelled rows accuracy is estimated by labelled rows of known classes and these;
        without, it is that on `labeled`.
    """

    labeled: Rows
    codes: NDArray[np.intp]
    weight: NDArray[np.float64] | None
    unlabeled: Rows | None
