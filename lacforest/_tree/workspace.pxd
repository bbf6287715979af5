"""What one thread needs to grow trees, owned by Python objects and reused from tree to tree."""

from cython cimport final

from lacforest._tree.sets cimport GrowingSets
from lacforest._tree.types cimport Node, Slice, Workspace, int32_t, int64_t


# Address of a contiguous, non-empty NODE or CODED_NODE array, for reading or for writing.
cdef const Node* readable_nodes(nodes) except NULL
cdef Node* writable_nodes(nodes) except NULL


@final
cdef class StopSignal:
    cdef int requested


@final
cdef class GrownTree:
    cdef readonly object nodes
    cdef readonly object counts
    cdef readonly object impure
    cdef readonly object decrease
    cdef readonly object sets


@final
cdef class GrowingTree:
    cdef Node* nodes
    cdef double* counts              # labelled and unlabelled rows of each node
    cdef double* impure              # n_classes counts per impure leaf
    cdef Slice* stack                # nodes that wait to be grown
    cdef double* decrease            # of the criterion, by feature
    cdef int32_t n_nodes, n_impure, n_open, n_classes, n_features
    cdef bint has_counts             # whether counts are recorded (Step I)
    cdef GrowingSets sets            # of nodes on categories
    cdef int64_t node_capacity, impure_capacity, stack_capacity

    cdef void clear(self) noexcept nogil
    cdef int32_t add_nodes(self, int32_t count) except -1 nogil
    cdef int push(self, int64_t start, int64_t end, int32_t node, int32_t depth) except -1 nogil
    cdef double* add_impure(self) except NULL nogil
    cdef GrownTree finish(self)


@final
cdef class Scratch:
    cdef Workspace work
    cdef GrowingTree tree
    cdef readonly int64_t n_rows
    cdef readonly int32_t n_features
    cdef readonly int32_t n_classes
    cdef readonly bint is_narrow
    cdef readonly int64_t most_categories

    cdef int _allocate_categories(self) except -1


@final
cdef class ScratchPool:
    cdef list _free
    cdef tuple _sizes                # of all scratch memory of the pool; None before the first
    cdef object _lock

    cpdef Scratch acquire(
        self,
        int64_t n_rows,
        int32_t n_features,
        int32_t n_classes,
        bint is_narrow,
        int64_t most_categories=*,
    )
    cpdef release(self, Scratch scratch)
