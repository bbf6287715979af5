"""DeepLACForestClassifier: the paper's Algorithm 2 as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lacforest._contract.classifier import ProbabilisticClassifierMixin
from lacforest._input.parameters import check_int, check_known_shares
from lacforest.neural._base import BaseDeepClassifier
from lacforest.neural._data import FitRows
from lacforest.neural._evaluation import (
    collect_proportions,
    leaf_probabilities,
    predict_probabilities,
)
from lacforest.neural._loss import AugmentedGiniLoss
from lacforest.neural._memory import LeafMemory
from lacforest.neural._module import DeepForest
from lacforest.neural._network_rows import NetworkRows, ValidationRows
from lacforest.neural._objective import Batch, Objective
from lacforest.neural._rows import Rows, send
from lacforest.neural._settings import check_real
from lacforest.neural._stored_checks import check_leaf_proportions
from lacforest.neural._training import Judge

_SPREAD_ROWS = 512
# What the short recipe changes in the paper's settings.
FAST: dict[str, Any] = {
    "batch_norm": True,
    "epochs": 6,
    "batch_size": 64,
    "optimizer": "nesterov",
    "learning_rate": 0.1,
    "final_learning_rate": 1e-3,
    "schedule": "step",
    "precision": "auto",
    "leaf_memory": 0.9,
}


class ForestObjective(Objective):
    """The loss of Algorithm 2 for a batch.

    Parameters
    ----------
    loss : AugmentedGiniLoss
    """

    def __init__(self, loss: AugmentedGiniLoss) -> None:
        super().__init__()
        self.loss = loss

    def forward(self, module: DeepForest, batch: Batch) -> dict[str, Tensor]:
        features = module.features(batch.rows)
        labeled, unlabeled = batch.split(module.forest(features))
        logits = module.head(features[: len(batch.codes)])
        parts = self.loss.parts(labeled, batch.codes, unlabeled, logits, batch.weight)
        return {"loss": parts.total, "gini": parts.gini, "cross_entropy": parts.cross_entropy}


class DeepLACForestClassifier(ProbabilisticClassifierMixin, BaseDeepClassifier):
    """Deep neural forest for learning with an augmented class: a known class, or "new".

    An encoder turns rows into features, and soft trees on the features are trained end to end by
    augmented Gini impurity on labelled and unlabelled rows, together with the cross entropy of an
    auxiliary linear predictor [1]_. After training, the class proportions of the leaves are
    computed from the whole data.

    Rows are tables, images of shape (n_images, channels, height, width), tensors, or datasets of
    torch. Without unlabelled rows this is a plain neural forest of the known classes.

    Parameters
    ----------
    n_estimators : int, default=3
        Number of trees, m in the paper.
    depth : int, default=6
        Layers of a tree, l in the paper: ``2 ** (depth - 1)`` leaves.
    theta : "auto", float in (0, 1) or estimator, default="auto"
        Share of unlabelled rows that belong to the new class, as in
        `lacforest.LACForestClassifier`: a number, or an estimator of :mod:`lacforest.mixture`,
        which gets flattened rows, at most 10,000 labelled and 10,000 unlabelled ones. "auto" is
        ``RankMixture()``; the paper's own route for its neural forest is
        ``KernelMeanEmbedding(subsample=1000, n_subsamples=10, n_bootstrap=0)``.
    known_shares : "auto", "labeled", array-like or dict, default="auto"
        Shares of the known classes among known rows of deployment, as in
        `lacforest.LACForestClassifier`, estimated on the rows that theta is estimated on. Labelled
        rows weigh by class accordingly in the loss and in the leaves.
    lambda_ce : float, default=1.0
        Weight of the cross entropy.
    leaf_memory : float in [0, 1), default=0.0
        Weight of the past in running shares of rows in leaves, which take the place of those of the
        batch in the impurity; gradients are those of the batch. 0 is the paper's loss. With small
        batches, 0.9 removes most of the bias that a small sample gives the impurity.
    <training parameters>

    Attributes
    ----------
    classes_, known_classes_, new_label_, new_class_index_, theta_, theta_interval_, \
