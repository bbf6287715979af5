"""Columns of nodes in files: read byte by byte they say what the nodes do, and damage is seen."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import seeds

from lacforest._model.container import ModelFileError
from lacforest._model.packed_nodes import PACKED_ARRAYS, pack_nodes, unpack_nodes
from lacforest._tree.workspace import NODE


@st.composite
def forests(draw):
    """Nodes of a few trees and where trees begin; children after parents, any numbers in them."""
    rng = np.random.default_rng(draw(seeds))
    sizes = 2 * rng.integers(0, 6, size=draw(st.integers(1, 4))) + 1
    nodes = np.zeros(sizes.sum(), dtype=NODE)
    nodes["threshold"] = rng.choice([rng.normal(), 0.0, np.inf, 1e-300, 3.0], len(nodes))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    for first, size in zip(starts, sizes, strict=False):
        own = nodes[first : first + size]
        parents = [0]
        own["left"] = ~rng.choice([0, 5, 2**31 - 1], size)
        for left in range(1, size, 2):
            parent = parents.pop(rng.integers(len(parents)))
            own["left"][parent] = left
            own["feature"][parent] = rng.choice([0, 300, 2**31 - 1, ~0, ~7, -(2**31)])
            parents += [left, left + 1]
    return nodes, starts


def number(planes, at, kind):
    """One number of a column, from its bytes of all significances."""
    return struct.unpack(kind, bytes(int(plane[at]) for plane in planes))[0]


def unpacked_naively(packed, starts):
    bits = "".join(f"{byte:08b}" for byte in packed["is_inner"])
    seen = {"0": 0, "1": 0}
    nodes = []
    for i in range(starts[-1]):
        at = seen[bits[i]]
        seen[bits[i]] += 1
        if bits[i] == "0":
            row = number(packed["leaf"], at, "<I")
            nodes.append((number(packed["rows"], at, "<d"), 0, -1 - row))
            continue
        code = number(packed["feature"], at, "<I")
        feature = -1 - code // 2 if code % 2 else code // 2
        own = i - max(start for start in starts if start <= i)
        left = own + number(packed["child"], at, "<I")
        nodes.append((number(packed["threshold"], at, "<d"), feature, left))
    return np.array(nodes, dtype=NODE)


@given(forest=forests())
def test_columns_hold_the_nodes(forest):
    nodes, starts = forest
    packed = pack_nodes(nodes, starts)
    assert list(packed) == list(PACKED_ARRAYS)
    assert all(column.dtype == np.uint8 for column in packed.values())
    assert_array_equal(unpacked_naively(packed, starts), nodes)
    assert_array_equal(unpack_nodes(packed, starts), nodes)


@pytest.fixture
def small():
    """One tree of three nodes."""
    nodes = np.array([(0.5, 1, 1), (2.0, 0, ~0), (3.0, 0, ~1)], dtype=NODE)
    starts = np.array([0, 3])
    return pack_nodes(nodes, starts), starts


def bytes_of(value, n_items=1):
    return np.array([[byte] * n_items for byte in struct.pack("<I", value)], dtype=np.uint8)


MARKS, TREES, RANGE = "marks of inner nodes", "trees do not cover", "out of range"
BAD = {
    "a mark too many": ({"is_inner": np.array([0b11000000], np.uint8)}, MARKS),
    "a mark beyond the nodes": ({"is_inner": np.array([0b10000001], np.uint8)}, MARKS),
    "marks of more nodes": ({"is_inner": np.array([0b10000000, 0], np.uint8)}, MARKS),
    "no marks": ({"is_inner": np.zeros(0, np.uint8)}, MARKS),
    "a child beyond all trees": ({"child": bytes_of(2**31)}, RANGE),
    "a distribution beyond all": ({"leaf": bytes_of(2**31, 2)}, RANGE),
    "trees that begin late": (np.array([1, 3]), TREES),
    "trees that end late": (np.array([0, 2**40]), TREES),
    "trees that end early": (np.array([0, 2]), TREES),
    "trees that go backwards": (np.array([0, 2**40, 3]), TREES),
    "no trees": (np.zeros(0, np.int64), TREES),
    "starts of another type": (np.array([0, 3], np.uint64), TREES),
}


@pytest.mark.parametrize("kind", BAD)
def test_columns_that_do_not_fit_together(small, kind):
    packed, starts = small
    change, message = BAD[kind]
    if isinstance(change, dict):
        packed |= change
    else:
        starts = change
    with pytest.raises(ModelFileError, match=message):
        unpack_nodes(packed, starts)


def test_the_small_tree_fits_together(small):
    assert unpack_nodes(*small)["left"].tolist() == [1, ~0, ~1]
