"""Which rows a tree sees. Every draw leaves rows in ascending order."""

from libc.string cimport memset

from lacforest._tree._random cimport draw_below, next_word
from lacforest._tree._types cimport int64_t, row_t, uint32_t, uint64_t


cdef inline int64_t draw_with_replacement(
    row_t* rows, int64_t first, int64_t end, uint64_t* state, uint32_t* times
) noexcept nogil:
    """Draw end - first rows of [first, end); returns how many were written to rows.

    times is scratch memory of end - first entries.
    """
    cdef int64_t n_rows = end - first
    cdef int64_t i, n_written = 0
    memset(times, 0, n_rows * sizeof(uint32_t))
    for _ in range(n_rows):
        times[draw_below(state, <uint32_t> n_rows)] += 1
    for i in range(n_rows):
        while times[i] > 0:
            times[i] -= 1
            rows[n_written] = <row_t> (first + i)
            n_written += 1
    return n_written


cdef inline int64_t draw_by_key(
    row_t* drawn,
    row_t* left_out,
    int64_t first,
    int64_t end,
    const uint64_t* keys,
    uint64_t seed,
    uint64_t below,
) noexcept nogil:
    """Draw each row of [first, end) with chance below / 2**64; returns how many were drawn.

    Whether a row is drawn depends on its key and the seed alone, and so not on the order of rows.
    """
    cdef uint64_t state
    cdef int64_t i
    cdef int64_t n_drawn = 0
    for i in range(first, end):
        state = keys[i] ^ seed
        if next_word(&state) < below:
            drawn[n_drawn] = <row_t> i
            n_drawn += 1
        else:
            left_out[i - first - n_drawn] = <row_t> i
    return n_drawn
