"""NeuralForest: soft routing of feature vectors through complete binary trees."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from lacforest._input.parameters import check_int

# Logits that vary less come from features that are the same in every row, and are not scaled.
_LEAST_DEVIATION = 1e-3


class NeuralForest(nn.Module):
    r"""Complete binary trees with soft splits: features in, leaf probabilities out (Section 4.1).

    Node i of a tree sends a row with features h to its left child with probability
    :math:`f_i = \mathrm{sigmoid}(w_i \cdot h + b_i)`, and to the right one otherwise. The
    probability that the row ends in a leaf B is the product along the path, :math:`\mu_B`.

    One matrix product computes all nodes of all trees. Paths are then summed level by level in log
    space, in float32 or float64 for any type of features, so that deep trees neither underflow nor
    lose the small side of a split to rounding. Time and memory are proportional to trees times
    leaves.

    Parameters
    ----------
    n_features : int
        Length of a feature vector.
    n_trees : int, default=3
        m in the paper.
    depth : int, default=6
        Layers of a tree, l in the paper: ``2 ** (depth - 1) - 1`` inner nodes and
        ``2 ** (depth - 1)`` leaves.

    Attributes
    ----------
    linear : torch.nn.Linear
        The weights w and biases b of all nodes, tree by tree; the nodes of a tree in the order of
        levels, from left to right.

    Notes
    -----
    The paper numbers leaves from t + 1 to 2t + 2, with t = 2^(l - 1) - 1 inner nodes. That is one
    leaf too many: a complete binary tree with t inner nodes has t + 1 leaves.

    Examples
    --------
    >>> import torch
    >>> from lacforest.neural import NeuralForest
    >>> forest = NeuralForest(n_features=4, n_trees=2, depth=3)
    >>> mu = forest(torch.ones(5, 4))
    >>> mu.shape, bool(torch.allclose(mu.sum(dim=-1), torch.tensor(1.0)))
    (torch.Size([5, 2, 4]), True)
    """

    def __init__(self, n_features: int, n_trees: int = 3, depth: int = 6) -> None:
        super().__init__()
        check_int("n_features", n_features, 1)
        check_int("n_trees", n_trees, 1)
        check_int("depth", depth, 2)
        self.n_features = int(n_features)
        self.n_trees = int(n_trees)
        self.depth = int(depth)
        self.linear = nn.Linear(self.n_features, self.n_trees * self.n_nodes)
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    @property
    def n_nodes(self) -> int:
        """Inner nodes of a tree, t in the paper."""
        return self.n_leaves - 1

    @property
    def n_leaves(self) -> int:
        """Leaves of a tree."""
        return 1 << (self.depth - 1)

    @torch.no_grad()
    def spread(self, features: Tensor) -> None:
        """Scale the weights so that the logits of each node have mean 0 and deviation 1.

        With logits close to zero every row reaches all leaves with the same probability, and the
        impurity has almost no gradient: training would begin with a long plateau.

        Parameters
        ----------
        features : tensor of shape (n_rows, n_features)
            Features of some rows before training.
        """
        logits = self.linear(features)
        scale = 1.0 / logits.std(dim=0, correction=0).clamp(min=_LEAST_DEVIATION)
        self.linear.weight.mul_(scale.unsqueeze(1))
        self.linear.bias.sub_(logits.mean(dim=0)).mul_(scale)

    def log_leaf_probabilities(self, features: Tensor) -> Tensor:
        """Logarithm of the probabilities that `forward` returns."""
        # Rows are the last dimension from here on, so that a level is contiguous in memory.
        logits = torch.addmm(self.linear.bias.unsqueeze(1), self.linear.weight, features.t())
        wide = logits if logits.dtype == torch.float64 else logits.float()
        return route(wide.view(self.n_trees, self.n_nodes, -1), self.depth).permute(2, 0, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Probabilities of leaves.

        Parameters
        ----------
        features : tensor of shape (n_rows, n_features)

        Returns
        -------
        tensor of shape (n_rows, n_trees, n_leaves)
            Leaves from left to right. float64 for float64 features, float32 for all others.
        """
        return self.log_leaf_probabilities(features).exp()

    def extra_repr(self) -> str:
        """The sizes that `repr` shows."""
        return f"n_trees={self.n_trees}, depth={self.depth}, n_leaves={self.n_leaves}"


def route(logits: Tensor, depth: int) -> Tensor:
    """Log-probabilities of leaves from the logits of nodes.

    Parameters
    ----------
    logits : tensor of shape (n_trees, 2 ** (depth - 1) - 1, n_rows)
        Logits of going left, nodes in the order of levels.
    depth : int

    Returns
    -------
    tensor of shape (n_trees, 2 ** (depth - 1), n_rows)
    """
    # Split the levels instead of slicing them: the gradient of each slice would be a full table.
    sizes = [1 << level for level in range(depth - 1)]
    go_left = functional.logsigmoid(logits).split(sizes, dim=1)
    go_right = functional.logsigmoid(-logits).split(sizes, dim=1)
    paths = logits.new_zeros(1, 1, 1)
    for left, right in zip(go_left, go_right, strict=True):
        paths = torch.stack([paths + left, paths + right], dim=2).flatten(1, 2)
    return paths
