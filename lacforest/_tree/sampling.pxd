"""The rows of a tree. Every way of drawing keeps them in ascending order.

Samples by hash depend on nothing but the number of a row, counted from 0 within labelled or within
unlabelled rows, the seed of the tree's sample and the chances. With all arithmetic modulo 2**64:

    z = seed + (row + 1) * 0x9E3779B97F4A7C15
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB
    word = z ^ (z >> 31)
    share = (word >> 11) / 2**53

which is word number row + 1 of the SplitMix64 stream of the seed. Labelled rows are drawn by the
seed itself, unlabelled ones by its bitwise complement. A row is taken as many times as there are
entries of `chances`, the chances to take it at most 0, 1, ... times, at or below its share.
"""

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


cdef inline uint64_t row_word(int64_t row, uint64_t seed) noexcept nogil:
    """The hash of a row number and a seed; different rows have different words."""
    cdef uint64_t state = seed + <uint64_t> row * <uint64_t> 0x9E3779B97F4A7C15
    return next_word(&state)


cdef inline double row_share(int64_t row, uint64_t seed) noexcept nogil:
    """The same in [0, 1)."""
    return <double> (row_word(row, seed) >> 11) * (1.0 / 9007199254740992.0)


cdef inline int64_t times_taken(
    int64_t row, uint64_t seed, const double* chances, int64_t n_chances
) noexcept nogil:
    """How many times a sample takes a row."""
    cdef double share = row_share(row, seed)
    cdef int64_t n_times = 0
    while n_times < n_chances and chances[n_times] <= share:
        n_times += 1
    return n_times


cdef inline int64_t draw_by_hash(
    row_t* rows, int64_t first, int64_t end, uint64_t seed, const double* chances, int64_t n_chances
) noexcept nogil:
    """Draw rows of [first, end) by their numbers from 0; return how many were written to rows.

    With rows = NULL they are only counted.
    """
    cdef int64_t n_written = 0
    cdef int64_t i, n_times
    for i in range(end - first):
        n_times = times_taken(i, seed, chances, n_chances)
        if rows:
            for _ in range(n_times):
                rows[n_written] = <row_t> (first + i)
                n_written += 1
        else:
            n_written += n_times
    return n_written


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
