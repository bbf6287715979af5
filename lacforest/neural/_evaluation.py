"""A trained module on many rows: leaf probabilities, leaf proportions, class probabilities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lacforest.neural._leaves import LeafStatistics, class_probabilities
from lacforest.neural._module import DeepForest
from lacforest.neural._rows import Rows, iterate, send

# Rows in one pass of the network. Rows of tables are padded to full batches: the kernels behind a
# matrix product differ by its size, and with them the last bits of the result.
_TABLE_BATCH = 256
_IMAGE_BATCH = 512


def leaf_probabilities(
    module: DeepForest, rows: Rows, device: torch.device
) -> Iterator[tuple[NDArray[np.intp], Tensor]]:
    """Numbers of rows and their leaf probabilities, batch by batch, in evaluation mode."""
    is_table = len(rows.shape) == 1
    batch_size = _TABLE_BATCH if is_table else _IMAGE_BATCH
    module.eval()
    for numbers, values in iterate(rows, batch_size):
        batch = send(values, device)
        if is_table and len(batch) < batch_size:
            padding = batch.new_zeros((batch_size - len(batch), *batch.shape[1:]))
            batch = torch.cat([batch, padding])
        with torch.inference_mode():
            mu: Tensor = module(batch)
        yield numbers, mu[: len(numbers)]


def collect_proportions(
    module: DeepForest,
    labeled: Rows,
    codes: Tensor,
    unlabeled: Rows | None,
    theta: float,
    device: torch.device,
) -> Tensor:
    """vartheta_{B,k}(S_l, S_u) of the whole data, streamed.

    Parameters
    ----------
    module : DeepForest
    labeled : Rows
    codes : int64 tensor of shape (n_labeled,)
    unlabeled : Rows or None
    theta : float
    device : torch.device

    Returns
    -------
    float64 tensor of shape (n_trees, n_leaves, n_classes + 1)
    """
    forest = module.forest
    statistics = LeafStatistics(module.head.out_features, forest.n_trees, forest.n_leaves)
    for numbers, mu in leaf_probabilities(module, labeled, device):
        statistics.add_labeled(mu, codes[torch.from_numpy(numbers)])
    if unlabeled is not None:
        for _, mu in leaf_probabilities(module, unlabeled, device):
            statistics.add_unlabeled(mu)
    return statistics.proportions(theta)


def predict_probabilities(
    module: DeepForest, proportions: Tensor, rows: Rows, device: torch.device
) -> NDArray[np.float64]:
    """Class probabilities of rows, known classes first and the new one last.

    They sum to 1 to the last digit of float64, though leaf probabilities have those of float32.
    """
    found = [
        class_probabilities(mu, proportions).numpy()
        for _, mu in leaf_probabilities(module, rows, device)
    ]
    shares: NDArray[np.float64] = np.concatenate(found)
    broken = np.flatnonzero(~np.isfinite(shares).all(axis=1))
    if len(broken):
        raise ValueError(
            f"the network overflows on {len(broken)} row(s), first on row {broken[0]}: their "
            "values are far outside of what it was trained on. Check units and scaling."
        )
    shares /= shares.sum(axis=1, keepdims=True)
    return shares