theta_estimator_, known_shares_, known_shares_interval_, share_shift_
        As in `lacforest.LACForestClassifier`.
    module_ : DeepForest
        The trained network: ``encoder``, ``forest`` and ``head``.
    leaf_proportions_ : ndarray of shape (n_estimators, n_leaves, n_known_classes + 1)
        Class proportions of leaves (Definition 2), the new class last.
    history_ : dict of list
        ``learning_rate``, ``loss``, ``gini``, ``cross_entropy`` and, where there were validation
        rows, ``accuracy``; one entry per epoch.
    n_epochs_ : int
        Epochs that were trained.
    best_epoch_ : int or None
        The epoch whose weights were kept, with `early_stopping`.
    input_shape_ : tuple of int
        Shape of a row.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Pixels.* Images of bytes (uint8) are divided by 255. Floats are used as they are.

    *Weights.* A labelled row of weight w counts w times in the class proportions of a batch, in its
    cross entropy, and in the class proportions of the leaves. Batches are drawn without regard to
    weights, so a weight of 2 is not bit for bit the same as a row given twice. Unlabelled rows
    always weigh 1.

    *Validation.* With `early_stopping`, or validation rows in `fit`, each epoch ends with a pass
    through the training rows for the proportions of the leaves. Where validation rows are labelled
    rows of known classes and unlabelled ones, accuracy is estimated by
    `lacforest.metrics.augmented_accuracy_score`.

    *Reproducibility.* The same `random_state` gives the same bits on the same machine with the
    same number of threads (`torch.set_num_threads`); other hardware rounds sums differently.

    References
    ----------
    .. [1] F. Xu, W. Chen and W. Gao, "On the Learning with Augmented Class via Forests",
       IJCAI 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest.neural import DeepLACForestClassifier
    >>> rng = np.random.default_rng(0)
    >>> known = np.repeat([[0.0, 0.0], [4.0, 0.0]], 100, axis=0) + rng.normal(size=(200, 2))
    >>> label = np.repeat(["a", "b"], 100)
    >>> deployed = np.vstack([known, [2.0, 6.0] + rng.normal(size=(200, 2))])
    >>> forest = DeepLACForestClassifier(
    ...     theta=0.5, epochs=60, learning_rate=0.1, hidden=(32,), random_state=0
    ... )
    >>> forest.fit(known, label, X_unlabeled=deployed).predict([[0, 0], [4, 0], [2, 6]])
    array(['a', 'b', '<new>'], dtype='<U5')
    """

    def __init__(
        self,
        n_estimators: int = 3,
        *,
        depth: int = 6,
        theta: Any = "auto",
        known_shares: Any = "auto",
        lambda_ce: float = 1.0,
        leaf_memory: float = 0.0,
        **training: Any,
    ) -> None:
        super().__init__(**training)
        self.n_estimators = n_estimators
        self.depth = depth
        self.theta = theta
        self.known_shares = known_shares
        self.lambda_ce = lambda_ce
        self.leaf_memory = leaf_memory

    @classmethod
    def fast(cls, **overrides: Any) -> Self:
        """An unfitted forest that needs a few epochs on a CPU in place of 500 on a GPU.

        Batch normalisation, small batches with a leaf memory, a large learning rate that is lowered
        step by step, Nesterov's momentum, and bfloat16 where the device has it. ``get_params``
        shows all values.

        Parameters
        ----------
        **overrides
            Other parameters of the class; they take precedence.

        Returns
        -------
        DeepLACForestClassifier

        Examples
        --------
        >>> from lacforest.neural import DeepLACForestClassifier
        >>> DeepLACForestClassifier.fast(epochs=6).get_params()["batch_size"]
        64
        """
        return cls(**FAST | overrides)

    # ------------------------------------------------------------------ fit

    def _check_parameters(self) -> None:
        check_int("n_estimators", self.n_estimators, 1)
        check_int("depth", self.depth, 2)
        if self.depth > 16:
            raise ValueError(
                f"depth must be at most 16, got {self.depth!r}: each tree has 2 ** (depth - 1) "
                "leaves"
            )
        check_known_shares(self.known_shares)
        check_real("lambda_ce", self.lambda_ce, 0.0)
        check_real("leaf_memory", self.leaf_memory, 0.0)
        if self.leaf_memory >= 1.0:
            raise ValueError(
                f"leaf_memory must be below 1, got {self.leaf_memory!r}: with 1, batches after the "
                "first would not count"
            )
        super()._check_parameters()

    def _assemble(self, encoder: nn.Module, n_features: int, n_known: int) -> DeepForest:
        return DeepForest(encoder, n_features, n_known, int(self.n_estimators), int(self.depth))

    def _initialize(self, module: Any, rows: FitRows, device: torch.device) -> None:
        # Rows of deployment, because these are what the leaves are weighted by.
        some = rows.labeled if rows.unlabeled is None else rows.unlabeled
        # Small batches would spread the nodes by chance.
        n_rows = max(int(self.batch_size), _SPREAD_ROWS)
        batch = some.take(np.arange(min(len(some), n_rows)))
        with torch.no_grad():
            module.forest.spread(module.eval().features(send(batch, device)))

    def _objective(self, module: Any, rows: NetworkRows) -> Objective:
        forest = module.forest
        memory = None
        if self.leaf_memory > 0:
            memory = LeafMemory(rows.n_classes, forest.n_trees, forest.n_leaves, self.leaf_memory)
        loss = AugmentedGiniLoss(rows.theta, rows.n_classes, float(self.lambda_ce), memory)
        return ForestObjective(loss)

    def _prepare_judge(self, module: Any, rows: NetworkRows, device: torch.device) -> Judge:
        proportions = collect_proportions(module, rows, device)

        def judge(some: Rows) -> NDArray[np.intp]:
            shares = predict_probabilities(module, proportions, some, device)
            codes: NDArray[np.intp] = shares.argmax(axis=1)
            return codes

        return judge

    def _conclude(
        self, rows: NetworkRows, validation: ValidationRows | None, device: torch.device
    ) -> None:
        self.leaf_proportions_ = collect_proportions(self.module_, rows, device).numpy()

    # ------------------------------------------------------------------ prediction

    def leaf_probabilities(self, X: Any) -> NDArray[np.float32]:
        """Probability mu_B(x) that each row ends in each leaf.

        Parameters
        ----------
        X : like X of `fit`

        Returns
        -------
        ndarray of shape (n_rows, n_estimators, n_leaves)
        """
        rows, device = self._rows_to_predict(X)
        found = [mu.cpu().numpy() for _, mu in leaf_probabilities(self.module_, rows, device)]
        return np.concatenate(found)

    def _class_probabilities(self, X: Any) -> NDArray[np.float64]:
        rows, device = self._rows_to_predict(X)
        proportions = torch.from_numpy(self.leaf_proportions_)
        by_code = predict_probabilities(self.module_, proportions, rows, device)
        return by_code if self.new_class_index_ is not None else by_code[:, :-1]

    # ------------------------------------------------------------------ files

    def _tensors(self) -> dict[str, NDArray[Any]]:
        return {"leaf_proportions": self.leaf_proportions_}

    def _restore_tensors(self, tensors: dict[str, NDArray[Any]], n_known: int) -> None:
        expected = (self.n_estimators, 1 << (self.depth - 1), n_known + 1)
        self.leaf_proportions_ = check_leaf_proportions(tensors.get("leaf_proportions"), expected)
