"""The rows of a large table that theta and the shares of classes are estimated from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lacforest._coding.bins import sampled_rows
from lacforest._input.training_data import TrainingRows

# Most labelled and most unlabelled rows: errors of estimates are far below their intervals by then.
MOST_ROWS = 100_000
# Rows of every class, where there are as many.
_ROWS_PER_CLASS = 50


def theta_rows(rows: TrainingRows) -> NDArray[np.intp] | None:
    """Row numbers in ascending order, by their hashes; None takes all rows.

    Labelled and unlabelled rows are chosen apart, and rare classes keep some of their rows. Control
    rows are few and compared as a whole: tables with them are not divided.
    """
    # Rows that rare classes keep come on top of the labelled ones.
    most_labeled = MOST_ROWS + rows.n_known * _ROWS_PER_CLASS
    if rows.n_control or (rows.n_labeled <= most_labeled and rows.n_unlabeled <= MOST_ROWS):
        return None
    labeled = sampled_rows(rows.n_labeled, MOST_ROWS)
    if labeled is None:
        labeled = np.arange(rows.n_labeled)
    else:
        labeled = _with_rare_classes(labeled, rows.classes[: rows.n_labeled], rows.n_known)
    unlabeled = sampled_rows(rows.n_unlabeled, MOST_ROWS)
    if unlabeled is None:
        unlabeled = np.arange(rows.n_unlabeled)
    return np.concatenate([labeled, rows.n_labeled + unlabeled])


def _with_rare_classes(
    chosen: NDArray[np.intp], classes: NDArray[np.uint16], n_known: int
) -> NDArray[np.intp]:
    counts = np.bincount(classes[chosen], minlength=n_known)
    rare = [
        np.flatnonzero(classes == code)[:_ROWS_PER_CLASS]
        for code in np.flatnonzero(counts < _ROWS_PER_CLASS)
    ]
    return np.unique(np.concatenate([chosen, *rare]))
