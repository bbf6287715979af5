"""Parameters and labels as JSON values that decode to the same types."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._model.container import ModelFileError

# The estimators of theta that a file may name.
_ESTIMATORS = ("BestBin", "KernelMeanEmbedding", "RankMixture")


def _theta_estimator(name: str) -> Any:
    # Imported here, because few files name one, and the command starts faster without.
    from lacforest import mixture

    return getattr(mixture, name)


def encode_value(value: Any, where: str) -> Any:
    """A parameter as JSON; `where` names it in messages."""
    if isinstance(value, np.random.RandomState):
        return None  # its state has moved on, and prediction does not need it
    if isinstance(value, np.generic):
        return {"numpy": value.dtype.str, "value": encode_value(value.item(), where)}
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        pairs = [[encode_value(k, where), encode_value(v, where)] for k, v in value.items()]
        return {"pairs": pairs}
    if isinstance(value, np.ndarray | list | tuple):
        items = value.tolist() if isinstance(value, np.ndarray) else list(value)
        if items and all(isinstance(item, str | int) for item in items):
            return {"items": items}
        return {"floats": [float(item) for item in np.asarray(value, dtype=np.float64)]}
    own = type(value).__name__
    if own in _ESTIMATORS and type(value) is _theta_estimator(own):
        return {
            "theta_estimator": own,
            "parameters": encode_value(value.get_params(deep=False), where),
        }
    raise TypeError(
        f"cannot save {where}={value!r}: model files hold numbers, text, booleans, None and dicts "
        "of them, and estimators of lacforest.mixture. Use joblib.dump, or change it by set_params "
        "first."
    )


def _decode_dtype(text: Any, where: str) -> np.dtype[Any]:
    """The type of labels or of a number, by what `dtype.str` writes for it."""
    # Other text never reaches NumPy: it parses some of it as Python and fails in many ways.
    if not isinstance(text, str) or not re.fullmatch(r"\|O|[<>|][biuf]\d{1,2}|[<>]U\d{1,9}", text):
        raise ModelFileError(f"the type of {where} is neither one of numbers nor of text: {text!r}")
    try:
        return np.dtype(text)
    except TypeError as error:  # no number has so many bytes
        raise ModelFileError(f"the type of {where} does not exist: {text!r}") from error


def decode_value(value: Any) -> Any:
    """The parameter that `encode_value` was given."""
    if isinstance(value, list):
        raise ModelFileError("the header holds a list where a number, text or dict belongs")
    if not isinstance(value, dict):
        return value
    if set(value) == {"numpy", "value"}:
        dtype = _decode_dtype(value["numpy"], "a parameter")
        if dtype.kind == "O":
            raise ModelFileError("the header holds a value of type object")
        return dtype.type(decode_value(value["value"]))
    if set(value) == {"float"}:
        return float(value["float"])
    if set(value) == {"floats"}:
        return decode_floats(value["floats"], "a parameter")
    if set(value) == {"items"}:
        items = value["items"]
        if not isinstance(items, list) or not all(isinstance(item, str | int) for item in items):
            raise ModelFileError("the header holds a list of unknown kind")
        return items
    if set(value) == {"pairs"}:
        return {decode_value(k): decode_value(v) for k, v in value["pairs"]}
    if set(value) == {"theta_estimator", "parameters"}:
        if value["theta_estimator"] not in _ESTIMATORS:
            raise ModelFileError(f"it names an unknown estimator: {value['theta_estimator']!r}")
        return _theta_estimator(value["theta_estimator"])(**decode_value(value["parameters"]))
    raise ModelFileError(f"the header holds a value of an unknown kind: {sorted(value)}")


def decode_floats(items: Any, where: str) -> NDArray[np.float64]:
    """A vector of finite numbers."""
    if not isinstance(items, list) or not all(type(item) in (int, float) for item in items):
        raise ModelFileError(f"{where} is not a list of numbers")
    floats = np.array(items, dtype=np.float64)
    if not np.isfinite(floats).all():
        raise ModelFileError(f"{where} holds numbers that are not finite")
    return floats


def encode_array(array: NDArray[Any]) -> dict[str, Any]:
    """An array of numbers as JSON, in little-endian bytes."""
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    text = base64.b64encode(plain.tobytes()).decode("ascii")
    return {"dtype": plain.dtype.str, "shape": list(plain.shape), "bytes": text}


def decode_array(stored: Any, where: str, dtype: type, ndim: int = 1) -> NDArray[Any]:
    """The array that `encode_array` was given; floating-point numbers must be finite."""
    kind = np.dtype(dtype).newbyteorder("<")
    try:
        content = base64.b64decode(stored["bytes"], validate=True)
        shape = tuple(stored["shape"])
        is_expected = stored["dtype"] == kind.str and len(shape) == ndim
        array: NDArray[Any] = np.frombuffer(content, dtype=kind).reshape(shape).astype(dtype)
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        raise ModelFileError(f"{where} is not an array") from error
    if not is_expected:
        raise ModelFileError(f"{where} is of another type or shape")
    if np.dtype(dtype).kind == "f" and not np.isfinite(array).all():
        raise ModelFileError(f"{where} holds numbers that are not finite")
    return array


def encode_labels(labels: NDArray[Any]) -> dict[str, Any]:
    """Labels as JSON."""
    if labels.dtype.kind not in "OUbiuf" or (
        labels.dtype.kind == "O" and not all(isinstance(label, str) for label in labels)
    ):
        raise TypeError(
            "cannot save labels that are neither numbers nor text; convert y to one of them"
        )
    return {"dtype": labels.dtype.str, "items": labels.tolist()}


def decode_labels(labels: Any, where: str) -> NDArray[Any]:
    """The labels that `encode_labels` was given; `where` names them in messages."""
    dtype = _decode_dtype(labels["dtype"], where)
    items = labels["items"]
    if not isinstance(items, list) or not items:
        raise ModelFileError(f"{where} is not a list of labels")
    if dtype.kind in "OU" and not all(isinstance(item, str) for item in items):
        raise ModelFileError(f"{where} mixes text with other types")
    if dtype.kind == "U" and dtype.itemsize > 4 * max(1, *map(len, items)):
        raise ModelFileError(f"{where} claims {dtype.itemsize} bytes per label")
    array = np.array(items, dtype=dtype)
    if array.ndim != 1 or len(np.unique(array)) != len(items):
        raise ModelFileError(f"{where} holds a label twice")
    return array
