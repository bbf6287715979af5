"""Reading a frozen forest: leaves, probabilities and scores.

Blocks of rows walk one tree after the other, node by node: the rows at a node are split in one pass
over one column, without a branch that could be mispredicted. A row's sums are added in tree order,
so its result depends on that row alone, whatever the batch, the threads or the order of rows.
"""

from libc.math cimport INFINITY, nextafterf
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc

from lacforest._tree.partition cimport leaves_of_rows
from lacforest._tree.ranks cimport CodedColumns
from lacforest._tree.types cimport (
    BLOCK_ROWS, BlockWalk, CodeTable, Node, OpenBlock, check, row_t, value_t
)

cdef enum:
    MAX_TRANSPOSED = 256    # most features for which a block is first transposed to columns
    MIN_TRANSPOSED = 16     # fewest rows for which that pays
    BLOCK_STRIDE = BLOCK_ROWS + 16    # a power of two would map columns to the same cache sets
    ANY_DEPTH = 0x7FFFFFFF


# ------------------------------------------------------------------------------ walking a block


cdef inline void _set_bound(double threshold, value_t* bound) noexcept nogil:
    """The threshold in the type of the values: x <= threshold iff x <= bound for each such x."""
    bound[0] = <value_t> threshold
    if value_t is float:
        if <double> bound[0] > threshold:
            bound[0] = nextafterf(bound[0], -INFINITY)


cdef void _walk_block(
    const Node* nodes,
    uint32_t limit,
    const value_t* block,
    int64_t row_stride,
    int64_t column_stride,
    BlockWalk* walk,
) noexcept nogil:
    """Send the rows of a block to the nodes whose children lie at or beyond `limit`, or to leaves.

    As unsigned numbers the left entries of leaves exceed every limit: one comparison stops both
    at a leaf and at the border between the steps. Slices of rows are read from one side of `rows`
    and written to the other. Open slices are disjoint and not empty, so there are at most
    BLOCK_ROWS of them.
    """
    cdef uint16_t[2][BLOCK_ROWS] rows
    cdef OpenBlock[BLOCK_ROWS] stack
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
    for i in range(walk.n_block):
        rows[0][i] = <uint16_t> i
    stack[0].node = 0
    stack[0].start = 0
    stack[0].end = walk.n_block
    stack[0].side = 0
    while n_open > 0:
        n_open -= 1
        here = stack[n_open]
        while True:
            node = nodes + here.node
            source = rows[here.side]
            if <uint32_t> node.left >= limit:
                for i in range(here.start, here.end):
                    walk.at[source[i]] = here.node
                break
            target = rows[1 - here.side]
            feature = node.feature
            low = here.start
            end = here.end
            high = end - 1
            _set_bound(node.payload.threshold, &bound)
            # Each row is written at both ends, and one end moves on. A missing value compares
            # false with everything: each loop sends it to its own side.
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
            check(here.start <= low <= here.end and n_open < BLOCK_ROWS)
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


# ------------------------------------------------------------------------------ all rows, all trees
#
#     _start(&walk, n_rows, n_trees)
#     while _next_tree(&walk):
#         _reach(...) or _reach_by_codes(...)     # the node of each row of the block
#         for i in range(walk.n_block):           # row walk.begin + i is at node walk.at[i]


cdef inline void _start(BlockWalk* walk, int64_t n_rows, int64_t n_trees) noexcept nogil:
    walk.n_rows = n_rows
    walk.n_trees = n_trees
    walk.tree = -1
    walk.begin = 0
    walk.n_block = <int32_t> min(n_rows, <int64_t> BLOCK_ROWS)


cdef inline bint _next_tree(BlockWalk* walk) noexcept nogil:
    """Go on to the next tree, or to the first tree of the next block; False after the last."""
    walk.tree += 1
    if walk.tree == walk.n_trees:
        walk.tree = 0
        walk.begin += BLOCK_ROWS
        walk.n_block = <int32_t> min(walk.n_rows - walk.begin, <int64_t> BLOCK_ROWS)
    return walk.begin < walk.n_rows and walk.n_trees > 0


