"""Files of fitted networks, in the safetensors format."""

from __future__ import annotations

import math
import os
from typing import Any

import torch

from lacforest._model.classifier_header import (
    classifier_header,
    decode_parameters,
    restore_classifier,
)
from lacforest._model.container import ModelFileError, naming_the_file
from lacforest._model.deployment_header import encode_deployment, restore_deployment
from lacforest.neural._files import read_tensors, write_tensors
from lacforest.neural._settings import find_device
from lacforest.neural._stored_checks import (
    check_history,
    check_network,
    check_sizes,
    check_values,
)

KIND = "deep forest"
_OWN = "own"
_LISTS = ("hidden", "generator_channels")
_TRAINING = ("history_", "n_epochs_", "best_epoch_")


def save_classifier(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write parameters, labels, weights and what else prediction needs."""
    parameters = estimator.get_params(deep=False)
    parameters["callbacks"] = None
    lists = {name: parameters[name] for name in _LISTS if name in parameters}
    parameters |= dict.fromkeys(lists)  # kept apart
    if not isinstance(parameters["encoder"], str):
        parameters["encoder"] = _OWN
    if not isinstance(parameters["optimizer"], str):
        parameters["optimizer"] = "sgd"
    for name in ("checkpoint", "device"):
        if parameters[name] is not None:
            parameters[name] = str(parameters[name])
    header = classifier_header(estimator, parameters) | {
        "lists": {name: [int(size) for size in sizes] for name, sizes in lists.items()},
        "input_shape": list(estimator.input_shape_),
        "sizes": [estimator.module_.n_features, len(estimator.known_classes_)],
        "training": {name: getattr(estimator, name) for name in _TRAINING},
        "deployment": encode_deployment(estimator) if hasattr(estimator, "known_shares") else None,
    }
    tensors = {f"module.{name}": value for name, value in estimator.module_.state_dict().items()}
    for key, values in estimator._tensors().items():
        tensors[f"fitted.{key}"] = torch.from_numpy(values)
    write_tensors(path, KIND, header, tensors)


def load_classifier(
    cls: Any, path: str | os.PathLike[str], encoder: Any = None, device: Any = "auto"
) -> Any:
    """Read a file that `save_classifier` wrote."""
    header, tensors = read_tensors(path, KIND)
    found = find_device(device)
    name = os.fspath(path)
    if header.get("estimator") != cls.__name__:
        raise ModelFileError(f"{name} holds a {header.get('estimator')}, not a {cls.__name__}")
    with naming_the_file(path):
        parameters = decode_parameters(header)
        for listed in _LISTS:
            if listed in parameters:
                parameters[listed] = check_sizes(header["lists"][listed], listed)
        stored = parameters["encoder"]
    if stored == _OWN:
        if encoder is None:
            raise TypeError(
                f"{name} holds a network with an encoder of its own: pass that encoder, "
                "load(path, encoder=...), as it was passed to the classifier"
            )
        parameters["encoder"] = encoder
    elif encoder is not None:
        raise TypeError(f"{name} was fitted with the named encoder {stored!r}")
    with naming_the_file(path):
        if not isinstance(stored, str):
            raise ModelFileError("its encoder has no name")
        if len(parameters["hidden"]) > len(tensors):
            raise ModelFileError(
                f"hidden has {len(parameters['hidden'])} layers for {len(tensors)} tensors"
            )
        estimator = cls(**parameters)
        estimator._check_parameters()
        restore_classifier(estimator, header)
        if hasattr(estimator, "known_shares"):
            restore_deployment(estimator, header.get("deployment"))
        _restore_network(estimator, header, tensors, found)
    return estimator


def _restore_network(
    estimator: Any,
    header: dict[str, Any],
    tensors: dict[str, torch.Tensor],
    device: torch.device,
) -> None:
    _check_theta(estimator)
    estimator.input_shape_, n_features = _check_shapes(estimator, header)
    n_known = len(estimator.known_classes_)
    parts: dict[str, dict[str, torch.Tensor]] = {"module": {}, "fitted": {}}
    for key, value in tensors.items():
        part, _, name = key.partition(".")
        if part not in parts:
            raise ModelFileError(f"the weights {key!r} are missing or unknown")
        parts[part][name] = value
    weights = parts["module"]
    outline = estimator._outline(n_features, n_known).state_dict()
    check_network(weights, outline, isinstance(estimator.encoder, str))
    check_values(weights)
    training = {name: header["training"][name] for name in _TRAINING}
    check_history(training["history_"], training["n_epochs_"], training["best_epoch_"])
    module = estimator._rebuild(n_features, n_known, device)
    module.load_state_dict(weights)
    estimator.module_ = module.eval()
    fitted = {name: value.numpy() for name, value in parts["fitted"].items()}
    estimator._restore_tensors(fitted, n_known)
    for name, value in training.items():
        setattr(estimator, name, value)


def _check_theta(estimator: Any) -> None:
    if hasattr(estimator, "theta") and (
        (estimator.theta_ is None) != (estimator.new_class_index_ is None)
    ):
        raise ModelFileError("theta is invalid: a model has it if and only if it has a new class")


def _check_shapes(estimator: Any, header: dict[str, Any]) -> tuple[tuple[int, ...], int]:
    """The shape of a row and the number of features that the encoder makes of it."""
    sizes = check_sizes(header["sizes"], "sizes")
    shape = check_sizes(header["input_shape"], "input_shape")
    n_known = len(estimator.known_classes_)
    if len(sizes) != 2 or len(shape) not in (1, 3):
        raise ModelFileError(f"sizes {list(sizes)} and rows of shape {shape} make no network")
    if math.prod(shape) != estimator.n_features_in_:
        raise ModelFileError(
            f"rows of shape {shape} do not have {estimator.n_features_in_} features"
        )
    if sizes[1] != n_known:
        raise ModelFileError(f"sizes {list(sizes)} do not belong to {n_known} known classes")
    return shape, sizes[0]
