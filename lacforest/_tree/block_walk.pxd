"""Sending a block of rows down one tree of a frozen forest."""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

from lacforest._tree.sets cimport has_set, in_set, is_first_word, is_on_categories
from lacforest._tree.types cimport (
    BLOCK_ROWS, BlockWalk, Node, OpenBlock, TreeSets, check, code_t, value_t
)
from lacforest._tree.walkable cimport is_walkable

cdef extern from "eight_rows.h" nogil:
    # Once per module that divides rows.
    void prepare_eight_rows() noexcept
    bint has_eight_rows() noexcept
    float float_at_most(double threshold) noexcept
    # Write n rows, a multiple of eight, to target by side; return how many go left.
    int64_t divide_floats(
        const float* column, const uint16_t* rows, uint16_t* target, int64_t n, float bound,
        bint missing_right,
    ) noexcept
    int64_t divide_doubles(
        const double* column, const uint16_t* rows, uint16_t* target, int64_t n, double bound,
        bint missing_right,
    ) noexcept


cdef inline void _set_bound(double threshold, value_t* bound) noexcept nogil:
    """The threshold in the type of the values: x <= threshold iff x <= bound for each such x."""
    if value_t is float:
        bound[0] = float_at_most(threshold)
    else:
        bound[0] = threshold


cdef inline bint _goes_right(value_t value, value_t bound, bint missing_right) noexcept nogil:
    """Whether a value lies beyond a cut. A missing one compares false with everything."""
    return not value <= bound if missing_right else value > bound


# Both write the rows of a node from `source` to `target` and return where the right side begins.
# Each row is written at both ends of what is free, and one end moves on: no branch depends on it.


cdef inline int64_t _split_values(
    value_t bound,
    bint missing_right,
    const value_t* column,
    int64_t row_stride,
    const OpenBlock* here,
    const uint16_t* source,
    uint16_t* target,
) noexcept nogil:
    cdef int64_t low = here.start
    cdef int64_t high = here.end - 1
    cdef int64_t by_ones = here.end
    cdef int64_t i, row
    cdef bint right
    if row_stride == 1 and has_eight_rows():
        by_ones = here.start + ((here.end - here.start) & 7)
    for i in range(here.start, by_ones):
        row = source[i]
        right = _goes_right(column[row * row_stride], bound, missing_right)
        target[low] = <uint16_t> row
        target[high] = <uint16_t> row
        low += not right
        high -= right
    if by_ones == here.end:
        return low
    if value_t is float:
        return low + divide_floats(
            column, source + by_ones, target + low, here.end - by_ones, bound, missing_right
        )
    else:
        return low + divide_doubles(
            column, source + by_ones, target + low, here.end - by_ones, bound, missing_right
        )


cdef inline bint _is_member(const uint64_t* header, value_t value) noexcept nogil:
    """Whether a value is the code of a category of the set. What is no code is in no set."""
    return 0 <= value < 4294967296.0 and in_set(header, <code_t> value)


cdef inline bint _is_in_word(uint64_t word, value_t value) noexcept nogil:
    """The same for a set that is one word, without a branch."""
    cdef bint is_within = (0 <= value) & (value < 64)
    return is_within & (word >> <uint32_t> (value if is_within else 0))


cdef inline int64_t _split_categories(
    const uint64_t* header,
    bint missing_left,
    const value_t* column,
    int64_t row_stride,
    const OpenBlock* here,
    const uint16_t* source,
    uint16_t* target,
) noexcept nogil:
    cdef int64_t low = here.start
    cdef int64_t high = here.end - 1
    cdef bint is_word = is_first_word(header)
    cdef int64_t i, row
    cdef value_t value
    cdef bint right
    for i in range(here.start, here.end):
        row = source[i]
        value = column[row * row_stride]
        right = missing_left == (
            _is_in_word(header[1], value) if is_word else _is_member(header, value)
        )
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
    cdef const uint64_t* header
    cdef const uint16_t* source
    cdef uint16_t* target
    cdef value_t bound
    cdef int64_t i, low
    cdef int32_t feature, reached
    cdef bint is_single
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
                reached = node.left if walk.by_left else here.node
                for i in range(here.start, here.end):
                    walk.at[source[i]] = reached
                break
            if not is_walkable(node, here.node, n_nodes, n_features) or (
                is_on_categories(sets, node.feature) and not has_set(sets, node.payload.set_at)
            ):
                walk.stuck = here.node
                return False
            target = rows[1 - here.side]
            feature = node.feature
            column = block + (feature if feature >= 0 else ~feature) * strides[1]
            is_single = here.end - here.start == 1
            if is_on_categories(sets, feature):
                header = sets.words + <int64_t> node.payload.set_at
                if is_single:
                    here.node = node.left + (
                        (feature >= 0)
                        == _is_member(header, column[source[here.start] * row_stride])
                    )
                    continue
                low = _split_categories(
                    header, feature >= 0, column, row_stride, &here, source, target
                )
            else:
                _set_bound(node.payload.threshold, &bound)
                if is_single:
                    here.node = node.left + _goes_right(
                        column[source[here.start] * row_stride], bound, feature < 0
                    )
                    continue
                low = _split_values(
                    bound, feature < 0, column, row_stride, &here, source, target
                )
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
