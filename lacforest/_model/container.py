"""The container of model files: a JSON header and named arrays.

No pickle: reading a file never executes anything that it holds.

Layout: 8 bytes of magic, 8 bytes with the length of the header (little-endian), the header, 4 bytes
with its CRC-32 (little-endian), then the arrays at offsets that are multiples of 64, counted from
the end of the CRC-32 rounded up to 64. Each array is stored as it is in memory, or deflated.
Extents of arrays do not overlap.

The header names the class of the estimator and the version of that estimator's format. What else it
holds, and which arrays belong to it, is up to the module that writes the estimator.
"""

from __future__ import annotations

import json
import math
import mmap as mapping
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._tree.workspace import NODE
from lacforest._utils.atomic import atomic_file

MAGIC = b"LACFRST\n"
_ALIGN = 64
_MAX_HEADER = 1 << 26
_DEFLATE_LEVEL = 1  # level 6 is a tenth smaller and takes four times as long
# Deflate can expand a block by a factor of 1000. Arrays of a forest expand by a factor of 2 to 30,
# so a file may inflate to this many times its size, and to this many bytes whatever its size.
_MAX_INFLATION = 100
_FREE_INFLATION = 1 << 26
_DTYPES = {
    "node": NODE,
    "float32": np.dtype("<f4"),
    "float64": np.dtype("<f8"),
    "int32": np.dtype("<i4"),
    "int64": np.dtype("<i8"),
    "uint64": np.dtype("<u8"),
    "uint8": np.dtype("u1"),
    "bool": np.dtype("?"),
}


class ModelFileError(ValueError):
    """A model file is damaged, was not written by lacforest, or is from a newer version."""


