"""Scores of unlabelled rows to pseudo-labels (line 5 of Algorithm 1)."""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import NDArray


def floor_with_tolerance(value: float) -> int:
    """Largest integer not above value, where a hair below an integer counts as that integer.

    ``0.29 * 100`` is 28.999999999999996 in binary; the paper's floor(0.29 * 100) is 29.
    """
    nearest = round(value)
    # A few units in the last place: what the rounding of a share and of one product can do.
    is_integer = abs(value - nearest) <= 8 * sys.float_info.epsilon * abs(value)
    return nearest if is_integer else math.floor(value)


def ceil_with_tolerance(value: float) -> int:
    """Smallest integer not below value, where a hair above an integer counts as that integer."""
    return -floor_with_tolerance(-value)


def pseudo_label_cap(labeled_total: float, theta: float, multiple: float | None) -> int | None:
    """Most pseudo-labelled rows of a tree: a multiple of n_l theta / (1 - theta), at least 1.

    With a multiple of 1, a tree sees known and new rows in the proportion of the unlabelled rows,
    however many of those there are. None is no limit.
    """
    if multiple is None or theta >= 1.0:
        return None
    return max(1, floor_with_tolerance(multiple * labeled_total * theta / (1.0 - theta)))


def n_pseudo_labels(n_unlabeled: int, theta: float) -> int:
    """How many of the unlabelled rows get a pseudo-label: floor(theta * n_u)."""
    return floor_with_tolerance(theta * n_unlabeled)


def pseudo_labels(scores: NDArray[np.float64], theta: float) -> NDArray[np.bool_]:
    """Mark the floor(theta * n_u) rows with the highest scores; ties go to the earlier row."""
    chosen = np.zeros(len(scores), dtype=bool)
    n_marked = n_pseudo_labels(len(scores), theta)
    chosen[np.argsort(-scores, kind="stable")[:n_marked]] = True
    return chosen
