"""Searching the values of a column."""

from lacforest._tree.types cimport code_t


cdef inline code_t last_at_most(
    const double* values, code_t low, code_t high, double bound
) noexcept nogil:
    """Largest code in [low, high] whose value is <= bound, given that low's is."""
    cdef code_t middle
    while low < high:
        middle = low + (high - low + 1) // 2
        if values[middle] <= bound:
            low = middle
        else:
            high = middle - 1
    return low
