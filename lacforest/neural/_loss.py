"""The loss of Algorithm 2: augmented Gini impurity of leaves plus cross entropy."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from lacforest._parameters import is_real
from lacforest.neural._gini import augmented_gini, class_masses


def _check_masses(mu_labeled: Tensor, y: Tensor, mu_unlabeled: Tensor) -> None:
    for name, mu in (("mu_labeled", mu_labeled), ("mu_unlabeled", mu_unlabeled)):
        if mu.dim() != 3 or mu.shape[0] == 0:
            raise ValueError(
                f"{name} must have the shape (n_rows, n_trees, n_leaves) with at least one row, "
                f"got {tuple(mu.shape)}"
            )
    if mu_labeled.shape[1:] != mu_unlabeled.shape[1:]:
        raise ValueError(
            f"mu_labeled and mu_unlabeled are of different forests: {tuple(mu_labeled.shape[1:])} "
            f"and {tuple(mu_unlabeled.shape[1:])} are their trees and leaves"
        )
    if y.shape != mu_labeled.shape[:1]:
        raise ValueError(
            f"y must hold one class code for each of the {mu_labeled.shape[0]} rows of "
            f"mu_labeled, got the shape {tuple(y.shape)}"
        )


def _check_theta(theta: float | Tensor) -> None:
    if isinstance(theta, Tensor):
        return
    if not is_real(theta) or not 0.0 <= theta <= 1.0:
        raise ValueError(
            f"theta must lie between 0 and 1, got {theta!r}: it is the share of unlabelled rows "
            "that belong to the new class"
        )


def augmented_gini_loss(
    mu_labeled: Tensor,
    y: Tensor,
    mu_unlabeled: Tensor,
    theta: float | Tensor,
    n_classes: int | None = None,
    reduction: Literal["mean", "none"] = "mean",
) -> Tensor:
    r"""Augmented Gini impurity of the leaves, weighted by shares of unlabelled rows.

    .. math::

       L_{ag} = \sum_B \omega_B(S'_u)\, G_B(S'_l, S'_u)

    for each tree, with :math:`G_B` by Definition 2 on the rows of the batch and :math:`\omega_B`
    the share of its unlabelled rows that are in leaf B. A leaf that no unlabelled row reaches has
    weight zero; neither it nor one that no labelled row reaches breaks values or gradients.

    Parameters
    ----------
    mu_labeled : tensor of shape (n_labeled, n_trees, n_leaves)
        Leaf probabilities of labelled rows, from `NeuralForest`.
    y : int64 tensor of shape (n_labeled,)
        Class codes 0, 1, ... of labelled rows.
    mu_unlabeled : tensor of shape (n_unlabeled, n_trees, n_leaves)
        Leaf probabilities of unlabelled rows.
    theta : float or tensor
        Share of new rows among unlabelled ones, in [0, 1].
    n_classes : int, optional
        Number of known classes; by default one more than the highest code in `y`. Give it where
        the function is compiled.
    reduction : {"mean", "none"}, default="mean"
        "mean" is the mean over trees, as in the paper's objective; "none" gives one loss a tree.

    Returns
    -------
    tensor
        A scalar, or of shape (n_trees,).

    Notes
    -----
    Without unlabelled rows, ``augmented_gini_loss(mu, y, mu, theta=0)`` is the Gini impurity of a
    plain neural forest.

    Examples
    --------
    >>> import torch
    >>> from lacforest.neural import NeuralForest, augmented_gini_loss
    >>> generator = torch.Generator().manual_seed(0)
    >>> forest = NeuralForest(8)
    >>> labeled = forest(torch.randn(100, 8, generator=generator))
    >>> unlabeled = forest(torch.randn(200, 8, generator=generator))
    >>> y = torch.randint(3, (100,), generator=generator)
    >>> loss = augmented_gini_loss(labeled, y, unlabeled, theta=0.4)
    >>> loss.backward()
    >>> 0 < loss.item() < 1
    True
    """
    _check_masses(mu_labeled, y, mu_unlabeled)
    _check_theta(theta)
    if reduction not in ("mean", "none"):
        raise ValueError(f'reduction must be "mean" or "none", got {reduction!r}')
    if mu_labeled.dtype in (torch.float16, torch.bfloat16):
        mu_labeled, mu_unlabeled = mu_labeled.float(), mu_unlabeled.float()
    if n_classes is None:
        n_classes = int(y.max()) + 1
    # Autocast would take the sums of masses to half precision.
    with torch.autocast(mu_labeled.device.type, enabled=False):
        classes = class_masses(mu_labeled, y, n_classes) / mu_labeled.shape[0]
        omega = mu_unlabeled.mean(dim=0)
        losses: Tensor = (omega * augmented_gini(classes, omega, theta)).sum(dim=-1)
    return losses.mean() if reduction == "mean" else losses


class LossParts(NamedTuple):
    """The loss and the two terms that it is made of.

    Attributes
    ----------
    total : tensor
        ``gini + lambda_ce * cross_entropy``.
    gini : tensor
        Mean of L_ag over trees.
    cross_entropy : tensor
        L_ce on labelled rows.
    """

    total: Tensor
    gini: Tensor
    cross_entropy: Tensor


class AugmentedGiniLoss(nn.Module):
    """The objective of Algorithm 2: L_ag, averaged over trees, plus `lambda_ce` times L_ce.

    Parameters
    ----------
    theta : float
        Share of new rows among unlabelled ones.
    n_classes : int
        Number of known classes.
    lambda_ce : float, default=1.0
        Weight of the cross entropy of the auxiliary linear predictor.

    Examples
    --------
    >>> import torch
    >>> from lacforest.neural import AugmentedGiniLoss, NeuralForest
    >>> generator = torch.Generator().manual_seed(0)
    >>> h = torch.randn(60, 8, generator=generator)
    >>> forest, head = NeuralForest(8), torch.nn.Linear(8, 3)
    >>> y = torch.randint(3, (20,), generator=generator)
    >>> loss = AugmentedGiniLoss(theta=0.4, n_classes=3)
    >>> loss(forest(h[:20]), y, forest(h[20:]), head(h[:20])).dim()
    0
    """

    def __init__(self, theta: float, n_classes: int, lambda_ce: float = 1.0) -> None:
        super().__init__()
        _check_theta(theta)
        self.theta = theta
        self.n_classes = n_classes
        self.lambda_ce = lambda_ce

    def parts(
        self, mu_labeled: Tensor, y: Tensor, mu_unlabeled: Tensor, logits: Tensor
    ) -> LossParts:
        """The loss with its terms; arguments as in `forward`."""
        gini = augmented_gini_loss(mu_labeled, y, mu_unlabeled, self.theta, self.n_classes)
        wide = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
        cross_entropy = functional.cross_entropy(wide, y)
        return LossParts(gini + self.lambda_ce * cross_entropy, gini, cross_entropy)

    def forward(
        self, mu_labeled: Tensor, y: Tensor, mu_unlabeled: Tensor, logits: Tensor
    ) -> Tensor:
        """The loss of a batch.

        Parameters
        ----------
        mu_labeled, y, mu_unlabeled
            As in `augmented_gini_loss`.
        logits : tensor of shape (n_labeled, n_classes)
            What the auxiliary predictor says of labelled rows, before the softmax.

        Returns
        -------
        tensor
            A scalar.
        """
        return self.parts(mu_labeled, y, mu_unlabeled, logits).total

    def extra_repr(self) -> str:
        """What `repr` says of the loss."""
        return f"theta={self.theta}, n_classes={self.n_classes}, lambda_ce={self.lambda_ce}"
