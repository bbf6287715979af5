"""The loss of Algorithm 2: augmented Gini impurity of leaves plus cross entropy."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from lacforest._input.parameters import is_real
from lacforest.neural._gini import augmented_gini, class_masses, total_weight
from lacforest.neural._memory import LeafMemory


def _check_masses(
    mu_labeled: Tensor, y: Tensor, mu_unlabeled: Tensor, weight: Tensor | None
) -> None:
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
    if weight is not None and weight.shape != y.shape:
        raise ValueError(
            f"sample_weight must hold one weight for each of the {mu_labeled.shape[0]} rows of "
            f"mu_labeled, got the shape {tuple(weight.shape)}"
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
    mu_unlabeled: Tensor | None,
    theta: float | Tensor,
    n_classes: int | None = None,
    reduction: Literal["mean", "none"] = "mean",
    sample_weight: Tensor | None = None,
    memory: LeafMemory | None = None,
) -> Tensor:
    r"""Augmented Gini impurity of the leaves, weighted by shares of unlabelled rows.

    .. math::

       L_{ag} = \sum_B \omega_B(S'_u)\, G_B(S'_l, S'_u)

    for each tree, with :math:`G_B` by Definition 2 on the rows of the batch and :math:`\omega_B`
    the share of its unlabelled rows that are in leaf B. A leaf that no unlabelled row reaches has
    weight zero. Values and gradients are finite for such leaves, and for leaves that no labelled
    row reaches.

    Parameters
    ----------
    mu_labeled : tensor of shape (n_labeled, n_trees, n_leaves)
        Leaf probabilities of labelled rows, from `NeuralForest`.
    y : int64 tensor of shape (n_labeled,)
        Class codes 0, 1, ... of labelled rows.
    mu_unlabeled : tensor of shape (n_unlabeled, n_trees, n_leaves) or None
        Leaf probabilities of unlabelled rows. None puts the labelled rows in their place: with
        ``theta=0`` the loss is the Gini impurity of a plain neural forest.
    theta : float or tensor
        Share of new rows among unlabelled ones, in [0, 1].
    n_classes : int, optional
        Number of known classes; by default one more than the highest code in `y`. Pass it if the
        function is compiled.
    reduction : {"mean", "none"}, default="mean"
        "mean" is the mean over trees, as in the paper's objective; "none" returns one loss per
        tree.
    sample_weight : tensor of shape (n_labeled,), optional
        Weights of labelled rows in the shares; 1 by default.
    memory : LeafMemory, optional
        Running shares, which take the place of those of the batch and are updated by them.

    Returns
    -------
    tensor
        A scalar, or of shape (n_trees,).

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
    is_closed = mu_unlabeled is None
    if mu_unlabeled is None:
        mu_unlabeled = mu_labeled
    _check_masses(mu_labeled, y, mu_unlabeled, sample_weight)
    _check_theta(theta)
    if reduction not in ("mean", "none"):
        raise ValueError(f'reduction must be "mean" or "none", got {reduction!r}')
    if mu_labeled.dtype in (torch.float16, torch.bfloat16):
        mu_labeled, mu_unlabeled = mu_labeled.float(), mu_unlabeled.float()
    if n_classes is None:
        n_classes = int(y.max()) + 1
    # Autocast would compute the sums of masses in half precision.
    with torch.autocast(mu_labeled.device.type, enabled=False):
        classes = class_masses(mu_labeled, y, n_classes, sample_weight)
        classes = classes / (
            mu_labeled.shape[0] if sample_weight is None else total_weight(sample_weight)
        )
        # Labelled rows in the place of unlabelled ones keep their weights.
        is_weighted = is_closed and sample_weight is not None
        omega = classes.sum(dim=0) if is_weighted else mu_unlabeled.mean(dim=0)
        if memory is not None:
            classes, omega = memory(classes, omega)
        losses: Tensor = (omega * augmented_gini(classes, omega, theta)).sum(dim=-1)
    return losses.mean() if reduction == "mean" else losses


class LossParts(NamedTuple):
    """The loss and its two terms.

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
    memory : LeafMemory, optional
        Running shares for small batches.

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

    def __init__(
        self,
        theta: float,
        n_classes: int,
        lambda_ce: float = 1.0,
        memory: LeafMemory | None = None,
    ) -> None:
        super().__init__()
        _check_theta(theta)
        self.memory = memory
        self.theta = theta
        self.n_classes = n_classes
        self.lambda_ce = lambda_ce

    def parts(
        self,
        mu_labeled: Tensor,
        y: Tensor,
        mu_unlabeled: Tensor | None,
        logits: Tensor,
        sample_weight: Tensor | None = None,
    ) -> LossParts:
        """The loss with its terms, as the named tuple (total, gini, cross_entropy).

        Parameters
        ----------
        mu_labeled, y, mu_unlabeled, logits, sample_weight
            As in `forward`.
        """
        gini = augmented_gini_loss(
            mu_labeled,
            y,
            mu_unlabeled,
            self.theta,
            self.n_classes,
            sample_weight=sample_weight,
            memory=self.memory,
        )
        wide = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
        if sample_weight is None:
            cross_entropy = functional.cross_entropy(wide, y)
        else:
            of_rows = functional.cross_entropy(wide, y, reduction="none")
            cross_entropy = (of_rows * sample_weight).sum() / total_weight(sample_weight)
        return LossParts(gini + self.lambda_ce * cross_entropy, gini, cross_entropy)

    def forward(
        self,
        mu_labeled: Tensor,
        y: Tensor,
        mu_unlabeled: Tensor | None,
        logits: Tensor,
        sample_weight: Tensor | None = None,
    ) -> Tensor:
        """The loss of a batch.

        Parameters
        ----------
        mu_labeled, y, mu_unlabeled
            As in `augmented_gini_loss`.
        logits : tensor of shape (n_labeled, n_classes)
            Outputs of the auxiliary predictor for labelled rows, before the softmax.
        sample_weight : tensor of shape (n_labeled,), optional
            Weights of labelled rows in both terms; 1 by default.

        Returns
        -------
        tensor
            A scalar.
        """
        return self.parts(mu_labeled, y, mu_unlabeled, logits, sample_weight).total

    def extra_repr(self) -> str:
        """The arguments that `repr` shows."""
        return f"theta={self.theta}, n_classes={self.n_classes}, lambda_ce={self.lambda_ce}"
