"""The coded columns of a fit, owned by Python and read through a CodeTable."""

from cython cimport final

from lacforest._tree.keys cimport bit_length
from lacforest._tree.types cimport (
    CodeTable, code_t, int32_t, int64_t, uint8_t, uint32_t, uintptr_t
)


@final
cdef class CodedColumns:
    cdef CodeTable table
    cdef code_t most_codes           # largest entry of n_codes
    cdef readonly tuple columns      # one array of codes per feature; keeps the memory alive
    cdef object _addresses
    cdef object _widths
    cdef readonly object n_codes     # distinct values of each column
    cdef readonly object has_missing
    cdef readonly object is_categorical
    cdef readonly int64_t most_categories    # of a categorical column; 0 = there is none


@final
cdef class ColumnValues:
    cdef const uintptr_t* addresses  # of the values of each column
    cdef readonly tuple values       # one array per feature; keeps the memory alive
    cdef const uint8_t* row_codes    # see row_codes.h; NULL = none
    cdef int32_t row_width
    cdef object _addresses
    cdef object _n_codes
    cdef object _columns             # the CodedColumns that row_codes holds
    cdef object _rows

    cdef int _copy_rows(self, CodedColumns columns) except -1
    cdef int check_columns(self, CodedColumns columns) except -1


cdef inline bint fits_narrow_keys(CodedColumns columns, int32_t n_classes) noexcept nogil:
    """Whether a 4-byte key holds any code and class.

    One bit stays free so that keys compare as signed integers, which SSE2 can.
    """
    return bit_length(columns.most_codes) + bit_length(<uint32_t> (n_classes - 1)) <= 31


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
