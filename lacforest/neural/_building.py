"""Networks for given rows: fresh ones to train, and empty ones to load weights into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from lacforest.neural._data import FitRows
from lacforest.neural._encoders import MLPEncoder, Shape, count_outputs, make_encoder
from lacforest.neural._module import DeepForest
from lacforest.neural._randomness import private_generators
from lacforest.neural._rows import iterate, send


def build_module(
    encoder: nn.Module,
    rows: FitRows,
    n_trees: int,
    depth: int,
    batch_size: int,
    device: torch.device,
) -> DeepForest:
    """A network that is ready to be trained: inputs standardised, trees spread.

    Parameters
    ----------
    encoder : torch.nn.Module
    rows : FitRows
        What it will be trained on.
    n_trees, depth : int
    batch_size : int
        Rows by which the trees are spread.
    device : torch.device
    """
    first = rows.labeled.take(np.zeros(2, dtype=np.intp))
    n_outputs = count_outputs(encoder, first if isinstance(encoder, MLPEncoder) else first.float())
    if isinstance(encoder, MLPEncoder):
        sides = [rows.labeled, *([] if rows.unlabeled is None else [rows.unlabeled])]
        encoder.standardize.fit(
            lambda: (values for side in sides for _, values in iterate(side, 4096))
        )
    module = _assemble(encoder, n_outputs, len(rows.labels.known), n_trees, depth, device)
    # Rows of deployment, because these are what the leaves are weighted by.
    some = rows.labeled if rows.unlabeled is None else rows.unlabeled
    batch = some.take(np.arange(min(len(some), batch_size)))
    with torch.no_grad():
        module.forest.spread(module.eval().features(send(batch, device)))
    return module


def rebuild_module(
    encoder: Any,
    shape: Shape,
    hidden: Sequence[int],
    sizes: tuple[int, int, int, int],
    device: torch.device,
) -> DeepForest:
    """A module with fresh weights, to be loaded from a file."""
    with private_generators(device):
        return _assemble(make_encoder(encoder, shape, hidden), *sizes, device)


def _assemble(
    encoder: nn.Module,
    n_outputs: int,
    n_classes: int,
    n_trees: int,
    depth: int,
    device: torch.device,
) -> DeepForest:
    module = DeepForest(encoder, n_outputs, n_classes, n_trees, depth)
    return (module.float() if device.type == "mps" else module).to(device)
