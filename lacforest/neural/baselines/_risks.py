"""Risks of known and new rows that are estimated without a label of a new row.

With pi = 1 - theta, a loss l(x, c) and "new" as the last class,

    A = pi mean_labelled l(x, y),
    B = mean_unlabelled l(x, new) - pi mean_labelled l(x, new).

A + B estimates the risk. B estimates that of new rows, which is not negative.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from lacforest.neural._objective import Batch, Objective, wide


class NewClassRisk(Objective):
    """Base of the risks; a subclass has a loss and a correction of negative parts.

    Parameters
    ----------
    theta : float
        Share of new rows among unlabelled ones.
    """

    def __init__(self, theta: float) -> None:
        super().__init__()
        self.theta = theta

    @abstractmethod
    def of_rows(self, logits: Tensor, codes: Tensor) -> Tensor:
        """l(x, c) of each row."""

    @abstractmethod
    def correct(self, risk_a: Tensor, risk_b: Tensor) -> Tensor:
        """What is minimised."""

    def forward(self, module: Any, batch: Batch) -> dict[str, Tensor]:
        """The corrected risk, and its two parts. Without unlabelled rows A is all."""
        labeled, unlabeled = batch.split(wide(module(batch.rows)))
        of_known = batch.mean(self.of_rows(labeled, batch.codes))
        if unlabeled is None:
            return {"loss": of_known}
        new = labeled.shape[1] - 1
        called_new = self.of_rows(labeled, torch.full_like(batch.codes, new))
        codes = torch.full((len(unlabeled),), new, device=unlabeled.device)
        risk_a = (1.0 - self.theta) * of_known
        risk_b = self.of_rows(unlabeled, codes).mean() - (1.0 - self.theta) * batch.mean(called_new)
        return {
            "loss": self.correct(risk_a, risk_b),
            "known_risk": risk_a,
            "new_risk": risk_b,
        }


class PenalisedBatchRisk(NewClassRisk):
    """Risk of GLAC: generalised cross entropy (1 - p^q) / q, and a penalty where B is negative.

    Parameters
    ----------
    theta : float
    q : float in (0, 1]
    penalty : float
    power : float
    """

    def __init__(self, theta: float, q: float, penalty: float, power: float) -> None:
        super().__init__(theta)
        self.q, self.penalty, self.power = q, penalty, power

    def of_rows(self, logits: Tensor, codes: Tensor) -> Tensor:
        logarithms = -functional.cross_entropy(logits, codes, reduction="none")
        # By logarithms: the derivative of p ** q is infinite at 0.
        return -torch.expm1(self.q * logarithms) / self.q

    def correct(self, risk_a: Tensor, risk_b: Tensor) -> Tensor:
        return risk_a + risk_b + self.penalty * (-risk_b).clamp(min=0.0) ** self.power


class NonNegativeRisk(NewClassRisk):
    """Risk of EULAC: sums of binary losses, one class against the rest.

    Where B is negative, the step increases B and leaves A aside.

    Parameters
    ----------
    theta : float
    loss : {"logistic", "sigmoid"}
    """

    def __init__(self, theta: float, loss: str) -> None:
        super().__init__(theta)
        self.loss = loss

    def of_rows(self, logits: Tensor, codes: Tensor) -> Tensor:
        sign = 2.0 * functional.one_hot(codes, logits.shape[1]) - 1.0
        if self.loss == "logistic":
            return functional.softplus(-sign * logits).sum(dim=1)
        margins = 2.0 * logits.softmax(dim=1) - 1.0
        return torch.sigmoid(-sign * margins).sum(dim=1)

    def correct(self, risk_a: Tensor, risk_b: Tensor) -> Tensor:
        return torch.where(risk_b < 0, -risk_b, risk_a + risk_b)
