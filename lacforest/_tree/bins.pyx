"""Values to codes of bins, and thresholds of random cuts to edges of bins."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from lacforest._tree.ranks cimport last_at_most
from lacforest._tree.types cimport Node, code_t, value_t
from lacforest._tree.workspace cimport writable_nodes

import numpy as np

cdef enum:
    MOST_BINS = 255         # one byte holds the codes and the one for missing values
    N_SLOTS = 1 << 11       # of the hash table of distinct values: at most an eighth is filled


def few_distinct(const value_t[:] values, int32_t most):
    """The distinct values of a column in ascending order, unless there are more than `most`.

    Parameters
    ----------
    values : float32 or float64 array of shape (n_rows,)
        NaN is missing and left out.
    most : int
        From 1 to 255.

    Returns
    -------
    float64 array, or None where there are more
    """
    cdef double[N_SLOTS] table
    cdef uint8_t[N_SLOTS] is_used
    cdef int64_t i
    cdef int32_t n_found = 0
    cdef uint64_t word
    cdef uint32_t slot
    cdef double value
    cdef bint too_many = False
    if not 1 <= most <= MOST_BINS:
        raise ValueError(f"most must lie between 1 and {MOST_BINS}, got {most}")
    memset(is_used, 0, N_SLOTS)
    with nogil:
        for i in range(values.shape[0]):
            value = <double> values[i] + 0.0      # -0.0 is 0.0
            if value != value:
                continue
            memcpy(&word, &value, sizeof(double))
            slot = <uint32_t> ((word * <uint64_t> 0x9E3779B97F4A7C15) >> 53)
            while is_used[slot] and table[slot] != value:
                slot = (slot + 1) & (N_SLOTS - 1)
            if not is_used[slot]:
                if n_found == most:
                    too_many = True
                    break
                is_used[slot] = True
                table[slot] = value
                n_found += 1
    if too_many:
        return None
    found = [table[slot] for slot in range(N_SLOTS) if is_used[slot]]
    return np.sort(np.array(found, dtype=np.float64))


def bin_codes(const value_t[:] values, const double[::1] edges, uint8_t[::1] codes):
    """Write how many edges lie below each value.

    Parameters
    ----------
    values : float32 or float64 array of shape (n_rows,)
        NaN is missing: its code is n_codes.
    edges : float64 array of shape (n_codes - 1,)
        In ascending order, at most 254.
    codes : uint8 array of shape (n_rows,)
        Overwritten.

    Returns
    -------
    n_missing : int
        Missing values.
    """
    cdef double[MOST_BINS + 1] padded
    cdef int64_t n_edges = edges.shape[0]
    cdef int64_t i, n_missing = 0
    cdef int32_t step
    cdef uint32_t code
    cdef double value
    if n_edges >= MOST_BINS:
        raise ValueError(f"at most {MOST_BINS - 1} edges have codes of one byte, got {n_edges}")
    if codes.shape[0] != values.shape[0]:
        raise ValueError(f"codes has {codes.shape[0]} entries for {values.shape[0]} values")
    for i in range(MOST_BINS + 1):
        padded[i] = edges[i] if i < n_edges else INFINITY
    with nogil:
        for i in range(values.shape[0]):
            value = <double> values[i]
            if value != value:
                codes[i] = <uint8_t> (n_edges + 1)
                n_missing += 1
                continue
            code = 0
            step = 128
            while step > 0:
                code += step * (padded[code + step - 1] < value)
                step >>= 1
            codes[i] = <uint8_t> code
    return n_missing


def move_to_edges(
    nodes, const uint32_t[::1] members, const double[::1] values, const double[::1] edges
):
    """Move the thresholds of random cuts on one feature to the edges of their bins.

    A threshold between the values of two bins becomes the upper edge of the lower one, so that it
    divides every row as the codes do.

    Parameters
    ----------
    nodes : NODE array
        Inner nodes with thresholds, none of them below the smallest value.
    members : uint32 array
        Indices of the nodes that split on this feature.
    values : float64 array of shape (n_codes,)
        A value of each bin, in ascending order.
    edges : float64 array of shape (n_codes - 1,)
        Upper edges of all bins but the last.
    """
    cdef Node* all_nodes = writable_nodes(nodes)
    cdef int64_t n_nodes = nodes.shape[0]
    cdef code_t n_codes = <code_t> values.shape[0]
    cdef code_t last
    cdef int64_t i
    if n_codes < 1 or edges.shape[0] != n_codes - 1:
        raise ValueError(f"{edges.shape[0]} edges for {n_codes} values")
    for i in range(members.shape[0]):
        if members[i] >= n_nodes:
            raise ValueError(f"member {members[i]} of {n_nodes} nodes")
    with nogil:
        for i in range(members.shape[0]):
            last = last_at_most(
                &values[0], 0, n_codes - 1, all_nodes[members[i]].payload.threshold
            )
            if last < n_codes - 1:                # the others divide present and missing rows
                all_nodes[members[i]].payload.threshold = edges[last]
