"""Bases of the compared methods: by a threshold of a score, or by a class of its own for "new"."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from lacforest._contract.classifier import ProbabilisticClassifierMixin
from lacforest._input.parameters import is_real
from lacforest._input.shares import check_known_shares
from lacforest.neural._base import BaseDeepClassifier
from lacforest.neural._evaluation import predict_logits
from lacforest.neural._module import EncoderWithHead
from lacforest.neural._network_rows import NetworkRows, ValidationRows
from lacforest.neural._objective import CrossEntropyObjective, Objective
from lacforest.neural._rows import Rows, RowSubset
from lacforest.neural._settings import check_name, check_real
from lacforest.neural._training import Judge

# Of all compared methods: the settings of `DeepLACForestClassifier.fast`, so that methods differ by
# what they minimise and not by how long they train.
SHORT_RECIPE: dict[str, Any] = {
    "batch_norm": True,
    "epochs": 10,
    "batch_size": 64,
    "optimizer": "nesterov",
    "learning_rate": 0.1,
    "final_learning_rate": 1e-3,
    "schedule": "step",
    "weight_decay": 5e-4,
    "precision": "auto",
}


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of classes, rows that sum to 1."""
    shares: NDArray[np.float64] = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


class DeepMethod(BaseDeepClassifier):
    """Base of the compared methods of the paper's Table 2."""

    _DEFAULTS = SHORT_RECIPE
    _PAPER_TABLE: ClassVar[dict[str, Any]] = {}

    @classmethod
    def paper_table(cls, **parameters: Any) -> Self:
        """An unfitted classifier with the settings that its authors published, as far as known.

        The paper leaves the settings of compared methods to their references. These runs are long
        and meant for a GPU.

        Parameters
        ----------
        **parameters
            Other parameters of the class; they take precedence over the settings.

        Returns
        -------
        classifier
        """
        return cls(**cls._PAPER_TABLE | parameters)

    def _assemble(self, encoder: nn.Module, n_features: int, n_known: int) -> nn.Module:
        return EncoderWithHead(encoder, n_features, nn.Linear(n_features, n_known))

    def _objective(self, module: nn.Module, rows: NetworkRows) -> Objective:
        return CrossEntropyObjective()

    def _prepare_judge(self, module: nn.Module, rows: NetworkRows, device: torch.device) -> Judge:
        def judge(some: Rows) -> NDArray[np.intp]:
            codes: NDArray[np.intp] = predict_logits(module, some, device).argmax(axis=1)
            return codes

        return judge


