"""Gathering codes and sorting keys.

Sorting dominates the search in a deep tree, where nodes are small, so each size has its own
way: ranks by counting (no branch to mispredict) up to SMALL keys, then a radix sort whose digits
fit the node. All give the same order.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from lacforest._tree._types cimport (
    CodeRange, CodeTable, check, code_t, key_t, row_t, stored_t
)

import numpy as np

cdef enum:
    SMALL = 32              # most keys that are ranked by counting
    MAX_DIGIT = 11          # 2,048 counters of 4 bytes stay in L1
    MAX_PASSES = 6          # 32 bits in digits of 6


cdef inline CodeRange _gather(
    const stored_t* column, int64_t n_table, const row_t* rows, int64_t n_rows, code_t* codes
) noexcept nogil:
    cdef CodeRange found
    cdef int64_t i
    cdef code_t code, low, high
    low = <code_t> 0xFFFFFFFF
    high = 0
    for i in range(n_rows):
        check(rows[i] < n_table)
        code = column[rows[i]]
        codes[i] = code
        low = code if code < low else low
        high = code if code > high else high
    found.low = low
    found.high = high
    found.n_missing = 0
    return found


cdef CodeRange gather(
    const CodeTable* table, int32_t feature, const row_t* rows, int64_t n_rows, code_t* codes
) noexcept nogil:
    """Copy the codes of rows[:n_rows] to codes and tell their range; n_rows >= 1."""
    cdef uint8_t width = table.width[feature]
    cdef code_t missing = table.n_codes[feature]
    cdef CodeRange found
    cdef int64_t i
    cdef int64_t n_table = table.n_rows
    check(0 <= feature < table.n_features and n_rows > 0)
    if width == 2:
        found = _gather(<const uint16_t*> table.column[feature], n_table, rows, n_rows, codes)
    elif width == 1:
        found = _gather(<const uint8_t*> table.column[feature], n_table, rows, n_rows, codes)
    else:
        found = _gather(<const uint32_t*> table.column[feature], n_table, rows, n_rows, codes)
    check(found.high <= missing)
    if not table.has_missing[feature] or found.high != missing:
        return found

    found.high = 0
    if found.low == missing:      # every row misses the feature
        found.low = 1
        found.n_missing = n_rows
        return found
    for i in range(n_rows):
        if codes[i] == missing:
            found.n_missing += 1
        elif codes[i] > found.high:
            found.high = codes[i]
    return found


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
    """Order keys by bits [shift, shift + bits); returns keys or spare, whichever holds them."""
    cdef uint32_t[MAX_PASSES][1 << 11] starts
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
    """Order uint32 or uint64 keys by `bits` bits from `shift` on, as the search does."""
    cdef uint32_t[::1] narrow, narrow_spare
    cdef uint64_t[::1] wide, wide_spare
    cdef uint32_t* narrow_result
    cdef uint64_t* wide_result
    work = np.array(keys, copy=True)
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
