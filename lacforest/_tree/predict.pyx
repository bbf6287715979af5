"""Reading a frozen forest: leaves, probabilities and scores.

Blocks of rows walk one tree after the other, node by node: the rows at a node are split in one pass
over one column, without a branch that could be mispredicted. A row's sums are added in tree order,
so its result depends on that row alone, whatever the batch, the threads or the order of rows.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc

from lacforest._tree.block_walk cimport walk_block
from lacforest._tree.partition cimport leaves_of_rows
from lacforest._tree.row_division cimport prepare_eight_rows
from lacforest._tree.coded_columns cimport CodedColumns
from lacforest._tree.sets cimport CategorySets, check_sets, sets_of_forest, sets_of_tree
from lacforest._tree.types cimport (
    BLOCK_ROWS, BlockWalk, CodeTable, ForestSets, Node, TreeSets, WalkedTree, row_t, value_t
)
from lacforest._tree.walkable cimport check_starts, check_trees, refuse_node

cdef enum:
    MAX_CELLS = 1 << 21     # values of a block: wide tables are read in blocks of fewer rows
    MIN_BLOCK = 64          # fewest rows of a block, however wide
    MAX_PER_TREE = 32       # most features per tree for which a block is transposed to columns
    MIN_TRANSPOSED = 16     # fewest rows for which that pays
    TILE_ROWS = 64          # rows and columns of the tiles in which it is transposed
    TILE_COLUMNS = 16       # floats in a line of the cache
    ANY_DEPTH = 0x7FFFFFFF

prepare_eight_rows()


# ------------------------------------------------------------------------------ all rows, all trees
#
#     _start(&walk, n_rows, n_trees, n_features)
#     while _next_tree(&walk):
#         _reach(...) or _reach_by_codes(...)     # the node of each row of the block, or walk.stuck
#         for i in range(walk.n_block):           # row walk.begin + i is at node walk.at[i]


cdef inline void _start(
    BlockWalk* walk, int64_t n_rows, int64_t n_trees, int64_t n_features
) noexcept nogil:
    walk.max_block = <int32_t> min(
        max(MAX_CELLS // max(n_features, <int64_t> 1), <int64_t> MIN_BLOCK), <int64_t> BLOCK_ROWS
    )
    walk.n_rows = n_rows
    walk.n_trees = n_trees
    walk.tree = -1
    walk.begin = 0
    walk.stuck = -1
    walk.by_left = False
    walk.n_block = <int32_t> min(n_rows, <int64_t> walk.max_block)


cdef inline bint _next_tree(BlockWalk* walk) noexcept nogil:
    """Go on to the next tree, or to the first tree of the next block; False after the last."""
    walk.tree += 1
    if walk.tree == walk.n_trees:
        walk.tree = 0
        walk.begin += walk.max_block
        walk.n_block = <int32_t> min(walk.n_rows - walk.begin, <int64_t> walk.max_block)
    return walk.begin < walk.n_rows and walk.n_trees > 0


cdef inline int64_t _column_stride(const BlockWalk* walk) noexcept nogil:
    """Room for a column of a block; a power of two would map columns to the same cache sets."""
    return walk.max_block + 16


cdef value_t* _columns_of_block(const value_t[:, :] X, const BlockWalk* walk) noexcept nogil:
    """Memory for a block of X as columns; NULL where rows are better read in place.

    NULL for want of memory as well: reading in place is slower, not wrong.
    """
    if (
        X.strides[0] == sizeof(value_t)
        or X.shape[0] < MIN_TRANSPOSED
        or X.shape[1] > MAX_PER_TREE * walk.n_trees
    ):
        return NULL
    return <value_t*> malloc(_column_stride(walk) * X.shape[1] * sizeof(value_t))


cdef inline void _transpose(
    const value_t[:, :] X, const BlockWalk* walk, value_t* columns
) noexcept nogil:
    """Write the rows of the block as columns, tile by tile: a page of memory is visited once."""
    cdef int64_t stride = _column_stride(walk)
    cdef int64_t first_row = 0
    cdef int64_t first_column, i, j
    while first_row < walk.n_block:
        first_column = 0
        while first_column < X.shape[1]:
            for j in range(first_column, min(first_column + TILE_COLUMNS, X.shape[1])):
                for i in range(first_row, min(first_row + TILE_ROWS, <int64_t> walk.n_block)):
                    columns[j * stride + i] = X[walk.begin + i, j]
            first_column += TILE_COLUMNS
        first_row += TILE_ROWS


cdef inline bint _reach(
    BlockWalk* walk,
    const value_t[:, :] X,
    value_t* columns,
    const Node* nodes,
    int64_t n_nodes,
    const ForestSets* forest,
    uint32_t limit,
) noexcept nogil:
    """Send the rows of the block down a tree; `columns` is what _columns_of_block returned.

    Return False where the tree cannot be walked.
    """
    cdef WalkedTree tree
    cdef int64_t[2] strides
    tree.nodes = nodes
    tree.n_nodes = n_nodes
    tree.n_features = X.shape[1]
    tree.sets = sets_of_tree(forest, walk.tree)
    tree.limit = limit
    if columns == NULL:
        strides[0] = X.strides[0] // <int64_t> sizeof(value_t)
        strides[1] = X.strides[1] // <int64_t> sizeof(value_t)
        return walk_block(&tree, <const value_t*> &X[walk.begin, 0], strides, walk)
    if walk.tree == 0:
        _transpose(X, walk, columns)
    strides[0] = 1
    strides[1] = _column_stride(walk)
    return walk_block(&tree, <const value_t*> columns, strides, walk)


cdef inline void _reach_by_codes(
    BlockWalk* walk,
    const CodeTable* table,
    int64_t first_row,
    const Node* nodes,
    const TreeSets* sets,
) noexcept nogil:
    """Send rows of the training table, from first_row on, to the leaves of a tree of Step I."""
    cdef row_t[BLOCK_ROWS] rows
    cdef int32_t i
    for i in range(walk.n_block):
        rows[i] = <row_t> (first_row + walk.begin + i)
    leaves_of_rows(table, nodes, sets, rows, walk.n_block, walk.at)


# ------------------------------------------------------------------------------ results


cdef const Node* _forest_nodes(
    const uint8_t[::1] node_bytes, const int64_t[::1] tree_start
) except NULL:
    """Address of the nodes, after checking that they cover all trees."""
    check_starts(node_bytes, sizeof(Node), tree_start)
    return <const Node*> &node_bytes[0]


cdef int _check_rows(const value_t[:, :] X, int64_t n_results) except -1:
    if n_results != X.shape[0]:
        raise ValueError(f"room for the results of {n_results} rows, but X has {X.shape[0]}")
    if X.strides[0] % <int64_t> sizeof(value_t) or X.strides[1] % <int64_t> sizeof(value_t):
        raise ValueError("the values of X do not lie a whole number of values apart")
    return 0


cdef int _check_width(int64_t n_results, int64_t n_columns) except -1:
    if n_results != n_columns:
        raise ValueError(f"room for {n_results} results per row, but there are {n_columns}")
    return 0


def add_probabilities(
    const value_t[:, :] X not None,
    const uint8_t[::1] node_bytes not None,
    const int64_t[::1] tree_start not None,
    const float[:, ::1] leaf_values not None,
    double[:, ::1] sums not None,
    CategorySets sets=None,
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
    sets : CategorySets or None, default=None
        Of a forest with categorical features, whose columns hold codes.
    """
    cdef ForestSets forest = sets_of_forest(sets, tree_start.shape[0] - 1, X.shape[1])
    cdef const Node* nodes = _forest_nodes(node_bytes, tree_start)
    cdef const Node* tree
    cdef uint32_t n_classes = <uint32_t> leaf_values.shape[1]
    cdef uint32_t n_leaves = <uint32_t> min(leaf_values.shape[0], <int64_t> ANY_DEPTH)
    cdef uint32_t leaf, k
    cdef int64_t first
    cdef int64_t n_unknown = 0
    cdef int32_t i
    cdef value_t* columns
    cdef BlockWalk walk
    _check_rows(X, sums.shape[0])
    _check_width(sums.shape[1], leaf_values.shape[1])
    with nogil:
        _start(&walk, X.shape[0], tree_start.shape[0] - 1, X.shape[1])
        columns = _columns_of_block(X, &walk)
        walk.by_left = True
        while _next_tree(&walk):
            first = tree_start[walk.tree]
            tree = nodes + first
            if not _reach(
                &walk, X, columns, tree, tree_start[walk.tree + 1] - first, &forest, ANY_DEPTH
            ):
                break
            for i in range(walk.n_block):
                leaf = <uint32_t> ~walk.at[i]
                if leaf < n_classes:
                    sums[walk.begin + i, leaf] += 1.0
                elif leaf < n_leaves:
                    for k in range(n_classes):
                        sums[walk.begin + i, k] += leaf_values[leaf, k]
                else:
                    n_unknown += 1
        free(columns)
    if walk.stuck >= 0:
        refuse_node(walk.stuck, walk.tree)
    if n_unknown:
        raise ValueError(f"rows reached leaves beyond the {n_leaves} rows of leaf_values")


