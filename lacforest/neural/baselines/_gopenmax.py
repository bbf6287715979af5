"""G-OpenMax: generated rows between the classes train an output for the new class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lacforest.neural._module import EncoderWithHead
from lacforest.neural._network_rows import NetworkRows
from lacforest.neural._objective import CrossEntropyObjective
from lacforest.neural._rows import Rows, StackedRows, TensorRows
from lacforest.neural.baselines._generation import (
    GeneratorOptions,
    RowAutoencoder,
    check_generator,
    latent_batches,
    on_sphere,
    train_generator,
)
from lacforest.neural.baselines._generative import GenerativeMethod
from lacforest.neural.baselines._openmax import OpenMaxMethod
from lacforest.neural.baselines._tuning import tune

_OF_MIXTURES = 2**32 - 4
# Batches of mixtures per wanted row before the least certain ones are taken instead.
_PATIENCE = 4


def mix_rows(
    networks: RowAutoencoder,
    closed: nn.Module,
    rows: Rows,
    n_generated: int,
    rng: np.random.Generator,
) -> Tensor:
    """Rows between random pairs of known rows about which a network of known classes is undecided.

    Latent codes of two rows are mixed by a uniform share. Rows whose highest probability is below
    one half are kept; if these are too few, the least certain others are added.

    Parameters
    ----------
    networks : RowAutoencoder
    closed : torch.nn.Module
        Returns logits of known classes.
    rows : Rows
    n_generated : int
    rng : numpy Generator
    """
    device = next(networks.parameters()).device
    batches = latent_batches(networks, rows, rng, device)
    kept, certainty, n_found, n_seen = [], [], 0, 0
    closed.eval()
    while n_found < n_generated and n_seen < _PATIENCE * n_generated:
        codes = next(batches)
        others = codes[torch.from_numpy(rng.permutation(len(codes))).to(device)]
        share = torch.from_numpy(rng.random((len(codes), 1))).to(codes)
        with torch.no_grad():
            mixed = networks.decode(on_sphere(share * codes + (1.0 - share) * others))
            highest = closed(mixed).softmax(dim=1).amax(dim=1)
        kept.append(mixed.cpu())
        certainty.append(highest.cpu())
        n_found += int((highest < 0.5).sum())
        n_seen += len(mixed)
    order = torch.cat(certainty).argsort(stable=True)
    return torch.cat(kept)[order[:n_generated]]


class GOpenMaxClassifier(GenerativeMethod, OpenMaxMethod):
    """OpenMax with an output for generated rows, which stand for the new class [1]_.

    After a network of the known classes, an autoencoder with an adversary is trained on the known
    rows. Latent codes of two rows are mixed; the generated rows about which the network is
    undecided train one more output. OpenMax then revises all outputs. The novelty score is one
    minus the highest probability of a known class; it is no probability of the new class, so there
    is no ``predict_proba``. Unlabelled rows are not used in training.

    Parameters
    ----------
    generator_epochs : int, default=10
        Passes of the generator through the labelled rows.
    generator_rate : float, default=1e-3
        Learning rate of the generator's Adam.
    generator_channels : sequence of int, default=(32, 64)
        Channels of the generator's layers, each of which halves the image; published: (64, 128,
        128, 128). Tables have one hidden layer instead.
    latent_size : int, default=64
        Length of a latent code; published: 1024.
    n_generated : int, default=3200
        Generated rows.
    tuning_epochs : int, default=3
        Passes through known and generated rows that train the new output.
    tuning_rate : float, default=1e-2
        Learning rate of these passes, constant.
    tail_size : int, default=20
        Rows per class that the Weibull law is fitted to.
    alpha : int, default=11
        Highest outputs that are revised, at most one more than the known classes.
    distance : {"euclidean", "eucos"}, default="euclidean"
        As in `OpenMaxClassifier`.
    threshold : float, "known", "unlabeled" or "argmax", default="known"
        As in `OpenMaxClassifier`.
    rejected : float in (0, 1], default=0.05
        As in `SoftmaxThresholdClassifier`.
    <training parameters>

    Attributes
    ----------
    generated_ : ndarray
        Generated rows, in the shape of the rows.
    threshold_, tails_ : as in `OpenMaxClassifier`
    module_ : torch.nn.Module
        The trained network: ``encoder`` and ``head``, whose last output is that of generated rows.
    history_, n_epochs_, best_epoch_, input_shape_ : as in `DeepLACForestClassifier`
    classes_, known_classes_, new_label_, new_class_index_ : as in `lacforest.LACForestClassifier`
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    No program of the authors is public. Mixtures of latent codes follow a later reimplementation.
    Checkpoints are those of the network of known classes; what follows is computed again, with the
    same result.

    References
    ----------
    .. [1] Z. Ge, S. Demyanov, Z. Chen and R. Garnavi, "Generative OpenMax for Multi-Class Open Set
       Classification", BMVC 2017.
    """

    _PAPER_TABLE: ClassVar[dict[str, Any]] = {
        "epochs": 50,
        "optimizer": "adam",
        "learning_rate": 1e-3,
        "batch_size": 512,
        "generator_epochs": 30,
        "generator_rate": 1e-4,
        "generator_channels": (64, 128, 128, 128),
        "latent_size": 1024,
        "distance": "eucos",
        "precision": "float32",
    }

    def __init__(self, *, tuning_rate: float = 1e-2, alpha: int = 11, **training: Any) -> None:
        super().__init__(tuning_rate=tuning_rate, alpha=alpha, **training)

    def _refine(
        self, module: Any, rows: NetworkRows, entropy: list[int], device: torch.device
    ) -> nn.Module:
        options: GeneratorOptions = check_generator(self)
        networks = train_generator(rows.labeled, options, entropy, device)
        rng = np.random.default_rng([*entropy, _OF_MIXTURES])
        generated = mix_rows(networks, module, rows.labeled, int(self.n_generated), rng)
        self.generated_ = generated.numpy()
        n_known = rows.n_classes
        head = nn.Linear(module.n_features, n_known + 1)
        with torch.no_grad():
            head.weight[:n_known] = module.head.weight
            head.bias[:n_known] = module.head.bias
        extended = EncoderWithHead(module.encoder, module.n_features, head).to(device)
        self._extended = with_generated(rows, generated)
        tune(self, extended, CrossEntropyObjective(), self._extended, entropy, device)
        return extended

    def _prepare_scores(self, rows: NetworkRows, device: torch.device) -> None:
        super()._prepare_scores(self._extended, device)
        del self._extended

    def _assemble_fitted(self, encoder: nn.Module, n_features: int, n_known: int) -> nn.Module:
        return self._assemble(encoder, n_features, n_known + 1)

    def _n_outputs(self, n_known: int) -> int:
        return n_known + 1

    def _scores(
        self, rows: Rows, device: torch.device
    ) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
        shares = self._revised_shares(rows, device)
        known, new = shares[:, 1:-1], np.maximum(shares[:, 0], shares[:, -1])
        highest = known.max(axis=1)
        return known.argmax(axis=1), 1.0 - highest, new - highest


def with_generated(rows: NetworkRows, generated: Tensor) -> NetworkRows:
    """Labelled rows and generated ones, which have weight 1 and are coded as one class more."""
    codes = torch.full((len(generated),), rows.n_classes)
    weight = rows.weight
    if weight is not None:
        weight = torch.cat([weight, torch.ones(len(generated)).to(weight)])
    return replace(
        rows,
        labeled=StackedRows(rows.labeled, TensorRows(generated)),
        codes=torch.cat([rows.codes, codes]),
        weight=weight,
    )
