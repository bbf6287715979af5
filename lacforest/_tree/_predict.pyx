"""Reading a frozen forest: leaves, probabilities and scores, row-parallel and without locks.

A block of rows is sent down one tree after the other, node by node: the rows at a node are split in
one pass over one column, without a branch that could be mispredicted. A row's sums are added in
tree order. What a row gets depends on that row alone, whatever the batch, the threads or the order
of rows.
"""

from libc.math cimport INFINITY, nextafterf
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc

from lacforest._tree._partition cimport leaves_of_rows
from lacforest._tree._ranks cimport CodedColumns
from lacforest._tree._types cimport Node, OpenBlock, check, row_t

cdef enum:
    BLOCK = 2048            # rows sent down together
    MAX_TRANSPOSED = 256    # most features for which a block is first turned into columns
    ANY_DEPTH = 0x7FFFFFFF

ctypedef fused value_t:
    float
    double


cdef inline value_t _bound(double threshold, value_t like) noexcept nogil:
    """The threshold in the type of the values: x <= threshold iff x <= bound for each such x."""
    cdef value_t bound = <value_t> threshold
    if value_t is float:
        if <double> bound > threshold:
            bound = nextafterf(bound, -INFINITY)
    return bound


cdef void _walk_block(
    const Node* nodes,
    uint32_t limit,
    const value_t* block,
    int64_t row_stride,
    int64_t column_stride,
    int32_t n_rows,
    int32_t* at,
) noexcept nogil:
    """Send rows to the nodes whose children lie at or beyond `limit`, or that have none.

    As unsigned numbers the left entries of leaves exceed every limit: one comparison stops both
    at a leaf and at the border between the phases. Slices of rows are read from one side of
    `rows` and written to the other. Open slices are disjoint and not empty, so BLOCK of them is
    all there can be.
    """
    cdef uint16_t[2][BLOCK] rows
    cdef OpenBlock[BLOCK] stack
    cdef int32_t n_open = 1
    cdef OpenBlock here
    cdef const Node* node
    cdef const value_t* column
    cdef const uint16_t* source
    cdef uint16_t* target
    cdef value_t bound
    cdef int64_t i, low, high, end
    cdef int32_t feature
    cdef int64_t row
    cdef bint right
    for i in range(n_rows):
        rows[0][i] = <uint16_t> i
    stack[0].node = 0
    stack[0].start = 0
    stack[0].end = n_rows
    stack[0].side = 0
    while n_open > 0:
        n_open -= 1
        here = stack[n_open]
        while True:
            node = nodes + here.node
            source = rows[here.side]
            if <uint32_t> node.left >= limit:
                for i in range(here.start, here.end):
                    at[source[i]] = here.node
                break
            target = rows[1 - here.side]
            feature = node.feature
            low = here.start
            end = here.end
            high = end - 1
            bound = _bound(node.key.threshold, <value_t> 0)
            # Each row is written at both ends, and one end moves on. A missing value compares
            # false to everything: each loop sends it to its own side.
            if feature >= 0:
                column = block + feature * column_stride
                for i in range(here.start, end):
                    row = source[i]
                    right = column[row * row_stride] > bound
                    target[low] = <uint16_t> row
                    target[high] = <uint16_t> row
                    low += not right
                    high -= right
            else:
                column = block + ~feature * column_stride
                for i in range(here.start, end):
                    row = source[i]
                    right = not column[row * row_stride] <= bound
                    target[low] = <uint16_t> row
                    target[high] = <uint16_t> row
                    low += not right
                    high -= right
            here.side = 1 - here.side
            check(here.start <= low <= here.end and n_open < BLOCK)
            if low < here.end and low > here.start:
                stack[n_open].node = node.left + 1
                stack[n_open].start = <int32_t> low
                stack[n_open].end = here.end
                stack[n_open].side = here.side
                n_open += 1
            if low > here.start:
                here.node = node.left
                here.end = <int32_t> low
            else:
                here.node = node.left + 1


cdef value_t* _make_room(const value_t[:, :] X, value_t like) noexcept nogil:
    """Memory for a block of X as columns; NULL where rows are better read where they are.

    NULL also for want of memory: reading in place is slower, not wrong.
    """
    if X.strides[0] == sizeof(value_t) or X.shape[0] < 16 or X.shape[1] > MAX_TRANSPOSED:
        return NULL
    return <value_t*> malloc(BLOCK * X.shape[1] * sizeof(value_t))


cdef inline void _fill_room(
    const value_t[:, :] X, int64_t begin, int32_t n_rows, value_t* room
) noexcept nogil:
    """Copy rows of X so that each column is contiguous, BLOCK values apart from the next."""
    cdef int32_t i
    cdef int64_t j
    for i in range(n_rows):
        for j in range(X.shape[1]):
            room[j * BLOCK + i] = X[begin + i, j]


cdef inline void _leaves_of_block(
    const Node* tree,
    uint32_t limit,
    const value_t[:, :] X,
    int64_t begin,
    int32_t n_rows,
    const value_t* room,
    int32_t* at,
) noexcept nogil:
    if room != NULL:
        _walk_block(tree, limit, room, 1, BLOCK, n_rows, at)
    else:
        _walk_block(
            tree,
            limit,
            <const value_t*> &X[begin, 0],
            X.strides[0] // <int64_t> sizeof(value_t),
            X.strides[1] // <int64_t> sizeof(value_t),
            n_rows,
            at,
        )


