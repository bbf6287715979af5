"""A small slice of a block from a node of a frozen tree on, level by level.

Most nodes of a large tree see few rows, and dividing these takes less time than loading the node
from beyond the core's own caches. While the other slices of a level are divided, the children of
one are loaded: a walk in depth would wait for each of them. What waits must be small to stay in the
innermost cache, which is why large slices are divided in depth first.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memcpy

from lacforest._tree.row_division cimport (
    can_go_on, divide_rows, fetch_ahead, goes_right, is_end, what_is_reached
)
from lacforest._tree.types cimport (
    EIGHT_ROWS, SMALL_ROWS, BlockWalk, Node, OpenBlock, WalkedTree, check, value_t
)

cdef enum:
    MOST_SLICES = SMALL_ROWS // 2    # of a level: each has two rows or more


cdef inline bint walk_row(
    const WalkedTree* tree,
    const value_t* block,
    const int64_t* strides,
    int32_t number,
    int32_t row,
    BlockWalk* walk,
) noexcept nogil:
    """Send one row on from a node."""
    cdef const Node* node = tree.nodes + number
    while not is_end(tree, node):
        if not can_go_on(tree, node, number):
            walk.stuck = number
            return False
        number = node.left + goes_right(tree, node, block, strides, row)
        node = tree.nodes + number
    walk.at[row] = what_is_reached(walk, node, number)
    return True


cdef inline bint _walk_lone_rows(
    const WalkedTree* tree,
    const value_t* block,
    const int64_t* strides,
    int32_t* node_of,
    int32_t* row_of,
    int64_t n_rows,
    BlockWalk* walk,
) noexcept nogil:
    """Send rows on, each from its node: all of them by one level, until at most one is left."""
    cdef const Node* node
    cdef int64_t i, n_open
    cdef int32_t number, row
    while n_rows > 1:
        n_open = 0
        for i in range(n_rows):
            number = node_of[i]
            row = row_of[i]
            node = tree.nodes + number
            if is_end(tree, node):
                walk.at[row] = what_is_reached(walk, node, number)
                continue
            if not can_go_on(tree, node, number):
                walk.stuck = number
                return False
            number = node.left + goes_right(tree, node, block, strides, row)
            fetch_ahead(tree.nodes + number)
            node_of[n_open] = number
            row_of[n_open] = row
            n_open += 1
        n_rows = n_open
    return n_rows == 0 or walk_row(tree, block, strides, node_of[0], row_of[0], walk)


cdef inline bint walk_small_slice(
    const WalkedTree* tree,
    const value_t* block,
    const int64_t* strides,
    int32_t number,
    const uint16_t* source,
    int64_t n_rows,
    BlockWalk* walk,
) noexcept nogil:
    """Send up to SMALL_ROWS rows on from a node; see walk_block.

    Slices of a level stand in the order of their rows and are divided in this order, so what is
    written beyond the end of one is written again or has been read. A row that is alone waits until
    no slice is left: then no branch depends on how many rows a slice has.
    """
    cdef uint16_t[2][SMALL_ROWS + EIGHT_ROWS] rows
    cdef OpenBlock[2][MOST_SLICES + 1] slices
    cdef int32_t[SMALL_ROWS + 1] lone_node
    cdef int32_t[SMALL_ROWS + 1] lone_row
    cdef int64_t n_slices = 1
    cdef int64_t n_lone = 0
    cdef int64_t i, j, n_here, n_left, n_next
    cdef int32_t side = 0
    cdef int32_t reached
    cdef OpenBlock here
    cdef OpenBlock* next_slices
    cdef const Node* node
    cdef const uint16_t* from_rows
    cdef uint16_t* to_rows
    check(0 < n_rows <= SMALL_ROWS)
    memcpy(rows[0], source, n_rows * sizeof(uint16_t))
    slices[0][0] = OpenBlock(number, 0, <int32_t> n_rows, 0)
    while n_slices > 0:
        n_next = 0
        next_slices = slices[1 - side]
        for i in range(n_slices):
            here = slices[side][i]
            node = tree.nodes + here.node
            from_rows = rows[side] + here.start
            n_here = here.end - here.start
            if is_end(tree, node):
                reached = what_is_reached(walk, node, here.node)
                for j in range(n_here):
                    walk.at[from_rows[j]] = reached
                continue
            if not can_go_on(tree, node, here.node):
                walk.stuck = here.node
                return False
            fetch_ahead(tree.nodes + node.left)
            to_rows = rows[1 - side] + here.start
            n_left = divide_rows(tree, node, block, strides, from_rows, to_rows, n_here)
            check(0 <= n_left <= n_here and n_next < MOST_SLICES)
            next_slices[n_next].node = node.left
            next_slices[n_next].start = here.start
            next_slices[n_next].end = here.start + <int32_t> n_left
            n_next += n_left > 1
            next_slices[n_next].node = node.left + 1
            next_slices[n_next].start = here.start + <int32_t> n_left
            next_slices[n_next].end = here.end
            n_next += n_here - n_left > 1
            lone_node[n_lone] = node.left
            lone_row[n_lone] = to_rows[0]
            n_lone += n_left == 1
            lone_node[n_lone] = node.left + 1
            lone_row[n_lone] = to_rows[n_here - 1]
            n_lone += n_here - n_left == 1
        n_slices = n_next
        side = 1 - side
    return _walk_lone_rows(tree, block, strides, lone_node, lone_row, n_lone, walk)
