"""The rows of a tree. Every way of drawing keeps them in ascending order."""

from libc.string cimport memset

from lacforest._tree.random cimport draw_below, next_word
from lacforest._tree.types cimport class_t, int64_t, row_t, uint32_t, uint64_t


cdef inline int64_t draw_with_replacement(
    row_t* rows, int64_t first, int64_t end, uint64_t* state, uint32_t* times
) noexcept nogil:
    """Draw end - first rows of [first, end); return how many were written to rows.

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


cdef inline void keep_some(
    row_t* rows, class_t* classes, int64_t n_rows, int64_t n_kept, uint64_t* state
) noexcept nogil:
    """Move n_kept of the n_rows rows to the front, with their classes; each set is equally likely.

    Selection sampling: a row is kept with chance (still to keep) / (rows left), one word per row
    until all are found.
    """
    cdef int64_t i = 0
    cdef int64_t n_written = 0
    while n_written < n_kept:
        if draw_below(state, <uint32_t> (n_rows - i)) < <uint32_t> (n_kept - n_written):
            rows[n_written] = rows[i]
            classes[n_written] = classes[i]
            n_written += 1
        i += 1


cdef inline int64_t draw_by_word(
    row_t* drawn,
    row_t* left_out,
    int64_t first,
    int64_t end,
    const uint64_t* words,
    uint64_t seed,
    const uint64_t* below,
) noexcept nogil:
    """Draw each row of [first, end) with chance below[row] / 2**64; return how many were drawn.

    Whether a row is drawn depends on its word and the seed alone, not on the order of rows.
    """
    cdef uint64_t state
    cdef int64_t i
    cdef int64_t n_drawn = 0
    for i in range(first, end):
        state = words[i] ^ seed
        if next_word(&state) < below[i]:
            drawn[n_drawn] = <row_t> i
            n_drawn += 1
        else:
            left_out[i - first - n_drawn] = <row_t> i
    return n_drawn
