"""A run of training, from the parameters of the estimator: options, seeds and checkpoint."""

from __future__ import annotations

import os
import zlib
from typing import Any

import torch

from lacforest._contract.deployment import Theta
from lacforest._growing.plan import draw_entropy
from lacforest.neural._checkpoint import Checkpoint, read_entropy
from lacforest.neural._data import FitRows, fingerprint
from lacforest.neural._training import TrainingOptions

# Parameters that may change when a run continues from a checkpoint.
_FREE = {"callbacks", "checkpoint", "checkpoint_every", "device", "resume", "theta", "verbose"}


def run_entropy(estimator: Any) -> list[int]:
    """Seeds of the run; those of its checkpoint where it continues without a random_state."""
    checkpoint = estimator.checkpoint or ""
    if estimator.random_state is None and estimator.resume and os.path.exists(checkpoint):
        return read_entropy(checkpoint)
    words: list[int] = draw_entropy(estimator.random_state).tolist()
    return words


def training_options(estimator: Any, entropy: list[int], device: torch.device) -> TrainingOptions:
    """How to train."""
    max_grad_norm = estimator.max_grad_norm
    return TrainingOptions(
        epochs=int(estimator.epochs),
        batch_size=int(estimator.batch_size),
        optimizer=estimator.optimizer,
        learning_rate=float(estimator.learning_rate),
        final_learning_rate=float(estimator.final_learning_rate),
        schedule=estimator.schedule,
        momentum=float(estimator.momentum),
        weight_decay=float(estimator.weight_decay),
        max_grad_norm=None if max_grad_norm is None else float(max_grad_norm),
        precision=estimator.precision,
        patience=int(estimator.patience) if estimator.early_stopping else None,
        entropy=tuple(entropy),
        device=device,
        verbose=int(estimator.verbose),
    )


def make_checkpoint(
    estimator: Any, rows: FitRows, theta: Theta, entropy: list[int]
) -> Checkpoint | None:
    """The checkpoint of a run, with everything that the run depends on."""
    if estimator.checkpoint is None:
        return None
    run: dict[str, Any] = {
        name: value if isinstance(value, bool | int | float | str | None) else repr(value)
        for name, value in estimator.get_params(deep=False).items()
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
        "weight_checksum": None if rows.weight is None else zlib.crc32(rows.weight.tobytes()),
    }
    every, resume = int(estimator.checkpoint_every), bool(estimator.resume)
    return Checkpoint(estimator.checkpoint, every, run, resume)
