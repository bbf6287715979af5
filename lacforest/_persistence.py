"""Model files: a JSON header and raw arrays. No pickle, nothing in a file is ever executed.

Layout: 8 bytes of magic, 8 bytes with the length of the header (little-endian), the header, 4 bytes
with its CRC-32 (little-endian), then the arrays at offsets that are multiples of 64, counted from
the end of the CRC-32 rounded up to 64.
Each array is stored as it is in memory, or deflated. The header names the format version; a reader
accepts every version up to its own, and a writer uses the lowest that can hold the forest.
"""

from __future__ import annotations

import json
import mmap as mapping
import os
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._atomic import atomic_file
from lacforest._forest_arrays import ForestArrays
from lacforest._parameters import check_n_jobs
from lacforest._tree._buffers import NODE
from lacforest.mixture import BestBin, KernelMeanEmbedding, RankMixture

MAGIC = b"LACFRST\n"
VERSION = 3  # 1 had no interval of theta; up to 2 a file held one forest
_ONE_FOREST = 2
_ALIGN = 64
_MAX_HEADER = 1 << 26
_DEFLATE_LEVEL = 1  # level 6 gains a seventh and takes four times as long
_MAX_DEFLATION = 1100  # deflate cannot shrink anything further
_DTYPES = {
    "node": NODE,
    "float32": np.dtype("<f4"),
    "float64": np.dtype("<f8"),
    "int32": np.dtype("<i4"),
    "int64": np.dtype("<i8"),
    "bool": np.dtype("?"),
}
_FOREST_ARRAYS = ("nodes", "tree_start", "leaf_values", "n_explored", "explored_counts")
# Arrays of the trees of Step I, where they are not the ones that predict.
_EXPLORED = "explored."
_FITTED_ARRAYS = {
    "pseudo_labels_": np.dtype(bool),
    "unlabeled_score_": np.dtype(np.float64),
    "feature_importances_": np.dtype(np.float64),
}


# The estimators of theta that a file may name.
_ESTIMATORS: dict[str, Any] = {
    cls.__name__: cls for cls in (BestBin, KernelMeanEmbedding, RankMixture)
}


class ModelFileError(ValueError):
    """A model file is damaged, not ours, or from a newer version."""


