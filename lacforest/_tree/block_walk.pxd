"""Sending a block of rows down one tree of a frozen forest."""

from libc.stdint cimport int32_t, int64_t, uint16_t

from lacforest._tree.row_division cimport can_go_on, divide_rows, is_end, what_is_reached
from lacforest._tree.small_slices cimport walk_row, walk_small_slice
from lacforest._tree.types cimport (
    BLOCK_ROWS, SMALL_ROWS, BlockWalk, Node, OpenBlock, WalkedTree, check, value_t
)

cdef enum:
    MOST_LARGE = BLOCK_ROWS // SMALL_ROWS    # slices of a block that are not small


cdef inline bint walk_block(
    const WalkedTree* tree,
    const value_t* block,
    const int64_t* strides,
    BlockWalk* walk,
) noexcept nogil:
    """Send the rows of a block to leaves, or to the nodes whose children lie beyond the limit.

    Slices of rows are read from one side of `rows` and written to the other. Of the two slices of a
    node, a small one is sent to its end at once; a large one on the right waits. `strides` are
    those of rows and of columns.

    Return False, with the node in walk.stuck, where the tree cannot be walked. Nodes are checked as
    they are met, which costs less than a pass over all of them where rows are few.
    """
    cdef uint16_t[2][BLOCK_ROWS] rows
    cdef OpenBlock[MOST_LARGE] waiting
    cdef OpenBlock here
    cdef OpenBlock right
    cdef int32_t n_waiting = 1
    cdef const Node* node
    cdef int64_t i, n_left
    cdef int32_t reached
    if walk.n_block == 1:
        return walk_row(tree, block, strides, 0, 0, walk)
    for i in range(walk.n_block):
        rows[0][i] = <uint16_t> i
    waiting[0] = OpenBlock(0, 0, walk.n_block, 0)
    while n_waiting > 0:
        n_waiting -= 1
        here = waiting[n_waiting]
        while here.end - here.start > SMALL_ROWS:
            node = tree.nodes + here.node
            if is_end(tree, node):
                reached = what_is_reached(walk, node, here.node)
                for i in range(here.start, here.end):
                    walk.at[rows[here.side][i]] = reached
                here.start = here.end
                break
            if not can_go_on(tree, node, here.node):
                walk.stuck = here.node
                return False
            n_left = divide_rows(
                tree, node, block, strides, rows[here.side] + here.start,
                rows[1 - here.side] + here.start, here.end - here.start,
            )
            check(0 <= n_left <= here.end - here.start)
            here.side = 1 - here.side
            right = here
            right.node = node.left + 1
            right.start += <int32_t> n_left
            here.node = node.left
            here.end = right.start
            if here.end - here.start <= SMALL_ROWS:
                here, right = right, here
            if right.end - right.start > SMALL_ROWS:
                check(n_waiting < MOST_LARGE)
                waiting[n_waiting] = right
                n_waiting += 1
            elif right.end > right.start and not walk_small_slice(
                tree, block, strides, right.node, rows[right.side] + right.start,
                right.end - right.start, walk,
            ):
                return False
        if here.end > here.start and not walk_small_slice(
            tree, block, strides, here.node, rows[here.side] + here.start,
            here.end - here.start, walk,
        ):
            return False
    return True