def add_probabilities(
    const value_t[:, :] X,
    const uint8_t[::1] node_bytes,
    const int64_t[::1] tree_start,
    const float[:, ::1] leaf_values,
    double[:, ::1] sums,
):
    """Add to `sums` the class distribution of each row's leaf, over all trees.

    Parameters
    ----------
    X : float32 or float64 array of shape (n_rows, n_features)
    node_bytes : uint8 view of a NODE array
    tree_start : int64 array of shape (n_trees + 1,)
    leaf_values : float32 array of shape (n_distinct, n_classes)
        Its first n_classes rows are the identity: leaves of one class only.
    sums : float64 array of shape (n_rows, n_classes)
    """
    cdef const Node* nodes = <const Node*> &node_bytes[0]
    cdef const Node* tree
    cdef int32_t n_classes = <int32_t> leaf_values.shape[1]
    cdef int64_t begin, t
    cdef int64_t n_rows = X.shape[0]
    cdef int32_t n_block, i, leaf, k
    cdef int32_t[BLOCK] at
    cdef value_t* room = _make_room(X, <value_t> 0)
    with nogil:
        begin = 0
        while begin < n_rows:
            n_block = <int32_t> min(n_rows - begin, <int64_t> BLOCK)
            if room != NULL:
                _fill_room(X, begin, n_block, room)
            for t in range(tree_start.shape[0] - 1):
                tree = nodes + tree_start[t]
                _leaves_of_block(tree, ANY_DEPTH, X, begin, n_block, room, at)
                for i in range(n_block):
                    leaf = ~tree[at[i]].left
                    if leaf < n_classes:
                        sums[begin + i, leaf] += 1.0
                    else:
                        for k in range(n_classes):
                            sums[begin + i, k] += leaf_values[leaf, k]
            begin += BLOCK
        free(room)


def add_node_values(
    const value_t[:, :] X,
    const uint8_t[::1] node_bytes,
    const int64_t[::1] tree_start,
    const int32_t[::1] n_explored,
    const int64_t[::1] explored_start,
    const double[::1] explored_values,
    double[::1] sums,
):
    """Add to `sums` the value of the phase-1 leaf of each row, over all trees (Eqn 7)."""
    cdef const Node* nodes = <const Node*> &node_bytes[0]
    cdef int64_t begin, t
    cdef int64_t n_rows = X.shape[0]
    cdef int32_t n_block, i
    cdef int32_t[BLOCK] at
    cdef value_t* room = _make_room(X, <value_t> 0)
    with nogil:
        begin = 0
        while begin < n_rows:
            n_block = <int32_t> min(n_rows - begin, <int64_t> BLOCK)
            if room != NULL:
                _fill_room(X, begin, n_block, room)
            for t in range(tree_start.shape[0] - 1):
                _leaves_of_block(
                    nodes + tree_start[t], <uint32_t> n_explored[t], X, begin, n_block, room, at
                )
                for i in range(n_block):
                    sums[begin + i] += explored_values[explored_start[t] + at[i]]
            begin += BLOCK
        free(room)


def find_leaves(
    const value_t[:, :] X,
    const uint8_t[::1] node_bytes,
    const int64_t[::1] tree_start,
    int32_t[:, ::1] leaves,
):
    """Write the leaf of each row in each tree, numbered within the tree."""
    cdef const Node* nodes = <const Node*> &node_bytes[0]
    cdef int64_t begin, t
    cdef int64_t n_rows = X.shape[0]
    cdef int32_t n_block, i
    cdef int32_t[BLOCK] at
    cdef value_t* room = _make_room(X, <value_t> 0)
    with nogil:
        begin = 0
        while begin < n_rows:
            n_block = <int32_t> min(n_rows - begin, <int64_t> BLOCK)
            if room != NULL:
                _fill_room(X, begin, n_block, room)
            for t in range(tree_start.shape[0] - 1):
                _leaves_of_block(nodes + tree_start[t], ANY_DEPTH, X, begin, n_block, room, at)
                for i in range(n_block):
                    leaves[begin + i, t] = at[i]
            begin += BLOCK
        free(room)


def add_coded_values(
    CodedColumns columns,
    const uint8_t[::1] node_bytes,
    const int64_t[::1] tree_start,
    const double[::1] node_values,
    int64_t first_row,
    double[::1] sums,
):
    """Add to `sums` the value of each row's leaf, for rows of the training table from first_row on.

    The same as `add_node_values`, by codes: for tables that exist in codes only.
    """
    cdef const Node* nodes = <const Node*> &node_bytes[0]
    cdef int64_t n_rows = sums.shape[0]
    cdef int64_t n_trees = tree_start.shape[0] - 1
    cdef int64_t b, begin, n_block, t, i
    cdef row_t[1024] rows
    cdef int32_t[1024] leaves
    if first_row + n_rows > columns.table.n_rows:
        raise ValueError("rows beyond the end of the coded table")
    with nogil:
        for b in range((n_rows + 1023) // 1024):
            begin = b * 1024
            n_block = min(n_rows - begin, <int64_t> 1024)
            for i in range(n_block):
                rows[i] = <row_t> (first_row + begin + i)
            for t in range(n_trees):
                leaves_of_rows(
                    &columns.table, nodes + tree_start[t], rows, n_block, leaves
                )
                for i in range(n_block):
                    sums[begin + i] += node_values[tree_start[t] + leaves[i]]
