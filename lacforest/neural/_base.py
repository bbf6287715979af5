"""BaseDeepClassifier: fitting, validation, checkpoints and files of all networks."""

from __future__ import annotations

import os
from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import TransformerTags
from sklearn.utils.validation import check_is_fitted
from torch import nn

from lacforest._contract.classifier import AugmentedClassifierMixin, keyword_only_fit
from lacforest._contract.deployment import Theta, check_theta, warn_if_undetermined
from lacforest._utils.rollback import unchanged_on_failure
from lacforest.neural._building import fit_encoder
from lacforest.neural._data import (
    FitRows,
    check_fit_rows,
    check_prediction_rows,
    check_validation_rows,
    find_deployment_of_rows,
    hold_out,
    weigh_validation,
)
from lacforest.neural._encoders import make_encoder
from lacforest.neural._evaluation import encoded_rows
from lacforest.neural._network_rows import NetworkRows, ValidationRows
from lacforest.neural._objective import Objective
from lacforest.neural._persistence import load_classifier, save_classifier
from lacforest.neural._randomness import private_generators, seed_generators
from lacforest.neural._rows import Rows
from lacforest.neural._run import make_checkpoint, run_entropy, training_options
from lacforest.neural._settings import check_settings, find_device
from lacforest.neural._signature import complete_constructor
from lacforest.neural._training import Callback, Judge, Outcome, Trainer

# Numbers beyond any epoch, to seed what is drawn before the first one.
_OF_WEIGHTS = 2**32 - 1
_OF_VALIDATION = 2**32 - 2


