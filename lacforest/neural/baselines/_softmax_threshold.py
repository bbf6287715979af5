"""Softmax-T: rows whose highest softmax probability is low are new."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from lacforest.neural._evaluation import predict_logits
from lacforest.neural._rows import Rows
from lacforest.neural.baselines._method import ThresholdMethod, softmax


class SoftmaxThresholdClassifier(ThresholdMethod):
    """Network of the known classes; a row is new if no class has a high probability [1]_.

    The novelty score is one minus the highest softmax probability. It is no probability of the new
    class, so there is no ``predict_proba``. Unlabelled rows are not used in training.

    Parameters
    ----------
    threshold : float, "known" or "unlabeled", default="known"
        Rows are new where the novelty score exceeds a number; "known" takes the number that a share
        `rejected` of held-out known rows exceeds, "unlabeled" the one that a share `rejected` of
        unlabelled rows exceeds. The paper does not state its threshold.
    rejected : float in (0, 1], default=0.05
        With "unlabeled", the expected share of new rows.
    <training parameters>

    Attributes
    ----------
    threshold_ : float
    module_ : torch.nn.Module
        The trained network: ``encoder`` and ``head``.
    history_, n_epochs_, best_epoch_, input_shape_ : as in `DeepLACForestClassifier`
    classes_, known_classes_, new_label_, new_class_index_ : as in `lacforest.LACForestClassifier`
    n_features_in_, feature_names_in_ : as in scikit-learn

    References
    ----------
    .. [1] D. Hendrycks and K. Gimpel, "A Baseline for Detecting Misclassified and
       Out-of-Distribution Examples in Neural Networks", ICLR 2017.
    """

    _PAPER_TABLE: ClassVar[dict[str, Any]] = {"batch_norm": False, "epochs": 500}

    def __init__(self, **training: Any) -> None:
        super().__init__(**training)

    def _scores(
        self, rows: Rows, device: torch.device
    ) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
        shares = softmax(predict_logits(self.module_, rows, device))
        novelty = 1.0 - shares.max(axis=1)
        return shares.argmax(axis=1), novelty, novelty
