"""Dictionaries with NumPy arrays from pickle files, read without running code of the file."""

from __future__ import annotations

import io
import pickle
import pickletools
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BYTES = ("u1", b"u1")


class _StoredType:
    """In place of a dtype: keeps its name."""

    def __init__(self, name: Any, *_: Any) -> None:
        self.name = name

    def __setstate__(self, state: Any) -> None:
        """Ignore byte order and fields, which bytes do not have."""


class _StoredArray:
    """In place of an array: keeps its description until it is checked."""

    def __init__(self, *_: Any) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def check(self) -> NDArray[np.uint8]:
        """The array, if it is one of bytes."""
        if not isinstance(self.state, tuple) or len(self.state) != 5:
            raise ValueError("an array is incomplete")
        _, shape, kind, is_fortran, content = self.state
        if not isinstance(kind, _StoredType) or kind.name not in _BYTES:
            raise ValueError("an array does not hold bytes")
        if not isinstance(content, bytes):
            raise ValueError("an array has no content")
        return np.frombuffer(content, np.uint8).reshape(shape, order="F" if is_fortran else "C")


_STAND_INS = {
    ("numpy.core.multiarray", "_reconstruct"): _StoredArray,
    ("numpy._core.multiarray", "_reconstruct"): _StoredArray,
    ("numpy", "ndarray"): _StoredArray,
    ("numpy", "dtype"): _StoredType,
}


class _ArrayUnpickler(pickle.Unpickler):
    """Finds no function or class but the stand-ins above, which only keep their arguments."""

    def find_class(self, module: str, name: str, /) -> Any:
        try:
            return _STAND_INS[module, name]
        except KeyError:
            raise pickle.UnpicklingError(
                f"it asks for {module}.{name}, which files of images do not need"
            ) from None


def _check_places(content: bytes) -> None:
    """Reject places of memory beyond those that the file can fill: pickle would allocate them."""
    for opcode, argument, _ in pickletools.genops(content):
        if opcode.name.endswith("PUT") and int(argument or 0) > len(content):
            raise ValueError(f"it refers to place {argument} of its memory")


def read_pickled_dict(path: Path) -> dict[Any, Any]:
    """A dictionary of bytes, numbers, lists and arrays of bytes.

    Python 2 wrote these files, so their texts are returned as bytes.
    """
    content = path.read_bytes()
    try:
        _check_places(content)
        stored = _ArrayUnpickler(io.BytesIO(content), encoding="bytes").load()
    # A damaged or hostile pickle may raise nearly anything.
    except Exception as error:
        raise ValueError(str(error)) from error
    if not isinstance(stored, dict):
        raise ValueError("it does not hold a dictionary")
    return {
        key: value.check() if isinstance(value, _StoredArray) else value
        for key, value in stored.items()
    }
