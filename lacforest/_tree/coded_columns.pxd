"""The coded columns of a fit, owned by Python and read through a CodeTable."""

from cython cimport final

from lacforest._tree.keys cimport bit_length
from lacforest._tree.types cimport CodeTable, code_t, int32_t, int64_t, uint32_t, uintptr_t


@final
cdef class CodedColumns:
    cdef CodeTable table
    cdef code_t most_codes           # largest entry of n_codes
    cdef readonly tuple columns      # one array of codes per feature; keeps the memory alive
    cdef object _addresses
    cdef object _widths
    cdef readonly object rows        # the codes row by row, padded to row_width; None = no copy
    cdef readonly object n_codes     # distinct values of each column
    cdef readonly object has_missing
    cdef readonly object is_categorical
    cdef readonly int64_t most_categories    # of a categorical column; 0 = there is none


@final
cdef class ColumnValues:
    cdef const uintptr_t* addresses  # of the values of each column
    cdef readonly tuple values       # one array per feature; keeps the memory alive
    cdef object _addresses
    cdef object _n_codes

    cdef int check_columns(self, CodedColumns columns) except -1


cdef inline bint fits_narrow_keys(CodedColumns columns, int32_t n_classes) noexcept nogil:
    """Whether a 4-byte key holds any code and class.

    One bit stays free so that keys compare as signed integers, which SSE2 can.
    """
    return bit_length(columns.most_codes) + bit_length(<uint32_t> (n_classes - 1)) <= 31