def _aligned(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN


# ---------------------------------------------------------------------------- scalars and labels


def _encode(value: Any, where: str) -> Any:
    """A parameter or label as JSON that `_decode` gives back as the same type."""
    if isinstance(value, np.random.RandomState):
        return None  # its state has moved on; only the fitted trees matter
    if isinstance(value, np.generic):
        return {"numpy": value.dtype.str, "value": _encode(value.item(), where)}
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {"pairs": [[_encode(k, where), _encode(v, where)] for k, v in value.items()]}
    if type(value) in _ESTIMATORS.values():
        return {
            "theta_estimator": type(value).__name__,
            "parameters": _encode(value.get_params(deep=False), where),
        }
    raise TypeError(
        f"cannot save {where}={value!r}: model files hold numbers, text, booleans, None and dicts "
        "of them, and estimators of lacforest.mixture. Use joblib.dump, or change it by set_params "
        "first."
    )


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        raise ModelFileError("the header holds a list where a number, text or dict belongs")
    if not isinstance(value, dict):
        return value
    if set(value) == {"numpy", "value"}:
        dtype = np.dtype(value["numpy"])
        if dtype.kind not in "biufU":
            raise ModelFileError(f"the header holds a value of type {dtype}")
        return dtype.type(_decode(value["value"]))
    if set(value) == {"float"}:
        return float(value["float"])
    if set(value) == {"pairs"}:
        return {_decode(k): _decode(v) for k, v in value["pairs"]}
    if set(value) == {"theta_estimator", "parameters"}:
        if value["theta_estimator"] not in _ESTIMATORS:
            raise ModelFileError(f"it names an unknown estimator: {value['theta_estimator']!r}")
        return _ESTIMATORS[value["theta_estimator"]](**_decode(value["parameters"]))
    raise ModelFileError(f"the header holds a value of an unknown kind: {sorted(value)}")


def _encode_labels(labels: NDArray[Any]) -> dict[str, Any]:
    if labels.dtype.kind not in "OUbiuf" or (
        labels.dtype.kind == "O" and not all(isinstance(label, str) for label in labels)
    ):
        raise TypeError(
            "cannot save labels that are neither numbers nor text; convert y to one of them"
        )
    return {"dtype": labels.dtype.str, "items": labels.tolist()}


def _decode_labels(labels: Any, where: str) -> NDArray[Any]:
    dtype = np.dtype(labels["dtype"])
    items = labels["items"]
    if dtype.kind not in "OUbiuf" or not isinstance(items, list) or not items:
        raise ModelFileError(f"{where} is not a list of labels")
    if dtype.kind in "OU" and not all(isinstance(item, str) for item in items):
        raise ModelFileError(f"{where} mixes text with something else")
    if dtype.kind == "U" and dtype.itemsize > 4 * max(1, *map(len, items)):
        raise ModelFileError(f"{where} claims {dtype.itemsize} bytes a label")
    array = np.array(items, dtype=dtype)
    if array.ndim != 1 or len(np.unique(array)) != len(items):
        raise ModelFileError(f"{where} holds a label twice")
    return array


# ---------------------------------------------------------------------------- writing


def save_forest(
    estimator: Any,
    path: str | os.PathLike[str],
    compress: bool,
    attachment: dict[str, Any] | None = None,
) -> None:
    """Write a fitted estimator to `path`: first to a temporary name beside it, then renamed.

    An attachment is whatever JSON can hold that belongs to the model, like the coding of a table;
    `read_attachment` gives it back.
    """
    check_n_jobs(estimator.n_jobs)  # as `load` does
    forest = estimator._forest
    explored = estimator._explored
    arrays = {name: getattr(forest, name) for name in _FOREST_ARRAYS}
    if explored is not None:
        arrays |= {_EXPLORED + name: getattr(explored, name) for name in _FOREST_ARRAYS}
    arrays |= {name: getattr(estimator, name) for name in _FITTED_ARRAYS}
    header = {
        "version": _ONE_FOREST if explored is None else VERSION,
        "estimator": type(estimator).__name__,
        "parameters": {
            name: _encode(value, name) for name, value in estimator.get_params(deep=False).items()
        },
        "known_classes": _encode_labels(estimator.known_classes_),
        "classes": _encode_labels(estimator.classes_),
        "new_class_index": estimator.new_class_index_,
        "theta": estimator.theta_,
        "theta_interval": _listed(estimator.theta_interval_),
        "n_labeled": estimator.n_labeled_,
        "ratio": forest.ratio if explored is None else explored.ratio,
        "n_features": forest.n_features,
        "feature_names": _names_of(estimator),
        "attachment": attachment,
    }
    stored: list[bytes | memoryview] = []
    layout: dict[str, dict[str, Any]] = {}
    offset = 0
    for name, array in arrays.items():
        content = np.ascontiguousarray(array).view(np.uint8).reshape(-1).data
        layout[name] = {
            "dtype": next(kind for kind, dtype in _DTYPES.items() if dtype == array.dtype),
            "shape": list(array.shape),
            "offset": offset,
            "crc32": zlib.crc32(content),
        }
        stored.append(zlib.compress(content, _DEFLATE_LEVEL) if compress else content)
        layout[name]["stored"] = len(stored[-1])
        offset = _aligned(offset + len(stored[-1]))
    header |= {"deflated": compress, "arrays": layout, "n_bytes": offset}
    text = json.dumps(header, allow_nan=False).encode()
    if _has_half_characters(text, header):
        raise ValueError(
            "cannot save a label, name or parameter with a lone surrogate (half a character, like "
            "'\\ud800'): nothing could print it. Decode that text without errors='surrogateescape'."
        )
    with atomic_file(path) as file:
        file.write(MAGIC + len(text).to_bytes(8, "little") + text)
        file.write(zlib.crc32(text).to_bytes(4, "little"))
        for block in stored:
            file.write(bytes(_aligned(file.tell()) - file.tell()))
            file.write(block)
        file.write(bytes(_aligned(file.tell()) - file.tell()))


def _has_half_characters(text: bytes, header: Any) -> bool:
    """Whether a string holds a lone surrogate, which JSON can escape and UTF-8 cannot write."""
    if b"\\ud" not in text.lower():
        return False  # nearly always, and quick
    try:
        json.dumps(header, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _listed(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else [float(end) for end in interval]


def _names_of(estimator: Any) -> list[str] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


# ---------------------------------------------------------------------------- reading


def load_forest(cls: type, path: str | os.PathLike[str], mmap: bool) -> Any:
    """Read and check a model file; raises ModelFileError before any array is walked."""
    try:
        with open(path, "rb") as file:
            header, start = _read_header(file)
            if header["estimator"] != cls.__name__:
                raise ModelFileError(f"it holds a {header['estimator']}, not a {cls.__name__}")
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
        arrays = {name: _read_array(payload, header, name) for name in header["arrays"]}
        return _rebuild(cls, header, arrays)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)} cannot be loaded: {error}") from None
    except (
        AttributeError,
        KeyError,
        MemoryError,
        OverflowError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise ModelFileError(
            f"{os.fspath(path)} cannot be loaded: {type(error).__name__}: {error}"
        ) from error


def read_attachment(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any] | None]:
    """The class of a saved estimator, and what was attached to it, or None."""
    try:
        with open(path, "rb") as file:
            header = _read_header(file)[0]
    except (KeyError, RecursionError, ValueError) as error:
        raise ModelFileError(f"{os.fspath(path)} cannot be loaded: {error}") from None
    attachment = header.get("attachment")
    if attachment is not None and not isinstance(attachment, dict):
        raise ModelFileError(f"{os.fspath(path)} cannot be loaded: its attachment makes no sense")
    return header["estimator"], attachment


def _read_header(file: Any) -> tuple[dict[str, Any], int]:
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
    if _has_half_characters(text, header):
        raise ModelFileError("its header holds half a character")
    if not isinstance(header, dict) or not isinstance(header.get("version"), int):
        raise ModelFileError("its header names no version")
    if not 1 <= header["version"] <= VERSION:
        raise ModelFileError(
            f"it has format version {header['version']}, and this lacforest reads up to {VERSION}: "
            "update lacforest"
        )
    if not isinstance(header.get("estimator"), str):
        raise ModelFileError("its header names no estimator")
    if not isinstance(header["n_bytes"], int) or header["n_bytes"] < 0:
        raise ModelFileError("its header names no size")
    if not isinstance(header["arrays"], dict):
        raise ModelFileError("its header names no arrays")
    if not isinstance(header["deflated"], bool):
        raise ModelFileError("its header does not say whether arrays are deflated")
    return header, _aligned(len(MAGIC) + 8 + length + 4)


def _read_array(payload: memoryview, header: dict[str, Any], name: str) -> NDArray[Any]:
    entry = header["arrays"][name]
    dtype = _DTYPES[entry["dtype"]]
    shape, offset = entry["shape"], entry["offset"]
    if not (
        isinstance(shape, list)
        and len(shape) in (1, 2)
        and all(isinstance(n, int) and 0 <= n < 2**48 for n in shape)
        and isinstance(offset, int)
        and offset >= 0
        and offset % _ALIGN == 0
    ):
        raise ModelFileError(f"the place of array {name} makes no sense")
    n_items = int(np.prod([int(n) for n in shape], dtype=object))
    n_bytes, stored = n_items * dtype.itemsize, entry["stored"]
    if not isinstance(stored, int) or stored < 0 or offset + stored > header["n_bytes"]:
        raise ModelFileError(f"array {name} reaches beyond the end of the file")
    content: Any = payload[offset : offset + stored]
    if header["deflated"]:
        content = _inflate(content, n_bytes, name)
    if len(content) != n_bytes or zlib.crc32(content) != entry["crc32"]:
        raise ModelFileError(f"array {name} is damaged: its checksum or length does not match")
    return np.frombuffer(content, dtype=dtype, count=n_items).reshape(shape)


def _inflate(content: memoryview, n_bytes: int, name: str) -> bytes:
    """Decompress at most n_bytes, and no claim that deflate could not fulfil."""
    if n_bytes > _MAX_DEFLATION * max(len(content), 1):
        raise ModelFileError(f"array {name} claims {n_bytes} bytes")
    decoder = zlib.decompressobj()
    try:
        inflated = decoder.decompress(content, n_bytes) if n_bytes else b""
        longer = n_bytes and not decoder.eof and decoder.decompress(decoder.unconsumed_tail, 1)
    except zlib.error as error:
        raise ModelFileError(f"array {name} is damaged: {error}") from error
    if longer:
        raise ModelFileError(f"array {name} is longer than it claims")
    return inflated


def _rebuild(cls: type, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Any:
    names = [*_FOREST_ARRAYS]
    has_explored = header["version"] > _ONE_FOREST
    if has_explored:
        names += [_EXPLORED + name for name in _FOREST_ARRAYS]
    expected = (*names, *_FITTED_ARRAYS)
    if sorted(arrays) != sorted(expected):
        raise ModelFileError(f"it holds the arrays {sorted(arrays)}, not {sorted(expected)}")
    n_features = header["n_features"]
    if not isinstance(n_features, int) or not 1 <= n_features < 2**31:
        raise ModelFileError("the number of features makes no sense")
    ratio = float(header["ratio"])
    explored: ForestArrays | None = None
    if has_explored:
        explored = _rebuild_forest(arrays, _EXPLORED, ratio, n_features)
    forest = _rebuild_forest(arrays, "", 0.0 if has_explored else ratio, n_features)
    if explored is not None and explored.n_classes != forest.n_classes:
        raise ModelFileError("the trees of the two steps know different classes")

    estimator = cls(**{name: _decode(value) for name, value in header["parameters"].items()})
    check_n_jobs(estimator.n_jobs)  # the one parameter that predictions need
    known = _decode_labels(header["known_classes"], "known_classes")
    classes = _decode_labels(header["classes"], "classes")
    index = header["new_class_index"]
    if len(classes) != forest.n_classes or len(known) != len(classes) - (index is not None):
        raise ModelFileError("the number of classes does not match the trees")
    if index is not None and not (isinstance(index, int) and 0 <= index < len(classes)):
        raise ModelFileError("the new class is not among the classes")
    if not np.array_equal(classes if index is None else np.delete(classes, index), known):
        raise ModelFileError("known_classes and classes contradict each other")
    theta, n_labeled = header["theta"], header["n_labeled"]
    interval = header["theta_interval"] if header["version"] > 1 else None
    if (theta is None) != (index is None) or (theta is not None and not 0 <= float(theta) <= 1):
        raise ModelFileError("theta makes no sense")
    if interval is not None and not (
        theta is not None
        and isinstance(interval, list)
        and len(interval) == 2
        and 0 <= float(interval[0]) <= float(theta) <= float(interval[1]) <= 1
    ):
        raise ModelFileError("the interval of theta makes no sense")
    if not 0 < float(n_labeled) < np.inf:
        raise ModelFileError("the number of labelled rows makes no sense")
    names = header["feature_names"]
    if names is not None:
        if not (
            isinstance(names, list)
            and len(names) == n_features
            and all(isinstance(name, str) for name in names)
        ):
            raise ModelFileError("the feature names do not match the features")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    for name, dtype in _FITTED_ARRAYS.items():
        if arrays[name].dtype != dtype:
            raise ModelFileError(f"{name} has the wrong type")
    _check_training_facts(**{name: arrays[name] for name in _FITTED_ARRAYS}, n_features=n_features)
    estimator.n_features_in_ = n_features
    estimator.known_classes_ = known
    estimator.classes_ = classes
    estimator.new_class_index_ = index
    estimator.new_label_ = None if index is None else classes[index]
    estimator.theta_ = None if theta is None else float(theta)
    estimator.theta_interval_ = None if interval is None else tuple(map(float, interval))
    estimator.theta_estimator_ = None
    estimator.n_labeled_ = float(n_labeled)
    for name in _FITTED_ARRAYS:
        setattr(estimator, name, arrays[name])
    estimator._forest = forest
    estimator._explored = explored
    return estimator


def _rebuild_forest(
    arrays: dict[str, NDArray[Any]], prefix: str, ratio: float, n_features: int
) -> ForestArrays:
    forest = ForestArrays(
        **{name: arrays[prefix + name] for name in _FOREST_ARRAYS},
        ratio=ratio,
        n_features=n_features,
    )
    forest.validate()
    return forest


def _check_training_facts(
    pseudo_labels_: NDArray[np.bool_],
    unlabeled_score_: NDArray[np.float64],
    feature_importances_: NDArray[np.float64],
    n_features: int,
) -> None:
    if (
        pseudo_labels_.ndim != 1
        or pseudo_labels_.shape != unlabeled_score_.shape
        or feature_importances_.shape != (n_features,)
    ):
        raise ModelFileError("the facts about training rows do not match each other")
    if (pseudo_labels_.view(np.uint8) > 1).any():
        raise ModelFileError("a pseudo-label is neither true nor false")
    if not ((unlabeled_score_ >= 0) & (unlabeled_score_ <= 1)).all():
        raise ModelFileError("the score of an unlabelled row is not in [0, 1]")
    if not ((feature_importances_ >= 0) & (feature_importances_ < np.inf)).all():
        raise ModelFileError("the importance of a feature is negative or no number")
