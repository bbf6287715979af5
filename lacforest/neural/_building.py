"""Encoders for given rows: the size of their output, and the scale of their input."""

from __future__ import annotations

import numpy as np
from torch import nn

from lacforest.neural._data import FitRows
from lacforest.neural._encoders import MLPEncoder, count_outputs
from lacforest.neural._rows import iterate


def fit_encoder(encoder: nn.Module, rows: FitRows) -> int:
    """Standardise the inputs of an encoder for tables, and count the outputs of any encoder."""
    first = rows.labeled.take(np.zeros(2, dtype=np.intp))
    if not isinstance(encoder, MLPEncoder):
        return count_outputs(encoder, first.float())
    n_outputs = count_outputs(encoder, first)
    sides = [rows.labeled, *([] if rows.unlabeled is None else [rows.unlabeled])]
    encoder.standardize.fit(lambda: (values for side in sides for _, values in iterate(side, 4096)))
    return n_outputs
