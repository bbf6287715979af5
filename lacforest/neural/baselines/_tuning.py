"""Further training of a network on known and generated rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from lacforest.neural._network_rows import NetworkRows
from lacforest.neural._objective import Objective
from lacforest.neural._rows import Rows
from lacforest.neural._run import training_options
from lacforest.neural._training import Trainer

# Added to the seeds of a run, so that epochs of tuning differ from those before.
_OF_TUNING = 1


def _no_judge(_: Rows) -> NDArray[np.intp]:
    raise AssertionError("tuning has no validation rows")


def tune(
    estimator: Any,
    module: nn.Module,
    objective: Objective,
    rows: NetworkRows,
    entropy: list[int],
    device: torch.device,
) -> None:
    """Train for `tuning_epochs` at the constant rate `tuning_rate`.

    Parameters
    ----------
    estimator : classifier
    module : torch.nn.Module
        Changed in place.
    objective : Objective
    rows : NetworkRows
    entropy : list of int
    device : torch.device
    """
    options = replace(
        training_options(estimator, [*entropy, _OF_TUNING], device),
        epochs=int(estimator.tuning_epochs),
        learning_rate=float(estimator.tuning_rate),
        final_learning_rate=float(estimator.tuning_rate),
        patience=None,
    )
    Trainer(module, objective, rows, options, lambda: _no_judge).run()