cdef value_t* _columns_of_block(const value_t[:, :] X) noexcept nogil:
    """Memory for a block of X as columns; NULL where rows are better read in place.

    NULL for want of memory as well: reading in place is slower, not wrong.
    """
    if (
        X.strides[0] == sizeof(value_t)
        or X.shape[0] < MIN_TRANSPOSED
        or X.shape[1] > MAX_TRANSPOSED
    ):
        return NULL
    return <value_t*> malloc(BLOCK_STRIDE * X.shape[1] * sizeof(value_t))


cdef inline void _reach(
    BlockWalk* walk,
    const value_t[:, :] X,
    value_t* columns,
    const Node* nodes,
    uint32_t limit,
) noexcept nogil:
    """Send the rows of the block down a tree; `columns` is what _columns_of_block returned."""
    cdef int64_t i, j
    if columns == NULL:
        _walk_block(
            nodes,
            limit,
            <const value_t*> &X[walk.begin, 0],
            X.strides[0] // <int64_t> sizeof(value_t),
            X.strides[1] // <int64_t> sizeof(value_t),
            walk,
        )
        return
    if walk.tree == 0:
        for i in range(walk.n_block):
            for j in range(X.shape[1]):
                columns[j * BLOCK_STRIDE + i] = X[walk.begin + i, j]
    _walk_block(nodes, limit, <const value_t*> columns, 1, BLOCK_STRIDE, walk)


cdef inline void _reach_by_codes(
    BlockWalk* walk, const CodeTable* table, int64_t first_row, const Node* nodes
) noexcept nogil:
    """Send rows of the training table, from first_row on, to the leaves of a tree of Step I."""
    cdef row_t[BLOCK_ROWS] rows
    cdef int32_t i
    for i in range(walk.n_block):
        rows[i] = <row_t> (first_row + walk.begin + i)
    leaves_of_rows(table, nodes, rows, walk.n_block, walk.at)


# ------------------------------------------------------------------------------ results


cdef const Node* _forest_nodes(
    const uint8_t[::1] node_bytes, const int64_t[::1] tree_start
) except NULL:
    """Address of the nodes, after checking that they cover all trees."""
    cdef int64_t n_nodes = node_bytes.shape[0] // <int64_t> sizeof(Node)
    if tree_start.shape[0] < 2 or not (
        0 <= tree_start[0] < tree_start[tree_start.shape[0] - 1] <= n_nodes
    ):
        raise ValueError(f"tree_start does not lie within the {n_nodes} nodes")
    return <const Node*> &node_bytes[0]


cdef int _check_rows(int64_t n_results, int64_t n_rows) except -1:
    if n_results != n_rows:
        raise ValueError(f"room for the results of {n_results} rows, but X has {n_rows}")
    return 0


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
    cdef const Node* nodes = _forest_nodes(node_bytes, tree_start)
    cdef const Node* tree
    cdef int32_t n_classes = <int32_t> leaf_values.shape[1]
    cdef int32_t i, leaf, k
    cdef value_t* columns
    cdef BlockWalk walk
    _check_rows(sums.shape[0], X.shape[0])
    with nogil:
        columns = _columns_of_block(X)
        _start(&walk, X.shape[0], tree_start.shape[0] - 1)
        while _next_tree(&walk):
            tree = nodes + tree_start[walk.tree]
            _reach(&walk, X, columns, tree, ANY_DEPTH)
            for i in range(walk.n_block):
                leaf = ~tree[walk.at[i]].left
                if leaf < n_classes:
                    sums[walk.begin + i, leaf] += 1.0
                else:
                    for k in range(n_classes):
                        sums[walk.begin + i, k] += leaf_values[leaf, k]
        free(columns)


