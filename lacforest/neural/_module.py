"""DeepForest: encoder, trees and auxiliary predictor as one module."""

from __future__ import annotations

from torch import Tensor, nn

from lacforest.neural._encoders import MLPEncoder
from lacforest.neural._forest import NeuralForest


class DeepForest(nn.Module):
    """An encoder h, the trees on its features, and the auxiliary linear predictor g.

    Everything that is trained is a parameter of this module.

    Parameters
    ----------
    encoder : torch.nn.Module
        Its output is flattened to a feature vector.
    n_features : int
        Length of that vector.
    n_classes : int
        Number of known classes.
    n_trees : int, default=3
    depth : int, default=6
        Layers of a tree.
    """

    def __init__(
        self, encoder: nn.Module, n_features: int, n_classes: int, n_trees: int = 3, depth: int = 6
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.forest = NeuralForest(n_features, n_trees, depth)
        self.head = nn.Linear(n_features, n_classes)

    def features(self, rows: Tensor) -> Tensor:
        """h(x), flattened. Only the encoder of tables knows what to do with float64."""
        given = rows if isinstance(self.encoder, MLPEncoder) else rows.float()
        features: Tensor = self.encoder(given)
        return features.flatten(1)

    def forward(self, rows: Tensor) -> Tensor:
        """Leaf probabilities of rows, of shape (n_rows, n_trees, n_leaves)."""
        mu: Tensor = self.forest(self.features(rows))
        return mu
