"""Deep-EULAC: one network output per class against the rest, by a non-negative unbiased risk."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from torch import nn

from lacforest.neural._network_rows import NetworkRows
from lacforest.neural._objective import Objective
from lacforest.neural._settings import check_name
from lacforest.neural.baselines._method import NewClassMethod
from lacforest.neural.baselines._risks import NonNegativeRisk

LOSSES = ("logistic", "sigmoid")


class DeepEULACClassifier(NewClassMethod):
    """Network with an output for the new class, trained on EULAC's risk [1]_.

    The risk sums binary losses of each class against the rest. Its part of new rows is kept from
    falling below zero: where it is negative in a batch, the step increases it. Without unlabelled
    rows it is a network of the known classes.

    Parameters
    ----------
    loss : {"logistic", "sigmoid"}, default="logistic"
        Binary loss: logistic on the outputs, or, as in a public program, sigmoid on the softmax of
        the outputs scaled to [-1, 1]. With the latter, training may collapse to "all new".
    <deployment parameters>
    <training parameters>

    Attributes
    ----------
    <attributes of a risk>

    References
    ----------
    .. [1] Y.-J. Zhang, P. Zhao, L. Ma and Z.-H. Zhou, "An Unbiased Risk Estimator for Learning with
       Augmented Classes", NeurIPS 2020.
    """

    # Settings of a public program: the authors' own are not published.
    _PAPER_TABLE: ClassVar[dict[str, Any]] = {
        "known_shares": "labeled",
        "loss": "sigmoid",
        "batch_norm": False,
        "epochs": 400,
        "batch_size": 500,
        "learning_rate": 1e-5,
        "final_learning_rate": 1e-5,
        "weight_decay": 5e-3,
        "precision": "float32",
    }

    def __init__(
        self, *, loss: Literal["logistic", "sigmoid"] = "logistic", **training: Any
    ) -> None:
        super().__init__(**training)
        self.loss = loss

    def _check_parameters(self) -> None:
        check_name("loss", self.loss, LOSSES)
        super()._check_parameters()

    def _objective(self, module: nn.Module, rows: NetworkRows) -> Objective:
        return NonNegativeRisk(rows.theta, self.loss)
