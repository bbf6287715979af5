"""Files of the compared methods: arrays and values by name, checked before a method uses them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._input.parameters import is_int, is_real
from lacforest._model.classifier_header import (
    classifier_header,
    decode_parameters,
    restore_classifier,
)
from lacforest._model.container import (
    ModelFileError,
    StoredArrays,
    naming_the_file,
    read_container,
    write_container,
)
from lacforest._model.deployment_header import encode_deployment, restore_deployment
from lacforest._model.values import decode_value, encode_value

VERSION = 1

# What prediction needs, by name: arrays, numbers, text or None.
State = dict[str, Any]


class StoredState:
    """The state of a method as a file holds it; each item is checked when it is taken.

    Parameters
    ----------
    arrays : StoredArrays
    values : dict
        Numbers, text and None.
    sizes : dict of int
        Known sizes by name. A name that is not among them gets its size from the first array that
        mentions it, and later arrays must agree.
    """

    def __init__(self, arrays: StoredArrays, values: dict[str, Any], sizes: dict[str, int]) -> None:
        self._arrays = arrays
        self._unused = {*arrays}
        self._values = dict(values)
        self._sizes = dict(sizes)

    def __contains__(self, name: str) -> bool:
        return name in self._unused or name in self._values

    def array(
        self, name: str, shape: tuple[str | int, ...], dtype: Any = np.float64
    ) -> NDArray[Any]:
        """An array of finite values.

        Parameters
        ----------
        name : str
        shape : tuple of str or int
            Sizes by name, or as numbers.
        dtype : dtype, default=float64
        """
        self._arrays.check_shape(name, shape, self._sizes, np.dtype(dtype))
        self._unused.discard(name)
        array = self._arrays[name]
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelFileError(f"array {name} holds values that are not finite")
        return array

    def codes(self, name: str, n_rows: str) -> NDArray[np.intp]:
        """Codes of known classes, one per row; there is at least one row."""
        codes = self.array(name, (n_rows,), np.int64)
        if len(codes) == 0 or not ((codes >= 0) & (codes < self._sizes["n_known"])).all():
            raise ModelFileError(f"array {name} holds codes that are not of known classes")
        return codes.astype(np.intp)

    def value(self, name: str) -> Any:
        """A number, text or None, not checked."""
        if name not in self._values:
            raise ModelFileError(f"it has no value {name}")
        return decode_value(self._values.pop(name))

    def number(self, name: str, low: float = -np.inf, high: float = np.inf) -> float:
        """A number between two bounds, which it may reach."""
        value = self.value(name)
        if not is_real(value) or not low <= value <= high:
            raise ModelFileError(f"{name} is {value!r}, not a number from {low:g} to {high:g}")
        return float(value)

    def integer(self, name: str, low: int) -> int:
        """A whole number of at least `low`."""
        value = self.value(name)
        if not is_int(value) or value < low:
            raise ModelFileError(f"{name} is {value!r}, not an integer of at least {low}")
        return int(value)

    def check_empty(self) -> None:
        """Reject a file with items that the method did not take."""
        left = sorted({*self._unused, *self._values})
        if left:
            raise ModelFileError(f"it holds {', '.join(left)}, which the method has no use for")


def _has_shares(estimator: Any) -> bool:
    """Whether the method weighs labelled rows to their shares in deployment."""
    return "known_shares" in estimator.get_params(deep=False)


def save_method(estimator: Any, path: str | os.PathLike[str], compress: bool) -> None:
    """Write a fitted method to `path`."""
    state: State = estimator._state()
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    values = {name: value for name, value in state.items() if name not in arrays}
    header = classifier_header(estimator) | {
        "version": VERSION,
        "deployment": encode_deployment(estimator) if _has_shares(estimator) else None,
        "values": {name: encode_value(value, name) for name, value in values.items()},
    }
    write_container(path, header, arrays, compress)


def load_method(cls: type, path: str | os.PathLike[str]) -> Any:
    """Read and check a file; raises ModelFileError before any array is used."""
    with naming_the_file(path):
        header, arrays = read_container(path, cls.__name__, VERSION)
        estimator = cls(**decode_parameters(header))
        estimator._check_parameters()
        restore_classifier(estimator, header)
        if _has_shares(estimator):
            restore_deployment(estimator, header["deployment"])
        sizes = {
            "n_features": estimator.n_features_in_,
            "n_known": len(estimator.known_classes_),
            "n_classes": len(estimator.classes_),
        }
        stored = StoredState(arrays, header["values"], sizes)
        estimator._restore(stored)
        stored.check_empty()
        return estimator
