"""Class proportions of leaves after training, from the whole data, batch by batch."""

from __future__ import annotations

import torch
from torch import Tensor

from lacforest.neural._gini import class_masses, class_shares, least_share, new_share


class LeafStatistics:
    """Masses of labelled and unlabelled rows in leaves, summed over batches in float64.

    Parameters
    ----------
    n_classes : int
        Number of known classes.
    n_trees, n_leaves : int

    Examples
    --------
    >>> import torch
    >>> from lacforest.neural import LeafStatistics, NeuralForest
    >>> generator = torch.Generator().manual_seed(0)
    >>> forest, statistics = NeuralForest(8, n_trees=2, depth=3), LeafStatistics(3, 2, 4)
    >>> for _ in range(5):
    ...     rows = forest(torch.randn(30, 8, generator=generator))
    ...     statistics.add_labeled(rows[:10], torch.randint(3, (10,), generator=generator))
    ...     statistics.add_unlabeled(rows[10:])
    >>> statistics.proportions(theta=0.4).shape  # trees, leaves, known classes and the new one
    torch.Size([2, 4, 4])
    """

    def __init__(self, n_classes: int, n_trees: int, n_leaves: int) -> None:
        self.n_classes = n_classes
        # On the CPU: some devices have no float64.
        self._classes = torch.zeros((n_classes, n_trees, n_leaves), dtype=torch.float64)
        self._unlabeled = torch.zeros((n_trees, n_leaves), dtype=torch.float64)
        self._n_labeled = 0.0
        self._n_unlabeled = 0

    def add_labeled(self, mu: Tensor, y: Tensor, weight: Tensor | None = None) -> None:
        """Count a batch of labelled rows.

        Parameters
        ----------
        mu : tensor of shape (n_rows, n_trees, n_leaves)
        y : int64 tensor of shape (n_rows,)
            Class codes.
        weight : tensor of shape (n_rows,), optional
            Weights of the rows; 1 by default.
        """
        if weight is not None:
            weight = weight.cpu().double()
        self._classes += class_masses(mu.detach().cpu().double(), y.cpu(), self.n_classes, weight)
        self._n_labeled += len(mu) if weight is None else float(weight.sum())

    def add_unlabeled(self, mu: Tensor) -> None:
        """Count a batch of unlabelled rows."""
        self._unlabeled += mu.detach().cpu().double().sum(dim=0)
        self._n_unlabeled += len(mu)

    def proportions(self, theta: float) -> Tensor:
        """vartheta_{B,k}(S_l, S_u) of all leaves (Definition 2).

        A leaf that no row reaches gets the proportions of the whole data.
        Without unlabelled rows the new class has no share anywhere.

        Parameters
        ----------
        theta : float

        Returns
        -------
        float64 tensor of shape (n_trees, n_leaves, n_classes + 1)
            The new class is last; proportions sum to 1.
        """
        if self._n_labeled == 0:
            raise ValueError("no labelled row was counted: there are no proportions yet")
        classes = self._classes / self._n_labeled
        labeled = classes.sum(dim=0)
        if self._n_unlabeled == 0:
            unlabeled, theta = labeled, 0.0
            new = torch.zeros_like(labeled)
        else:
            unlabeled = self._unlabeled / self._n_unlabeled
            new = new_share(labeled, unlabeled, theta)
        known = (1.0 - new) * class_shares(classes)
        shares = torch.cat([known, new.unsqueeze(0)])
        least = least_share(torch.float64)
        of_all = classes.sum(dim=-1)[:, :1]  # the same for every tree
        overall = torch.cat([(1.0 - theta) * of_all, torch.full((1, 1), theta).to(of_all)])
        # Neither labelled nor new mass: use the proportions of the whole data.
        bare = (labeled < least) & (new == 0.0)
        shares = torch.where(bare, overall.unsqueeze(-1), shares)
        return shares.permute(1, 2, 0).contiguous()


def class_probabilities(mu: Tensor, proportions: Tensor) -> Tensor:
    """Mean over trees of DT_{i,k}(x), the probability of each class.

    Parameters
    ----------
    mu : tensor of shape (n_rows, n_trees, n_leaves)
    proportions : float64 tensor of shape (n_trees, n_leaves, n_classes + 1)

    Returns
    -------
    float64 tensor of shape (n_rows, n_classes + 1)
    """
    wide = mu.detach().cpu().double().contiguous().flatten(1)
    shares = proportions.flatten(0, 1)
    # No matrix product: the order of its sums depends on where a row stands in the batch.
    sums = [(wide * shares[:, k]).sum(dim=1) for k in range(shares.shape[1])]
    return torch.stack(sums, dim=1) / proportions.shape[0]
