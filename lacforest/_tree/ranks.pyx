"""Values to rank codes, once per fit, and codes back to thresholds, once per step."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from lacforest._tree.types cimport Node, code_t, value_t
from lacforest._tree.workspace cimport readable_nodes, writable_nodes

import numpy as np

cdef enum:
    DIGIT = 11              # bits per pass of the radix sort
    N_BUCKETS = 1 << DIGIT  # of 4 bytes: they stay in L1


cdef inline uint64_t _ordered_bits(value_t value) noexcept nogil:
    """Bits of a float as an unsigned integer that orders as the value does."""
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
    """Radix sort of bits along with their rows; return 1 if the result is in spare, else 0."""
    cdef uint32_t[N_BUCKETS] starts
    cdef int64_t i
    cdef int32_t p, shift
    cdef uint32_t bucket, n_before, n_here
    cdef int64_t n_swaps = 0
    for p in range((n_bits + DIGIT - 1) // DIGIT):
        shift = p * DIGIT
        memset(starts, 0, N_BUCKETS * sizeof(uint32_t))
        for i in range(n_rows):
            starts[(bits[i] >> shift) & (N_BUCKETS - 1)] += 1
        if starts[(bits[0] >> shift) & (N_BUCKETS - 1)] == n_rows:
            continue   # all equal in this digit
        n_before = 0
        for bucket in range(N_BUCKETS):
            n_here = starts[bucket]
            starts[bucket] = n_before
            n_before += n_here
        for i in range(n_rows):
            bucket = (bits[i] >> shift) & (N_BUCKETS - 1)
            spare_bits[starts[bucket]] = bits[i]
            spare_order[starts[bucket]] = order[i]
            starts[bucket] += 1
        bits, spare_bits = spare_bits, bits
        order, spare_order = spare_order, order
        n_swaps += 1
    return n_swaps & 1


def rank_codes(
    const value_t[:] values not None,
    uint64_t[:, ::1] bits_scratch not None,
    uint32_t[:, ::1] order_scratch not None,
    uint32_t[::1] codes not None,
):
    """Write the rank of each value among the distinct values of the column.

    Parameters
    ----------
    values : float32 or float64 array of shape (n_rows,)
        NaN is missing: its code is n_codes.
    bits_scratch, order_scratch : uint64 and uint32 arrays of shape (2, n_rows)
        Scratch memory.
    codes : uint32 array of shape (n_rows,)
        Overwritten.

    Returns
    -------
    n_codes : int
        Distinct values, without missing.
    n_missing : int
        Missing values.
    """
    cdef int64_t n_rows = values.shape[0]
    cdef int64_t i, n_present = 0
    cdef uint32_t n_codes = 0
    cdef uint64_t* bits
    cdef uint32_t* order
    cdef value_t value
    if (
        codes.shape[0] != n_rows
        or bits_scratch.shape[0] != 2 or bits_scratch.shape[1] != n_rows
        or order_scratch.shape[0] != 2 or order_scratch.shape[1] != n_rows
    ):
        raise ValueError(f"codes and scratch memory must have the {n_rows} entries of values")
    if n_rows == 0:
        return 0, 0
    with nogil:
        bits = &bits_scratch[0, 0]
        order = &order_scratch[0, 0]
        for i in range(n_rows):
            value = values[i]
            if value == value:
                bits[n_present] = _ordered_bits(<value_t> (value + 0))   # -0.0 is 0.0
                order[n_present] = <uint32_t> i
                n_present += 1
        if n_present > 0:
            if _sort_by_bits(
                bits, order, &bits_scratch[1, 0], &order_scratch[1, 0], n_present,
                8 * sizeof(value_t),
            ):
                bits = &bits_scratch[1, 0]
                order = &order_scratch[1, 0]
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
    """The middle of two values, rounded so that it lies below the upper one."""
    cdef double middle = low + 0.5 * (high - low)
    if high - low > 1.7e308:         # the difference overflowed
        middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low


cdef int _check_members(const uint32_t[::1] members, int64_t n_nodes) except -1:
    cdef int64_t i
    for i in range(members.shape[0]):
        if members[i] >= n_nodes:
            raise ValueError(f"member {members[i]} of {n_nodes} nodes")
    return 0


def nodes_by_feature(nodes, const uint8_t[::1] skip not None, int32_t n_features):
    """Inner nodes, except those to skip, ordered by the feature they split on.

    Parameters
    ----------
    nodes : NODE array
    skip : uint8 array of shape (n_nodes,)
    n_features : int

    Returns
    -------
    members : uint32 array
    edges : int64 array of shape (n_features + 1,)
        The nodes of feature f are ``members[edges[f]:edges[f + 1]]``.
    """
    cdef const Node* all_nodes = readable_nodes(nodes)
    cdef int64_t n_nodes = nodes.shape[0]
    if n_features < 1:
        raise ValueError(f"nodes of {n_features} features")
    if skip.shape[0] != n_nodes:
        raise ValueError(f"skip has {skip.shape[0]} entries for {n_nodes} nodes")
    if n_nodes > <int64_t> 0xFFFFFFFF:
        raise MemoryError(f"a forest of {n_nodes} nodes exceeds the 2**32 that can be indexed")
    edges = np.zeros(n_features + 1, dtype=np.int64)
    cdef int64_t[::1] ends = edges
    cdef int64_t i
    cdef int32_t feature
    for i in range(n_nodes):
        if all_nodes[i].left >= 0 and not skip[i]:
            feature = all_nodes[i].feature
            feature = feature ^ (feature >> 31)
            if feature >= n_features:
                raise ValueError(f"node {i} splits on feature {feature} of {n_features}")
            ends[feature + 1] += 1
    for feature in range(n_features):
        ends[feature + 1] += ends[feature]
    members = np.empty(ends[n_features], dtype=np.uint32)
    cdef uint32_t[::1] placed = members
    # Filled from the back: each end moves down to where its feature begins.
    for i in range(n_nodes - 1, -1, -1):
        if all_nodes[i].left >= 0 and not skip[i]:
            feature = all_nodes[i].feature
            feature = feature ^ (feature >> 31)
            ends[feature + 1] -= 1
            placed[ends[feature + 1]] = <uint32_t> i
    return members, np.append(edges[1:], len(members))


def assign_thresholds(
    nodes,
    const uint32_t[::1] members not None,
    const double[::1] values not None,
    double[::1] thresholds,
    const double[::1] edges=None,
):
    """Thresholds of the inner nodes that split on one feature.

    A threshold lies midway between the two values of the node that the cut separates; where codes
    stand for bins, at the edge of the bin that this middle belongs to.

    Parameters
    ----------
    nodes : NODE array
        Inner nodes with cuts in codes.
    members : uint32 array
        Indices of the nodes that split on this feature.
    values : float64 array of shape (n_codes,)
        Distinct values of the column, or a value of each bin, in ascending order.
    thresholds : float64 array of shape (n_nodes,) or None
        Where to write. ``last`` of a cut then becomes the last code at or below the threshold, so
        that ``code <= last`` and ``value <= threshold`` are equivalent for every row of the table,
        not only for those of the node. None overwrites the cut itself.
    edges : float64 array of shape (n_codes - 1,) or None, default=None
        Upper edges of all bins but the last; None where every code is one value.
    """
    cdef Node* all_nodes = writable_nodes(nodes)
    cdef Node* node
    cdef code_t n_codes = <code_t> values.shape[0]
    cdef bint in_place = thresholds is None
    cdef bint has_edges = edges is not None
    cdef double threshold
    cdef code_t last
    cdef int64_t i
    _check_members(members, nodes.shape[0])
    if not in_place and thresholds.shape[0] != nodes.shape[0]:
        raise ValueError(f"thresholds has {thresholds.shape[0]} entries for {len(nodes)} nodes")
    if has_edges and edges.shape[0] != values.shape[0] - 1:
        raise ValueError(f"{edges.shape[0]} edges for {n_codes} values")
    with nogil:
        for i in range(members.shape[0]):
            node = all_nodes + members[i]
            last = node.payload.cut.last
            if not last < node.payload.cut.next <= n_codes:
                with gil:
                    raise ValueError(f"node {members[i]} is cut outside of {n_codes} values")
            if node.payload.cut.next == n_codes:      # present | missing
                threshold = INFINITY
                last = n_codes - 1
            else:
                threshold = _midpoint(values[last], values[node.payload.cut.next])
                if has_edges or not in_place:
                    last = last_at_most(&values[0], last, node.payload.cut.next - 1, threshold)
                if has_edges:
                    threshold = edges[last]
            if in_place:
                node.payload.threshold = threshold
            else:
                thresholds[members[i]] = threshold
                node.payload.cut.last = last


def code_thresholds(
    nodes, const uint32_t[::1] members not None, const double[::1] values not None
):
    """Replace the thresholds of the inner nodes that split on one feature by cuts in codes.

    For nodes made by random cuts.

    Parameters
    ----------
    nodes : NODE array
        Inner nodes with thresholds, none of them below the smallest value.
    members : uint32 array
        Indices of the nodes that split on this feature.
    values : float64 array of shape (n_codes,)
        Distinct values of the column in ascending order.
    """
    cdef Node* all_nodes = writable_nodes(nodes)
    cdef Node* node
    cdef code_t n_codes = <code_t> values.shape[0]
    cdef code_t last
    cdef int64_t i
    _check_members(members, nodes.shape[0])
    if n_codes == 0:
        raise ValueError("a column without values has no cut")
    with nogil:
        for i in range(members.shape[0]):
            node = all_nodes + members[i]
            last = last_at_most(&values[0], 0, n_codes - 1, node.payload.threshold)
            node.payload.cut.last = last
            node.payload.cut.next = last + 1
