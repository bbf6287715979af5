"""DeepLACForestClassifier: the paper's Algorithm 2 as a scikit-learn estimator."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lacforest._labels import Labels
from lacforest._theta import Theta, check_theta, warn_if_undetermined
from lacforest._unchanged import unchanged_on_failure
from lacforest.neural._building import build_module
from lacforest.neural._checkpoint import Checkpoint, read_run
from lacforest.neural._data import (
    FitRows,
    check_fit_rows,
    check_prediction_rows,
    check_validation_rows,
    default_theta,
    find_theta_of_rows,
    fingerprint,
    hold_out,
)
from lacforest.neural._encoders import make_encoder
from lacforest.neural._evaluation import (
    collect_proportions,
    leaf_probabilities,
    predict_probabilities,
)
from lacforest.neural._module import DeepForest
from lacforest.neural._randomness import private_generators, seed_generators
from lacforest.neural._rows import Rows
from lacforest.neural._settings import check_settings, find_device
from lacforest.neural._training import (
    Callback,
    Outcome,
    Trainer,
    TrainingOptions,
    ValidationRows,
)

# Beyond any number of epochs: what is drawn before the first one.
_OF_WEIGHTS = 2**32 - 1
_OF_VALIDATION = 2**32 - 2
# Parameters that a run may change when it goes on from a checkpoint.
_FREE = {"callbacks", "checkpoint", "checkpoint_every", "device", "resume", "theta", "verbose"}


class DeepLACForestClassifier(ClassifierMixin, BaseEstimator):
    """Deep neural forest for learning with an augmented class: a known class, or "new".

    An encoder turns rows into features, and soft trees on the features are trained end to end by
    augmented Gini impurity on labelled and unlabelled rows, together with the cross entropy of an
    auxiliary linear predictor [1]_. After training, the leaves take their class proportions from
    the whole data.

    Rows are tables, images of shape (n_images, channels, height, width), tensors, or datasets of
    torch. Without unlabelled rows this is a plain neural forest of the known classes.

    Parameters
    ----------
    n_estimators : int, default=3
        Number of trees, m in the paper.
    depth : int, default=6
        Layers of a tree, l in the paper: ``2 ** (depth - 1)`` leaves.
    encoder : {"auto", "mlp", "cnn", "vgg16"}, torch.nn.Module or callable, default="auto"
        Network that makes the features. "auto" is "mlp" for tables, "vgg16" for 32 x 32 colour
        images and "cnn" for all others. A module is copied and trained on from its weights; a
        callable is given the shape of a row and returns a module. Outputs are flattened.
    hidden : sequence of int, default=(128, 128)
        Layers of the "mlp" encoder.
    theta : "auto", float in (0, 1) or estimator, default="auto"
        Share of unlabelled rows that belong to the new class: a number, or an estimator of
        :mod:`lacforest.mixture`, which sees flattened rows. "auto" is what the paper does:
        ``KernelMeanEmbedding(subsample=1000, n_subsamples=10)``.
    lambda_ce : float, default=1.0
        Weight of the cross entropy.
    epochs : int, default=500
        Passes through the larger of the two sets of rows.
    batch_size : int, default=512
        Labelled rows of a batch, and unlabelled ones.
    learning_rate, final_learning_rate : float, default=1e-2, 1e-3
        First and last learning rate of stochastic gradient descent, by cosine annealing. Runs of
        a few epochs want a larger first one, such as 0.1.
    momentum : float, default=0.9
    weight_decay : float, default=5e-3
    max_grad_norm : float or None, default=None
        Norm to which gradients are clipped.
    precision : {"float32", "bfloat16", "float16"}, default="float32"
        Type of the encoder's products in training. The loss is float32 always.
    device : "auto", str or torch.device, default="auto"
        "auto" is a GPU if there is one.
    early_stopping : bool, default=False
        Stop when accuracy on validation rows has not risen for `patience` epochs, and go back to
        the best epoch. Needs no label of the new class; see Notes.
    patience : int, default=20
    validation_fraction : float, default=0.1
        Share of labelled and of unlabelled rows that `early_stopping` holds out, where `fit` is
        given no validation rows.
    callbacks : list of callable or None, default=None
        Called after each epoch with an `EpochEnd`; one that returns True stops training.
    checkpoint : path or None, default=None
        File that keeps the state of training, replaced every `checkpoint_every` epochs.
    checkpoint_every : int, default=10
    resume : bool, default=False
        Go on from `checkpoint` if the file is there; the result is that of a run that was never
        stopped, to the last bit.
    unlabeled_label : object, default=None
        A label that marks unlabelled rows inside X.
    new_label : "auto" or label, default="auto"
        What to predict for new rows, as in `lacforest.LACForestClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of everything; torch's own generators are left as they are.
    verbose : int, default=0
        Show progress if positive: a bar on a terminal (with tqdm), a line an epoch elsewhere.

    Attributes
    ----------
    classes_, known_classes_, new_label_, new_class_index_, theta_, theta_interval_, \
theta_estimator_
        As in `lacforest.LACForestClassifier`.
    module_ : DeepForest
        The trained network: ``encoder``, ``forest`` and ``head``.
    leaf_proportions_ : ndarray of shape (n_estimators, n_leaves, n_known_classes + 1)
        Class proportions of leaves (Definition 2), the new class last.
    history_ : dict of list
        ``learning_rate``, ``loss``, ``gini``, ``cross_entropy`` and, where there were validation
        rows, ``accuracy``; one entry an epoch.
    n_epochs_ : int
        Epochs that were trained.
    best_epoch_ : int or None
        The epoch whose weights were kept, with `early_stopping`.
    input_shape_ : tuple of int
        Shape of a row.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Pixels.* Images of bytes (uint8) are divided by 255. Floats are taken as they are.

    *Validation.* With `early_stopping`, or validation rows in `fit`, each epoch ends with a pass
    through the training rows for the leaves' proportions. Where validation rows are labelled rows
    of known classes and unlabelled ones, accuracy is estimated by
    `lacforest.metrics.augmented_accuracy_score`.

    *Reproducibility.* The same `random_state` gives the same bits on the same machine with the
    same number of threads (`torch.set_num_threads`); sums on other hardware are rounded otherwise.

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
        encoder: Any = "auto",
        hidden: Sequence[int] = (128, 128),
        theta: Any = "auto",
        lambda_ce: float = 1.0,
        epochs: int = 500,
        batch_size: int = 512,
        learning_rate: float = 1e-2,
        final_learning_rate: float = 1e-3,
        momentum: float = 0.9,
        weight_decay: float = 5e-3,
        max_grad_norm: float | None = None,
        precision: Literal["float32", "bfloat16", "float16"] = "float32",
        device: Any = "auto",
        early_stopping: bool = False,
        patience: int = 20,
        validation_fraction: float = 0.1,
        callbacks: Sequence[Callback] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
        resume: bool = False,
        unlabeled_label: Any = None,
        new_label: Any = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.depth = depth
        self.encoder = encoder
        self.hidden = hidden
        self.theta = theta
        self.lambda_ce = lambda_ce
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.final_learning_rate = final_learning_rate
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.max_grad_norm = max_grad_norm
        self.precision = precision
        self.device = device
        self.early_stopping = early_stopping
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.resume = resume
        self.unlabeled_label = unlabeled_label
        self.new_label = new_label
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        X_unlabeled: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        X_unlabeled_val: Any = None,
    ) -> DeepLACForestClassifier:
        """Train the network, then fill the leaves.

        Parameters
        ----------
        X : table, images, tensor or torch Dataset
            Labelled rows, and unlabelled ones among them if `unlabeled_label` is set.
        y : array-like of shape (n_rows,)
            Labels. May be left out for a dataset of pairs of row and label.
        X_unlabeled : like X, optional
            Unlabelled rows from deployment. Labels that a dataset gives with them are not used.
        X_val : like X, optional
            Validation rows.
        y_val : array-like of shape (n_validation,), optional
            Their labels; without `X_unlabeled_val`, labels that y has not are new.
        X_unlabeled_val : like X, optional
            Unlabelled validation rows: with them, accuracy is estimated without labels of the new
            class, and `X_val` holds known classes only.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            check_settings(self)
            theta = self._wanted_theta()
            device = find_device(self.device)
            rows = check_fit_rows(self, X, y, X_unlabeled)
            validation = check_validation_rows(self, X, rows.labels, X_val, y_val, X_unlabeled_val)
            entropy = self._entropy()
            found = find_theta_of_rows(theta, rows, entropy)
            if rows.unlabeled is not None:
                warn_if_undetermined(found, len(rows.unlabeled))
            if validation is None and self.early_stopping:
                rows, validation = hold_out(
                    rows, self.validation_fraction, [*entropy, _OF_VALIDATION]
                )
            with private_generators(device):
                self._train(rows, validation, found, entropy, device)
        return self

    def _wanted_theta(self) -> Any:
        if isinstance(self.theta, str) and self.theta == "auto":
            return default_theta()
        return check_theta(self.theta)

    def _entropy(self) -> list[int]:
        """Seeds of the run; those of its checkpoint where the user has not named any."""
        if self.random_state is None and self.resume and os.path.exists(self.checkpoint or ""):
            kept: list[int] = read_run(self.checkpoint or "")["entropy"]
            return kept
        random_state = check_random_state(self.random_state)
        words: list[int] = random_state.randint(0, 2**32, size=4, dtype=np.uint32).tolist()
        return words

    def _train(
        self,
        rows: FitRows,
        validation: ValidationRows | None,
        theta: Theta,
        entropy: list[int],
        device: torch.device,
    ) -> None:
        seed_generators(device, [*entropy, _OF_WEIGHTS])
        module = build_module(
            make_encoder(self.encoder, rows.labeled.shape, self.hidden),
            rows,
            int(self.n_estimators),
            int(self.depth),
            int(self.batch_size),
            device,
        )
        training = rows.training(theta.value)
        trainer = Trainer(
            module,
            training,
            self._options(entropy, device),
            validation,
            self.callbacks or (),
            self._checkpoint(rows, theta, entropy),
        )
        outcome = trainer.run()
        proportions = collect_proportions(
            module, training.labeled, training.codes, training.unlabeled, theta.value, device
        )
        self._remember(rows, theta, module, outcome, proportions.numpy())

    def _options(self, entropy: list[int], device: torch.device) -> TrainingOptions:
        return TrainingOptions(
            epochs=int(self.epochs),
            batch_size=int(self.batch_size),
            learning_rate=float(self.learning_rate),
            final_learning_rate=float(self.final_learning_rate),
            momentum=float(self.momentum),
            weight_decay=float(self.weight_decay),
            lambda_ce=float(self.lambda_ce),
            max_grad_norm=None if self.max_grad_norm is None else float(self.max_grad_norm),
            precision=self.precision,
            patience=int(self.patience) if self.early_stopping else None,
            entropy=tuple(entropy),
            device=device,
            verbose=int(self.verbose),
        )

    def _checkpoint(self, rows: FitRows, theta: Theta, entropy: list[int]) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        run: dict[str, Any] = {
            name: value if isinstance(value, bool | int | float | str | None) else repr(value)
            for name, value in self.get_params(deep=False).items()
            if name not in _FREE
        }
        run |= {
            "entropy": entropy,
            "theta": theta.value,
            "classes": [str(label) for label in rows.labels.classes],
            "n_labeled": len(rows.labeled),
            "n_unlabeled": 0 if rows.unlabeled is None else len(rows.unlabeled),
            "labeled_checksum": fingerprint(rows.labeled),
            "unlabeled_checksum": fingerprint(rows.unlabeled),
        }
        return Checkpoint(self.checkpoint, int(self.checkpoint_every), run, bool(self.resume))

    def _remember(
        self,
        rows: FitRows,
        theta: Theta,
        module: DeepForest,
        outcome: Outcome,
        proportions: NDArray[np.float64],
    ) -> None:
        labels = rows.labels
        has_new = labels.new_index is not None
        self.classes_ = labels.classes
        self.known_classes_ = labels.known
        self.new_label_ = labels.new_label
        self.new_class_index_ = labels.new_index
        self.theta_ = theta.value if has_new else None
        self.theta_interval_ = theta.interval
        self.theta_estimator_ = theta.estimator
        self.history_ = outcome.history
        self.n_epochs_ = len(outcome.history["loss"])
        self.best_epoch_ = outcome.best_epoch
        self.leaf_proportions_ = proportions
        self.module_ = module.eval()

    # ------------------------------------------------------------------ prediction

    def predict(self, X: Any) -> NDArray[Any]:
        """Known label or `new_label_` of each row: the class with the highest probability.

        Parameters
        ----------
        X : like X of `fit`

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        probabilities = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_[probabilities.argmax(axis=1)]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of `classes_`: the mean over trees of DT_{i,k}(x).

        Parameters
        ----------
        X : like X of `fit`

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        internal = self._internal_probabilities(X)
        order = Labels(
            self.known_classes_, self.classes_, self.new_label_, self.new_class_index_
        ).column_order
        ordered: NDArray[np.float64] = internal[:, order]
        return ordered

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            logarithms: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logarithms

    def novelty_score(self, X: Any) -> NDArray[np.float64]:
        """Probability that each row is new, in [0, 1]: higher is newer.

        Parameters
        ----------
        X : like X of `fit`

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        if self.new_class_index_ is None:
            raise ValueError(
                "this forest was fitted without unlabelled rows and knows no new class: pass "
                "X_unlabeled to fit, or mark rows by unlabeled_label"
            )
        return self._internal_probabilities(X)[:, -1]

    def leaf_probabilities(self, X: Any) -> NDArray[np.float32]:
        """Probability mu_B(x) of each row to end in each leaf.

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

    def _rows_to_predict(self, X: Any) -> tuple[Rows, torch.device]:
        check_is_fitted(self)
        return check_prediction_rows(self, X), next(self.module_.parameters()).device

    def _internal_probabilities(self, X: Any) -> NDArray[np.float64]:
        """Columns by class code: known classes, then the new one."""
        rows, device = self._rows_to_predict(X)
        proportions = torch.from_numpy(self.leaf_proportions_)
        return predict_probabilities(self.module_, proportions, rows, device)

    # ------------------------------------------------------------------ files and tags

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted forest to a safetensors file; an old file is replaced whole.

        Callbacks are not kept, and of an encoder that is a module or a function only the weights.

        Parameters
        ----------
        path : str or path-like
        """
        from lacforest.neural._persistence import save_classifier

        check_is_fitted(self)
        save_classifier(self, path)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, encoder: Any = None, device: Any = "auto"
    ) -> DeepLACForestClassifier:
        """Read a forest written by `save`, after checking all of it.

        Parameters
        ----------
        path : str or path-like
        encoder : torch.nn.Module or callable, optional
            The encoder that the forest was fitted with, where it was none of the named ones. Its
            weights are replaced by those of the file.
        device : "auto", str or torch.device, default="auto"
            Where the network is to be.
        """
        from lacforest.neural._persistence import load_classifier

        loaded: DeepLACForestClassifier = load_classifier(cls, path, encoder, device)
        return loaded

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "module_")
