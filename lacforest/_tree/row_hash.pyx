"""Rows of trees, drawn by a hash of (row number, seed) or with replacement; see sampling.pxd."""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

from lacforest._tree.sampling cimport draw_with_replacement, row_share, row_word, times_taken
from lacforest._tree.types cimport row_t

import numpy as np


def row_words(int64_t first, int64_t end, uint64_t seed):
    """The hashes of the rows [first, end): one word of 64 bits each, all different.

    Returns
    -------
    uint64 array of shape (end - first,)
    """
    _check_rows(first, end)
    words = np.empty(end - first, dtype=np.uint64)
    cdef uint64_t[::1] view = words
    cdef int64_t i
    with nogil:
        for i in range(end - first):
            view[i] = row_word(first + i, seed)
    return words


def row_shares(const int64_t[::1] rows not None, uint64_t seed):
    """The hashes of some rows as numbers in [0, 1): the upper 53 bits of the words.

    Returns
    -------
    float64 array of shape (n_rows,)
    """
    shares = np.empty(rows.shape[0])
    cdef double[::1] view = shares
    cdef int64_t i
    with nogil:
        for i in range(rows.shape[0]):
            view[i] = row_share(rows[i], seed)
    return shares


def classes_at(const double[::1] shares not None, const double[:, ::1] edges not None):
    """Class codes that shares in [0, 1) point at among the cumulated shares of classes.

    Parameters
    ----------
    shares : float64 array of shape (n_rows,)
    edges : float64 array of shape (n_rows, n_known)
        Cumulated shares of each row: of the last class, then of the others but one.

    Returns
    -------
    uint16 array of shape (n_rows,)
        How many edges lie at or below the share, less one; n_known where there is none.
    """
    cdef int64_t n_known = edges.shape[1]
    cdef int64_t i, j, n_passed
    if edges.shape[0] != shares.shape[0]:
        raise ValueError(f"{shares.shape[0]} shares for {edges.shape[0]} rows of edges")
    if not 1 <= n_known < 1 << 16:
        raise ValueError(f"edges of {n_known} classes")
    classes = np.empty(shares.shape[0], dtype=np.uint16)
    cdef uint16_t[::1] view = classes
    with nogil:
        for i in range(shares.shape[0]):
            n_passed = 0
            for j in range(n_known):
                n_passed += shares[i] >= edges[i, j]
            view[i] = <uint16_t> (n_passed - 1 if n_passed > 0 else n_known)
    return classes


def sample_rows(int64_t first, int64_t end, uint64_t seed, const double[::1] chances not None):
    """The rows of [first, end) that a tree takes, in ascending order, repeated as often as taken.

    Parameters
    ----------
    first, end : int
        Row numbers, counted within labelled or within unlabelled rows.
    seed : int
        Seed of the sample.
    chances : float64 array of shape (most_times,)
        Chance to take a row at most 0, 1, ... times. A row is taken as many times as there are
        entries at or below its share.

    Returns
    -------
    int64 array
    """
    _check_rows(first, end)
    cdef int64_t n_chances = chances.shape[0]
    cdef int64_t i
    times = np.empty(end - first, dtype=np.uint32)
    cdef uint32_t[::1] view = times
    if n_chances < 1:
        raise ValueError("chances must not be empty")
    with nogil:
        for i in range(end - first):
            view[i] = <uint32_t> times_taken(first + i, seed, &chances[0], n_chances)
    return np.repeat(np.arange(first, end), times)


def bootstrap_rows(int64_t n_rows, uint64_t seed):
    """The labelled rows that a tree with this sample seed takes, of `n_rows`, in ascending order.

    Returns
    -------
    int64 array of shape (n_rows,)
        Rows that are taken several times are repeated.
    """
    _check_rows(0, n_rows)
    if n_rows > 0xFFFFFFFF:
        raise ValueError(f"at most {0xFFFFFFFF} rows are supported, got {n_rows}")
    rows = np.empty(n_rows, dtype=np.uint32)
    times = np.empty(n_rows, dtype=np.uint32)
    cdef row_t[::1] row_view = rows
    cdef uint32_t[::1] time_view = times
    if n_rows > 0:
        with nogil:
            draw_with_replacement(&row_view[0], 0, n_rows, &seed, &time_view[0])
    return rows.astype(np.int64)


def _check_rows(first, end):
    if not 0 <= first <= end:
        raise ValueError(f"rows must be a range of numbers from 0, got [{first}, {end})")
