"""LeafMemory: running shares of rows in leaves, for training on small batches."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class LeafMemory(nn.Module):
    """Running means of the shares of rows in leaves.

    The impurity of Definition 2 is not linear in the shares, so that its mean over small batches
    is biased. With the memory, values come from the running mean and gradients from the batch.

    Parameters
    ----------
    n_classes : int
        Number of known classes.
    n_trees, n_leaves : int
    factor : float in [0, 1), default=0.9
        Weight of the past in the running mean. 0 uses the batch alone.
    """

    classes: Tensor
    unlabeled: Tensor
    n_batches: Tensor

    def __init__(self, n_classes: int, n_trees: int, n_leaves: int, factor: float = 0.9) -> None:
        super().__init__()
        if not 0.0 <= factor < 1.0:
            raise ValueError(f"factor must be at least 0 and below 1, got {factor!r}")
        self.factor = float(factor)
        self.register_buffer("classes", torch.zeros(n_classes, n_trees, n_leaves))
        self.register_buffer("unlabeled", torch.zeros(n_trees, n_leaves))
        self.register_buffer("n_batches", torch.zeros((), dtype=torch.int64))

    def forward(self, classes: Tensor, unlabeled: Tensor) -> tuple[Tensor, Tensor]:
        """Add the shares of a batch, and return running means with gradients of the batch.

        Parameters
        ----------
        classes : tensor of shape (n_classes, n_trees, n_leaves)
        unlabeled : tensor of shape (n_trees, n_leaves)
        """
        # The first batch is its own mean: zeros would pull the shares down for many steps.
        past = (self.n_batches > 0).to(classes.dtype) * self.factor
        with torch.no_grad():
            for mean, batch in ((self.classes, classes), (self.unlabeled, unlabeled)):
                mean.copy_(past * mean + (1.0 - past) * batch)
            self.n_batches += 1
        # Clones, because the next batch changes the buffers in place.
        return (
            self.classes.clone() + (classes - classes.detach()),
            self.unlabeled.clone() + (unlabeled - unlabeled.detach()),
        )

    def extra_repr(self) -> str:
        """The arguments that `repr` shows."""
        return f"factor={self.factor}"