class BaseDeepClassifier(
    AugmentedClassifierMixin, TransformerMixin, BaseEstimator, metaclass=ABCMeta
):
    """Base of all classifiers that train a network.

    A subclass builds a network and an objective, judges rows by the trained network, and names the
    tensors that prediction needs beside its weights. Its constructor lists its own parameters and
    passes all others on.
    """

    # Defaults that a subclass changes.
    _DEFAULTS: ClassVar[dict[str, Any]] = {}
    # Whether batches hold unlabelled rows.
    _trains_on_unlabeled: ClassVar[bool] = True

    module_: Any

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        inherited = getattr(super(cls, cls), "_DEFAULTS", {})
        cls._DEFAULTS = inherited | cls._DEFAULTS
        if "__init__" in vars(cls):
            complete_constructor(cls, cls._DEFAULTS)

    def __init__(
        self,
        *,
        encoder: Any = "auto",
        hidden: Sequence[int] = (128, 128),
        batch_norm: bool = False,
        epochs: int = 500,
        batch_size: int = 512,
        optimizer: Any = "sgd",
        learning_rate: float = 1e-2,
        final_learning_rate: float = 1e-3,
        schedule: Literal["epoch", "step"] = "epoch",
        momentum: float = 0.9,
        weight_decay: float = 5e-3,
        max_grad_norm: float | None = None,
        precision: Literal["auto", "float32", "bfloat16", "float16"] = "float32",
        device: Any = "auto",
        early_stopping: bool = False,
        patience: int = 20,
        validation_fraction: float = 0.1,
        callbacks: Sequence[Callback] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
        resume: bool = False,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        unlabeled_label: Any = None,
        new_label: Any = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.encoder = encoder
        self.hidden = hidden
        self.batch_norm = batch_norm
        self.epochs = epochs
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.final_learning_rate = final_learning_rate
        self.schedule = schedule
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
        self.class_weight = class_weight
        self.unlabeled_label = unlabeled_label
        self.new_label = new_label
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ what a method defines

    def _check_parameters(self) -> None:
        """Reject invalid parameters before any data is read."""
        check_settings(self)

    @abstractmethod
    def _assemble(self, encoder: nn.Module, n_features: int, n_known: int) -> nn.Module:
        """The network with fresh weights; it has the parts ``encoder`` and ``head``."""

    def _initialize(self, module: nn.Module, rows: FitRows, device: torch.device) -> None:
        """Set weights by the data before the first step."""

    @abstractmethod
    def _objective(self, module: nn.Module, rows: NetworkRows) -> Objective:
        """What is minimised."""

    @abstractmethod
    def _prepare_judge(self, module: nn.Module, rows: NetworkRows, device: torch.device) -> Judge:
        """A function that predicts class codes, for validation during training."""

    def _refine(
        self, module: nn.Module, rows: NetworkRows, entropy: list[int], device: torch.device
    ) -> nn.Module:
        """Train further after the last epoch; returns the network that predicts."""
        return module

    @abstractmethod
    def _conclude(
        self, rows: NetworkRows, validation: ValidationRows | None, device: torch.device
    ) -> None:
        """Set what prediction needs beside `module_`, which is trained."""

    @abstractmethod
    def _tensors(self) -> dict[str, NDArray[Any]]:
        """What prediction needs beside `module_`, for files."""

    @abstractmethod
    def _restore_tensors(self, tensors: dict[str, NDArray[Any]], n_known: int) -> None:
        """Check and set what `_tensors` returned."""

    def _needs_held_out(self) -> bool:
        """Whether the fit needs validation rows."""
        return bool(self.early_stopping)

    # ------------------------------------------------------------------ fit

    @keyword_only_fit
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        X_unlabeled: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        X_unlabeled_val: Any = None,
    ) -> Self:
        """Train the network, then compute what prediction needs from the whole data.

        Parameters
        ----------
        X : table, images, tensor or torch Dataset
            Labelled rows, and unlabelled ones among them if `unlabeled_label` is set.
        y : array-like of shape (n_rows,)
            Labels. May be omitted for a dataset of pairs of row and label.
        X_unlabeled : like X, optional
            Unlabelled rows from deployment. Labels in a dataset of unlabelled rows are not used.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of labelled rows in the loss.
        X_val : like X, optional
            Validation rows.
        y_val : array-like of shape (n_validation,), optional
            Their labels; without `X_unlabeled_val`, labels absent from y count as new.
        X_unlabeled_val : like X, optional
            Unlabelled validation rows: with them, accuracy is estimated without labels of the new
            class, and `X_val` holds known classes only.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            self._check_parameters()
            theta_or_estimator = check_theta(self.theta) if hasattr(self, "theta") else 0.0
            device = find_device(self.device)
            rows = check_fit_rows(self, X, y, X_unlabeled, sample_weight)
            if not self._uses_unlabeled:
                rows = replace(rows, unlabeled=None)
            validation = check_validation_rows(self, X, rows.labels, X_val, y_val, X_unlabeled_val)
            entropy = run_entropy(self)
            # Methods without theta or shares take none of the estimates.
            shares = getattr(self, "known_shares", "labeled")
            deployment = find_deployment_of_rows(theta_or_estimator, shares, rows, entropy)
            theta = Theta(0.0) if deployment is None else deployment.theta
            if rows.unlabeled is not None:
                warn_if_undetermined(theta, len(rows.unlabeled))
            factor = None if deployment is None else deployment.rows.class_factor
            if factor is not None:
                rows = rows.with_class_factor(factor)
                validation = weigh_validation(validation, factor)
            if validation is None and self._needs_held_out():
                rows, validation = hold_out(
                    rows, self.validation_fraction, [*entropy, _OF_VALIDATION]
                )
            self._store_labels(rows.labels)
            if hasattr(self, "known_shares"):
                self._store_deployment(deployment)
            elif hasattr(self, "theta"):
                self._store_theta(None if rows.unlabeled is None else theta)
            with private_generators(device):
                self._train(rows, validation, theta, entropy, device)
        return self

    def _train(
        self,
        rows: FitRows,
        validation: ValidationRows | None,
        theta: Theta,
        entropy: list[int],
        device: torch.device,
    ) -> None:
        seed_generators(device, [*entropy, _OF_WEIGHTS])
        module = self._build(rows, device)
        training = rows.training(theta.value)
        batches = training if self._trains_on_unlabeled else replace(training, unlabeled=None)
        trainer = Trainer(
            module,
            self._objective(module, batches).to(device),
            batches,
            training_options(self, entropy, device),
            lambda: self._prepare_judge(module, batches, device),
            validation,
            self.callbacks or (),
            make_checkpoint(self, rows, theta, entropy),
        )
        self._store_outcome(trainer.run())
        self.module_ = self._refine(module, batches, entropy, device).eval()
        self._conclude(training, validation, device)

    def _store_outcome(self, outcome: Outcome) -> None:
        self.history_ = outcome.history
        self.n_epochs_ = len(outcome.history["loss"])
        self.best_epoch_ = outcome.best_epoch

    def _build(self, rows: FitRows, device: torch.device) -> nn.Module:
        """A network that is ready to be trained."""
        encoder = make_encoder(self.encoder, rows.labeled.shape, self.hidden, bool(self.batch_norm))
        n_features = fit_encoder(encoder, rows)
        module = self._place(self._assemble(encoder, n_features, len(rows.labels.known)), device)
        self._initialize(module, rows, device)
        return module

    @staticmethod
    def _place(module: nn.Module, device: torch.device) -> nn.Module:
        return (module.float() if device.type == "mps" else module).to(device)

    def _rebuild(self, n_features: int, n_known: int, device: torch.device) -> nn.Module:
        """A network with fresh weights, to be loaded from a file."""
        with private_generators(device):
            encoder = make_encoder(
                self.encoder, self.input_shape_, self.hidden, bool(self.batch_norm)
            )
            return self._place(self._assemble_fitted(encoder, n_features, n_known), device)

    def _outline(self, n_features: int, n_known: int) -> nn.Module:
        """The network of a file, without memory for weights and without an encoder of one's own."""
        with torch.device("meta"):
            encoder: nn.Module = nn.Identity()
            if isinstance(self.encoder, str):
                encoder = make_encoder(
                    self.encoder, self.input_shape_, self.hidden, bool(self.batch_norm)
                )
            return self._assemble_fitted(encoder, n_features, n_known)

    def _assemble_fitted(self, encoder: nn.Module, n_features: int, n_known: int) -> nn.Module:
        """The network that predicts, where it is not the one that the trainer starts with."""
        return self._assemble(encoder, n_features, n_known)

    # ------------------------------------------------------------------ prediction

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Features that the trained encoder makes of rows.

        Parameters
        ----------
        X : like X of `fit`

        Returns
        -------
        ndarray of shape (n_rows, n_encoder_outputs)
        """
        rows, device = self._rows_to_predict(X)
        return encoded_rows(self.module_, rows, device)

    def _rows_to_predict(self, X: Any) -> tuple[Rows, torch.device]:
        check_is_fitted(self)
        return check_prediction_rows(self, X), next(self.module_.parameters()).device

    # ------------------------------------------------------------------ files and tags

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to a safetensors file, replacing an old one atomically.

        Callbacks are not saved; of an encoder that is a module or a function, only the weights are.
        An optimiser that is a function is not saved.

        Parameters
        ----------
        path : str or path-like
        """
        check_is_fitted(self)
        save_classifier(self, path)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, encoder: Any = None, device: Any = "auto"
    ) -> Self:
        """Read a classifier that `save` wrote, after checking all of it.

        Parameters
        ----------
        path : str or path-like
        encoder : torch.nn.Module or callable, optional
            The encoder that the classifier was fitted with, where it was none of the named ones.
            Its weights are replaced by those of the file.
        device : "auto", str or torch.device, default="auto"
            Device of the network.
        """
        loaded: Self = load_classifier(cls, path, encoder, device)
        return loaded

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "module_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=[])  # features are float32
        return tags
