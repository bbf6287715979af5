"""Checkpoints: everything that the rest of a run depends on, in one file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lacforest._input.parameters import is_int
from lacforest._model.container import ModelFileError
from lacforest.neural._files import read_tensors, write_tensors
from lacforest.neural._objective import Objective
from lacforest.neural._stored_checks import check_checkpoint, check_optimizer_state

KIND = "checkpoint"


@dataclass
class Progressed:
    """The state of a run between two epochs.

    Attributes
    ----------
    epoch : int
        Completed epochs.
    stopped : bool
        Whether a callback or early stopping ended training.
    history : dict of list
    best_accuracy, best_epoch, best
        Accuracy, number and weights of the best epoch, where accuracy is watched.
    """

    epoch: int = 0
    stopped: bool = False
    history: dict[str, list[float]] = field(default_factory=dict)
    best_accuracy: float | None = None
    best_epoch: int | None = None
    best: dict[str, Tensor] | None = None


@dataclass(frozen=True)
class TrainingState:
    """All that steps of training change.

    Attributes
    ----------
    module : torch.nn.Module
    objective : Objective
    optimizer : torch.optim.Optimizer
        Of any kind: what it keeps per parameter is stored by name.
    scaler : torch.amp.GradScaler
    """

    module: nn.Module
    objective: Objective
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler

    def export(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors by name, and numbers for the header."""
        tensors = {f"module.{name}": value for name, value in self.module.state_dict().items()}
        for name, value in self.objective.state_dict().items():
            tensors[f"objective.{name}"] = value
        for name, value in self.objective.extra_tensors().items():
            tensors[f"extra.{name}"] = value
        of_optimizer, numbers = flatten_optimizer(self.optimizer)
        tensors |= {f"optimizer.{name}": value for name, value in of_optimizer.items()}
        return tensors, {"optimizer": numbers, "scaler": self.scaler.state_dict()}

    def restore(self, parts: dict[str, dict[str, Tensor]], scalars: dict[str, Any]) -> None:
        """Restore what `export` returned; tensors are given by their first and second name."""
        self.module.load_state_dict(parts["module"])
        self.objective.load_state_dict(parts.get("objective", {}))
        self.objective.load_extra_tensors(parts.get("extra", {}))
        restore_optimizer(self.optimizer, parts.get("optimizer", {}), scalars["optimizer"])
        if scalars["scaler"]:
            self.scaler.load_state_dict(scalars["scaler"])


def flatten_optimizer(
    optimizer: torch.optim.Optimizer,
) -> tuple[dict[str, Tensor], dict[str, float]]:
    """What an optimiser keeps per parameter: tensors and numbers, by "parameter.name"."""
    tensors, numbers = {}, {}
    for number, entry in optimizer.state_dict()["state"].items():
        for name, value in entry.items():
            if isinstance(value, Tensor):
                tensors[f"{number}.{name}"] = value
            elif value is not None:
                numbers[f"{number}.{name}"] = value
    return tensors, numbers


def restore_optimizer(
    optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], numbers: dict[str, float]
) -> None:
    """Check and restore what `flatten_optimizer` returned."""
    check_optimizer_state(optimizer, tensors, numbers)
    kept = optimizer.state_dict()
    state: dict[int, dict[str, Any]] = {}
    for key, value in [*tensors.items(), *numbers.items()]:
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = value
    kept["state"] = state
    optimizer.load_state_dict(kept)


class Checkpoint:
    """A checkpoint file, replaced atomically.

    Parameters
    ----------
    path : path
    every : int
        Epochs between two checkpoints.
    run : dict
        Everything that the run depends on: a checkpoint of another run is rejected.
    resume : bool
        Continue from the file, if it exists.
    """

    def __init__(
        self, path: str | os.PathLike[str], every: int, run: dict[str, Any], resume: bool
    ) -> None:
        self.path = Path(path)
        self.every = every
        self.epoch = 0
        self._run = run
        self._resume = resume

    def save(self, state: Progressed, trained: TrainingState) -> None:
        """Write the state after an epoch."""
        tensors, scalars = trained.export()
        for name, value in (state.best or {}).items():
            tensors[f"best.{name}"] = value
        header = {
            "run": self._run,
            "epoch": state.epoch,
            "stopped": state.stopped,
            "history": state.history,
            "best_accuracy": state.best_accuracy,
            "best_epoch": state.best_epoch,
            "scalars": scalars,
        }
        write_tensors(self.path, KIND, header, tensors)
        self.epoch = state.epoch

    def restore(self, state: Progressed, trained: TrainingState) -> None:
        """Restore the state in the file; do nothing if there is none."""
        if not self._resume or not self.path.exists():
            return
        header, tensors = read_tensors(self.path, KIND)
        self._compare(header.get("run"))
        parts: dict[str, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            part, _, name = key.partition(".")
            parts.setdefault(part, {})[name] = value
        try:
            check_checkpoint(
                header, parts, trained.module.state_dict(), trained.objective.state_dict()
            )
            trained.restore(parts, header["scalars"])
            state.epoch = header["epoch"]
            state.stopped = header["stopped"]
            state.history = {name: list(values) for name, values in header["history"].items()}
            state.best_accuracy = header["best_accuracy"]
            state.best_epoch = header["best_epoch"]
            device = next(trained.module.parameters()).device
            state.best = {k: v.to(device) for k, v in parts.get("best", {}).items()} or None
        except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise ModelFileError(f"{self.path} is no checkpoint of this run: {error}") from error
        self.epoch = state.epoch

    def _compare(self, before: Any) -> None:
        if not isinstance(before, dict):
            raise ModelFileError(f"{self.path} does not say which run it belongs to")
        different = [
            f"{name}={before.get(name)!r} where this fit has {self._run.get(name)!r}"
            for name in sorted({*before, *self._run})
            if before.get(name) != self._run.get(name)
        ]
        if different:
            raise ValueError(
                f"{self.path} is the checkpoint of another run, with {', '.join(different)}. Fit "
                "as that run did, name another file, or start afresh by resume=False."
            )


def read_run(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Everything that the run of a checkpoint depends on."""
    run = read_tensors(path, KIND)[0].get("run")
    if not isinstance(run, dict):
        raise ModelFileError(f"{os.fspath(path)} does not say which run it belongs to")
    return run


def read_entropy(path: str | os.PathLike[str]) -> list[int]:
    """Seeds of the run of a checkpoint."""
    words = read_run(path).get("entropy")
    if not isinstance(words, list) or not all(is_int(word) and word >= 0 for word in words):
        raise ModelFileError(f"{os.fspath(path)} does not hold the seeds of its run")
    return words
