"""OpenMax: a network of the known classes with revised outputs."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from lacforest._input.parameters import check_int
from lacforest.neural._evaluation import predict_logits
from lacforest.neural._network_rows import NetworkRows
from lacforest.neural._rows import Rows
from lacforest.neural._settings import check_name
from lacforest.neural.baselines._method import ThresholdMethod, softmax
from lacforest.neural.baselines._weibull_tails import DISTANCES, WeibullTails

_PREFIX = "tails."


class OpenMaxMethod(ThresholdMethod):
    """Base of the methods that revise the outputs of a network by Weibull tails."""

    _has_argmax = True

    def __init__(
        self,
        *,
        tail_size: int = 20,
        alpha: int = 10,
        distance: Literal["euclidean", "eucos"] = "euclidean",
        **training: Any,
    ) -> None:
        super().__init__(**training)
        self.tail_size = tail_size
        self.alpha = alpha
        self.distance = distance

    def _check_parameters(self) -> None:
        check_int("tail_size", self.tail_size, 2)
        check_int("alpha", self.alpha, 1)
        check_name("distance", self.distance, DISTANCES)
        super()._check_parameters()

    def _prepare_scores(self, rows: NetworkRows, device: torch.device) -> None:
        logits = predict_logits(self.module_, rows.labeled, device)
        self.tails_ = WeibullTails.fit(
            logits, rows.codes.numpy(), int(self.tail_size), self.distance
        ).arrays()

    def _revised_shares(self, rows: Rows, device: torch.device) -> NDArray[np.float64]:
        """Probabilities of "new" and of the outputs of the network."""
        logits = predict_logits(self.module_, rows, device)
        tails = WeibullTails(**self.tails_)
        return softmax(tails.revise(logits, int(self.alpha), self.distance))

    def _tensors(self) -> dict[str, NDArray[Any]]:
        arrays = {_PREFIX + name: values for name, values in self.tails_.items()}
        return super()._tensors() | arrays

    def _restore_tensors(self, tensors: dict[str, NDArray[Any]], n_known: int) -> None:
        super()._restore_tensors(tensors, n_known)
        arrays = {
            name.removeprefix(_PREFIX): values
            for name, values in tensors.items()
            if name.startswith(_PREFIX)
        }
        self.tails_ = WeibullTails.restore(arrays, self._n_outputs(n_known)).arrays()

    def _n_outputs(self, n_known: int) -> int:
        return n_known


class OpenMaxClassifier(OpenMaxMethod):
    """Network of the known classes whose outputs are revised by Weibull tails [1]_.

    For each class, a Weibull law is fitted to the largest distances of its correctly classified
    rows from their mean output. A row that is far from the mean of a class loses a part of its
    output for that class to "new". There is no ``predict_proba``, because the label follows from a
    threshold. Unlabelled rows are not used in training.

    Parameters
    ----------
    tail_size : int, default=20
        Rows per class that the law is fitted to.
    alpha : int, default=10
        Highest outputs that are revised, at most the number of known classes.
    distance : {"euclidean", "eucos"}, default="euclidean"
        "eucos" is the published sum of a 200th of the Euclidean distance and the cosine distance.
    threshold : float, "known", "unlabeled" or "argmax", default="known"
        As in `SoftmaxThresholdClassifier`; "argmax" is the published rule, by which a row is new
        if "new" is more likely than each known class.
    rejected : float in (0, 1], default=0.05
        As in `SoftmaxThresholdClassifier`.
    <training parameters>

    Attributes
    ----------
    threshold_ : float
    tails_ : dict of ndarray
        Mean outputs (``means``) and Weibull laws of the classes: the law of distance minus
        ``least`` plus 1 has ``shape`` and ``scale``.
    module_ : torch.nn.Module
        The trained network: ``encoder`` and ``head``.
    history_, n_epochs_, best_epoch_, input_shape_ : as in `DeepLACForestClassifier`
    classes_, known_classes_, new_label_, new_class_index_ : as in `lacforest.LACForestClassifier`
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    A negative output of a class is raised by the revision instead of being lowered, as in the
    original.

    References
    ----------
    .. [1] A. Bendale and T. E. Boult, "Towards Open Set Deep Networks", CVPR 2016.
    """

    _PAPER_TABLE: ClassVar[dict[str, Any]] = {
        "batch_norm": False,
        "epochs": 500,
        "distance": "eucos",
        "threshold": "argmax",
    }

    def __init__(self, **training: Any) -> None:
        super().__init__(**training)

    def _scores(
        self, rows: Rows, device: torch.device
    ) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
        shares = self._revised_shares(rows, device)
        new, known = shares[:, 0], shares[:, 1:]
        return known.argmax(axis=1), new, new - known.max(axis=1)