cdef int _check_explored(
    const int64_t[::1] tree_start,
    const int32_t[::1] n_explored,
    const int64_t[::1] explored_start,
    int64_t n_values,
) except -1:
    """Raise ValueError unless the nodes of Step I are nodes of their tree and have values."""
    cdef int64_t t
    for t in range(n_explored.shape[0]):
        if not 1 <= n_explored[t] <= tree_start[t + 1] - tree_start[t]:
            raise ValueError(f"n_explored of tree {t} does not lie within its nodes")
        if not 0 <= explored_start[t] <= n_values - n_explored[t]:
            raise ValueError(f"explored_start of tree {t} lies outside explored_values")
    return 0


def add_node_values(
    const value_t[:, :] X not None,
    const uint8_t[::1] node_bytes not None,
    const int64_t[::1] tree_start not None,
    const int32_t[::1] n_explored not None,
    const int64_t[::1] explored_start not None,
    const double[::1] explored_values not None,
    double[::1] sums not None,
    CategorySets sets=None,
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
    sets : CategorySets or None, default=None
    """
    cdef ForestSets forest = sets_of_forest(sets, tree_start.shape[0] - 1, X.shape[1])
    cdef const Node* nodes = _forest_nodes(node_bytes, tree_start)
    cdef int32_t i
    cdef value_t* columns
    cdef BlockWalk walk
    _check_rows(X, sums.shape[0])
    if n_explored.shape[0] != tree_start.shape[0] - 1 or (
        explored_start.shape[0] != tree_start.shape[0]
    ):
        raise ValueError("n_explored, explored_start and tree_start are of different forests")
    _check_explored(tree_start, n_explored, explored_start, explored_values.shape[0])
    with nogil:
        _start(&walk, X.shape[0], tree_start.shape[0] - 1, X.shape[1])
        columns = _columns_of_block(X, &walk)
        while _next_tree(&walk):
            # Siblings are of one step: a walk over nodes of Step I never meets one of Step II.
            if not _reach(
                &walk, X, columns, nodes + tree_start[walk.tree], n_explored[walk.tree], &forest,
                <uint32_t> n_explored[walk.tree],
            ):
                break
            for i in range(walk.n_block):
                sums[walk.begin + i] += explored_values[explored_start[walk.tree] + walk.at[i]]
        free(columns)
    if walk.stuck >= 0:
        refuse_node(walk.stuck, walk.tree)


def find_leaves(
    const value_t[:, :] X not None,
    const uint8_t[::1] node_bytes not None,
    const int64_t[::1] tree_start not None,
    int32_t[:, ::1] leaves not None,
    CategorySets sets=None,
):
    """Write the leaf of each row in each tree, numbered within the tree.

    Parameters
    ----------
    X : float32 or float64 array of shape (n_rows, n_features)
    node_bytes : uint8 view of a NODE array
    tree_start : int64 array of shape (n_trees + 1,)
    leaves : int32 array of shape (n_rows, n_trees)
    sets : CategorySets or None, default=None
    """
    cdef ForestSets forest = sets_of_forest(sets, tree_start.shape[0] - 1, X.shape[1])
    cdef const Node* nodes = _forest_nodes(node_bytes, tree_start)
    cdef int64_t first
    cdef int32_t i
    cdef value_t* columns
    cdef BlockWalk walk
    _check_rows(X, leaves.shape[0])
    _check_width(leaves.shape[1], tree_start.shape[0] - 1)
    with nogil:
        _start(&walk, X.shape[0], tree_start.shape[0] - 1, X.shape[1])
        columns = _columns_of_block(X, &walk)
        while _next_tree(&walk):
            first = tree_start[walk.tree]
            if not _reach(
                &walk, X, columns, nodes + first, tree_start[walk.tree + 1] - first, &forest,
                ANY_DEPTH,
            ):
                break
            for i in range(walk.n_block):
                leaves[walk.begin + i, walk.tree] = walk.at[i]
        free(columns)
    if walk.stuck >= 0:
        refuse_node(walk.stuck, walk.tree)


def add_coded_values(
    CodedColumns columns not None,
    const uint8_t[::1] node_bytes not None,
    const int64_t[::1] tree_start not None,
    const double[::1] node_values not None,
    int64_t first_row,
    double[::1] sums not None,
    CategorySets sets=None,
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
    sets : CategorySets or None, default=None
    """
    cdef ForestSets forest = sets_of_forest(
        sets, tree_start.shape[0] - 1, columns.table.n_features
    )
    cdef TreeSets own
    cdef const Node* nodes = _forest_nodes(node_bytes, tree_start)
    cdef int32_t i
    cdef BlockWalk walk
    if first_row < 0 or sums.shape[0] > columns.table.n_rows - first_row:
        raise ValueError("rows beyond the end of the coded table")
    if node_values.shape[0] < tree_start[tree_start.shape[0] - 1]:
        raise ValueError(f"{node_values.shape[0]} node_values for the nodes of all trees")
    check_trees(nodes, tree_start, columns.table.n_features)
    check_sets(nodes, tree_start, &forest)
    with nogil:
        _start(&walk, sums.shape[0], tree_start.shape[0] - 1, 1)
        while _next_tree(&walk):
            own = sets_of_tree(&forest, walk.tree)
            _reach_by_codes(
                &walk, &columns.table, first_row, nodes + tree_start[walk.tree], &own
            )
            for i in range(walk.n_block):
                sums[walk.begin + i] += node_values[tree_start[walk.tree] + walk.at[i]]
