"""A fitted deep forest to a safetensors file and back."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch

from lacforest._persistence import (
    ModelFileError,
    _decode,
    _decode_labels,
    _encode,
    _encode_labels,
)
from lacforest.neural._building import rebuild_module
from lacforest.neural._files import read_tensors, write_tensors
from lacforest.neural._settings import find_device

KIND = "deep forest"
_OWN = "own"
_SIMPLE = ("history_", "n_epochs_", "best_epoch_", "theta_", "n_features_in_")


def save_classifier(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write parameters, labels, weights and leaf proportions."""
    parameters = estimator.get_params(deep=False)
    parameters["callbacks"] = None
    parameters["hidden"] = None  # a list; kept apart
    if not isinstance(parameters["encoder"], str):
        parameters["encoder"] = _OWN
    for name in ("checkpoint", "device"):
        if parameters[name] is not None:
            parameters[name] = str(parameters[name])
    forest = estimator.module_.forest
    header = {
        "parameters": {name: _encode(value, name) for name, value in parameters.items()},
        "hidden": [int(size) for size in estimator.hidden],
        "known_classes": _encode_labels(estimator.known_classes_),
        "classes": _encode_labels(estimator.classes_),
        "new_class_index": estimator.new_class_index_,
        "theta_interval": estimator.theta_interval_,
        "input_shape": list(estimator.input_shape_),
        "feature_names": getattr(estimator, "feature_names_in_", np.array([])).tolist(),
        "sizes": [
            forest.n_features,
            len(estimator.known_classes_),
            forest.n_trees,
            forest.depth,
        ],
        "fitted": {name: getattr(estimator, name) for name in _SIMPLE},
    }
    tensors = {f"module.{name}": value for name, value in estimator.module_.state_dict().items()}
    tensors["leaf_proportions"] = torch.from_numpy(estimator.leaf_proportions_)
    write_tensors(path, KIND, header, tensors)


def load_classifier(
    cls: Any, path: str | os.PathLike[str], encoder: Any = None, device: Any = "auto"
) -> Any:
    """Read what `save_classifier` wrote."""
    header, tensors = read_tensors(path, KIND)
    found = find_device(device)
    name = os.fspath(path)
    try:
        parameters = {key: _decode(value) for key, value in header["parameters"].items()}
        parameters["hidden"] = tuple(int(size) for size in header["hidden"])
        if parameters["encoder"] == _OWN:
            if encoder is None:
                raise TypeError(
                    f"{name} holds a forest with an encoder of its own: pass it, "
                    "load(path, encoder=...), as it was given to the classifier"
                )
            parameters["encoder"] = encoder
        elif encoder is not None:
            raise TypeError(f"{name} was fitted with the named encoder {parameters['encoder']!r}")
        estimator = cls(**parameters)
    except (AttributeError, KeyError, ValueError) as error:
        raise ModelFileError(f"the header of {name} is damaged: {error!r}") from error
    try:
        _restore(estimator, header, tensors, found)
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise ModelFileError(f"{name} does not fit together: {error}") from error
    return estimator


def _restore(
    estimator: Any,
    header: dict[str, Any],
    tensors: dict[str, torch.Tensor],
    device: torch.device,
) -> None:
    known = _decode_labels(header["known_classes"], "known_classes")
    classes = _decode_labels(header["classes"], "classes")
    index = header["new_class_index"]
    if len(classes) != len(known) + (index is not None):
        raise ValueError(f"{len(known)} known classes do not make {len(classes)}")
    n_outputs, n_classes, n_trees, depth = (int(size) for size in header["sizes"])
    if n_classes != len(known) or depth > 16:
        raise ValueError(f"sizes {header['sizes']} do not belong to {len(known)} classes")
    shape = tuple(int(size) for size in header["input_shape"])
    module = rebuild_module(
        estimator.encoder, shape, estimator.hidden, (n_outputs, n_classes, n_trees, depth), device
    )
    proportions = tensors.pop("leaf_proportions").numpy().astype(np.float64)
    expected = (n_trees, module.forest.n_leaves, n_classes + 1)
    if proportions.shape != expected or not np.allclose(proportions.sum(axis=-1), 1.0):
        raise ValueError(f"leaf proportions of shape {proportions.shape} are no shares {expected}")
    weights = {key.removeprefix("module."): value for key, value in tensors.items()}
    for key, value in weights.items():
        if value.is_floating_point() and not torch.isfinite(value).all():
            raise ValueError(f"the weights {key!r} are not finite")
    module.load_state_dict(weights)
    for name, value in header["fitted"].items():
        if name in _SIMPLE:
            setattr(estimator, name, value)
    interval = header["theta_interval"]
    estimator.theta_interval_ = None if interval is None else tuple(interval)
    estimator.theta_estimator_ = None
    estimator.known_classes_ = known
    estimator.classes_ = classes
    estimator.new_class_index_ = index
    estimator.new_label_ = None if index is None else classes[index]
    estimator.input_shape_ = shape
    if header["feature_names"]:
        estimator.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    estimator.leaf_proportions_ = proportions
    estimator.module_ = module.eval()
