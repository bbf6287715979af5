"""Codes of a node's rows, and sorted keys made of them."""

from lacforest._tree._types cimport (
    CodeRange, CodeTable, Workspace, code_t, count_t, int32_t, int64_t, key_t, row_t, uint8_t,
    uint16_t, uint32_t
)


cdef inline code_t code_at(const CodeTable* table, int32_t feature, row_t row) noexcept nogil:
    """The code of one row: for walking trees. Searching a node gathers instead."""
    cdef uint8_t width = table.width[feature]
    if width == 2:
        return (<const uint16_t*> table.column[feature])[row]
    if width == 1:
        return (<const uint8_t*> table.column[feature])[row]
    return (<const uint32_t*> table.column[feature])[row]


cdef inline count_t row_amount(
    const Workspace* work, int64_t position, count_t tag
) noexcept nogil:
    """How much rows[position] counts: 1, or its weight if it is labelled and rows have weights."""
    if count_t is double:
        if work.weight != NULL and work.classes[position] < work.n_classes - 1:
            return work.weight[work.rows[position]]
    return 1


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


cdef CodeRange gather(
    const CodeTable* table, int32_t feature, const row_t* rows, int64_t n_rows, code_t* codes
) noexcept nogil

cdef key_t* sort_keys(
    key_t* keys, key_t* spare, int64_t n_keys, int32_t shift, int32_t bits
) noexcept nogil


cdef inline int32_t bit_length(uint32_t value) noexcept nogil:
    cdef int32_t bits = 0
    while value:
        bits += 1
        value >>= 1
    return bits