def add_node_values(
    const value_t[:, :] X,
    const uint8_t[::1] node_bytes,
    const int64_t[::1] tree_start,
    const int32_t[::1] n_explored,
    const int64_t[::1] explored_start,
    const double[::1] explored_values,
    double[::1] sums,
):
    """Add to `sums` the value of the leaf of Step I of each row, over all trees (Eqn 7).

    Parameters
    ----------
    X : float32 or float64 array of shape (n_rows, n_features)
    node_bytes : uint8 view of a NODE array
    tree_start : int64 array of shape (n_trees + 1,)
    n_explored : int32 array of shape (n_trees,)
        Nodes of each tree that Step I made; they come first.
    explored_start : int64 array of shape (n_trees + 1,)
        Where the nodes of each tree begin in `explored_values`.
    explored_values : float64 array of shape (sum of n_explored,)
    sums : float64 array of shape (n_rows,)
    """
    cdef const Node* nodes = _forest_nodes(node_bytes, tree_start)
    cdef int32_t i
    cdef value_t* columns
    cdef BlockWalk walk
    _check_rows(sums.shape[0], X.shape[0])
    if n_explored.shape[0] != tree_start.shape[0] - 1 or (
        explored_start.shape[0] != tree_start.shape[0]
    ):
        raise ValueError("n_explored, explored_start and tree_start are of different forests")
    with nogil:
        columns = _columns_of_block(X)
        _start(&walk, X.shape[0], tree_start.shape[0] - 1)
        while _next_tree(&walk):
            _reach(
                &walk, X, columns, nodes + tree_start[walk.tree],
                <uint32_t> n_explored[walk.tree],
            )
            for i in range(walk.n_block):
                sums[walk.begin + i] += explored_values[explored_start[walk.tree] + walk.at[i]]
        free(columns)


def find_leaves(
    const value_t[:, :] X,
    const uint8_t[::1] node_bytes,
    const int64_t[::1] tree_start,
    int32_t[:, ::1] leaves,
):
    """Write the leaf of each row in each tree, numbered within the tree.

    Parameters
    ----------
    X : float32 or float64 array of shape (n_rows, n_features)
    node_bytes : uint8 view of a NODE array
    tree_start : int64 array of shape (n_trees + 1,)
    leaves : int32 array of shape (n_rows, n_trees)
    """
    cdef const Node* nodes = _forest_nodes(node_bytes, tree_start)
    cdef int32_t i
    cdef value_t* columns
    cdef BlockWalk walk
    _check_rows(leaves.shape[0], X.shape[0])
    with nogil:
        columns = _columns_of_block(X)
        _start(&walk, X.shape[0], tree_start.shape[0] - 1)
        while _next_tree(&walk):
            _reach(&walk, X, columns, nodes + tree_start[walk.tree], ANY_DEPTH)
            for i in range(walk.n_block):
                leaves[walk.begin + i, walk.tree] = walk.at[i]
        free(columns)


def add_coded_values(
    CodedColumns columns not None,
    const uint8_t[::1] node_bytes,
    const int64_t[::1] tree_start,
    const double[::1] node_values,
    int64_t first_row,
    double[::1] sums,
):
    """Add to `sums` the value of each row's leaf, for rows of the training table.

    Gives what `add_node_values` gives, by codes: for tables that exist in codes only.

    Parameters
    ----------
    columns : CodedColumns
    node_bytes : uint8 view of a CODED_NODE array
    tree_start : int64 array of shape (n_trees + 1,)
    node_values : float64 array of shape (n_nodes,)
    first_row : int
    sums : float64 array of shape (n_rows,)
        Of the rows [first_row, first_row + n_rows) of the table.
    """
    cdef const Node* nodes = _forest_nodes(node_bytes, tree_start)
    cdef int32_t i
    cdef BlockWalk walk
    if first_row < 0 or first_row + sums.shape[0] > columns.table.n_rows:
        raise ValueError("rows beyond the end of the coded table")
    with nogil:
        _start(&walk, sums.shape[0], tree_start.shape[0] - 1)
        while _next_tree(&walk):
            _reach_by_codes(&walk, &columns.table, first_row, nodes + tree_start[walk.tree])
            for i in range(walk.n_block):
                sums[walk.begin + i] += node_values[tree_start[walk.tree] + walk.at[i]]
