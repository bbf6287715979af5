"""Memory that grows with a tree, scratch memory of a thread, and the signal that stops both."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from lacforest._tree._keys cimport bit_length
from lacforest._tree._types cimport N_CELLS, Node, Slice, class_t, row_t

import numpy as np

# The layout of Node, in thresholds and in codes.
NODE = np.dtype([("threshold", np.float64), ("feature", np.int32), ("left", np.int32)])
CODED_NODE = np.dtype(
    [("last", np.uint32), ("next", np.uint32), ("feature", np.int32), ("left", np.int32)]
)
if NODE.itemsize != sizeof(Node) or CODED_NODE.itemsize != sizeof(Node):
    raise ImportError("NODE and CODED_NODE do not describe struct Node")


cdef class StopSignal:
    """Tells all threads of a fit to return soon."""

    def request(self):
        """Make every grow loop that watches this signal raise at its next node."""
        self.requested = 1


cdef class GrowingTree:
    """A tree while it grows: nodes, impure leaves, the stack of open slices, importances."""

    def __cinit__(self, int32_t n_classes, int32_t n_features):
        self.n_classes = n_classes
        self.n_features = n_features
        self.node_room = 64
        self.impure_room = 4
        self.stack_room = 64
        self.nodes = <Node*> malloc(self.node_room * sizeof(Node))
        self.counts = <double*> malloc(self.node_room * 2 * sizeof(double))
        self.impure = <double*> malloc(self.impure_room * n_classes * sizeof(double))
        self.stack = <Slice*> malloc(self.stack_room * sizeof(Slice))
        self.importances = <double*> malloc(n_features * sizeof(double))
        if not (self.nodes and self.counts and self.impure and self.stack and self.importances):
            raise MemoryError()

    def __dealloc__(self):
        free(self.nodes)
        free(self.counts)
        free(self.impure)
        free(self.stack)
        free(self.importances)

    cdef void clear(self) noexcept nogil:
        self.n_nodes = 0
        self.n_impure = 0
        self.n_open = 0
        memset(self.importances, 0, self.n_features * sizeof(double))

    cdef int32_t add_nodes(self, int32_t count) except -1 nogil:
        """Append `count` blank nodes; returns the first."""
        cdef int32_t first = self.n_nodes
        cdef void* nodes
        cdef void* counts
        while self.n_nodes + count > self.node_room:
            nodes = realloc(self.nodes, 2 * self.node_room * sizeof(Node))
            if nodes:
                self.nodes = <Node*> nodes
            counts = realloc(self.counts, 4 * self.node_room * sizeof(double))
            if counts:
                self.counts = <double*> counts
            if not nodes or not counts:
                with gil:
                    raise MemoryError("no memory for the nodes of a tree")
            self.node_room *= 2
        self.n_nodes += count
        return first

    cdef int push(self, int64_t start, int64_t end, int32_t node, int32_t depth) except -1 nogil:
        cdef void* grown
        cdef Slice* top
        if self.n_open == self.stack_room:
            grown = realloc(self.stack, 2 * self.stack_room * sizeof(Slice))
            if not grown:
                with gil:
                    raise MemoryError("no memory for the open nodes of a tree")
            self.stack = <Slice*> grown
            self.stack_room *= 2
        top = self.stack + self.n_open
        top.start = start
        top.end = end
        top.node = node
        top.depth = depth
        self.n_open += 1
        return 0

    cdef double* add_impure(self) except NULL nogil:
        """One more row of the table of leaves that hold several classes."""
        cdef void* grown
        if self.n_impure == self.impure_room:
            grown = realloc(
                self.impure, 2 * self.impure_room * self.n_classes * sizeof(double)
            )
            if not grown:
                with gil:
                    raise MemoryError("no memory for the leaves of a tree")
            self.impure = <double*> grown
            self.impure_room *= 2
        self.n_impure += 1
        return self.impure + <int64_t> (self.n_impure - 1) * self.n_classes

    cdef tuple to_arrays(self, bint with_counts):
        nodes = np.empty(self.n_nodes, dtype=NODE)
        counts = np.empty((self.n_nodes, 2)) if with_counts else None
        impure = np.empty((self.n_impure, self.n_classes))
        importances = np.empty(self.n_features)
        _copy_out(nodes, self.nodes)
        if with_counts:
            _copy_out(counts, self.counts)
        _copy_out(impure, self.impure)
        _copy_out(importances, self.importances)
        return nodes, counts, impure, importances


cdef int _copy_out(array, const void* source) except -1:
    cdef uint8_t[::1] target
    if array.size:
        target = array.reshape(-1).view(np.uint8)
        memcpy(&target[0], source, target.shape[0])
    return 0


cdef class Scratch:
    """Owns the memory of one thread's Workspace."""

    def __cinit__(self, int64_t n_rows, int32_t n_features, int32_t n_classes, bint narrow):
        cdef int64_t key_bytes = 4 if narrow else 8
        self.work.rows = <row_t*> malloc(n_rows * sizeof(row_t))
        self.work.classes = <class_t*> malloc(n_rows * sizeof(class_t))
        self.work.keys = <uint64_t*> malloc(n_rows * key_bytes)
        self.work.spare = <uint64_t*> malloc(
            n_rows * max(key_bytes, <int64_t> (sizeof(row_t) + sizeof(class_t)))
        )
        self.work.cells = <uint64_t*> malloc(N_CELLS * sizeof(uint64_t))
        self.work.node_counts = <uint64_t*> malloc(n_classes * sizeof(uint64_t))
        self.work.left_counts = <uint64_t*> malloc(n_classes * sizeof(uint64_t))
        self.work.missing_counts = <uint64_t*> malloc(n_classes * sizeof(uint64_t))
        self.work.features = <int32_t*> malloc(n_features * sizeof(int32_t))
        if not (
            self.work.rows and self.work.classes and self.work.keys and self.work.spare
            and self.work.cells and self.work.node_counts and self.work.left_counts
            and self.work.missing_counts and self.work.features
        ):
            raise MemoryError(f"no memory to grow a tree on {n_rows} rows")
        memset(self.work.left_counts, 0, n_classes * sizeof(uint64_t))
        self.work.n_classes = n_classes
        self.work.class_bits = bit_length(n_classes - 1)

    def __dealloc__(self):
        free(self.work.rows)
        free(self.work.classes)
        free(self.work.keys)
        free(self.work.spare)
        free(self.work.cells)
        free(self.work.node_counts)
        free(self.work.left_counts)
        free(self.work.missing_counts)
        free(self.work.features)
