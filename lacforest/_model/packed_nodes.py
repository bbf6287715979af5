"""Nodes of a forest as columns of bytes, for files: they deflate to half of what nodes do.

Bytes of one significance stand together, since high bytes repeat and low ones do not. A child is
stored as its distance from its parent, and nodes that are leaves have no column of features.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._model.container import ModelFileError
from lacforest._tree.workspace import NODE

# Shapes by name of size; all of bytes.
PACKED_ARRAYS: dict[str, tuple[str | int, ...]] = {
    "is_inner": ("bytes of bits",),
    "threshold": (8, "inner nodes"),
    "feature": (4, "inner nodes"),
    "child": (4, "inner nodes"),
    "leaf": (4, "leaves"),
    "rows": (8, "leaves"),
}


def pack_nodes(nodes: NDArray[Any], tree_start: NDArray[np.int64]) -> dict[str, NDArray[np.uint8]]:
    """Columns of the nodes of a valid forest, by the names of `PACKED_ARRAYS`.

    Parameters
    ----------
    nodes : NODE array
    tree_start : int64 array of shape (n_trees + 1,)
    """
    left = nodes["left"]
    is_inner = left >= 0
    feature = nodes["feature"][is_inner]
    return {
        "is_inner": np.packbits(is_inner),
        "threshold": _to_planes(nodes["threshold"][is_inner]),
        # ~feature, which sends missing values right, is next to feature: 0, ~0, 1, ~1, ...
        "feature": _to_planes((feature << 1) ^ (feature >> 31)),
        "child": _to_planes((left - _number_in_tree(tree_start))[is_inner].astype(np.int32)),
        "leaf": _to_planes(~left[~is_inner]),
        "rows": _to_planes(nodes["threshold"][~is_inner]),
    }


def unpack_nodes(
    packed: Mapping[str, NDArray[np.uint8]], tree_start: NDArray[np.int64]
) -> NDArray[Any]:
    """The nodes that `pack_nodes` was given.

    Raises ModelFileError where the columns do not fit together; what nodes say is left to the
    checks of a forest.

    Parameters
    ----------
    packed : mapping
        Byte arrays of the shapes of `PACKED_ARRAYS`.
    tree_start : int64 array of one dimension
    """
    bits, n_inner = packed["is_inner"], packed["threshold"].shape[1]
    n_nodes = n_inner + packed["leaf"].shape[1]
    if len(bits) != -(-n_nodes // 8):
        raise ModelFileError("its marks of inner nodes are of another forest")
    is_inner = np.unpackbits(bits, count=n_nodes).view(np.bool_)
    if is_inner.sum() != n_inner or not np.array_equal(np.packbits(is_inner), bits):
        raise ModelFileError("its marks of inner nodes are of another forest")
    # Before numbers in trees are written: they would take as much memory as starts claim.
    if not (
        tree_start.dtype == np.int64
        and len(tree_start) > 0
        and tree_start[0] == 0
        and tree_start[-1] == n_nodes
        and (np.diff(tree_start) >= 0).all()
    ):
        raise ModelFileError("its trees do not cover the nodes")
    feature = _from_planes(packed["feature"], np.uint32)
    child = _from_planes(packed["child"], np.uint32) + _number_in_tree(tree_start)[is_inner]
    leaf = _from_planes(packed["leaf"], np.uint32)
    if max(child.max(initial=0), leaf.max(initial=0)) >= 2**31:
        raise ModelFileError("a child or leaf of its nodes is out of range")
    nodes = np.zeros(n_nodes, dtype=NODE)
    nodes["threshold"][is_inner] = _from_planes(packed["threshold"], np.float64)
    nodes["threshold"][~is_inner] = _from_planes(packed["rows"], np.float64)
    nodes["feature"][is_inner] = (feature >> 1).view(np.int32) ^ -(feature & 1).view(np.int32)
    nodes["left"][is_inner] = child
    nodes["left"][~is_inner] = ~leaf.view(np.int32)
    return nodes


def _number_in_tree(tree_start: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of each node within its tree."""
    return np.arange(tree_start[-1]) - np.repeat(tree_start[:-1], np.diff(tree_start))


def _to_planes(column: NDArray[Any]) -> NDArray[np.uint8]:
    """Bytes of all items by significance, the lowest first."""
    plain = np.ascontiguousarray(column, dtype=column.dtype.newbyteorder("<"))
    return np.ascontiguousarray(plain.view(np.uint8).reshape(-1, plain.itemsize).T)


def _from_planes(planes: NDArray[np.uint8], dtype: Any) -> NDArray[Any]:
    little = np.dtype(dtype).newbyteorder("<")
    column: NDArray[Any] = np.ascontiguousarray(planes.T).view(little).reshape(-1).astype(dtype)
    return column
