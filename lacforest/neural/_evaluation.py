"""A trained network on many rows: outputs, leaf proportions, class probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lacforest.neural._leaves import LeafStatistics, class_probabilities
from lacforest.neural._module import DeepForest
from lacforest.neural._network_rows import NetworkRows
from lacforest.neural._rows import Rows, iterate, send

# Rows per pass of the network. Batches of tables are padded to full size, because the kernels of
# matrix products, and with them the last bits of the result, depend on the size.
_TABLE_BATCH = 256
_IMAGE_BATCH = 512


def network_outputs(
    module: nn.Module,
    function: Callable[[Tensor], Tensor],
    rows: Rows,
    device: torch.device,
) -> Iterator[tuple[NDArray[np.intp], Tensor]]:
    """Numbers of rows and what a part of the network makes of them, batch by batch.

    Parameters
    ----------
    module : torch.nn.Module
        Put into evaluation mode.
    function : callable
        The module itself, or a method of it.
    rows : Rows
    device : torch.device
    """
    is_table = len(rows.shape) == 1
    batch_size = _TABLE_BATCH if is_table else _IMAGE_BATCH
    module.eval()
    for numbers, values in iterate(rows, batch_size):
        batch = send(values, device)
        if is_table and len(batch) < batch_size:
            padding = batch.new_zeros((batch_size - len(batch), *batch.shape[1:]))
            batch = torch.cat([batch, padding])
        with torch.inference_mode():
            outputs = function(batch)
        yield numbers, outputs[: len(numbers)]


def encoded_rows(module: Any, rows: Rows, device: torch.device) -> NDArray[np.float32]:
    """Features that the encoder of a network makes of rows."""
    found = network_outputs(module, module.features, rows, device)
    return np.concatenate([features.float().cpu().numpy() for _, features in found])


def leaf_probabilities(
    module: DeepForest, rows: Rows, device: torch.device
) -> Iterator[tuple[NDArray[np.intp], Tensor]]:
    """Numbers of rows and their leaf probabilities, batch by batch, in evaluation mode."""
    return network_outputs(module, module, rows, device)


def check_outputs(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same outputs, one line per row, if all are finite."""
    broken = np.flatnonzero(~np.isfinite(outputs).all(axis=1))
    if len(broken):
        raise ValueError(
            f"the network overflows on {len(broken)} row(s), first on row {broken[0]}: their "
            "values are far outside of what it was trained on. Check units and scaling."
        )
    return outputs


def predict_logits(module: nn.Module, rows: Rows, device: torch.device) -> NDArray[np.float64]:
    """Outputs of a network for rows, checked."""
    found = [
        logits.cpu().double().numpy() for _, logits in network_outputs(module, module, rows, device)
    ]
    return check_outputs(np.concatenate(found))


def collect_proportions(module: DeepForest, rows: NetworkRows, device: torch.device) -> Tensor:
    """vartheta_{B,k}(S_l, S_u) of the whole data, streamed.

    Parameters
    ----------
    module : DeepForest
    rows : NetworkRows
    device : torch.device

    Returns
    -------
    float64 tensor of shape (n_trees, n_leaves, n_classes + 1)
    """
    forest = module.forest
    statistics = LeafStatistics(module.head.out_features, forest.n_trees, forest.n_leaves)
    for numbers, mu in leaf_probabilities(module, rows.labeled, device):
        chosen = torch.from_numpy(numbers)
        weight = None if rows.weight is None else rows.weight[chosen]
        statistics.add_labeled(mu, rows.codes[chosen], weight)
    if rows.unlabeled is not None:
        for _, mu in leaf_probabilities(module, rows.unlabeled, device):
            statistics.add_unlabeled(mu)
    return statistics.proportions(rows.theta)


def predict_probabilities(
    module: DeepForest, proportions: Tensor, rows: Rows, device: torch.device
) -> NDArray[np.float64]:
    """Class probabilities of rows, known classes first and the new one last.

    They sum to 1 within the rounding of float64, although leaf probabilities are float32.
    """
    found = [
        class_probabilities(mu, proportions).numpy()
        for _, mu in leaf_probabilities(module, rows, device)
    ]
    shares = check_outputs(np.concatenate(found))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares
