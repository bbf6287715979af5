"""The part of a file's header that all classifiers share: parameters, labels, theta, features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._input.parameters import check_n_jobs
from lacforest._model.container import ModelFileError
from lacforest._model.values import decode_labels, decode_value, encode_labels, encode_value
from lacforest._utils.classes import Labels


def classifier_header(estimator: Any, parameters: dict[str, Any] | None = None) -> dict[str, Any]:
    """Parameters and fitted attributes of the contract, as JSON.

    Parameters
    ----------
    estimator : classifier
        Fitted.
    parameters : dict or None
        What to store as its parameters; None stores those of `get_params`.
    """
    if parameters is None:
        parameters = estimator.get_params(deep=False)
    check_n_jobs(parameters.get("n_jobs"))  # `restore_classifier` checks it too
    interval = getattr(estimator, "theta_interval_", None)
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "estimator": type(estimator).__name__,
        "parameters": {name: encode_value(value, name) for name, value in parameters.items()},
        "known_classes": encode_labels(estimator.known_classes_),
        "classes": encode_labels(estimator.classes_),
        "new_class_index": estimator.new_class_index_,
        "theta": getattr(estimator, "theta_", None),
        "theta_interval": None if interval is None else [float(end) for end in interval],
        "n_features": estimator.n_features_in_,
        "feature_names": None if names is None else [str(name) for name in names],
    }


def decode_parameters(header: dict[str, Any]) -> dict[str, Any]:
    """The parameters that `classifier_header` stored."""
    return {name: decode_value(value) for name, value in header["parameters"].items()}


def restore_classifier(estimator: Any, header: dict[str, Any]) -> None:
    """Set the fitted attributes of the contract on an estimator that has its parameters."""
    parameters = estimator.get_params(deep=False)
    check_n_jobs(parameters.get("n_jobs"))  # the one parameter that prediction may need
    n_features = header["n_features"]
    if not isinstance(n_features, int) or not 1 <= n_features < 2**31:
        raise ModelFileError("the number of features is invalid")
    labels = _restore_labels(header)
    theta, interval = _restore_theta(header, labels.new_index is not None)
    estimator.n_features_in_ = n_features
    names = _restore_names(header, n_features)
    if names is not None:
        estimator.feature_names_in_ = names
    estimator._store_labels(labels)
    if "theta" in parameters:
        estimator.theta_, estimator.theta_interval_ = theta, interval
        # Estimators of theta are not kept in files; `restore_deployment` has the curve.
        estimator.theta_estimator_ = estimator.theta_curve_ = None


def _restore_labels(header: dict[str, Any]) -> Labels:
    known = decode_labels(header["known_classes"], "known_classes")
    classes = decode_labels(header["classes"], "classes")
    index = header["new_class_index"]
    if len(known) != len(classes) - (index is not None):
        raise ModelFileError("the number of classes does not match the known classes")
    if index is not None and not (isinstance(index, int) and 0 <= index < len(classes)):
        raise ModelFileError("the new class is not among the classes")
    if not np.array_equal(classes if index is None else np.delete(classes, index), known):
        raise ModelFileError("known_classes and classes contradict each other")
    return Labels(known, classes, None if index is None else classes[index], index)


def _restore_theta(
    header: dict[str, Any], has_new: bool
) -> tuple[float | None, tuple[float, float] | None]:
    theta, interval = header["theta"], header["theta_interval"]
    if theta is not None and not (has_new and 0 <= float(theta) <= 1):
        raise ModelFileError("theta is invalid")
    if interval is None:
        return None if theta is None else float(theta), None
    if not (
        theta is not None
        and isinstance(interval, list)
        and len(interval) == 2
        and 0 <= float(interval[0]) <= float(theta) <= float(interval[1]) <= 1
    ):
        raise ModelFileError("the interval of theta is invalid")
    return float(theta), (float(interval[0]), float(interval[1]))


def _restore_names(header: dict[str, Any], n_features: int) -> NDArray[Any] | None:
    names = header["feature_names"]
    if names is None:
        return None
    if not (
        isinstance(names, list)
        and len(names) == n_features
        and all(isinstance(name, str) for name in names)
        and len(set(names)) == n_features
    ):
        raise ModelFileError("the feature names do not match the features")
    return np.array(names, dtype=object)
