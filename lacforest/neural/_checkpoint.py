"""Checkpoints: everything that the rest of a training run depends on, in one file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lacforest._persistence import ModelFileError
from lacforest.neural._files import read_tensors, write_tensors

KIND = "checkpoint"


@dataclass
class Progressed:
    """How far training is.

    Attributes
    ----------
    epoch : int
        Epochs that are done.
    stopped : bool
        Whether a callback or the lack of progress ended training.
    history : dict of list
    best_accuracy, best_epoch, best
        Accuracy, number and weights of the best epoch, where training watches its accuracy.
    """

    epoch: int = 0
    stopped: bool = False
    history: dict[str, list[float]] = field(default_factory=dict)
    best_accuracy: float | None = None
    best_epoch: int | None = None
    best: dict[str, Tensor] | None = None


class Checkpoint:
    """A checkpoint file, written whole or not at all.

    Parameters
    ----------
    path : path
    every : int
        Epochs between two checkpoints.
    run : dict
        What the run depends on: a checkpoint of another run is refused.
    resume : bool
        Go on from the file, if it is there.
    """

    def __init__(
        self, path: str | os.PathLike[str], every: int, run: dict[str, Any], resume: bool
    ) -> None:
        self.path = Path(path)
        self.every = every
        self.epoch = 0
        self._run = run
        self._resume = resume

    def save(
        self,
        state: Progressed,
        module: nn.Module,
        optimizer: torch.optim.Optimizer,
        scaler: torch.amp.GradScaler,
    ) -> None:
        """Write the state after an epoch."""
        tensors = {f"module.{name}": value for name, value in module.state_dict().items()}
        for name, value in (state.best or {}).items():
            tensors[f"best.{name}"] = value
        for number, entry in optimizer.state_dict()["state"].items():
            if entry.get("momentum_buffer") is not None:
                tensors[f"momentum.{number}"] = entry["momentum_buffer"]
        header = {
            "run": self._run,
            "epoch": state.epoch,
            "stopped": state.stopped,
            "history": state.history,
            "best_accuracy": state.best_accuracy,
            "best_epoch": state.best_epoch,
            "scaler": scaler.state_dict(),
        }
        write_tensors(self.path, KIND, header, tensors)
        self.epoch = state.epoch

    def restore(
        self,
        state: Progressed,
        module: nn.Module,
        optimizer: torch.optim.Optimizer,
        scaler: torch.amp.GradScaler,
    ) -> None:
        """Put everything back as it was when the file was written; nothing if there is none."""
        if not self._resume or not self.path.exists():
            return
        header, tensors = read_tensors(self.path, KIND)
        self._compare(header.get("run"))
        parts: dict[str, dict[str, Tensor]] = {"module": {}, "best": {}, "momentum": {}}
        for key, value in tensors.items():
            part, _, name = key.partition(".")
            parts.setdefault(part, {})[name] = value
        try:
            module.load_state_dict(parts["module"])
            kept = optimizer.state_dict()
            kept["state"] = {
                int(number): {"momentum_buffer": value}
                for number, value in parts["momentum"].items()
            }
            optimizer.load_state_dict(kept)
            if header["scaler"]:
                scaler.load_state_dict(header["scaler"])
            state.epoch = int(header["epoch"])
            state.stopped = bool(header["stopped"])
            state.history = {name: list(values) for name, values in header["history"].items()}
            state.best_accuracy = header["best_accuracy"]
            state.best_epoch = header["best_epoch"]
            device = next(module.parameters()).device
            state.best = {k: v.to(device) for k, v in parts["best"].items()} or None
        except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
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
    """What the run of a checkpoint depends on."""
    run = read_tensors(path, KIND)[0].get("run")
    if not isinstance(run, dict):
        raise ModelFileError(f"{os.fspath(path)} does not say which run it belongs to")
    return run
