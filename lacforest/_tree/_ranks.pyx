"""Values to rank codes, once per fit, and codes back to thresholds, once per phase."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy, memset

from lacforest._tree._keys cimport last_at_most
from lacforest._tree._types cimport Node, code_t

import numpy as np

ctypedef fused value_t:
    float
    double


cdef class CodedColumns:
    """Rank codes of every column, shared read-only by all trees and threads.

    Parameters
    ----------
    columns : sequence of uint8, uint16 or uint32 arrays of shape (n_rows,)
    n_codes : uint32 array of shape (n_features,)
        Distinct values of each column; this very code marks a missing value.
    has_missing : uint8 array of shape (n_features,)
    """

    def __init__(self, columns, n_codes, has_missing):
        self.columns = tuple(columns)
        self.n_codes = np.ascontiguousarray(n_codes, dtype=np.uint32)
        self.has_missing = np.ascontiguousarray(has_missing, dtype=np.uint8)
        self._addresses = np.array([c.ctypes.data for c in self.columns], dtype=np.uintp)
        self._widths = np.array([c.itemsize for c in self.columns], dtype=np.uint8)
        n_rows = {c.shape for c in self.columns}
        if len(n_rows) != 1 or len(self.columns) != len(self.n_codes):
            raise ValueError("columns must be equally long, and n_codes name each of them")
        cdef const uintptr_t[::1] addresses = self._addresses
        cdef const uint8_t[::1] widths = self._widths
        cdef const code_t[::1] codes = self.n_codes
        cdef const uint8_t[::1] missing = self.has_missing
        self.table.column = &addresses[0]
        self.table.width = &widths[0]
        self.table.n_codes = &codes[0]
        self.table.has_missing = &missing[0]
        self.table.n_features = <int32_t> len(self.columns)
        self.table.n_rows = self.columns[0].shape[0]


cdef class ColumnValues:
    """The distinct values of every column: what random cuts are drawn between.

    Parameters
    ----------
    values : sequence of float64 arrays
        Ascending, one a column of the CodedColumns they belong to, in the order of its codes.
    """

    def __init__(self, values):
        self.values = tuple(np.ascontiguousarray(v, dtype=np.float64) for v in values)
        self._addresses = np.array([v.ctypes.data for v in self.values], dtype=np.uintp)
        cdef const uintptr_t[::1] addresses = self._addresses
        self.policy.values = &addresses[0]


cdef inline uint64_t _ordered_bits(value_t value) noexcept nogil:
    """Bits of a float, rearranged so that they order as unsigned integers like the values do."""
    cdef uint64_t wide
    cdef uint32_t short_bits
    if value_t is float:
        memcpy(&short_bits, &value, 4)
        return short_bits ^ (
            <uint32_t> 0xFFFFFFFF if short_bits >> 31 else <uint32_t> 0x80000000
        )
    else:
        memcpy(&wide, &value, 8)
        return wide ^ (
            <uint64_t> 0xFFFFFFFFFFFFFFFF if wide >> 63 else <uint64_t> 0x8000000000000000
        )


cdef int64_t _sort_by_bits(
    uint64_t* bits, uint32_t* order, uint64_t* spare_bits, uint32_t* spare_order, int64_t n_rows,
    int32_t n_bits,
) noexcept nogil:
    """Radix sort of bits with the row numbers beside them; returns 1 if the result is in spare."""
    cdef uint32_t[2048] starts
    cdef int64_t i
    cdef int32_t shift
    cdef uint32_t bucket, n_before, n_here
    cdef uint64_t* swap_bits
    cdef uint32_t* swap_order
    cdef int64_t n_swaps = 0
    for shift in range(0, n_bits, 11):
        memset(starts, 0, 2048 * sizeof(uint32_t))
        for i in range(n_rows):
            starts[(bits[i] >> shift) & 2047] += 1
        if starts[(bits[0] >> shift) & 2047] == n_rows:
            continue   # all alike in this digit
        n_before = 0
        for bucket in range(2048):
            n_here = starts[bucket]
            starts[bucket] = n_before
            n_before += n_here
        for i in range(n_rows):
            bucket = (bits[i] >> shift) & 2047
            spare_bits[starts[bucket]] = bits[i]
            spare_order[starts[bucket]] = order[i]
            starts[bucket] += 1
        swap_bits = bits
        bits = spare_bits
        spare_bits = swap_bits
        swap_order = order
        order = spare_order
        spare_order = swap_order
        n_swaps += 1
    return n_swaps & 1


def rank_codes(
    const value_t[:] values,
    uint64_t[:, ::1] bits_room,
    uint32_t[:, ::1] order_room,
    uint32_t[::1] codes,
):
    """Write the rank of each value among the distinct values of the column.

    Parameters
    ----------
    values : float32 or float64 array of shape (n_rows,)
        NaN is missing and gets the code after the last.
    bits_room, order_room : arrays of shape (2, n_rows)
        Scratch memory.
    codes : uint32 array of shape (n_rows,)
        Overwritten.

    Returns
    -------
    n_codes : int
        How many distinct values there are.
    n_missing : int
    """
    cdef int64_t n_rows = values.shape[0]
    cdef int64_t i
    cdef int64_t n_present = 0
    cdef uint32_t n_codes = 0
    cdef uint64_t* bits
    cdef uint32_t* order
    cdef value_t value
    with nogil:
        bits = &bits_room[0, 0]
        order = &order_room[0, 0]
        for i in range(n_rows):
            value = values[i]
            if value == value:
                bits[n_present] = _ordered_bits(<value_t> (value + 0))   # -0.0 is 0.0
                order[n_present] = <uint32_t> i
                n_present += 1
        if n_present > 0:
            if _sort_by_bits(
                bits, order, &bits_room[1, 0], &order_room[1, 0], n_present, 8 * sizeof(value_t)
            ):
                bits = &bits_room[1, 0]
                order = &order_room[1, 0]
            codes[order[0]] = 0
            for i in range(1, n_present):
                n_codes += bits[i] != bits[i - 1]
                codes[order[i]] = n_codes
            n_codes += 1
        if n_present < n_rows:
            for i in range(n_rows):
                if values[i] != values[i]:
                    codes[i] = n_codes
    return n_codes, n_rows - n_present


cdef inline double _midpoint(double low, double high) noexcept nogil:
    """Between two values, and below the upper one even where they are neighbours."""
    cdef double middle = low + 0.5 * (high - low)
    if high - low > 1.7e308:         # the difference overflowed
        middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low


def nodes_by_feature(nodes, const uint8_t[::1] skip, int32_t n_features):
    """Inner nodes, but for those to skip, ordered by the feature they split on.

    Parameters
    ----------
    nodes : NODE array
    skip : uint8 array, one a node
    n_features : int

    Returns
    -------
    members : uint32 array
    edges : int64 array of shape (n_features + 1,)
        The nodes of feature f are ``members[edges[f]:edges[f + 1]]``.
    """
    cdef uint8_t[::1] node_bytes = nodes.view(np.uint8)
    cdef const Node* all_nodes = <const Node*> &node_bytes[0]
    cdef int64_t n_nodes = nodes.shape[0]
    if n_nodes > <int64_t> 0xFFFFFFFF:
        raise MemoryError(f"a forest of {n_nodes} nodes is beyond what this version can index")
    edges = np.zeros(n_features + 1, dtype=np.int64)
    cdef int64_t[::1] ends = edges
    cdef int64_t i
    cdef int32_t feature
    for i in range(n_nodes):
        if all_nodes[i].left >= 0 and not skip[i]:
            feature = all_nodes[i].feature
            ends[(feature ^ (feature >> 31)) + 1] += 1
    for feature in range(n_features):
        ends[feature + 1] += ends[feature]
    members = np.empty(ends[n_features], dtype=np.uint32)
    cdef uint32_t[::1] placed = members
    # Filled from the back, each end moves down to where its feature begins.
    for i in range(n_nodes - 1, -1, -1):
        if all_nodes[i].left >= 0 and not skip[i]:
            feature = all_nodes[i].feature
            feature = feature ^ (feature >> 31)
            ends[feature + 1] -= 1
            placed[ends[feature + 1]] = <uint32_t> i
    return members, np.append(edges[1:], len(members))


def assign_thresholds(
    nodes,
    const uint32_t[::1] members,
    const double[::1] values,
    double[::1] thresholds,
):
    """Thresholds of the inner nodes that split on one feature.

    The threshold lies midway between two values present in the node.

    Parameters
    ----------
    nodes : NODE array
        Inner nodes in codes.
    members : uint32 array
        Indices of the nodes that split on this feature.
    values : float64 array of shape (n_codes,)
        Distinct values of the column in ascending order.
    thresholds : float64 array, one a node, or None
        Where to write. The cut then becomes the last code at or below the threshold, so that
        ``code <= last`` and ``value <= threshold`` say the same of every row of the table, not
        only of the node's. None overwrites the cut itself.
    """
    cdef uint8_t[::1] node_bytes = nodes.view(np.uint8)
    cdef Node* all_nodes = <Node*> &node_bytes[0]
    cdef Node* node
    cdef code_t n_codes = <code_t> values.shape[0]
    cdef bint in_place = thresholds is None
    cdef double threshold
    cdef code_t last
    cdef int64_t i
    with nogil:
        for i in range(members.shape[0]):
            node = all_nodes + members[i]
            last = node.key.cut.last
            if node.key.cut.next == n_codes:      # present | missing
                threshold = INFINITY
                last = n_codes - 1
            else:
                threshold = _midpoint(values[last], values[node.key.cut.next])
            if in_place:
                node.key.threshold = threshold
                continue
            thresholds[members[i]] = threshold
            if threshold < INFINITY:
                last = last_at_most(&values[0], last, node.key.cut.next - 1, threshold)
            node.key.cut.last = last


def code_thresholds(nodes, const uint32_t[::1] members, const double[::1] values):
    """Cuts of the inner nodes that split on one feature, in place of their thresholds.

    The counterpart of `assign_thresholds` for nodes that random cuts made.

    Parameters
    ----------
    nodes : NODE array
        Inner nodes in thresholds, none of them below the smallest value.
    members : uint32 array
        Indices of the nodes that split on this feature.
    values : float64 array of shape (n_codes,)
        Distinct values of the column in ascending order.
    """
    cdef uint8_t[::1] node_bytes = nodes.view(np.uint8)
    cdef Node* all_nodes = <Node*> &node_bytes[0]
    cdef Node* node
    cdef code_t n_codes = <code_t> values.shape[0]
    cdef code_t last
    cdef int64_t i
    with nogil:
        for i in range(members.shape[0]):
            node = all_nodes + members[i]
            last = last_at_most(&values[0], 0, n_codes - 1, node.key.threshold)
            node.key.cut.last = last
            node.key.cut.next = last + 1
