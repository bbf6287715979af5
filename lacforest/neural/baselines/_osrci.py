"""OSRCI: counterfactual rows, near known ones but of no class, train the probability of "new"."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from lacforest._input.parameters import check_int
from lacforest.neural._evaluation import predict_logits
from lacforest.neural._network_rows import NetworkRows
from lacforest.neural._objective import Batch, Objective, wide
from lacforest.neural._rows import Rows
from lacforest.neural.baselines._generation import (
    RowAutoencoder,
    check_generator,
    latent_batches,
    on_sphere,
    train_generator,
)
from lacforest.neural.baselines._generative import GenerativeMethod
from lacforest.neural.baselines._gopenmax import with_generated
from lacforest.neural.baselines._method import softmax
from lacforest.neural.baselines._tuning import tune

_OF_STARTS = 2**32 - 5
_STEP = 0.1


def append_zero(logits: Tensor) -> Tensor:
    """Logits with an output for "new" that is always zero."""
    return functional.pad(wide(logits), (0, 1))


class OneVersusRestObjective(Objective):
    """Mean logistic loss of each output against the rest."""

    def forward(self, module: Any, batch: Batch) -> dict[str, Tensor]:
        logits, _ = batch.split(wide(module(batch.rows)))
        sign = 2.0 * functional.one_hot(batch.codes, logits.shape[1]) - 1.0
        return {"loss": batch.mean(functional.softplus(-sign * logits).mean(dim=1))}


class ZeroLogitObjective(Objective):
    """Cross entropy with a zero logit for "new", whose code is the number of outputs."""

    def forward(self, module: Any, batch: Batch) -> dict[str, Tensor]:
        logits, _ = batch.split(module(batch.rows))
        of_rows = functional.cross_entropy(append_zero(logits), batch.codes, reduction="none")
        return {"loss": batch.mean(of_rows)}


def counterfactual_loss(logits: Tensor, codes: Tensor, start: Tensor) -> Tensor:
    """Mean of -log P(new), plus the mean squared distance from where the codes started.

    The published program adds the sum of distances over the batch, but between means of 16 parts of
    a code. Codes here have one part, and the sum would hold them where they started.

    Parameters
    ----------
    logits : tensor of shape (n_rows, n_known)
    codes, start : tensors of shape (n_rows, latent_size)
    """
    of_new = torch.logsumexp(append_zero(logits), dim=1)
    distances = ((codes - start) ** 2).sum(dim=1)
    return of_new.mean() + distances.mean()


def make_counterfactuals(
    networks: RowAutoencoder,
    closed: nn.Module,
    rows: Rows,
    n_generated: int,
    n_steps: int,
    rng: np.random.Generator,
) -> Tensor:
    """Rows that are near known ones in latent space, but likely to be of no known class.

    Parameters
    ----------
    networks : RowAutoencoder
    closed : torch.nn.Module
        Returns logits of known classes.
    rows : Rows
    n_generated, n_steps : int
    rng : numpy Generator
    """
    device = next(networks.parameters()).device
    found, n_found = [], 0
    closed.eval()
    for start in latent_batches(networks, rows, rng, device):
        codes = start.clone()
        for _ in range(n_steps):
            codes.requires_grad_()
            loss = counterfactual_loss(closed(networks.decode(codes)), codes, start)
            (gradient,) = torch.autograd.grad(loss, codes)
            # The published program multiplies the step by the loss.
            codes = on_sphere(codes.detach() - _STEP * loss.detach() * gradient)
        with torch.no_grad():
            found.append(networks.decode(codes).cpu())
        n_found += len(codes)
        if n_found >= n_generated:
            break
    return torch.cat(found)[:n_generated]


class OSRCIClassifier(GenerativeMethod):
    """Open set recognition with counterfactual rows [1]_.

    After a network of the known classes, an autoencoder with an adversary is trained on the known
    rows. From latent codes of known rows, steps are taken towards rows that the network assigns to
    no class; the rows that are generated from there train the network to call them new. The novelty
    score is the probability of "new" minus the highest one of a known class; the label follows from
    a threshold, so there is no ``predict_proba``. Unlabelled rows are not used in training.

    Parameters
    ----------
    generator_epochs : int, default=10
        Passes of the generator through the labelled rows; published: 30.
    generator_rate : float, default=1e-3
        Learning rate of the generator's Adam; published: 1e-4.
    generator_channels : sequence of int, default=(32, 64)
        As in `GOpenMaxClassifier`.
    latent_size : int, default=64
        As in `GOpenMaxClassifier`.
    n_generated : int, default=3200
        Counterfactual rows.
    n_steps : int, default=50
        Steps in latent space per row.
    tuning_epochs : int, default=3
        Passes through known and counterfactual rows.
    tuning_rate : float, default=1e-3
        Learning rate of these passes, constant; published: 1e-5 with Adam.
    threshold : float, "known", "unlabeled" or "argmax", default="known"
        As in `SoftmaxThresholdClassifier`; with "argmax", a row is new if "new" is the likeliest.
    rejected : float in (0, 1], default=0.05
        As in `SoftmaxThresholdClassifier`.
    <training parameters>

    Attributes
    ----------
    generated_ : ndarray
        Counterfactual rows, in the shape of the rows.
    threshold_ : float
    module_ : torch.nn.Module
        The trained network: ``encoder`` and ``head``.
    history_, n_epochs_, best_epoch_, input_shape_ : as in `DeepLACForestClassifier`
    classes_, known_classes_, new_label_, new_class_index_ : as in `lacforest.LACForestClassifier`
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Checkpoints are those of the network of known classes; what follows is computed again, with the
    same result.

    References
    ----------
    .. [1] L. Neal, M. Olson, X. Fern, W.-K. Wong and F. Li, "Open Set Learning with Counterfactual
       Images", ECCV 2018.
    """

    _has_argmax = True
    _PAPER_TABLE: ClassVar[dict[str, Any]] = {
        "epochs": 30,
        "optimizer": "adam",
        "learning_rate": 1e-4,
        "final_learning_rate": 1e-4,
        "weight_decay": 0.0,
        "generator_epochs": 30,
        "generator_rate": 1e-4,
        "generator_channels": (64, 128, 128, 128),
        "latent_size": 1024,
        "n_steps": 100,
        "tuning_rate": 1e-5,
        "threshold": "argmax",
        "precision": "float32",
    }

    def __init__(self, *, n_steps: int = 50, **training: Any) -> None:
        super().__init__(**training)
        self.n_steps = n_steps

    def _check_parameters(self) -> None:
        check_int("n_steps", self.n_steps, 1)
        super()._check_parameters()

    def _objective(self, module: nn.Module, rows: NetworkRows) -> Objective:
        return OneVersusRestObjective()

    def _refine(
        self, module: nn.Module, rows: NetworkRows, entropy: list[int], device: torch.device
    ) -> nn.Module:
        networks = train_generator(rows.labeled, check_generator(self), entropy, device)
        rng = np.random.default_rng([*entropy, _OF_STARTS])
        generated = make_counterfactuals(
            networks, module, rows.labeled, int(self.n_generated), int(self.n_steps), rng
        )
        self.generated_ = generated.numpy()
        tune(self, module, ZeroLogitObjective(), with_generated(rows, generated), entropy, device)
        return module

    def _scores(
        self, rows: Rows, device: torch.device
    ) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
        logits = predict_logits(self.module_, rows, device)
        shares = softmax(np.column_stack([logits, np.zeros(len(logits))]))
        known = shares[:, :-1]
        novelty = shares[:, -1] - known.max(axis=1)
        return known.argmax(axis=1), novelty, novelty
