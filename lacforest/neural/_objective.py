"""What a network is trained to minimise: the interface between the trainer and the methods."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lacforest.neural._gini import total_weight

HALF_TYPES = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class Batch:
    """Rows of one step, on the device.

    Attributes
    ----------
    rows : tensor of shape (n_labeled + n_unlabeled, ...)
        Labelled rows first, so that the encoder runs once.
    codes : int64 tensor of shape (n_labeled,)
    weight : float32 tensor of shape (n_labeled,) or None
        Weights of labelled rows; None if all are 1.
    has_unlabeled : bool
    """

    rows: Tensor
    codes: Tensor
    weight: Tensor | None
    has_unlabeled: bool

    def mean(self, of_rows: Tensor) -> Tensor:
        """Weighted mean of one value per labelled row."""
        if self.weight is None:
            return of_rows.mean()
        return (of_rows * self.weight).sum() / total_weight(self.weight)

    def split(self, outputs: Tensor) -> tuple[Tensor, Tensor | None]:
        """Outputs of labelled rows, and of unlabelled ones if there are any."""
        n_labeled = len(self.codes)
        return outputs[:n_labeled], outputs[n_labeled:] if self.has_unlabeled else None


class Objective(nn.Module):
    """Loss of a batch. Parameters and buffers are trained and kept in checkpoints."""

    @abstractmethod
    def forward(self, module: Any, batch: Batch) -> dict[str, Tensor]:
        """Scalars by name: first "loss", which is minimised, then parts of it for the history.

        Called under autocast in half precision.
        """

    def after_step(self) -> None:
        """Called after each step of the optimiser; by default nothing happens."""

    def extra_tensors(self) -> dict[str, Tensor]:
        """State beyond parameters and buffers, such as that of an optimiser of its own."""
        return {}

    def load_extra_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Restore what `extra_tensors` returned."""


def wide(values: Tensor) -> Tensor:
    """float32 in place of half precision."""
    return values.float() if values.dtype in HALF_TYPES else values


class CrossEntropyObjective(Objective):
    """Cross entropy of labelled rows, for networks that return logits of known classes."""

    def forward(self, module: Any, batch: Batch) -> dict[str, Tensor]:
        logits, _ = batch.split(module(batch.rows))
        of_rows = functional.cross_entropy(wide(logits), batch.codes, reduction="none")
        return {"loss": batch.mean(of_rows)}
