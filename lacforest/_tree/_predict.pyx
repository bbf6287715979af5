"""Reading a frozen forest: leaves, probabilities and scores, row-parallel and without locks.

Rows are walked in blocks, one tree after the other, and a row's sums are added in tree order. What a
row gets depends on that row alone, whatever the batch, the threads or the order of rows.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from lacforest._tree._partition cimport leaves_of_rows
from lacforest._tree._ranks cimport CodedColumns
from lacforest._tree._types cimport Node, row_t

cdef enum:
    BLOCK = 64              # rows walked together
    ANY_DEPTH = 0x7FFFFFFF

ctypedef fused value_t:
    float
    double


cdef inline void _walk_block(
    const Node* nodes,
    uint32_t limit,
    const value_t* block,
    int64_t row_stride,
    int64_t column_stride,
    int32_t n_rows,
    int32_t* at,
) noexcept nogil:
    """Walk rows to the nodes whose children lie at or beyond `limit`, or that have none.

    As unsigned numbers the left entries of leaves exceed every limit: one comparison stops both
    at a leaf and at the border between the phases.
    """
    cdef int32_t[BLOCK] active
    cdef int32_t i, j, node, feature, flip, n_still
    cdef int32_t n_active = 0
    cdef double value
    for i in range(n_rows):
        at[i] = 0
        active[i] = i
    if <uint32_t> nodes[0].left < limit:
        n_active = n_rows
    while n_active > 0:
        n_still = 0
        for i in range(n_active):
            j = active[i]
            node = at[j]
            feature = nodes[node].feature
            flip = feature >> 31             # -1 where missing values go right
            value = block[j * row_stride + (feature ^ flip) * column_stride]
            node = nodes[node].left + (
                (value > nodes[node].key.threshold) | ((value != value) & (flip & 1))
            )
            at[j] = node
            active[n_still] = j
            n_still += <uint32_t> nodes[node].left < limit
        n_active = n_still


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
    cdef int64_t n_rows = X.shape[0]
    cdef int64_t n_trees = tree_start.shape[0] - 1
    cdef int32_t n_classes = <int32_t> leaf_values.shape[1]
    cdef int64_t row_stride = X.strides[0] // <int64_t> sizeof(value_t)
    cdef int64_t column_stride = X.strides[1] // <int64_t> sizeof(value_t)
    cdef int64_t b, begin, t
    cdef int32_t n_block, i, leaf, k
    cdef int32_t[BLOCK] at
    if n_rows == 0:
        return
    with nogil:
        for b in range((n_rows + BLOCK - 1) // BLOCK):
            begin = b * BLOCK
            n_block = <int32_t> min(n_rows - begin, <int64_t> BLOCK)
            for t in range(n_trees):
                tree = nodes + tree_start[t]
                _walk_block(
                    tree, ANY_DEPTH, &X[begin, 0], row_stride, column_stride, n_block, at
                )
                for i in range(n_block):
                    leaf = ~tree[at[i]].left
                    if leaf < n_classes:
                        sums[begin + i, leaf] += 1.0
                    else:
                        for k in range(n_classes):
                            sums[begin + i, k] += leaf_values[leaf, k]


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
    cdef int64_t n_rows = X.shape[0]
    cdef int64_t n_trees = tree_start.shape[0] - 1
    cdef int64_t row_stride = X.strides[0] // <int64_t> sizeof(value_t)
    cdef int64_t column_stride = X.strides[1] // <int64_t> sizeof(value_t)
    cdef int64_t b, begin, t
    cdef int32_t n_block, i
    cdef int32_t[BLOCK] at
    if n_rows == 0:
        return
    with nogil:
        for b in range((n_rows + BLOCK - 1) // BLOCK):
            begin = b * BLOCK
            n_block = <int32_t> min(n_rows - begin, <int64_t> BLOCK)
            for t in range(n_trees):
                _walk_block(
                    nodes + tree_start[t], <uint32_t> n_explored[t], &X[begin, 0],
                    row_stride, column_stride, n_block, at,
                )
                for i in range(n_block):
                    sums[begin + i] += explored_values[explored_start[t] + at[i]]


def find_leaves(
    const value_t[:, :] X,
    const uint8_t[::1] node_bytes,
    const int64_t[::1] tree_start,
    int32_t[:, ::1] leaves,
):
    """Write the leaf of each row in each tree, numbered within the tree."""
    cdef const Node* nodes = <const Node*> &node_bytes[0]
    cdef int64_t n_rows = X.shape[0]
    cdef int64_t n_trees = tree_start.shape[0] - 1
    cdef int64_t row_stride = X.strides[0] // <int64_t> sizeof(value_t)
    cdef int64_t column_stride = X.strides[1] // <int64_t> sizeof(value_t)
    cdef int64_t b, begin, t
    cdef int32_t n_block, i
    cdef int32_t[BLOCK] at
    if n_rows == 0:
        return
    with nogil:
        for b in range((n_rows + BLOCK - 1) // BLOCK):
            begin = b * BLOCK
            n_block = <int32_t> min(n_rows - begin, <int64_t> BLOCK)
            for t in range(n_trees):
                _walk_block(
                    nodes + tree_start[t], ANY_DEPTH, &X[begin, 0],
                    row_stride, column_stride, n_block, at,
                )
                for i in range(n_block):
                    leaves[begin + i, t] = at[i]


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
