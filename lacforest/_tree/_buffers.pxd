"""What one thread needs to grow trees, owned by Python objects and reused from tree to tree."""

from cython cimport final

from lacforest._tree._types cimport Node, Slice, Workspace, int32_t, int64_t


@final
cdef class StopSignal:
    cdef int requested


@final
cdef class GrowingTree:
    cdef Node* nodes
    cdef double* counts              # labelled and unlabelled rows of each node
    cdef double* impure              # n_classes counts a row
    cdef Slice* stack
    cdef double* importances
    cdef int32_t n_nodes, n_impure, n_open, n_classes, n_features
    cdef int64_t node_room, impure_room, stack_room

    cdef void clear(self) noexcept nogil
    cdef int32_t add_nodes(self, int32_t count) except -1 nogil
    cdef int push(self, int64_t start, int64_t end, int32_t node, int32_t depth) except -1 nogil
    cdef double* add_impure(self) except NULL nogil
    cdef tuple to_arrays(self, bint with_counts)


@final
cdef class Scratch:
    cdef Workspace work
