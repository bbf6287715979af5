"""HybridLACForestClassifier: a grown forest on the features of a trained encoder."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from lacforest._input.parameters import check_int, check_n_jobs
from lacforest.ensemble import LACExtraTreesClassifier
from lacforest.neural._classifier import FAST, DeepLACForestClassifier
from lacforest.neural._evaluation import encoded_rows
from lacforest.neural._network_rows import NetworkRows

# A number beyond any epoch, to seed the grown trees.
_OF_TREES = 2**32 - 6
# The forest takes theta in the open interval only; an estimate may lie at its ends.
_LEAST_THETA = 1e-6


class HybridLACForestClassifier(DeepLACForestClassifier):
    """Forest for learning with an augmented class, grown on features of a trained network.

    A network is trained as in `DeepLACForestClassifier`. A `lacforest.LACExtraTreesClassifier` is
    then grown on the features that its encoder makes of the labelled and unlabelled rows, and
    predicts in place of the soft trees. This combination is not in the paper.

    Parameters
    ----------
    n_estimators : int, default=3
        Number of soft trees, by which the encoder is trained.
    n_grown_trees : int, default=100
        Number of trees that are grown on its features.
    n_jobs : int or None, default=None
        Threads that grow trees and predict with them.
    depth : int, default=6
        Layers of a soft tree.
    theta : "auto", float in (0, 1) or estimator, default="auto"
        Share of unlabelled rows that are new, as in `DeepLACForestClassifier`; the network and the
        grown forest use the same value.
    lambda_ce : float, default=1.0
        Weight of the cross entropy.
    leaf_memory : float in [0, 1), default=0.9
        As in `DeepLACForestClassifier`.
    <training parameters>

    Attributes
    ----------
    forest_ : LACExtraTreesClassifier
        Fitted on features, with class codes as labels: the number of known classes is new.
    module_ : DeepForest
        The trained network: ``encoder``, ``forest`` (the soft trees) and ``head``.
    leaf_proportions_, history_, n_epochs_, best_epoch_, input_shape_
        As in `DeepLACForestClassifier`.
    theta_, theta_interval_, theta_estimator_ : as in `lacforest.LACForestClassifier`
    classes_, known_classes_, new_label_, new_class_index_ : as in `lacforest.LACForestClassifier`
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest.neural import HybridLACForestClassifier
    >>> rng = np.random.default_rng(0)
    >>> known = np.repeat([[0.0, 0.0], [4.0, 0.0]], 100, axis=0) + rng.normal(size=(200, 2))
    >>> label = np.repeat(["a", "b"], 100)
    >>> deployed = np.vstack([known, [2.0, 6.0] + rng.normal(size=(200, 2))])
    >>> hybrid = HybridLACForestClassifier(hidden=(32,), epochs=10, theta=0.5, random_state=0)
    >>> hybrid.fit(known, label, X_unlabeled=deployed).predict([[0, 0], [4, 0], [2, 6]])
    array(['a', 'b', '<new>'], dtype='<U5')
    """

    _DEFAULTS: ClassVar[dict[str, Any]] = FAST

    def __init__(
        self,
        n_estimators: int = 3,
        *,
        n_grown_trees: int = 100,
        n_jobs: int | None = None,
        **training: Any,
    ) -> None:
        super().__init__(n_estimators, **self._DEFAULTS | training)
        self.n_grown_trees = n_grown_trees
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_int("n_grown_trees", self.n_grown_trees, 1)
        check_n_jobs(self.n_jobs)
        super()._check_parameters()

    def _refine(
        self, module: nn.Module, rows: NetworkRows, entropy: list[int], device: torch.device
    ) -> nn.Module:
        seed = int(np.random.SeedSequence([*entropy, _OF_TREES]).generate_state(1)[0])
        theta = min(max(rows.theta, _LEAST_THETA), 1.0 - _LEAST_THETA)
        forest = LACExtraTreesClassifier(
            n_estimators=self.n_grown_trees,
            theta=theta,
            new_label=rows.n_classes,
            random_state=seed,
            n_jobs=self.n_jobs,
        )
        unlabeled = None
        if rows.unlabeled is not None:
            unlabeled = encoded_rows(module, rows.unlabeled, device)
        self.forest_ = forest.fit(
            encoded_rows(module, rows.labeled, device),
            rows.codes.numpy(),
            X_unlabeled=unlabeled,
            sample_weight=None if rows.weight is None else rows.weight.numpy(),
        )
        return module

    def _class_probabilities(self, X: Any) -> NDArray[np.float64]:
        features = self.transform(X)
        shares: NDArray[np.float64] = self.forest_.predict_proba(features)
        return shares

    def _tensors(self) -> dict[str, NDArray[Any]]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "forest")
            self.forest_.save(path)
            content = np.frombuffer(bytearray(path.read_bytes()), dtype=np.uint8)
        return super()._tensors() | {"forest": content}

    def _restore_tensors(self, tensors: dict[str, NDArray[Any]], n_known: int) -> None:
        super()._restore_tensors(tensors, n_known)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "forest")
            path.write_bytes(tensors["forest"].tobytes())
            self.forest_ = LACExtraTreesClassifier.load(path)
        forest = self.forest_
        if len(forest.known_classes_) != n_known:
            raise ValueError(f"the grown forest does not belong to {n_known} known classes")
        if forest.n_features_in_ != self.module_.n_features or (
            (forest.new_class_index_ is None) != (self.new_class_index_ is None)
        ):
            raise ValueError("the grown forest does not belong to this network")
