"""The loop of Algorithm 2: mini-batches of both kinds of rows, one objective, one optimiser."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lacforest.metrics import augmented_accuracy_score
from lacforest.neural._checkpoint import Checkpoint, Progressed
from lacforest.neural._evaluation import collect_proportions, predict_probabilities
from lacforest.neural._loss import AugmentedGiniLoss, LossParts
from lacforest.neural._module import DeepForest
from lacforest.neural._progress import make_progress
from lacforest.neural._randomness import seed_generators
from lacforest.neural._rows import Rows, send

_TYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}


class TrainingError(FloatingPointError):
    """Training ran into NaN or infinity and was stopped; the message says where."""


@dataclass(frozen=True)
class TrainingRows:
    """What a module is trained on.

    Attributes
    ----------
    labeled : Rows
    codes : int64 tensor of shape (n_labeled,)
        Class codes, on the CPU.
    unlabeled : Rows or None
        None trains a plain neural forest of the known classes.
    theta : float
        Share of new rows among unlabelled ones; 0 where there are none.
    """

    labeled: Rows
    codes: Tensor
    unlabeled: Rows | None
    theta: float


@dataclass(frozen=True)
class ValidationRows:
    """Rows that a module is judged by after each epoch.

    Attributes
    ----------
    labeled : Rows
    codes : int array of shape (n_labeled,)
        Class codes; the number of known classes stands for the new one.
    unlabeled : Rows or None
        With unlabelled rows accuracy is estimated by labelled rows of known classes and these;
        without, it is that on `labeled`.
    """

    labeled: Rows
    codes: NDArray[np.intp]
    unlabeled: Rows | None


@dataclass(frozen=True)
class TrainingOptions:
    """How to train; see `DeepLACForestClassifier`."""

    epochs: int
    batch_size: int
    learning_rate: float
    final_learning_rate: float
    momentum: float
    weight_decay: float
    lambda_ce: float
    max_grad_norm: float | None
    precision: str
    patience: int | None
    entropy: tuple[int, ...]
    device: torch.device
    verbose: int = 0


@dataclass(frozen=True)
class EpochEnd:
    """What a callback is told after each epoch.

    Attributes
    ----------
    epoch : int
        Number of the epoch, from 1.
    epochs : int
        How many there will be.
    logs : dict
        What `history_` gets: ``learning_rate``, ``loss``, ``gini``, ``cross_entropy``, and
        ``accuracy`` where there are validation rows.
    module : DeepForest
        The module that is trained.
    """

    epoch: int
    epochs: int
    logs: dict[str, float]
    module: DeepForest


Callback = Callable[[EpochEnd], Any]


@dataclass
class Outcome:
    """What training leaves.

    Attributes
    ----------
    history : dict of list
        One entry an epoch.
    best_epoch : int or None
        The epoch whose weights the module has, where training watched its accuracy.
    """

    history: dict[str, list[float]] = field(default_factory=dict)
    best_epoch: int | None = None


def learning_rate_at(epoch: int, options: TrainingOptions) -> float:
    """Cosine annealing from the first learning rate to the last; epochs count from 0."""
    low, high = options.final_learning_rate, options.learning_rate
    return low + (high - low) * (1.0 + math.cos(math.pi * epoch / options.epochs)) / 2.0


def _chunks(n_rows: int, batch_size: int, rng: np.random.Generator) -> Iterator[NDArray[np.intp]]:
    """Endless batches of equal size, give or take one row; rows come in a new order each time."""
    while True:
        yield from np.array_split(rng.permutation(n_rows), -(-n_rows // batch_size))


def pair_batches(
    n_labeled: int, n_unlabeled: int, batch_size: int, entropy: Sequence[int]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Batches of labelled and of unlabelled rows for one epoch.

    The epoch ends when the larger side is through; the smaller one starts again as often as that
    takes. Batches of a side have equal sizes, give or take one row: the impurity of a few rows
    would be all noise.

    Parameters
    ----------
    n_labeled, n_unlabeled : int
    batch_size : int
        Most rows of either side.
    entropy : sequence of int
    """
    seeds = np.random.SeedSequence(entropy).spawn(2)
    sides = [
        _chunks(n_rows, batch_size, np.random.default_rng(seed))
        for n_rows, seed in zip((n_labeled, n_unlabeled), seeds, strict=True)
    ]
    for _ in range(-(-max(n_labeled, n_unlabeled) // batch_size)):
        yield next(sides[0]), next(sides[1])


class Trainer:
    """Trains a module in place.

    Each epoch is seeded by its own number, so that a run that was stopped between epochs and goes
    on from a checkpoint computes the same bits.

    Parameters
    ----------
    module : DeepForest
        On the device.
    rows : TrainingRows
    options : TrainingOptions
    validation : ValidationRows or None
    callbacks : sequence of callable
    checkpoint : Checkpoint or None
    """

    def __init__(
        self,
        module: DeepForest,
        rows: TrainingRows,
        options: TrainingOptions,
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
        self._loss = AugmentedGiniLoss(rows.theta, module.head.out_features, options.lambda_ce)
        self._optimizer = torch.optim.SGD(
            module.parameters(),
            lr=options.learning_rate,
            momentum=options.momentum,
            weight_decay=options.weight_decay,
        )
        self._scaler = torch.amp.GradScaler(
            options.device.type, enabled=options.precision == "float16"
        )
        self._state = Progressed()

    def run(self) -> Outcome:
        """Train until the last epoch, or until a callback or the lack of progress stops it."""
        options, state = self._options, self._state
        if self._checkpoint is not None:
            self._checkpoint.restore(state, self._module, self._optimizer, self._scaler)
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
        rate = learning_rate_at(epoch, options)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._module.train()
        n_labeled = len(self._rows.labeled)
        n_unlabeled = n_labeled if self._rows.unlabeled is None else len(self._rows.unlabeled)
        pairs = pair_batches(n_labeled, n_unlabeled, options.batch_size, entropy)
        sums, count = np.zeros(3), 0
        for number, (labeled, unlabeled) in enumerate(pairs, start=1):
            sums += self._one_step(labeled, unlabeled, epoch + 1, number)
            count = number
        self._check_parameters(epoch + 1)
        loss, gini, cross_entropy = (sums / count).tolist()
        logs = {
            "learning_rate": rate,
            "loss": loss,
            "gini": gini,
            "cross_entropy": cross_entropy,
        }
        if self._validation is not None:
            logs["accuracy"] = self._accuracy(self._validation)
        return logs

    def _one_step(
        self, labeled: NDArray[np.intp], unlabeled: NDArray[np.intp], epoch: int, number: int
    ) -> list[float]:
        options = self._options
        parts = self._forward(labeled, unlabeled)
        values = torch.stack([part.detach() for part in parts]).tolist()  # one transfer
        if not all(map(math.isfinite, values)):
            named = f"L_ag {values[1]:g} and L_ce {values[2]:g}"
            raise TrainingError(
                f"the loss became {values[0]:g} in batch {number} of epoch {epoch} ({named}, "
                f"labelled rows {labeled[:3].tolist()} and so on). Lower learning_rate="
                f"{options.learning_rate:g}, set max_grad_norm (1.0 is usual), or use "
                f"precision='float32'. {self._where_to_go_on()}"
            )
        self._optimizer.zero_grad(set_to_none=True)
        self._scaler.scale(parts.total).backward()
        if options.max_grad_norm is not None:
            self._scaler.unscale_(self._optimizer)
            torch.nn.utils.clip_grad_norm_(self._module.parameters(), options.max_grad_norm)
        self._scaler.step(self._optimizer)
        self._scaler.update()
        return values

    def _forward(self, labeled: NDArray[np.intp], unlabeled: NDArray[np.intp]) -> LossParts:
        """Both kinds of rows in one pass, so that the encoder and the trees run once."""
        options, rows = self._options, self._rows
        n_labeled = len(labeled)
        batch = send(rows.labeled.take(labeled), options.device)
        if rows.unlabeled is not None:
            batch = torch.cat([batch, send(rows.unlabeled.take(unlabeled), options.device)])
        codes = rows.codes[torch.from_numpy(labeled)].to(options.device)
        half = _TYPES.get(options.precision)
        with torch.autocast(options.device.type, half) if half else nullcontext():
            features = self._module.features(batch)
            mu = self._module.forest(features)
            logits = self._module.head(features[:n_labeled])
        # Without unlabelled rows the labelled ones stand for both: theta is 0, and what is left of
        # the augmented Gini impurity is the plain one.
        own, *rest = mu.split([n_labeled, len(mu) - n_labeled]) if len(mu) > n_labeled else [mu]
        return self._loss.parts(own, codes, rest[0] if rest else own, logits)

    def _check_parameters(self, epoch: int) -> None:
        """Weights that are not finite must not reach a checkpoint."""
        for name, parameter in self._module.named_parameters():
            if not torch.isfinite(parameter).all():
                raise TrainingError(
                    f"the weights {name!r} are no longer finite after the last batch of epoch "
                    f"{epoch}. Lower learning_rate={self._options.learning_rate:g}, or set "
                    f"max_grad_norm (1.0 is usual). {self._where_to_go_on()}"
                )

    def _accuracy(self, validation: ValidationRows) -> float:
        """Accuracy on validation rows; an estimate where they have no labels of the new class."""
        rows, device = self._rows, self._options.device
        proportions = collect_proportions(
            self._module, rows.labeled, rows.codes, rows.unlabeled, rows.theta, device
        )

        def predict(some: Rows) -> NDArray[np.intp]:
            shares = predict_probabilities(self._module, proportions, some, device)
            codes: NDArray[np.intp] = shares.argmax(axis=1)
            return codes

        predicted = predict(validation.labeled)
        if validation.unlabeled is None:
            return float((predicted == validation.codes).mean())
        return augmented_accuracy_score(
            np.append(validation.codes, np.full(len(validation.unlabeled), -1)),
            np.append(predicted, predict(validation.unlabeled)),
            theta=rows.theta,
            new_label=self._module.head.out_features,
            unlabeled_label=-1,
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
            self._checkpoint.save(self._state, self._module, self._optimizer, self._scaler)

    def _where_to_go_on(self) -> str:
        if self._checkpoint is None:
            return "No checkpoint was kept: set checkpoint to a path to keep one."
        if self._checkpoint.epoch == 0:
            return f"No epoch was kept in {self._checkpoint.path} yet."
        return (
            f"The state after epoch {self._checkpoint.epoch} is in {self._checkpoint.path}: fit "
            "with resume=True goes on from there."
        )
