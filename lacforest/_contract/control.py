"""Control rows: rows of known classes from deployment, and what they count beside labelled ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lacforest._input.training_data import TrainingRows

# Control rows weigh as much as all labelled rows together, but none more than this.
_LARGEST_CONTROL_FACTOR = 10.0
# Rows with the shares of labelled rows that are counted with the control rows: few control rows say
# little about the share of a class.
_PRIOR_ROWS = 20.0


def weigh_control(rows: TrainingRows) -> TrainingRows:
    """The rows of a fit, with control rows that count for as much as the others."""
    sampling = np.ones(rows.n_labeled) if rows.sampling_weight is None else rows.sampling_weight
    first = rows.n_labeled - rows.n_control
    factor = float(sampling[:first].sum() / sampling[first:].sum())
    return rows.with_control_factor(min(max(factor, 1.0), _LARGEST_CONTROL_FACTOR))


def control_shares(rows: TrainingRows) -> NDArray[np.float64]:
    """Shares of the known classes among control rows, with a few rows of labelled shares added."""
    first = rows.n_labeled - rows.n_control
    sampling = None if rows.sampling_weight is None else rows.sampling_weight[:first]
    labeled = np.bincount(rows.classes[:first], sampling, rows.n_known).astype(np.float64)
    counts = np.bincount(rows.classes[first : rows.n_labeled], minlength=rows.n_known)
    parts = counts + labeled * (_PRIOR_ROWS / labeled.sum())
    shares: NDArray[np.float64] = parts / parts.sum()
    return shares
