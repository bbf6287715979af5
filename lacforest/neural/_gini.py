"""Definition 2: class proportions of leaves, from masses of labelled and unlabelled rows.

Shares take the place of masses: with s = n_B / n they contain the factor n_u / n_l of the
definition, and batches of any size can be compared.
"""

from __future__ import annotations

import torch
from torch import Tensor


def least_share(dtype: torch.dtype) -> float:
    """Shares below this count as zero: one over its square is still a finite number of the type.

    This keeps gradients finite. The derivative of s_l / s_u contains 1 / s_u ** 2, and where that
    is infinite even a gradient of zero becomes NaN.
    """
    return float(torch.finfo(dtype).tiny ** (1 / 3))


def class_masses(mu: Tensor, y: Tensor, n_classes: int, weight: Tensor | None = None) -> Tensor:
    """Mass of each class in each leaf.

    Parameters
    ----------
    mu : tensor of shape (n_rows, n_trees, n_leaves)
    y : int64 tensor of shape (n_rows,)
        Class codes.
    n_classes : int
    weight : tensor of shape (n_rows,), optional

    Returns
    -------
    tensor of shape (n_classes, n_trees, n_leaves)
    """
    # A product with indicators, because adding by index has no fixed order on a GPU.
    member = (torch.arange(n_classes, device=y.device).unsqueeze(1) == y).to(mu.dtype)
    if weight is not None:
        member = member * weight.to(mu.dtype)
    return (member @ mu.flatten(1)).view(n_classes, *mu.shape[1:])


def total_weight(weight: Tensor) -> Tensor:
    """Sum of weights; positive even where all of them round to zero."""
    return weight.sum().clamp(min=torch.finfo(weight.dtype).tiny)


def new_share(labeled: Tensor, unlabeled: Tensor, theta: float | Tensor) -> Tensor:
    """vartheta_{B,k+1}: the estimated share of the new class in each leaf.

    Parameters
    ----------
    labeled, unlabeled : tensor
        Shares of all labelled and of all unlabelled rows that are in the leaf.
    theta : float or tensor
    """
    known = (1.0 - theta) * labeled / unlabeled.clamp(min=least_share(unlabeled.dtype))
    reached = unlabeled >= least_share(unlabeled.dtype)
    return torch.where(reached, (1.0 - known).clamp(min=0.0), 0.0)


def class_shares(classes: Tensor) -> Tensor:
    """Shares of known classes among the labelled rows of each leaf; zeros where there are none.

    Parameters
    ----------
    classes : tensor of shape (n_classes, ...)
        Shares of all labelled rows that are of a class and in a leaf.
    """
    labeled: Tensor = classes.sum(dim=0)
    return classes / labeled.clamp(min=least_share(classes.dtype))


def augmented_gini(classes: Tensor, unlabeled: Tensor, theta: float | Tensor) -> Tensor:
    """Augmented Gini impurity of each leaf (Definition 2).

    Parameters
    ----------
    classes : tensor of shape (n_classes, ...)
        Shares of all labelled rows that are of a class and in a leaf.
    unlabeled : tensor of shape (...)
        Shares of all unlabelled rows that are in a leaf.
    theta : float or tensor
    """
    new = new_share(classes.sum(dim=0), unlabeled, theta)
    known = (class_shares(classes) ** 2).sum(dim=0)
    return 1.0 - new**2 - (1.0 - new) ** 2 * known
