"""Optimisers by name, learning rates by step, and the precision of a device."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

OPTIMIZERS = ("sgd", "nesterov", "adam", "adamw")
SCHEDULES = ("epoch", "step")
PRECISIONS = ("auto", "float32", "bfloat16", "float16")
_HALF = {"float16": torch.float16, "bfloat16": torch.bfloat16}


def make_optimizer(
    optimizer: Any,
    parameters: Iterable[nn.Parameter],
    learning_rate: float,
    momentum: float,
    weight_decay: float,
) -> torch.optim.Optimizer:
    """The optimiser of a run.

    Parameters
    ----------
    optimizer : str or callable
        A name, or a function from parameters and learning rate to an optimiser.
    parameters : iterable of parameters
    learning_rate, momentum, weight_decay : float
        Momentum is that of "sgd" and "nesterov".
    """
    given = list(parameters)
    if not isinstance(optimizer, str):
        made = optimizer(given, learning_rate)
        if not isinstance(made, torch.optim.Optimizer):
            raise TypeError(
                f"the function given as optimizer must return a torch.optim.Optimizer, got {made!r}"
            )
        return made
    if optimizer == "adam":
        return torch.optim.Adam(given, lr=learning_rate, weight_decay=weight_decay)
    if optimizer == "adamw":
        return torch.optim.AdamW(given, lr=learning_rate, weight_decay=weight_decay)
    return torch.optim.SGD(
        given,
        lr=learning_rate,
        momentum=momentum,
        weight_decay=weight_decay,
        nesterov=optimizer == "nesterov" and momentum > 0,
    )


def cosine_rate(progress: float, first: float, last: float) -> float:
    """Learning rate by cosine annealing; `progress` rises from 0 to 1."""
    return last + (first - last) * (1.0 + math.cos(math.pi * progress)) / 2.0


def find_precision(precision: str, device: torch.device) -> torch.dtype | None:
    """Half-precision type of autocast; None is float32. "auto" is bfloat16 where it is native."""
    if precision != "auto":
        return _HALF.get(precision)
    if device.type == "cuda":
        supported = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        supported = device.type == "cpu" and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return torch.bfloat16 if supported else None
