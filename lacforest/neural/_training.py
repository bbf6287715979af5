"""The training loop of all networks: mini-batches of labelled and unlabelled rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from lacforest.metrics import augmented_accuracy_score
from lacforest.neural._batches import count_batches, pair_batches
from lacforest.neural._checkpoint import Checkpoint, Progressed, TrainingState
from lacforest.neural._network_rows import NetworkRows, ValidationRows
from lacforest.neural._objective import Batch, Objective
from lacforest.neural._optimizers import cosine_rate, find_precision, make_optimizer
from lacforest.neural._progress import make_progress
from lacforest.neural._randomness import seed_generators
from lacforest.neural._rows import Rows, send

# Class codes of rows; the number of known classes stands for the new one.
Judge = Callable[[Rows], NDArray[np.intp]]


class TrainingError(FloatingPointError):
    """Training was stopped at NaN or infinity; the message names the batch and the epoch."""


@dataclass(frozen=True)
class TrainingOptions:
    """How to train; see `DeepLACForestClassifier`."""

    epochs: int
    batch_size: int
    optimizer: Any
    learning_rate: float
    final_learning_rate: float
    schedule: str
    momentum: float
    weight_decay: float
    max_grad_norm: float | None
    precision: str
    patience: int | None
    entropy: tuple[int, ...]
    device: torch.device
    verbose: int = 0


@dataclass(frozen=True)
class EpochEnd:
    """The argument of callbacks after each epoch.

    Attributes
    ----------
    epoch : int
        Number of the epoch, from 1.
    epochs : int
        Total number of epochs.
    logs : dict
        The entries of `history_`: ``learning_rate``, ``loss``, the parts of the loss, and
        ``accuracy`` where there are validation rows.
    module : torch.nn.Module
        The module that is trained.
    """

    epoch: int
    epochs: int
    logs: dict[str, float]
    module: nn.Module


Callback = Callable[[EpochEnd], Any]


@dataclass
class Outcome:
    """The result of training.

    Attributes
    ----------
    history : dict of list
        One entry per epoch.
    best_epoch : int or None
        The epoch whose weights the module has, where accuracy was watched.
    """

    history: dict[str, list[float]] = field(default_factory=dict)
    best_epoch: int | None = None


class Trainer:
    """Trains a module in place.

    Each epoch is seeded by its own number, so that a run that was stopped between epochs and goes
    on from a checkpoint computes the same bits.

    Parameters
    ----------
    module : torch.nn.Module
        On the device.
    objective : Objective
        On the device; its parameters are trained too.
    rows : NetworkRows
    options : TrainingOptions
    prepare_judge : callable
        Returns a function that predicts class codes by the module as it is.
    validation : ValidationRows or None
    callbacks : sequence of callable
    checkpoint : Checkpoint or None
    """

    def __init__(
        self,
        module: nn.Module,
        objective: Objective,
        rows: NetworkRows,
        options: TrainingOptions,
        prepare_judge: Callable[[], Judge],
        validation: ValidationRows | None = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._module = module
        self._rows = rows
        self._options = options
        self._validation = validation
        self._callbacks = callbacks
        self._checkpoint = checkpoint
        self._objective = objective
        self._prepare_judge = prepare_judge
        self._parameters = [*module.parameters(), *objective.parameters()]
        self._optimizer = make_optimizer(
            options.optimizer,
            self._parameters,
            options.learning_rate,
            options.momentum,
            options.weight_decay,
        )
        self._half = find_precision(options.precision, options.device)
        self._scaler = torch.amp.GradScaler(
            options.device.type, enabled=self._half == torch.float16
        )
        self._trained = TrainingState(module, objective, self._optimizer, self._scaler)
        self._state = Progressed()

    def run(self) -> Outcome:
        """Train until the last epoch, or until a callback or the lack of progress stops it."""
        options, state = self._options, self._state
        if self._checkpoint is not None:
            self._checkpoint.restore(state, self._trained)
        progress = make_progress(options.epochs, state.epoch, options.verbose)
        try:
            while state.epoch < options.epochs and not state.stopped:
                logs = self._one_epoch(state.epoch)
                state.epoch += 1
                for name, value in logs.items():
                    state.history.setdefault(name, []).append(value)
                self._keep_the_best(logs)
                progress.epoch(logs)
                told = EpochEnd(state.epoch, options.epochs, logs, self._module)
                wanted = [callback(told) for callback in self._callbacks]
                state.stopped = state.stopped or any(answer is True for answer in wanted)
                self._save_if_due()
        except KeyboardInterrupt as error:
            error.add_note(self._where_to_go_on())
            raise
        finally:
            progress.close()
        if state.best is not None:
            self._module.load_state_dict(state.best)
        return Outcome(state.history, state.best_epoch)

    def _one_epoch(self, epoch: int) -> dict[str, float]:
        options = self._options
        entropy = [*options.entropy, epoch]
        seed_generators(options.device, entropy)
        self._module.train()
        self._objective.train()
        n_labeled = len(self._rows.labeled)
        n_unlabeled = n_labeled if self._rows.unlabeled is None else len(self._rows.unlabeled)
        n_steps = count_batches(n_labeled, n_unlabeled, options.batch_size)
        sums: dict[str, float] = {}
        pairs = pair_batches(n_labeled, n_unlabeled, options.batch_size, entropy)
        for number, (labeled, unlabeled) in enumerate(pairs):
            rate = self._set_learning_rate(epoch, number, n_steps)
            for name, value in self._one_step(labeled, unlabeled, epoch + 1, number + 1).items():
                sums[name] = sums.get(name, 0.0) + value
        self._check_parameters(epoch + 1)
        logs = {"learning_rate": rate, **{name: total / n_steps for name, total in sums.items()}}
        if self._validation is not None:
            logs["accuracy"] = self._accuracy(self._validation)
        return logs

    def _set_learning_rate(self, epoch: int, step: int, n_steps: int) -> float:
        options = self._options
        if options.schedule == "epoch":
            progress = epoch / options.epochs
        else:
            # The last step of the last epoch has the final rate.
            progress = (epoch * n_steps + step) / max(1, options.epochs * n_steps - 1)
        rate = cosine_rate(progress, options.learning_rate, options.final_learning_rate)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        return rate

    def _one_step(
        self, labeled: NDArray[np.intp], unlabeled: NDArray[np.intp], epoch: int, number: int
    ) -> dict[str, float]:
        options = self._options
        with torch.autocast(options.device.type, self._half) if self._half else nullcontext():
            parts = self._objective(self._module, self._batch(labeled, unlabeled))
        found = torch.stack([part.detach().float() for part in parts.values()])
        values = dict(zip(parts, found.tolist(), strict=True))  # one transfer
        if not all(map(math.isfinite, values.values())):
            named = ", ".join(f"{name} {value:g}" for name, value in values.items())
            raise TrainingError(
                f"the loss became {values['loss']:g} in batch {number} of epoch {epoch} ({named}; "
                f"labelled rows {labeled[:3].tolist()} and so on). Lower learning_rate="
                f"{options.learning_rate:g}, set max_grad_norm (1.0 is usual), or use "
                f"precision='float32'. {self._where_to_go_on()}"
            )
        self._optimizer.zero_grad(set_to_none=True)
        self._scaler.scale(parts["loss"]).backward()
        if options.max_grad_norm is not None:
            self._scaler.unscale_(self._optimizer)
            torch.nn.utils.clip_grad_norm_(self._parameters, options.max_grad_norm)
        self._scaler.step(self._optimizer)
        self._scaler.update()
        self._objective.after_step()
        return values

    def _batch(self, labeled: NDArray[np.intp], unlabeled: NDArray[np.intp]) -> Batch:
        """Both kinds of rows in one tensor, so that the encoder runs once."""
        device, rows = self._options.device, self._rows
        values = send(rows.labeled.take(labeled), device)
        if rows.unlabeled is not None:
            values = torch.cat([values, send(rows.unlabeled.take(unlabeled), device)])
        chosen = torch.from_numpy(labeled)
        weight = None if rows.weight is None else rows.weight[chosen].float().to(device)
        return Batch(values, rows.codes[chosen].to(device), weight, rows.unlabeled is not None)

    def _check_parameters(self, epoch: int) -> None:
        """Weights that are not finite must not reach a checkpoint."""
        named = [*self._module.named_parameters(), *self._objective.named_parameters()]
        for name, parameter in named:
            if not torch.isfinite(parameter).all():
                raise TrainingError(
                    f"the weights {name!r} are no longer finite after the last batch of epoch "
                    f"{epoch}. Lower learning_rate={self._options.learning_rate:g}, or set "
                    f"max_grad_norm (1.0 is usual). {self._where_to_go_on()}"
                )

    def _accuracy(self, validation: ValidationRows) -> float:
        """Accuracy on validation rows; an estimate where they have no labels of the new class."""
        judge = self._prepare_judge()
        predicted = judge(validation.labeled)
        weight = np.ones(len(predicted)) if validation.weight is None else validation.weight
        if validation.unlabeled is None:
            return float(np.average(predicted == validation.codes, weights=weight))
        n_unlabeled = len(validation.unlabeled)
        return augmented_accuracy_score(
            np.append(validation.codes, np.full(n_unlabeled, -1)),
            np.append(predicted, judge(validation.unlabeled)),
            theta=self._rows.theta,
            new_label=self._rows.n_classes,
            unlabeled_label=-1,
            sample_weight=np.append(weight, np.ones(n_unlabeled)),
        )

    def _keep_the_best(self, logs: dict[str, float]) -> None:
        state, patience = self._state, self._options.patience
        if patience is None:
            return
        if state.best_accuracy is None or logs["accuracy"] > state.best_accuracy:
            state.best_accuracy, state.best_epoch = logs["accuracy"], state.epoch
            state.best = {
                name: value.detach().clone() for name, value in self._module.state_dict().items()
            }
        state.stopped = state.epoch - (state.best_epoch or 0) >= patience

    def _save_if_due(self) -> None:
        if self._checkpoint is None:
            return
        last = self._state.stopped or self._state.epoch == self._options.epochs
        if last or self._state.epoch % self._checkpoint.every == 0:
            self._checkpoint.save(self._state, self._trained)

    def _where_to_go_on(self) -> str:
        if self._checkpoint is None:
            return "No checkpoint was kept: set checkpoint to a path to keep one."
        if self._checkpoint.epoch == 0:
            return f"No epoch has been kept in {self._checkpoint.path} yet."
        return (
            f"The state after epoch {self._checkpoint.epoch} is in {self._checkpoint.path}: fit "
            "with resume=True goes on from there."
        )
