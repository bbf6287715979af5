"""Extents of stored arrays: what a checksum alone would let pass."""

import zlib

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from lacforest._model.container import ModelFileError, StoredArrays, _inflate


def stored(*offsets, length=128, n_bytes=512):
    """Zeros at these offsets; all checksums match, since every part of the payload is alike."""
    entry = {"dtype": "int64", "shape": [length // 8], "stored": length}
    arrays = {
        f"array {place}": entry | {"offset": offset, "crc32": zlib.crc32(bytes(length))}
        for place, offset in enumerate(offsets)
    }
    header = {"deflated": False, "n_bytes": n_bytes, "arrays": arrays}
    return StoredArrays(memoryview(bytes(n_bytes)), header)


@pytest.mark.parametrize("offsets", [(0, 128), (384, 0), (0, 128, 256, 384)])
def test_arrays_side_by_side(offsets):
    for array in stored(*offsets).values():
        assert_array_equal(array, np.zeros(16))


@pytest.mark.parametrize("offsets", [(0, 64), (0, 0), (320, 256), (0, 256, 192)])
def test_arrays_that_share_bytes(offsets):
    with pytest.raises(ModelFileError, match="two arrays share bytes of the file"):
        stored(*offsets)


@pytest.mark.parametrize("offset", [8, 32, 63])
def test_arrays_that_are_not_aligned(offset):
    with pytest.raises(ModelFileError, match="array 0: invalid type, shape or offset"):
        stored(offset)


@pytest.mark.parametrize("offset", [448, 512])
def test_arrays_beyond_the_end(offset):
    with pytest.raises(ModelFileError, match="array 0 reaches beyond the end of the file"):
        stored(offset)


@pytest.mark.parametrize("n_bytes", [1, 64, 999])
def test_arrays_that_are_longer_than_they_claim(n_bytes):
    deflated = memoryview(zlib.compress(bytes(1000)))
    assert _inflate(deflated, 1000, "a") == bytes(1000)
    with pytest.raises(ModelFileError, match="array a is longer than it claims"):
        _inflate(deflated, n_bytes, "a")
