"""Gathering the codes of a node's rows."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

from lacforest._tree.types cimport CodeRange, CodeTable, check, code_t, row_t, stored_t


cdef inline bint _is_ascending(const row_t* rows, int64_t n_rows) noexcept nogil:
    cdef int64_t i
    for i in range(1, n_rows):
        if rows[i - 1] > rows[i]:
            return False
    return True


cdef inline void _copy_codes(
    const stored_t* column, int64_t n_table, const row_t* rows, int64_t n_rows, code_t* codes,
    CodeRange* span,
) noexcept nogil:
    cdef int64_t i
    cdef code_t code
    cdef code_t low = <code_t> 0xFFFFFFFF
    cdef code_t high = 0
    for i in range(n_rows):
        check(rows[i] < n_table)
        code = column[rows[i]]
        codes[i] = code
        low = code if code < low else low
        high = code if code > high else high
    span.low = low
    span.high = high


cdef CodeRange gather(
    const CodeTable* table, int32_t feature, const row_t* rows, int64_t n_rows, code_t* codes
) noexcept nogil:
    cdef uint8_t width = table.width[feature]
    cdef code_t missing = table.n_codes[feature]
    cdef int64_t n_table = table.n_rows
    cdef CodeRange span
    cdef int64_t i
    check(0 <= feature < table.n_features and n_rows > 0)
    check(_is_ascending(rows, n_rows))
    span.missing = missing
    span.n_missing = 0
    if width == 2:
        _copy_codes(<const uint16_t*> table.column[feature], n_table, rows, n_rows, codes, &span)
    elif width == 1:
        _copy_codes(<const uint8_t*> table.column[feature], n_table, rows, n_rows, codes, &span)
    else:
        _copy_codes(<const uint32_t*> table.column[feature], n_table, rows, n_rows, codes, &span)
    check(span.high <= missing)
    if not table.has_missing[feature] or span.high != missing:
        return span

    span.high = 0
    if span.low == missing:      # every row misses the feature
        span.low = 1
        span.n_missing = n_rows
        return span
    for i in range(n_rows):
        if codes[i] == missing:
            span.n_missing += 1
        elif codes[i] > span.high:
            span.high = codes[i]
    return span
