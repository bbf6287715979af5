"""Checks of what files of networks hold, made before anything is built from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lacforest._input.parameters import is_int, is_real
from lacforest._model.container import ModelFileError

_MAX_EPOCHS = 2**31
# What optimisers keep in the shape of a parameter; other states may have any shape.
_LIKE_PARAMETER = {"momentum_buffer", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"}
# Adam starts all of these at once, and goes on only with all of them.
_OF_ADAM = {"step", "exp_avg", "exp_avg_sq"}


def check_sizes(value: Any, name: str) -> tuple[int, ...]:
    """A list of positive integers, as a tuple."""
    if not isinstance(value, list) or not value or not all(is_int(n) and n > 0 for n in value):
        raise ModelFileError(f"{name} is not a list of positive integers")
    return tuple(value)


def check_same_shapes(tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Raise unless tensors have the names and shapes of others, which may be without content."""
    different = {*tensors} ^ {*expected}
    if different:
        raise ModelFileError(f"the weights {min(different)!r} are missing or unknown")
    for name, tensor in tensors.items():
        if tensor.shape != expected[name].shape:
            raise ModelFileError(
                f"the weights {name!r} have the shape {tuple(tensor.shape)}, not "
                f"{tuple(expected[name].shape)}"
            )


def check_values(tensors: Mapping[str, Tensor]) -> None:
    """Raise unless all weights are finite, and all scales and variances are positive."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise ModelFileError(f"the weights {name!r} are not finite")
        if name.endswith(("standardize.scale", "running_var")) and not (tensor >= 0).all():
            raise ModelFileError(f"the weights {name!r} are negative")
        if name.endswith("standardize.scale") and not (tensor > 0).all():
            raise ModelFileError(f"the weights {name!r} are zero")


def check_network(
    tensors: Mapping[str, Tensor], outline: Mapping[str, Tensor], has_named_encoder: bool
) -> None:
    """Compare weights with the network that a header describes.

    Parameters
    ----------
    tensors : dict of tensor
        Weights by name.
    outline : dict of tensor
        State of that network; the tensors may be without content.
    has_named_encoder : bool
        Whether the encoder is compared as well.
    """
    if not has_named_encoder:
        tensors = _outside_encoder(tensors)
        outline = _outside_encoder(outline)
    check_same_shapes(tensors, outline)


def _outside_encoder(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value for name, value in tensors.items() if not name.startswith("encoder.")}


def check_leaf_proportions(values: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Class proportions of leaves, which are not negative and sum to one."""
    if not isinstance(values, np.ndarray) or values.shape != shape:
        raise ModelFileError(f"leaf proportions are missing, or not of shape {shape}")
    proportions: NDArray[np.float64] = values.astype(np.float64)
    if not ((proportions >= 0).all() and np.allclose(proportions.sum(axis=-1), 1.0)):
        raise ModelFileError("leaf proportions are no shares: negative, or their sum is not one")
    return proportions


def check_history(history: Any, n_epochs: Any, best_epoch: Any) -> None:
    """What a file tells about the epochs of a run."""
    if not is_int(n_epochs) or not 0 <= n_epochs < _MAX_EPOCHS:
        raise ModelFileError(f"the number of epochs is {n_epochs!r}")
    if best_epoch is not None and not (is_int(best_epoch) and 0 <= best_epoch <= n_epochs):
        raise ModelFileError(f"the best epoch is {best_epoch!r} of {n_epochs}")
    if not isinstance(history, dict) or not all(
        isinstance(values, list) and len(values) == n_epochs and all(map(is_real, values))
        for values in history.values()
    ):
        raise ModelFileError("the history does not have one number per epoch")


def check_checkpoint(
    header: dict[str, Any],
    parts: Mapping[str, Mapping[str, Tensor]],
    weights: Mapping[str, Tensor],
    of_objective: Mapping[str, Tensor],
) -> None:
    """Raise ModelFileError unless a checkpoint can be restored and trained on.

    Parameters
    ----------
    header : dict
    parts : dict of dict of tensor
        Tensors of the file, by the first and the second part of their names.
    weights, of_objective : dict of tensor
        State of the module that is trained, and of its objective.
    """
    check_history(header["history"], header["epoch"], header["best_epoch"])
    if not isinstance(header["stopped"], bool):
        raise ModelFileError("it does not tell whether training has stopped")
    accuracy = header["best_accuracy"]
    if (accuracy is None) != (header["best_epoch"] is None) or not (
        accuracy is None or (is_real(accuracy) and np.isfinite(accuracy))
    ):
        raise ModelFileError(f"the best accuracy is {accuracy!r}")
    _check_numbers(header["scalars"]["scaler"], "gradient scaler")
    _check_numbers(header["scalars"]["optimizer"], "optimiser")
    for tensors in parts.values():
        check_values(tensors)
    check_same_shapes(parts.get("module", {}), weights)
    check_same_shapes(parts.get("objective", {}), of_objective)
    best = parts.get("best", {})
    if (accuracy is None) != (not best):
        raise ModelFileError("it has weights of a best epoch but no such epoch, or the reverse")
    if best:
        check_same_shapes(best, weights)


def _check_numbers(values: Any, name: str) -> None:
    if not isinstance(values, dict) or not all(map(is_real, values.values())):
        raise ModelFileError(f"the state of the {name} is not a dict of numbers")


def check_optimizer_state(
    optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], numbers: Mapping[str, float]
) -> None:
    """Raise ModelFileError unless an optimiser can go on from a stored state.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
    tensors, numbers : dict
        What it kept per parameter, by "parameter.name".
    """
    parameters = [value for group in optimizer.param_groups for value in group["params"]]
    names: dict[str, set[str]] = {}
    for key in [*tensors, *numbers]:
        number, _, name = key.partition(".")
        if not number.isdecimal() or int(number) >= len(parameters):
            raise ModelFileError(f"the state of the optimiser names the parameter {number}")
        names.setdefault(number, set()).add(name)
        if name in _LIKE_PARAMETER or name == "step":
            expected = () if name == "step" else tuple(parameters[int(number)].shape)
            _check_kept(None if key in numbers else tensors[key], name, expected)
    if isinstance(optimizer, torch.optim.Adam | torch.optim.AdamW):
        for number, kept in names.items():
            if not kept >= _OF_ADAM:
                raise ModelFileError(f"the state of the optimiser lacks parts of {number}")


def _check_kept(value: Tensor | None, name: str, expected: tuple[int, ...]) -> None:
    if value is None:
        raise ModelFileError(f"the state of the optimiser has a number for {name}")
    if tuple(value.shape) != expected:
        raise ModelFileError(f"the state of the optimiser has the shape {tuple(value.shape)}")
    if name not in ("exp_avg", "momentum_buffer") and not (value >= 0).all():
        raise ModelFileError(f"the state of the optimiser has a negative {name}")
