"""Memory that grows with a tree, scratch memory of a thread, and the signal that stops a fit."""

import threading

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from lacforest._tree.keys cimport bit_length
from lacforest._tree.sets cimport GrowingSets
from lacforest._tree.types cimport (
    MOST_COPIED_ROWS, MOST_DRAWN_CODES, N_CELLS, CategoryScratch, Node, ScoredCategory, Slice,
    class_t, code_t, row_t
)

import numpy as np

# The layout of struct Node, with its payload as a threshold and as a cut in codes.
NODE = np.dtype([("threshold", np.float64), ("feature", np.int32), ("left", np.int32)])
CODED_NODE = np.dtype(
    [("last", np.uint32), ("next", np.uint32), ("feature", np.int32), ("left", np.int32)]
)
if NODE.itemsize != sizeof(Node) or CODED_NODE.itemsize != sizeof(Node):
    raise ImportError("NODE and CODED_NODE do not describe struct Node")


cdef int _check_nodes(nodes) except -1:
    if (
        not isinstance(nodes, np.ndarray)
        or nodes.dtype not in (NODE, CODED_NODE)
        or nodes.ndim != 1
        or len(nodes) == 0
        or not nodes.flags.aligned
    ):
        raise ValueError("nodes must be a NODE array with at least one node")
    return 0


cdef const Node* readable_nodes(nodes) except NULL:
    _check_nodes(nodes)
    cdef const uint8_t[::1] node_bytes = nodes.view(np.uint8)
    return <const Node*> &node_bytes[0]


cdef Node* writable_nodes(nodes) except NULL:
    _check_nodes(nodes)
    cdef uint8_t[::1] node_bytes = nodes.view(np.uint8)
    return <Node*> &node_bytes[0]


cdef class StopSignal:
    """Makes all threads of a fit return soon."""

    def request(self):
        """Make every grow loop that watches this signal raise at its next node."""
        self.requested = 1


cdef class GrownTree:
    """A tree as `grow_trees` returns it.

    Attributes
    ----------
    nodes : NODE array of shape (n_nodes,)
        Inner nodes hold cuts in codes (see CODED_NODE), or thresholds where cuts were random.
        ``left`` of a leaf that holds rows of class k only is ``~k``; that of leaf i of those in
        `impure` is ``~(n_classes + i)``; that of any leaf of Step I is -1.
    counts : float64 array of shape (n_nodes, 2) or None
        Labelled and unlabelled rows of each node (Step I); None after Step II.
    impure : float64 array of shape (n_impure, n_classes)
        Class counts of the leaves that hold several classes.
    decrease : float64 array of shape (n_features,)
        Total decrease of the criterion by feature.
    sets : uint64 array
        Sets of the nodes on categories; see sets.pxd.
    """


