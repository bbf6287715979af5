"""Random changes to bytes, JSON values and arrays."""

import contextlib
import copy

import numpy as np

from lacforest._model.values import decode_array, encode_array

INTERESTING = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 63, 64, 255, 1e-300, 0.5, -0.5, 1.0, 1.5, 1e308),
    *(2**31 - 1, 2**31, -(2**31), 2**32, 2**48, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**400),
    *("", "auto", "0", "nan", "<new>", "\x00", "\ud800", "é", "O", "<f8", "<U9", "M8[D]", "V8"),
    *("float32", "float64", "int32", "int64", "bool", "node", "<i8", "a" * 2000),
    *([], {}, [[]], [0], [1, 2], [None], {"": 0}, {"float": "nan"}, {"float": "x"}, {"float": 1}),
    *({"pairs": []}, {"pairs": [[0, 1]]}, {"pairs": [[{}, 0]]}, {"pairs": 3}),
    *({"numpy": "<f8", "value": 1}, {"numpy": "<U0", "value": "ab"}, {"numpy": "O", "value": 0}),
    {"theta_estimator": "BestBin", "parameters": {"pairs": []}},
    {"theta_estimator": "BestBin", "parameters": {"pairs": [["n_estimators", "x"]]}},
    {"theta_estimator": ["BestBin"], "parameters": None},
]
NUMBERS = [
    *(0, 1, -1, 2, 0.5, -0.5, 1e-40, 1e300, -1e300, np.inf, -np.inf, np.nan),
    *(127, 255, 2**15, 2**31 - 1, -(2**31), 2**40, 2**62),
]
DTYPES = ["<f4", "<f8", "<i4", "<i8", "?"]


def pick(rng, items):
    return items[int(rng.integers(len(items)))]


def damage(rng, content):
    """A few changes to bytes: flips, other bytes, cuts, insertions, copies of a block."""
    content = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(content) + 1))
        length = int(rng.integers(1, 17))
        kind = rng.integers(6)
        if kind == 0 and at < len(content):
            content[at] ^= 1 << int(rng.integers(8))
        elif kind == 1 and at < len(content):
            content[at] = int(rng.integers(256))
        elif kind == 2:
            del content[at : at + length]
        elif kind == 3:
            content[at:at] = rng.bytes(length)
        elif kind == 4:
            other = int(rng.integers(len(content) + 1))
            content[at : at + length] = content[other : other + length]
        else:
            del content[at:]
    return bytes(content)


def _slots(value, found):
    """Every place in a JSON value that can be set: (container, key)."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in keys:
        found.append((value, key))
        if isinstance(value[key], dict | list):
            _slots(value[key], found)
    return found


def change_value(rng, header):
    slots = _slots(header, [])
    container, key = pick(rng, slots)
    kind = rng.integers(6)
    value = container[key]
    if kind > 2 and isinstance(value, dict) and set(value) == {"dtype", "shape", "bytes"}:
        with contextlib.suppress(TypeError, ValueError):  # of an array that was changed before
            container[key] = _change_encoded(rng, value)
        return
    if kind == 0:
        del container[key]
    elif kind == 1:
        other, other_key = pick(rng, slots)
        if other_key in other if isinstance(other, dict) else other_key < len(other):
            container[key] = copy.deepcopy(other[other_key])
    elif kind == 2 and isinstance(container, list):
        container.append(copy.deepcopy(value))
    elif kind == 3 and isinstance(value, int | float) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # of half and an integer beyond every float
            container[key] = value + pick(rng, [-64, -1, 1, 64, 0.5, -value])
    else:
        container[key] = copy.deepcopy(pick(rng, INTERESTING))


def _change_encoded(rng, value):
    """Change an array that JSON holds in the form of `encode_array`."""
    arrays = {"": decode_array(value, "", np.dtype(value["dtype"]).type, len(value["shape"]))}
    change_array(rng, arrays)
    return encode_array(arrays[""])


def change_array(rng, arrays):
    name = pick(rng, sorted(arrays))
    array = arrays[name]
    kind = rng.integers(8)
    if kind == 0:
        arrays[name] = array[: int(rng.integers(len(array) + 1))].copy()
    elif kind == 1:
        arrays[name] = np.concatenate([array, array[: int(rng.integers(len(array) + 1))]])
    elif kind == 2 and array.dtype.names is None:
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(pick(rng, DTYPES))
    elif kind == 3 and array.ndim == 2:
        arrays[name] = np.ascontiguousarray(array[:, : int(rng.integers(3))])
    elif array.size:
        field = pick(rng, array.dtype.names) if array.dtype.names else None
        target = array if field is None else array[field]
        if kind == 4:
            raw = array.view(np.uint8).reshape(-1)
            raw[int(rng.integers(len(raw)))] = int(rng.integers(256))
        elif kind == 5:
            one, other = rng.integers(target.size, size=2)
            target.flat[one] = target.flat[other]
        elif kind == 6:
            with np.errstate(all="ignore"):
                steps = [1, -1] if target.dtype.kind in "if" else [1]
                target.flat[int(rng.integers(target.size))] += target.dtype.type(pick(rng, steps))
        else:
            number = np.array([pick(rng, NUMBERS)])
            with np.errstate(all="ignore"):
                target.flat[int(rng.integers(target.size))] = number.astype(target.dtype)[0]
