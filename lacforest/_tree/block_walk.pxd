"""Sending a block of rows down one tree of a frozen forest."""

from libc.math cimport INFINITY, nextafterf
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

from lacforest._tree.sets cimport has_set, in_set, is_on_categories
from lacforest._tree.types cimport (
    BLOCK_ROWS, BlockWalk, Node, OpenBlock, TreeSets, check, code_t, value_t
)
from lacforest._tree.walkable cimport is_walkable

cdef extern from "eight_rows.h" nogil:
    # Once per module that divides rows.
    void prepare_eight_rows() noexcept
    # Divide rows[ends[0]:ends[1] + 1] as far as eights go; return the first row that is left.
    int64_t divide_floats(
        const float* column, const uint16_t* rows, uint16_t* target, int64_t* ends, float bound,
        bint missing_right,
    ) noexcept
    int64_t divide_doubles(
        const double* column, const uint16_t* rows, uint16_t* target, int64_t* ends, double bound,
        bint missing_right,
    ) noexcept

cdef enum:
    MIN_EIGHTS = 16              # fewest rows that eights divide


cdef inline void _set_bound(double threshold, value_t* bound) noexcept nogil:
    """The threshold in the type of the values: x <= threshold iff x <= bound for each such x."""
    bound[0] = <value_t> threshold
    if value_t is float:
        if <double> bound[0] > threshold:
            bound[0] = nextafterf(bound[0], -INFINITY)


cdef inline int64_t _split_categories(
    const uint64_t* header,
    bint missing_left,
    const value_t* column,
    int64_t row_stride,
    const OpenBlock* here,
    const uint16_t* source,
    uint16_t* target,
) noexcept nogil:
    """Write the rows of a node by the set of their categories; return where the right side begins.

    Values are codes. One that is no code, as a missing one is, is in no set.
    """
    cdef int64_t low = here.start
    cdef int64_t high = here.end - 1
    cdef int64_t i, row
    cdef value_t value
    cdef bint right
    for i in range(here.start, here.end):
        row = source[i]
        value = column[row * row_stride]
        right = missing_left == (0 <= value < 4294967296.0 and in_set(header, <code_t> value))
        target[low] = <uint16_t> row
        target[high] = <uint16_t> row
        low += not right
        high -= right
    return low


cdef inline bint walk_block(
    const Node* nodes,
    int64_t n_nodes,
    const TreeSets* sets,
    uint32_t limit,
    const value_t* block,
    const int64_t* strides,
    int64_t n_features,
    BlockWalk* walk,
) noexcept nogil:
    """Send the rows of a block to the nodes whose children lie at or beyond `limit`, or to leaves.

    As unsigned numbers the left entries of leaves exceed every limit: one comparison stops both
    at a leaf and at the border between the steps. Slices of rows are read from one side of `rows`
    and written to the other. Open slices are disjoint and not empty, so there are at most
    BLOCK_ROWS of them. `strides` are those of rows and of columns.

    Return False, with the node in walk.stuck, where the tree cannot be walked. Nodes are checked as
    they are met, which costs less than a pass over all of them where rows are few.
    """
    cdef int64_t row_stride = strides[0]
    cdef uint16_t[2][BLOCK_ROWS] rows
    cdef OpenBlock[BLOCK_ROWS] stack
    cdef int32_t n_open = 1
    cdef OpenBlock here
    cdef const Node* node
    cdef const value_t* column
    cdef const uint16_t* source
    cdef uint16_t* target
    cdef value_t bound
    cdef int64_t i, first, low, high, end
    cdef int64_t[2] ends
    cdef int32_t feature
    cdef int64_t row
    cdef bint right, on_categories
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
            if not is_walkable(node, here.node, n_nodes, n_features) or (
                is_on_categories(sets, node.feature) and not has_set(sets, node.payload.set_at)
            ):
                walk.stuck = here.node
                return False
            target = rows[1 - here.side]
            feature = node.feature
            column = block + (feature if feature >= 0 else ~feature) * strides[1]
            first = here.start
            low = first
            end = here.end
            high = end - 1
            _set_bound(node.payload.threshold, &bound)
            on_categories = is_on_categories(sets, feature)
            if row_stride == 1 and end - first >= MIN_EIGHTS and not on_categories:
                ends[0] = low
                ends[1] = high
                if value_t is float:
                    first = divide_floats(column, source, target, ends, bound, feature < 0)
                else:
                    first = divide_doubles(column, source, target, ends, bound, feature < 0)
                low = ends[0]
                high = ends[1]
            # Each row is written at both ends, and one end moves on. A missing value compares
            # false with everything: each loop sends it to its own side.
            if on_categories:
                low = _split_categories(
                    sets.words + <int64_t> node.payload.set_at, feature >= 0, column, row_stride,
                    &here, source, target,
                )
            elif feature >= 0:
                for i in range(first, end):
                    row = source[i]
                    right = column[row * row_stride] > bound
                    target[low] = <uint16_t> row
                    target[high] = <uint16_t> row
                    low += not right
                    high -= right
            else:
                for i in range(first, end):
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
    return True