@contextmanager
def naming_the_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn every error that the content of a file can cause into a ModelFileError with its path."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)} cannot be loaded: {error}") from None
    except (
        AttributeError,
        LookupError,
        MemoryError,
        OverflowError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise ModelFileError(
            f"{os.fspath(path)} cannot be loaded: {type(error).__name__}: {error}"
        ) from error


def _aligned(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN


# ---------------------------------------------------------------------------- writing


def _deflate(array: NDArray[Any], content: memoryview) -> bytes:
    """The content of an array, deflated.

    Packed nodes are columns of bytes, in which few sequences come again. Looking for runs of one
    byte only takes a third less time there, and finds codes that are a tenth shorter.
    """
    strategy = zlib.Z_RLE if array.dtype == np.uint8 else zlib.Z_DEFAULT_STRATEGY
    deflating = zlib.compressobj(_DEFLATE_LEVEL, strategy=strategy)
    return deflating.compress(content) + deflating.flush()


def write_container(
    path: str | os.PathLike[str],
    header: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    compress: bool,
) -> None:
    """Write header and arrays to a temporary file beside `path`, then rename it to `path`.

    Parameters
    ----------
    path : path
    header : dict
        JSON values, with the keys "estimator" and "version".
    arrays : dict of arrays with one or two dimensions
    compress : bool
        Deflate the arrays, unless they are so repetitive that `read_container` would take the file
        for a decompression bomb.
    """
    contents = [
        np.ascontiguousarray(array).view(np.uint8).reshape(-1).data for array in arrays.values()
    ]
    stored: list[Any] = contents
    if compress:
        deflated = [_deflate(*item) for item in zip(arrays.values(), contents, strict=True)]
        compress = not _inflates_too_much(map(len, contents), map(len, deflated))
        stored = deflated if compress else contents
    layout: dict[str, dict[str, Any]] = {}
    offset = 0
    for (name, array), content, block in zip(arrays.items(), contents, stored, strict=True):
        layout[name] = {
            "dtype": next(kind for kind, dtype in _DTYPES.items() if dtype == array.dtype),
            "shape": list(array.shape),
            "offset": offset,
            "crc32": zlib.crc32(content),
            "stored": len(block),
        }
        offset = _aligned(offset + len(block))
    header = header | {"deflated": compress, "arrays": layout, "n_bytes": offset}
    text = json.dumps(header, allow_nan=False).encode()
    if _has_lone_surrogate(text, header):
        raise ValueError(
            "cannot save a label, name or parameter with a lone surrogate (half a character, like "
            "'\\ud800'): it cannot be printed. Decode that text without errors='surrogateescape'."
        )
    with atomic_file(path) as file:
        file.write(MAGIC + len(text).to_bytes(8, "little") + text)
        file.write(zlib.crc32(text).to_bytes(4, "little"))
        for block in stored:
            file.write(bytes(_aligned(file.tell()) - file.tell()))
            file.write(block)
        file.write(bytes(_aligned(file.tell()) - file.tell()))


def _has_lone_surrogate(text: bytes, header: Any) -> bool:
    """Whether a string holds a lone surrogate, which JSON can escape and UTF-8 cannot encode."""
    if b"\\ud" not in text.lower():
        return False  # the usual case, decided quickly
    try:
        json.dumps(header, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


# ---------------------------------------------------------------------------- reading


def read_container(
    path: str | os.PathLike[str], estimator: str, newest: int, mmap: bool = False
) -> tuple[dict[str, Any], StoredArrays]:
    """Header of a file, and its arrays, which are read when they are first used.

    Call it inside `naming_the_file`.

    Parameters
    ----------
    path : path
    estimator : str
        The class that the file must hold.
    newest : int
        Newest version of its format that the caller can read.
    mmap : bool
        Map the arrays instead of reading them.
    """
    with open(path, "rb") as file:
        header, start = read_header(file, newest)
        if header["estimator"] != estimator:
            raise ModelFileError(f"it holds a {header['estimator']}, not a {estimator}")
        size = os.fstat(file.fileno()).st_size
        if size != start + header["n_bytes"]:
            raise ModelFileError(
                f"the file has {size} bytes where {start + header['n_bytes']} were written: it "
                "was cut off or added to"
            )
        if mmap and header["deflated"]:
            raise ModelFileError(
                "it was saved compressed and cannot be mapped: load it with mmap=False, or "
                "save it again with compress=False"
            )
        if mmap:
            content = memoryview(mapping.mmap(file.fileno(), 0, access=mapping.ACCESS_READ))
            payload = content[start:]
        else:
            file.seek(start)
            payload = memoryview(file.read())
    return header, StoredArrays(payload, header)


def read_header(file: Any, newest: int) -> tuple[dict[str, Any], int]:
    """Checked header of an open file, and the offset at which the arrays begin."""
    if file.read(len(MAGIC)) != MAGIC:
        raise ModelFileError("it is not a lacforest model file")
    length = int.from_bytes(file.read(8), "little")
    if length > _MAX_HEADER:
        raise ModelFileError(f"its header claims {length} bytes")
    text = file.read(length)
    if len(text) < length:
        raise ModelFileError("it ends within its header")
    if file.read(4) != zlib.crc32(text).to_bytes(4, "little"):
        raise ModelFileError("its header is damaged: the checksum does not match")
    header = json.loads(text)
    if _has_lone_surrogate(text, header):
        raise ModelFileError("its header holds half a character")
    if not isinstance(header, dict) or not isinstance(header.get("version"), int):
        raise ModelFileError("its header names no version")
    if not 1 <= header["version"] <= newest:
        raise ModelFileError(
            f"it has format version {header['version']}, and this lacforest reads up to {newest}: "
            "update lacforest"
        )
    if not isinstance(header.get("estimator"), str):
        raise ModelFileError("its header names no estimator")
    if not isinstance(header["n_bytes"], int) or header["n_bytes"] < 0:
        raise ModelFileError("its header gives no size")
    if not isinstance(header["arrays"], dict):
        raise ModelFileError("its header names no arrays")
    if not isinstance(header["deflated"], bool):
        raise ModelFileError("its header does not tell whether arrays are deflated")
    return header, _aligned(len(MAGIC) + 8 + length + 4)


def _inflates_too_much(sizes: Iterable[int], stored: Iterable[int]) -> bool:
    return sum(sizes) > max(_FREE_INFLATION, _MAX_INFLATION * sum(stored))


class StoredArrays(Mapping[str, NDArray[Any]]):
    """Arrays of a file by name: all extents are checked at once, contents when they are read.

    A caller checks names and shapes by `check_shape` before it reads the first array, so that a
    file of invalid arrays costs no memory.

    Parameters
    ----------
    payload : memoryview
        The part of the file that holds arrays.
    header : dict
        A checked header of the file.
    """

    def __init__(self, payload: memoryview, header: dict[str, Any]) -> None:
        self._payload = payload
        self._deflated: bool = header["deflated"]
        self._entries: dict[str, dict[str, Any]] = header["arrays"]
        for name, entry in self._entries.items():
            _check_entry(name, entry, header["n_bytes"])
        extents = sorted((entry["offset"], entry["stored"]) for entry in self._entries.values())
        if any(start + length > after for (start, length), (after, _) in pairwise(extents)):
            raise ModelFileError("two arrays share bytes of the file")
        sizes = list(map(_n_bytes, self._entries.values()))
        if self._deflated and _inflates_too_much(sizes, [length for _, length in extents]):
            raise ModelFileError(
                f"its arrays claim {sum(sizes)} bytes, which is too much for a file of its size"
            )

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __getitem__(self, name: str) -> NDArray[Any]:
        entry = self._entries[name]
        content: Any = self._payload[entry["offset"] : entry["offset"] + entry["stored"]]
        if self._deflated:
            content = _inflate(content, _n_bytes(entry), name)
        if len(content) != _n_bytes(entry) or zlib.crc32(content) != entry["crc32"]:
            raise ModelFileError(f"array {name} is damaged: its checksum or length does not match")
        return np.frombuffer(content, dtype=_DTYPES[entry["dtype"]]).reshape(entry["shape"])

    def check_shape(
        self, name: str, shape: tuple[str | int, ...], sizes: dict[str, int], dtype: Any = None
    ) -> None:
        """Raise ModelFileError unless an array has this shape; reads nothing.

        Parameters
        ----------
        name : str
        shape : tuple of str or int
            Sizes by name, or as numbers.
        sizes : dict of int
            Known sizes by name. A name that is not among them gets its size from this array.
        dtype : dtype or None
            None accepts every type.
        """
        if name not in self._entries:
            raise ModelFileError(f"it has no array {name}")
        entry = self._entries[name]
        is_of_type = dtype is None or _DTYPES[entry["dtype"]] == dtype
        if len(entry["shape"]) != len(shape) or not is_of_type:
            raise ModelFileError(f"array {name} has the wrong type or number of dimensions")
        for size, wanted in zip(entry["shape"], shape, strict=True):
            expected = sizes.setdefault(wanted, size) if isinstance(wanted, str) else wanted
            if size != expected:
                raise ModelFileError(
                    f"array {name} has {size} entries in a dimension where {wanted} is {expected}"
                )


def _n_bytes(entry: dict[str, Any]) -> int:
    return int(math.prod(entry["shape"])) * _DTYPES[entry["dtype"]].itemsize


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**48


def _check_entry(name: str, entry: Any, n_payload: int) -> None:
    """Check what the header tells about one array."""
    if not (
        isinstance(entry, dict)
        and isinstance(entry.get("dtype"), str)
        and entry["dtype"] in _DTYPES
        and isinstance(entry.get("shape"), list)
        and len(entry["shape"]) in (1, 2)
        and all(map(_is_size, entry["shape"]))
        and _is_size(entry.get("offset"))
        and entry["offset"] % _ALIGN == 0
    ):
        raise ModelFileError(f"array {name}: invalid type, shape or offset")
    if not _is_size(entry.get("stored")) or entry["offset"] + entry["stored"] > n_payload:
        raise ModelFileError(f"array {name} reaches beyond the end of the file")
    if not isinstance(entry.get("crc32"), int):
        raise ModelFileError(f"array {name} has no checksum")


def _inflate(content: memoryview, n_bytes: int, name: str) -> bytes:
    """Decompress at most n_bytes."""
    decoder = zlib.decompressobj()
    try:
        inflated = decoder.decompress(content, n_bytes) if n_bytes else b""
        longer = n_bytes and not decoder.eof and decoder.decompress(decoder.unconsumed_tail, 1)
    except zlib.error as error:
        raise ModelFileError(f"array {name} is damaged: {error}") from error
    if longer:
        raise ModelFileError(f"array {name} is longer than it claims")
    return inflated
