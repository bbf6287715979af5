"""ARPL: known classes are far from points that stand for everything else."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from lacforest.neural._evaluation import predict_logits
from lacforest.neural._module import EncoderWithHead
from lacforest.neural._network_rows import NetworkRows
from lacforest.neural._objective import Batch, Objective, wide
from lacforest.neural._randomness import seed_generators
from lacforest.neural._rows import Rows
from lacforest.neural._settings import check_bool, check_real
from lacforest.neural.baselines._confusing import ConfusingSamples
from lacforest.neural.baselines._generative import check_generated
from lacforest.neural.baselines._method import ThresholdMethod

# A number beyond any epoch, to seed the rows that are kept.
_OF_SAMPLES = 2**32 - 7
_N_SAMPLES = 256


class ReciprocalPoints(nn.Module):
    """One point per class that stands for what is not in the class.

    Parameters
    ----------
    n_features, n_classes : int

    Attributes
    ----------
    points : parameter of shape (n_classes, n_features)
    radius : parameter of shape (1,)
    """

    def __init__(self, n_features: int, n_classes: int) -> None:
        super().__init__()
        self.points = nn.Parameter(0.1 * torch.randn(n_classes, n_features))
        self.radius = nn.Parameter(torch.zeros(1))

    def squared_distances(self, features: Tensor) -> Tensor:
        """Mean over features of squared differences from each point."""
        features = wide(features)
        with torch.autocast(features.device.type, enabled=False):
            of_rows = (features**2).mean(dim=1, keepdim=True)
            products = features @ self.points.T / features.shape[1]
            return of_rows - 2.0 * products + (self.points**2).mean(dim=1)

    def forward(self, features: Tensor) -> Tensor:
        """Logits: squared distance minus product. Farther from a point means more of its class."""
        features = wide(features)
        with torch.autocast(features.device.type, enabled=False):
            return self.squared_distances(features) - features @ self.points.T


class ReciprocalObjective(Objective):
    """Cross entropy, and a hinge that keeps known rows within a radius of their point.

    Parameters
    ----------
    weight : float
        Of the hinge.
    temperature : float
    confusing : ConfusingSamples or None
    """

    def __init__(
        self, weight: float, temperature: float, confusing: ConfusingSamples | None
    ) -> None:
        super().__init__()
        self.weight, self.temperature = weight, temperature
        # In a tuple, because its networks have an optimiser of their own.
        self._confusing = (confusing,)

    def forward(self, module: Any, batch: Batch) -> dict[str, Tensor]:
        features, _ = batch.split(module.features(batch.rows))
        head = module.head
        entropy = functional.cross_entropy(
            head(features) / self.temperature, batch.codes, reduction="none"
        )
        own = head.squared_distances(features).gather(1, batch.codes[:, None])[:, 0]
        hinge = (own - head.radius + 1.0).clamp(min=0.0)
        parts = {"cross_entropy": batch.mean(entropy), "hinge": batch.mean(hinge)}
        loss = parts["cross_entropy"] + self.weight * parts["hinge"]
        (confusing,) = self._confusing
        if confusing is not None:
            parts["confusion"] = confusing.confusion(module, batch)
            loss = loss + confusing.weight * parts["confusion"]
        return {"loss": loss, **parts}

    def after_step(self) -> None:
        (confusing,) = self._confusing
        if confusing is not None:
            confusing.step()

    def extra_tensors(self) -> dict[str, Tensor]:
        (confusing,) = self._confusing
        return {} if confusing is None else confusing.tensors()

    def load_extra_tensors(self, tensors: dict[str, Tensor]) -> None:
        (confusing,) = self._confusing
        if confusing is not None:
            confusing.load(tensors)


class ARPLClassifier(ThresholdMethod):
    """Adversarial reciprocal point learning, with or without confusing samples [1]_.

    A reciprocal point of each class stands for what is not in the class; known rows are pushed away
    from the point of their class, but not farther than a learned radius. The novelty score is minus
    the highest logit. It is no probability, so there is no ``predict_proba``. Unlabelled rows are
    not used in training.

    Parameters
    ----------
    hinge_weight : float, default=0.1
        Weight of the bound on the distance.
    temperature : float, default=1.0
        Divides logits in the cross entropy.
    confusing_samples : bool, default=False
        Train a generator of rows that no class claims, and train the network to be undecided about
        them (ARPL+CS).
    confusion_weight : float, default=0.1
        Weight of the indecision.
    threshold : float, "known" or "unlabeled", default="known"
        As in `SoftmaxThresholdClassifier`.
    rejected : float in (0, 1], default=0.05
        As in `SoftmaxThresholdClassifier`.
    <training parameters>

    Attributes
    ----------
    threshold_ : float
    generated_ : ndarray or None
        With `confusing_samples`, 256 generated rows after the last epoch, in the shape of the rows.
    module_ : torch.nn.Module
        The trained network: ``encoder`` and ``head``, which has the points.
    history_ : dict of list
        ``learning_rate``, ``loss``, ``cross_entropy``, ``hinge`` and, with confusing samples,
        ``confusion``; one entry per epoch.
    n_epochs_, best_epoch_, input_shape_ : as in `DeepLACForestClassifier`
    classes_, known_classes_, new_label_, new_class_index_ : as in `lacforest.LACForestClassifier`
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    In the original, generated rows have batch normalisation layers of their own. Here they share
    the layers but do not enter the running statistics, and both kinds of steps are taken in one
    pass.

    References
    ----------
    .. [1] G. Chen, P. Peng, X. Wang and Y. Tian, "Adversarial Reciprocal Points Learning for Open
       Set Recognition", IEEE TPAMI 44, 2022.
    """

    _DEFAULTS: ClassVar[dict[str, Any]] = {"weight_decay": 1e-4}
    _PAPER_TABLE: ClassVar[dict[str, Any]] = {"epochs": 100, "precision": "float32"}

    def __init__(
        self,
        *,
        hinge_weight: float = 0.1,
        temperature: float = 1.0,
        confusing_samples: bool = False,
        confusion_weight: float = 0.1,
        **training: Any,
    ) -> None:
        super().__init__(**training)
        self.hinge_weight = hinge_weight
        self.temperature = temperature
        self.confusing_samples = confusing_samples
        self.confusion_weight = confusion_weight

    def _check_parameters(self) -> None:
        check_real("hinge_weight", self.hinge_weight, 0.0)
        check_real("temperature", self.temperature, 0.0, low_allowed=False)
        check_bool("confusing_samples", self.confusing_samples)
        check_real("confusion_weight", self.confusion_weight, 0.0)
        super()._check_parameters()

    def _assemble(self, encoder: nn.Module, n_features: int, n_known: int) -> nn.Module:
        return EncoderWithHead(encoder, n_features, ReciprocalPoints(n_features, n_known))

    def _objective(self, module: nn.Module, rows: NetworkRows) -> Objective:
        self._confusing = None
        if self.confusing_samples:
            device = next(module.parameters()).device
            self._confusing = ConfusingSamples(rows.labeled, float(self.confusion_weight), device)
        return ReciprocalObjective(
            float(self.hinge_weight), float(self.temperature), self._confusing
        )

    def _refine(
        self, module: nn.Module, rows: NetworkRows, entropy: list[int], device: torch.device
    ) -> nn.Module:
        confusing = self._confusing
        del self._confusing
        self.generated_: NDArray[Any] | None = None
        if confusing is not None:
            seed_generators(device, [*entropy, _OF_SAMPLES])
            self.generated_ = confusing.samples(_N_SAMPLES).numpy()
        return module

    def _tensors(self) -> dict[str, NDArray[Any]]:
        generated = {} if self.generated_ is None else {"generated": self.generated_}
        return super()._tensors() | generated

    def _restore_tensors(self, tensors: dict[str, NDArray[Any]], n_known: int) -> None:
        super()._restore_tensors(tensors, n_known)
        generated = tensors.get("generated")
        self.generated_ = (
            None if generated is None else check_generated(generated, self.input_shape_)
        )

    def _scores(
        self, rows: Rows, device: torch.device
    ) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
        logits = predict_logits(self.module_, rows, device)
        novelty = -logits.max(axis=1)
        return logits.argmax(axis=1), novelty, novelty