cdef class GrowingTree:
    """A tree while it grows: nodes, impure leaves, open slices, decrease of the criterion."""

    def __cinit__(self, int32_t n_classes, int32_t n_features):
        if not 1 <= n_classes <= 1 << 16 or n_features < 1:
            raise ValueError(f"a tree of {n_classes} classes and {n_features} features")
        self.n_classes = n_classes
        self.n_features = n_features
        self.node_capacity = 64
        self.impure_capacity = 4
        self.stack_capacity = 64
        self.nodes = <Node*> malloc(self.node_capacity * sizeof(Node))
        self.counts = <double*> malloc(self.node_capacity * 2 * sizeof(double))
        self.impure = <double*> malloc(self.impure_capacity * n_classes * sizeof(double))
        self.stack = <Slice*> malloc(self.stack_capacity * sizeof(Slice))
        self.decrease = <double*> malloc(n_features * sizeof(double))
        self.sets = GrowingSets()
        if not (self.nodes and self.counts and self.impure and self.stack and self.decrease):
            raise MemoryError("no memory to grow a tree")

    def __dealloc__(self):
        free(self.nodes)
        free(self.counts)
        free(self.impure)
        free(self.stack)
        free(self.decrease)

    cdef void clear(self) noexcept nogil:
        self.n_nodes = 0
        self.n_impure = 0
        self.n_open = 0
        self.sets.n_words = 0
        memset(self.decrease, 0, self.n_features * sizeof(double))

    cdef int32_t add_nodes(self, int32_t count) except -1 nogil:
        """Append `count` blank nodes; return the first."""
        cdef int32_t first = self.n_nodes
        cdef void* nodes
        cdef void* counts
        while self.n_nodes + count > self.node_capacity:
            nodes = realloc(self.nodes, 2 * self.node_capacity * sizeof(Node))
            if nodes:
                self.nodes = <Node*> nodes
            counts = realloc(self.counts, 4 * self.node_capacity * sizeof(double))
            if counts:
                self.counts = <double*> counts
            if not nodes or not counts:
                with gil:
                    raise MemoryError("no memory for the nodes of a tree")
            self.node_capacity *= 2
        self.n_nodes += count
        return first

    cdef int push(self, int64_t start, int64_t end, int32_t node, int32_t depth) except -1 nogil:
        """Open a node whose rows are rows[start:end]."""
        cdef void* grown
        cdef Slice* top
        if self.n_open == self.stack_capacity:
            grown = realloc(self.stack, 2 * self.stack_capacity * sizeof(Slice))
            if not grown:
                with gil:
                    raise MemoryError("no memory for the open nodes of a tree")
            self.stack = <Slice*> grown
            self.stack_capacity *= 2
        top = self.stack + self.n_open
        top.start = start
        top.end = end
        top.node = node
        top.depth = depth
        self.n_open += 1
        return 0

    cdef double* add_impure(self) except NULL nogil:
        """Append a row to the table of leaves that hold several classes."""
        cdef void* grown
        if self.n_impure == self.impure_capacity:
            grown = realloc(
                self.impure, 2 * self.impure_capacity * self.n_classes * sizeof(double)
            )
            if not grown:
                with gil:
                    raise MemoryError("no memory for the leaves of a tree")
            self.impure = <double*> grown
            self.impure_capacity *= 2
        self.n_impure += 1
        return self.impure + <int64_t> (self.n_impure - 1) * self.n_classes

    cdef GrownTree finish(self):
        """Copy the tree to arrays of its own."""
        cdef GrownTree grown = GrownTree.__new__(GrownTree)
        grown.nodes = np.empty(self.n_nodes, dtype=NODE)
        grown.impure = np.empty((self.n_impure, self.n_classes))
        grown.decrease = np.empty(self.n_features)
        _copy_out(grown.nodes, self.nodes)
        _copy_out(grown.impure, self.impure)
        _copy_out(grown.decrease, self.decrease)
        grown.sets = np.empty(self.sets.n_words, dtype=np.uint64)
        _copy_out(grown.sets, self.sets.words)
        if self.has_counts:
            grown.counts = np.empty((self.n_nodes, 2))
            _copy_out(grown.counts, self.counts)
        return grown


cdef int _copy_out(array, const void* source) except -1:
    cdef uint8_t[::1] target
    if array.size:
        target = array.reshape(-1).view(np.uint8)
        memcpy(&target[0], source, target.shape[0])
    return 0


