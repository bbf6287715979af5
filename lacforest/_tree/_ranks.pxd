"""The coded columns of a fit, owned by Python and read through a CodeTable."""

from cython cimport final

from lacforest._tree._types cimport CodeTable, RandomCut


@final
cdef class CodedColumns:
    cdef CodeTable table
    cdef readonly tuple columns      # one array of codes a feature; keeps the memory alive
    cdef object _addresses
    cdef object _widths
    cdef readonly object n_codes     # distinct values of each column
    cdef readonly object has_missing


@final
cdef class ColumnValues:
    cdef RandomCut policy
    cdef readonly tuple values       # one array a feature; keeps the memory alive
    cdef object _addresses
