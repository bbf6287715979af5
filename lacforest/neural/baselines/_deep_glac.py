"""Deep-GLAC: a network of known classes and the new one, by a penalised unbiased risk."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import nn

from lacforest.neural._network_rows import NetworkRows
from lacforest.neural._objective import Objective
from lacforest.neural._settings import check_real
from lacforest.neural.baselines._method import NewClassMethod
from lacforest.neural.baselines._risks import PenalisedBatchRisk


class DeepGLACClassifier(NewClassMethod):
    """Network with an output for the new class, trained on GLAC's penalised risk [1]_.

    `lacforest.baselines.GLACClassifier` is the same with a linear model. Without unlabelled rows it
    is a network of the known classes.

    Parameters
    ----------
    q : float in (0, 1], default=0.7
        Generalised cross entropy ``(1 - p ** q) / q``: towards 0 it is cross entropy, at 1 it is
        ``1 - p``.
    penalty : float, default=1.0
        Weight of the penalty on a negative risk of new rows.
    penalty_power : float, default=3.0
        Power of the negative part in the penalty, at least 1. Defaults are the authors' for MNIST.
    <deployment parameters>
    <training parameters>

    Attributes
    ----------
    <attributes of a risk>

    References
    ----------
    .. [1] S. Shu, S. He, H. Wang, H. Wei, T. Xiang and L. Feng, "A Generalized Unbiased Risk
       Estimator for Learning with Augmented Classes", AAAI 2023.
    """

    _PAPER_TABLE: ClassVar[dict[str, Any]] = {
        "known_shares": "labeled",
        "batch_norm": False,
        "epochs": 200,
        "batch_size": 500,
        "learning_rate": 1e-4,
        "final_learning_rate": 1e-4,
        "weight_decay": 1e-3,
        "precision": "float32",
    }

    def __init__(
        self,
        *,
        q: float = 0.7,
        penalty: float = 1.0,
        penalty_power: float = 3.0,
        **training: Any,
    ) -> None:
        super().__init__(**training)
        self.q = q
        self.penalty = penalty
        self.penalty_power = penalty_power

    def _check_parameters(self) -> None:
        check_real("q", self.q, 0.0, 1.0, low_allowed=False)
        check_real("penalty", self.penalty, 0.0)
        check_real("penalty_power", self.penalty_power, 1.0)
        super()._check_parameters()

    def _objective(self, module: nn.Module, rows: NetworkRows) -> Objective:
        return PenalisedBatchRisk(
            rows.theta, float(self.q), float(self.penalty), float(self.penalty_power)
        )