cdef class Scratch:
    """The memory of one thread: a Workspace and a growing tree.

    Parameters
    ----------
    n_rows, n_features : int
        Size of the table.
    n_classes : int
    is_narrow : bool
        Whether counts are integers and sort keys have 4 bytes instead of 8.
    most_categories : int, default=0
        Most categories of a column; 0 where no column is categorical.
    """

    def __cinit__(
        self,
        int64_t n_rows,
        int32_t n_features,
        int32_t n_classes,
        bint is_narrow,
        int64_t most_categories=0,
    ):
        cdef int64_t key_bytes = 4 if is_narrow else 8
        if not 1 <= n_rows < 1 << 32 or n_features < 1 or not 1 <= n_classes <= 1 << 16:
            raise ValueError(
                f"scratch memory for {n_rows} rows, {n_features} features and {n_classes} classes"
            )
        self.n_rows = n_rows
        self.n_features = n_features
        self.n_classes = n_classes
        self.is_narrow = is_narrow
        self.tree = GrowingTree(n_classes, n_features)
        self.work.rows = <row_t*> malloc(n_rows * sizeof(row_t))
        self.work.classes = <class_t*> malloc(n_rows * sizeof(class_t))
        self.work.keys = <uint64_t*> malloc(n_rows * key_bytes)
        self.work.spare = <uint64_t*> malloc(
            n_rows * max(key_bytes, <int64_t> (sizeof(row_t) + sizeof(class_t)))
        )
        self.work.cells = <uint64_t*> malloc(N_CELLS * sizeof(uint64_t))
        self.work.drawn_codes = <uint8_t*> malloc(MOST_COPIED_ROWS * MOST_DRAWN_CODES)
        self.work.node_counts = <uint64_t*> malloc(n_classes * sizeof(uint64_t))
        self.work.left_counts = <uint64_t*> malloc(n_classes * sizeof(uint64_t))
        self.work.missing_counts = <uint64_t*> malloc(n_classes * sizeof(uint64_t))
        self.work.rows_per_weight = <double*> malloc(n_classes * sizeof(double))
        self.work.features = <int32_t*> malloc(n_features * sizeof(int32_t))
        if not (
            self.work.rows and self.work.classes and self.work.keys and self.work.spare
            and self.work.cells and self.work.drawn_codes and self.work.node_counts
            and self.work.left_counts and self.work.missing_counts
            and self.work.rows_per_weight and self.work.features
        ):
            raise MemoryError(f"no memory to grow a tree on {n_rows} rows")
        memset(self.work.left_counts, 0, n_classes * sizeof(uint64_t))
        self.work.is_narrow = is_narrow
        self.work.n_classes = n_classes
        self.work.class_bits = bit_length(n_classes - 1)
        self.most_categories = most_categories
        if most_categories > 0:
            self._allocate_categories()

    cdef int _allocate_categories(self) except -1:
        cdef CategoryScratch* scratch = &self.work.categories
        # No node has more categories than rows.
        cdef int64_t n_present = min(self.most_categories, self.n_rows)
        scratch.slot = <code_t*> calloc(self.most_categories, sizeof(code_t))
        scratch.order = <ScoredCategory*> malloc(n_present * sizeof(ScoredCategory))
        scratch.counts = <uint64_t*> malloc(n_present * self.n_classes * sizeof(uint64_t))
        scratch.cells = <uint64_t*> malloc(n_present * self.n_classes * sizeof(uint64_t))
        scratch.shares = <double*> malloc(n_present * self.n_classes * sizeof(double))
        scratch.mean = <double*> malloc(self.n_classes * sizeof(double))
        scratch.direction = <double*> malloc(self.n_classes * sizeof(double))
        scratch.next_direction = <double*> malloc(self.n_classes * sizeof(double))
        scratch.best = <code_t*> malloc(n_present * sizeof(code_t))
        if not (
            scratch.slot and scratch.order and scratch.counts and scratch.cells
            and scratch.shares and scratch.mean and scratch.direction
            and scratch.next_direction and scratch.best
        ):
            raise MemoryError(
                f"no memory to count {n_present} categories by {self.n_classes} classes"
            )
        return 0

    def __dealloc__(self):
        free(self.work.categories.slot)
        free(self.work.categories.order)
        free(self.work.categories.counts)
        free(self.work.categories.cells)
        free(self.work.categories.shares)
        free(self.work.categories.mean)
        free(self.work.categories.direction)
        free(self.work.categories.next_direction)
        free(self.work.categories.best)
        free(self.work.rows)
        free(self.work.classes)
        free(self.work.keys)
        free(self.work.spare)
        free(self.work.cells)
        free(self.work.drawn_codes)
        free(self.work.node_counts)
        free(self.work.left_counts)
        free(self.work.missing_counts)
        free(self.work.rows_per_weight)
        free(self.work.features)


cdef class ScratchPool:
    """Scratch memory that the blocks of trees of one fit pass on to each other.

    The pool holds as much as blocks ran at once. All of it has the features, the classes, the keys
    and the categories of the first request; rows are at least as many as are asked for.
    """

    def __cinit__(self):
        self._free = []
        self._lock = threading.Lock()

    cpdef Scratch acquire(
        self,
        int64_t n_rows,
        int32_t n_features,
        int32_t n_classes,
        bint is_narrow,
        int64_t most_categories=0,
    ):
        """Take scratch memory out of the pool, or allocate it.

        Raises
        ------
        ValueError
            If anything but the rows is not that of the pool's first request.
        """
        cdef Scratch scratch
        sizes = (n_features, n_classes, is_narrow, most_categories)
        with self._lock:
            if self._sizes is None:
                self._sizes = sizes
            self._check(sizes)
            if self._free:
                scratch = self._free.pop()
                if scratch.n_rows >= n_rows:
                    return scratch
        return Scratch(n_rows, n_features, n_classes, is_narrow, most_categories)

    cpdef release(self, Scratch scratch):
        """Put scratch memory back for the next block.

        Raises
        ------
        ValueError
            If it has other sizes than that of the pool, or is in the pool already.
        """
        if scratch is None:
            raise TypeError("release needs scratch memory, got None")
        with self._lock:
            self._check(
                (scratch.n_features, scratch.n_classes, scratch.is_narrow, scratch.most_categories)
            )
            if scratch in self._free:
                raise ValueError("scratch memory was released twice")
            self._free.append(scratch)

    def __len__(self):
        return len(self._free)

    def _check(self, tuple sizes):
        if sizes != self._sizes:
            raise ValueError(
                "a pool serves one table only: its scratch memory has (features, classes, 4-byte "
                f"keys, categories) = {self._sizes}, not {sizes}"
            )
