"""Take model files apart and reassemble them with matching checksums.

Written from the description at the head of lacforest/_model/container.py, not from its code: a file
that this module writes and `load` reads shows that the description is correct.
"""

import json
import zlib

import numpy as np

from lacforest._model.container import MAGIC

ALIGN = 64
_DTYPES = {
    "node": np.dtype([("threshold", "<f8"), ("feature", "<i4"), ("left", "<i4")]),
    "float32": np.dtype("<f4"),
    "float64": np.dtype("<f8"),
    "int32": np.dtype("<i4"),
    "int64": np.dtype("<i8"),
    "uint8": np.dtype("u1"),
    "uint64": np.dtype("<u8"),
    "bool": np.dtype("?"),
}


def _padded(content):
    return content + bytes(-len(content) % ALIGN)


def read_header(path):
    """Header of a file, and where its arrays begin."""
    content = path.read_bytes()
    assert content[: len(MAGIC)] == MAGIC
    begin = len(MAGIC) + 8
    end = begin + int.from_bytes(content[len(MAGIC) : begin], "little")
    header = json.loads(content[begin:end])
    return header, len(content) - header["n_bytes"]


def take_apart(path):
    """Header and arrays of a file."""
    content, (header, start) = path.read_bytes(), read_header(path)
    arrays = {}
    for name, entry in header["arrays"].items():
        dtype, first = _DTYPES[entry["dtype"]], start + entry["offset"]
        stored = content[first : first + entry["stored"]]
        if header["deflated"]:
            stored = zlib.decompress(stored)
        array = np.frombuffer(stored, dtype=dtype)
        arrays[name] = array.reshape(entry["shape"]).copy()
    return header, arrays


def lay_out(header, arrays, deflated=False):
    """Set sizes, offsets and checksums in the header to match the arrays; return the payload."""
    payload = b""
    header["deflated"], header["arrays"] = deflated, {}
    for name, array in arrays.items():
        content = np.ascontiguousarray(array).tobytes()
        stored = zlib.compress(content) if deflated else content
        header["arrays"][name] = {
            "dtype": next(kind for kind, dtype in _DTYPES.items() if dtype == array.dtype),
            "shape": list(array.shape),
            "offset": len(payload),
            "crc32": zlib.crc32(content),
            "stored": len(stored),
        }
        payload += _padded(stored)
    header["n_bytes"] = len(payload)
    return payload


def put_together(path, header, payload):
    """Write a header, given as a dict or as bytes, followed by the payload.

    Blanks at the end of the header leave room before the next multiple of 64. The CRC-32 of the
    header is stored there; a reader that does not check it skips it as padding.
    """
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-(len(MAGIC) + 8 + len(text) + 32) % ALIGN)
    prefix = MAGIC + len(text).to_bytes(8, "little") + text
    path.write_bytes(_padded(prefix + zlib.crc32(text).to_bytes(4, "little")) + payload)


def rewrite(path, change=None, change_header=None, deflated=False):
    """Write a file anew with changed arrays or a changed header, and checksums that match."""
    header, arrays = take_apart(path)
    if change is not None:
        change(arrays)
    payload = lay_out(header, arrays, deflated)
    if change_header is not None:
        change_header(header)
    put_together(path, header, payload)
