"""Sorting keys by their codes.

Sorting takes most of the search in a deep tree, where nodes are small, so there is a method for
each size: ranks by counting (no branch to mispredict) up to SMALL keys, then a radix sort with
digits that suit the number of keys.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from lacforest._tree.types cimport check, key_t

import numpy as np

cdef enum:
    SMALL = 32              # most keys that are ranked by counting
    MAX_DIGIT = 11          # 2,048 counters of 4 bytes stay in L1
    MAX_PASSES = 6          # 32 bits in digits of 6


cdef inline void _rank_sort(const key_t* keys, key_t* ordered, int64_t n_keys) noexcept nogil:
    """Place each key at the number of keys before it. Quadratic, but free of branches."""
    cdef int64_t i, j
    cdef uint32_t rank
    cdef key_t key
    for i in range(n_keys):
        key = keys[i]
        rank = 0
        for j in range(i):
            rank += keys[j] <= key
        for j in range(i + 1, n_keys):
            rank += keys[j] < key
        ordered[rank] = key


cdef key_t* sort_keys(
    key_t* keys, key_t* spare, int64_t n_keys, int32_t shift, int32_t bits
) noexcept nogil:
    """Order keys by bits [shift, shift + bits); return where the result is, keys or spare."""
    cdef uint32_t[MAX_PASSES][1 << MAX_DIGIT] starts
    cdef int64_t i
    cdef int32_t digit, n_passes, largest, p
    cdef uint32_t mask, bucket, n_before, n_here
    cdef key_t key
    cdef key_t* swap
    if n_keys <= SMALL:
        _rank_sort(keys, spare, n_keys)
        return spare

    # About as many buckets as keys: fewer cost a pass, more cost clearing.
    largest = 6
    while largest < MAX_DIGIT and (<int64_t> 1 << largest) < n_keys:
        largest += 1
    n_passes = (bits + largest - 1) // largest
    if n_passes == 0:
        return keys
    check(n_passes <= MAX_PASSES)
    digit = (bits + n_passes - 1) // n_passes
    mask = (<uint32_t> 1 << digit) - 1
    # All digits are counted in one sweep over the keys.
    for p in range(n_passes):
        memset(starts[p], 0, (mask + 1) * sizeof(uint32_t))
    for i in range(n_keys):
        key = keys[i] >> shift
        starts[0][key & mask] += 1
        for p in range(1, n_passes):
            key = key >> digit
            starts[p][key & mask] += 1
    for p in range(n_passes):
        n_before = 0
        for bucket in range(mask + 1):
            n_here = starts[p][bucket]
            starts[p][bucket] = n_before
            n_before += n_here
        for i in range(n_keys):
            key = keys[i]
            bucket = <uint32_t> (key >> shift) & mask
            check(starts[p][bucket] < n_keys)
            spare[starts[p][bucket]] = key
            starts[p][bucket] += 1
        swap = keys
        keys = spare
        spare = swap
        shift += digit
    return keys


def sorted_keys(keys, int shift, int bits):
    """Order uint32 or uint64 keys by `bits` bits from `shift` on, as the search does.

    Parameters
    ----------
    keys : uint32 or uint64 array of shape (n_keys,)
    shift, bits : int
        All set bits from `shift` on lie within the next `bits`, at most 32.

    Returns
    -------
    array like keys
        A copy, in order. Keys that agree in these bits come in any order.
    """
    cdef uint32_t[::1] narrow, narrow_spare
    cdef uint64_t[::1] wide, wide_spare
    cdef uint32_t* narrow_result
    cdef uint64_t* wide_result
    work = np.array(keys, copy=True)
    if work.ndim != 1:
        raise ValueError(f"keys must have one dimension, got shape {work.shape}")
    if shift < 0 or not 0 <= bits <= min(32, 8 * work.itemsize - shift):
        raise ValueError(f"keys of {8 * work.itemsize} bits have no {bits} bits from {shift} on")
    spare = np.empty_like(work)
    if work.shape[0] == 0:
        return work
    if work.dtype == np.uint32:
        narrow = work
        narrow_spare = spare
        narrow_result = sort_keys(
            &narrow[0], &narrow_spare[0], narrow.shape[0], shift, bits
        )
        return work if narrow_result == &narrow[0] else spare
    if work.dtype == np.uint64:
        wide = work
        wide_spare = spare
        wide_result = sort_keys(&wide[0], &wide_spare[0], wide.shape[0], shift, bits)
        return work if wide_result == &wide[0] else spare
    raise TypeError(f"keys must be uint32 or uint64, got {work.dtype}")