class ThresholdMethod(DeepMethod):
    """Base of the methods that call a row new where a score exceeds a threshold."""

    _trains_on_unlabeled = False
    # Whether "new" has a probability that can be compared with those of known classes.
    _has_argmax: ClassVar[bool] = False

    def __init__(
        self,
        *,
        threshold: float | Literal["known", "unlabeled", "argmax"] = "known",
        rejected: float = 0.05,
        **training: Any,
    ) -> None:
        super().__init__(**self._DEFAULTS | training)
        self.threshold = threshold
        self.rejected = rejected

    @property
    def _uses_unlabeled(self) -> bool:  # type: ignore[override]
        return isinstance(self.threshold, str) and self.threshold == "unlabeled"

    def _check_parameters(self) -> None:
        if is_real(self.threshold):
            if not np.isfinite(self.threshold):
                raise ValueError(f"threshold must be finite, got {self.threshold!r}")
        else:
            rules = ("known", "unlabeled", *(("argmax",) if self._has_argmax else ()))
            check_name("threshold that is not a number", self.threshold, rules)
        check_real("rejected", self.rejected, 0.0, 1.0, low_allowed=False)
        super()._check_parameters()

    def _needs_held_out(self) -> bool:
        is_known = isinstance(self.threshold, str) and self.threshold == "known"
        return is_known or super()._needs_held_out()

    @abstractmethod
    def _scores(
        self, rows: Rows, device: torch.device
    ) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
        """Likeliest known class, novelty, and the margin by which "new" is the likeliest class.

        The margin is that of the rule "argmax"; methods without that rule return the novelty.
        """

    def _prepare_scores(self, rows: NetworkRows, device: torch.device) -> None:
        """Set what `_scores` needs beside the network."""

    def _conclude(
        self, rows: NetworkRows, validation: ValidationRows | None, device: torch.device
    ) -> None:
        self._prepare_scores(rows, device)
        self.threshold_ = self._find_threshold(rows, validation, device)

    def _find_threshold(
        self, rows: NetworkRows, validation: ValidationRows | None, device: torch.device
    ) -> float:
        if is_real(self.threshold):
            return float(self.threshold)
        if self.threshold == "argmax":
            return 0.0
        sample: Rows | None = rows.unlabeled
        if self.threshold == "known" and validation is not None:
            known = np.flatnonzero(validation.codes < rows.n_classes)
            sample = RowSubset(validation.labeled, known)
        if sample is None:  # no unlabelled rows: there is no new class
            return float(np.finfo(np.float64).max)
        if len(sample) == 0:
            raise ValueError(
                "X_val has no row of a known class, by which threshold='known' is found"
            )
        return upper_quantile(self._scores(sample, device)[1], float(self.rejected))

    def _judge(self, X: Any) -> tuple[NDArray[np.intp], NDArray[np.bool_], NDArray[np.float64]]:
        rows, device = self._rows_to_predict(X)
        known, novelty, margin = self._scores(rows, device)
        by_margin = isinstance(self.threshold, str) and self.threshold == "argmax"
        return known, (margin if by_margin else novelty) > self.threshold_, novelty

    def _class_positions(self, X: Any) -> NDArray[np.intp]:
        known, is_new, _ = self._judge(X)
        index = self.new_class_index_
        if index is None:
            return known
        return np.where(is_new, index, known + (known >= index))

    def _novelty(self, X: Any) -> NDArray[np.float64]:
        return self._judge(X)[2]

    def _tensors(self) -> dict[str, NDArray[Any]]:
        return {"threshold": np.array([self.threshold_])}

    def _restore_tensors(self, tensors: dict[str, NDArray[Any]], n_known: int) -> None:
        (value,) = tensors["threshold"].tolist()
        if not np.isfinite(value):
            raise ValueError(f"the threshold {value!r} is not finite")
        self.threshold_ = float(value)


def upper_quantile(scores: NDArray[np.float64], share: float) -> float:
    """The lowest score that at most a share of the scores exceeds."""
    return float(np.quantile(scores, 1.0 - share, method="higher"))


class NewClassMethod(ProbabilisticClassifierMixin, DeepMethod):
    """Base of the methods whose network has an output for the new class.

    Their risks have theta in them, and the shares of the known classes by the weights of labelled
    rows.
    """

    _DEFAULTS: ClassVar[dict[str, Any]] = {
        "optimizer": "adam",
        "learning_rate": 1e-3,
        "final_learning_rate": 1e-5,
        "weight_decay": 1e-4,
    }

    def __init__(self, *, theta: Any = "auto", known_shares: Any = "auto", **training: Any) -> None:
        super().__init__(**self._DEFAULTS | training)
        self.theta = theta
        self.known_shares = known_shares

    def _check_parameters(self) -> None:
        check_known_shares(self.known_shares)
        super()._check_parameters()

    def _assemble(self, encoder: nn.Module, n_features: int, n_known: int) -> nn.Module:
        n_outputs = n_known + (self.new_class_index_ is not None)
        return EncoderWithHead(encoder, n_features, nn.Linear(n_features, n_outputs))

    def _conclude(
        self, rows: NetworkRows, validation: ValidationRows | None, device: torch.device
    ) -> None:
        """The network is all that prediction needs."""

    def _class_probabilities(self, X: Any) -> NDArray[np.float64]:
        rows, device = self._rows_to_predict(X)
        return softmax(predict_logits(self.module_, rows, device))

    def _tensors(self) -> dict[str, NDArray[Any]]:
        return {}

    def _restore_tensors(self, tensors: dict[str, NDArray[Any]], n_known: int) -> None:
        if tensors:
            raise ValueError(f"unexpected parts {sorted(tensors)}")
