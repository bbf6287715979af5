"""Sorting keys: the rows of a node in the order of their codes."""

from lacforest._tree.types cimport int32_t, int64_t, key_t, uint32_t


cdef key_t* sort_keys(
    key_t* keys, key_t* spare, int64_t n_keys, int32_t shift, int32_t bits
) noexcept nogil


cdef inline int32_t bit_length(uint32_t value) noexcept nogil:
    cdef int32_t bits = 0
    while value:
        bits += 1
        value >>= 1
    return bits
