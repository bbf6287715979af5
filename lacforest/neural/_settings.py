"""Parameters of networks, checked before any data is read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from lacforest._input.parameters import check_int, is_real
from lacforest.neural._encoders import check_encoder
from lacforest.neural._optimizers import OPTIMIZERS, PRECISIONS, SCHEDULES


def check_real(
    name: str, value: Any, low: float, high: float = np.inf, *, low_allowed: bool = True
) -> None:
    """Refuse what is no number from `low` to `high`."""
    if not is_real(value):
        raise TypeError(f"{name} must be a number, got {value!r}")
    enough = value >= low if low_allowed else value > low
    if not (enough and value <= high and np.isfinite(value)):
        least = f"at least {low:g}" if low_allowed else f"above {low:g}"
        most = "finite" if np.isinf(high) else f"at most {high:g}"
        raise ValueError(f"{name} must be {least} and {most}, got {value!r}")


def check_bool(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")


def check_name(name: str, value: Any, names: Sequence[str]) -> None:
    """Refuse a word that is none of `names`."""
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{name} must be one of {', '.join(names)}, got {value!r}")


def check_settings(estimator: Any) -> None:
    """Refuse training parameters that make no sense."""
    check_encoder(estimator.encoder, estimator.hidden)
    check_bool("batch_norm", estimator.batch_norm)
    check_int("epochs", estimator.epochs, 1)
    check_int("batch_size", estimator.batch_size, 1)
    if not callable(estimator.optimizer):
        check_name("optimizer", estimator.optimizer, OPTIMIZERS)
    check_name("schedule", estimator.schedule, SCHEDULES)
    check_real("learning_rate", estimator.learning_rate, 0.0, low_allowed=False)
    check_real("final_learning_rate", estimator.final_learning_rate, 0.0)
    if estimator.final_learning_rate > estimator.learning_rate:
        raise ValueError(
            f"final_learning_rate={estimator.final_learning_rate!r} is above learning_rate="
            f"{estimator.learning_rate!r}: the rate is lowered from the one to the other"
        )
    check_real("momentum", estimator.momentum, 0.0, 1.0)
    check_real("weight_decay", estimator.weight_decay, 0.0)
    if estimator.max_grad_norm is not None:
        check_real("max_grad_norm", estimator.max_grad_norm, 0.0, low_allowed=False)
    check_name("precision", estimator.precision, PRECISIONS)
    check_bool("early_stopping", estimator.early_stopping)
    check_int("patience", estimator.patience, 1)
    check_real("validation_fraction", estimator.validation_fraction, 0.0, 0.9, low_allowed=False)
    _check_callbacks(estimator.callbacks)
    if estimator.checkpoint is not None and not isinstance(estimator.checkpoint, str | os.PathLike):
        raise TypeError(f"checkpoint must be a path or None, got {estimator.checkpoint!r}")
    check_int("checkpoint_every", estimator.checkpoint_every, 1)
    check_bool("resume", estimator.resume)
    if estimator.resume and estimator.checkpoint is None:
        raise ValueError("resume=True needs a file to go on from: set checkpoint to its path")
    check_int("verbose", estimator.verbose, 0)


def _check_callbacks(callbacks: Any) -> None:
    if callbacks is None:
        return
    if not isinstance(callbacks, Sequence) or not all(map(callable, callbacks)):
        raise TypeError(
            f"callbacks must be a list of functions that take an EpochEnd, or None; got "
            f"{callbacks!r}"
        )


def find_device(device: Any) -> torch.device:
    """The device to train on; "auto" is a GPU if there is one."""
    if isinstance(device, str) and device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        found = torch.device(device)
        torch.zeros(1, device=found).item()
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:
        reason = str(error).strip().split("\n")[0]
        raise ValueError(
            f"device {device!r} is not available here: {reason}. device='auto' takes the best one "
            "that is, device='cpu' always works."
        ) from error
    return found
