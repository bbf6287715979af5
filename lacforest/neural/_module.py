"""DeepForest: encoder, trees and auxiliary predictor as one module."""

from __future__ import annotations

from torch import Tensor, nn

from lacforest.neural._encoders import MLPEncoder
from lacforest.neural._forest import NeuralForest


def encode(encoder: nn.Module, rows: Tensor) -> Tensor:
    """Flattened features of rows. Only the encoder of tables takes float64."""
    given = rows if isinstance(encoder, MLPEncoder) else rows.float()
    features: Tensor = encoder(given)
    return features.flatten(1)


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
        self.n_features = n_features
        self.forest = NeuralForest(n_features, n_trees, depth)
        self.head = nn.Linear(n_features, n_classes)

    def features(self, rows: Tensor) -> Tensor:
        """h(x), flattened."""
        return encode(self.encoder, rows)

    def forward(self, rows: Tensor) -> Tensor:
        """Leaf probabilities of rows, of shape (n_rows, n_trees, n_leaves)."""
        mu: Tensor = self.forest(self.features(rows))
        return mu


class EncoderWithHead(nn.Module):
    """An encoder, and a layer that turns its features into one output per class.

    Parameters
    ----------
    encoder : torch.nn.Module
        Its output is flattened to a feature vector.
    n_features : int
        Length of that vector.
    head : torch.nn.Module
        Takes feature vectors.
    """

    def __init__(self, encoder: nn.Module, n_features: int, head: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.n_features = n_features
        self.head = head

    def features(self, rows: Tensor) -> Tensor:
        """Features of rows, flattened."""
        return encode(self.encoder, rows)

    def forward(self, rows: Tensor) -> Tensor:
        """Outputs for rows, of shape (n_rows, n_outputs)."""
        outputs: Tensor = self.head(self.features(rows))
        return outputs
