"""Shift of one column between two samples, pair by pair."""

import numpy as np


def auc(reference, weight, compared):
    """Chance that a compared value exceeds a reference value; NaN is the largest, ties are half."""
    won = total = 0.0
    for value, share in zip(reference, weight, strict=True):
        for other in compared:
            if np.isnan(other) and np.isnan(value):
                won += 0.5 * share
            elif np.isnan(other):
                won += share
            elif not np.isnan(value):
                won += share * ((other > value) + 0.5 * (other == value))
            total += share
    return won / total
