"""The risk of GLAC: an unbiased estimate of the test risk, kept from falling below zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class PenalisedRisk:
    """Generalised cross entropy over known and unlabelled rows, with a penalty.

    For rows x and a class c let l(x, c) = (1 - p_c^q) / q, with p the softmax of the logits. With
    pi = 1 - theta, "new" as the last class, and means over labelled rows that are weighted,

        A = pi mean_labelled l(x, y),
        B = mean_unlabelled l(x, new) - pi mean_labelled l(x, new).

    B estimates the risk of new rows, which is not negative. The risk is A + B, and where B < 0
    it is A + B + penalty * (-B)^power.

    Attributes
    ----------
    y : int array of shape (n_labeled,)
        Class codes of the first rows; all others are unlabelled.
    weight : float64 array of shape (n_labeled,)
    known_share : float
        pi.
    q, penalty, power : float
    """

    y: NDArray[np.intp]
    weight: NDArray[np.float64]
    known_share: float
    q: float
    penalty: float
    power: float

    def __call__(self, logits: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """The risk and its gradient with respect to the logits.

        The gradient of l(x, c) is p_c^q (p - e_c).
        """
        n_labeled = len(self.y)
        n_unlabeled = len(logits) - n_labeled
        p = softmax(logits)
        rows = np.arange(n_labeled)
        of_own = p[rows, self.y] ** self.q
        total_weight = self.weight.sum()
        risk_a = self.known_share * (self.weight * _loss(of_own, self.q)).sum() / total_weight
        factor_own = self.known_share / total_weight * (self.weight * of_own)
        if n_unlabeled == 0:
            gradient = factor_own[:, None] * p
            gradient[rows, self.y] -= factor_own
            return float(risk_a), gradient
        of_new = p[:, -1] ** self.q
        loss_new = _loss(of_new, self.q)
        of_known = (self.weight * loss_new[:n_labeled]).sum() / total_weight
        risk_b = loss_new[n_labeled:].mean() - self.known_share * of_known
        risk, factor = risk_a + risk_b, 1.0
        if risk_b < 0:
            risk += self.penalty * (-risk_b) ** self.power
            factor -= self.penalty * self.power * (-risk_b) ** (self.power - 1.0)
        factor_new = factor * of_new
        factor_new[:n_labeled] *= -self.known_share / total_weight * self.weight
        factor_new[n_labeled:] /= n_unlabeled
        total = factor_new.copy()
        total[:n_labeled] += factor_own
        gradient = total[:, None] * p
        gradient[:, -1] -= factor_new
        gradient[rows, self.y] -= factor_own
        return float(risk), gradient


def _loss(powers: NDArray[np.float64], q: float) -> NDArray[np.float64]:
    return (1.0 - powers) / q


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of classes, rows that sum to 1."""
    p: NDArray[np.float64] = logits - logits.max(axis=1, keepdims=True)
    np.exp(p, out=p)
    p /= p.sum(axis=1, keepdims=True)
    return p


class Adam:
    """Adam with weight decay as a part of the gradient.

    Parameters
    ----------
    learning_rate, weight_decay : float
    """

    _DECAY = (0.9, 0.999)
    _EPSILON = 1e-8

    def __init__(self, learning_rate: float, weight_decay: float) -> None:
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self._n_steps = 0
        self._mean: NDArray[np.float64] | float = 0.0
        self._square: NDArray[np.float64] | float = 0.0

    def step(self, weights: NDArray[np.float64], gradient: NDArray[np.float64]) -> None:
        """Change `weights` in place."""
        first, second = self._DECAY
        gradient = gradient + self.weight_decay * weights
        self._n_steps += 1
        self._mean = first * self._mean + (1.0 - first) * gradient
        self._square = second * self._square + (1.0 - second) * gradient**2
        mean = self._mean / (1.0 - first**self._n_steps)
        square = self._square / (1.0 - second**self._n_steps)
        weights -= self.learning_rate * mean / (np.sqrt(square) + self._EPSILON)
