"""What trees are grown on and by what rules: checked when made, then read by all threads."""

from cython cimport final

from lacforest._tree.coded_columns cimport CodedColumns, ColumnValues
from lacforest._tree.types cimport Candidates, Limits, class_t, int32_t, int64_t, uint8_t


@final
cdef class TreeLimits:
    cdef Limits limits


@final
cdef class GrowthRules:
    cdef readonly object criterion
    cdef readonly TreeLimits limits
    cdef readonly ColumnValues values    # None where every cut is tried
    cdef Candidates candidates


@final
cdef class GrowthTable:
    cdef readonly CodedColumns columns
    cdef readonly int64_t n_labeled
    cdef readonly int64_t max_labeled    # INT64_MAX where there is no limit
    cdef readonly int64_t max_unlabeled
    cdef readonly int32_t n_classes
    cdef readonly bint is_weighted
    cdef const class_t* classes          # one entry per row each
    cdef const double* weight            # NULL unless is_weighted
    cdef const uint8_t* taking_part
    cdef const double* chances           # NULL where samples are drawn with replacement
    cdef int64_t n_chances
    cdef object _class_factor            # None where no class has a factor
    cdef tuple _owners                   # keeps the memory of these pointers alive

    cdef int write_rows_per_weight(self, double* target) except -1
