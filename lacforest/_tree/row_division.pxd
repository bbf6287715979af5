"""Rows of a block at a node of a frozen tree: which of its children they go to."""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

from lacforest._tree.sets cimport has_set, in_set, is_first_word, is_on_categories
from lacforest._tree.types cimport EIGHT_ROWS, BlockWalk, Node, WalkedTree, code_t, value_t
from lacforest._tree.walkable cimport is_walkable

cdef extern from "eight_rows.h" nogil:
    # Once per module that divides rows.
    void prepare_eight_rows() noexcept
    bint has_eight_rows() noexcept
    void fetch_ahead(const void* address) noexcept
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
    # The same for at most eight rows, where eight may be read and written.
    int64_t divide_few_floats(
        const float* column, const uint16_t* rows, uint16_t* target, int64_t n, float bound,
        bint missing_right,
    ) noexcept
    int64_t divide_few_doubles(
        const double* column, const uint16_t* rows, uint16_t* target, int64_t n, double bound,
        bint missing_right,
    ) noexcept


cdef inline bint is_end(const WalkedTree* tree, const Node* node) noexcept nogil:
    """Whether a walk ends at a node: it is a leaf, or its children lie at or beyond the limit.

    As unsigned numbers the left entries of leaves exceed every limit.
    """
    return <uint32_t> node.left >= tree.limit


cdef inline int32_t what_is_reached(
    const BlockWalk* walk, const Node* node, int32_t number
) noexcept nogil:
    """What the rows ask for of the node at which their walk ends."""
    return node.left if walk.by_left else number


cdef inline bint can_go_on(const WalkedTree* tree, const Node* node, int64_t number) noexcept nogil:
    """Whether an inner node leads to nodes of its tree, by a feature and a set that exist."""
    return is_walkable(node, number, tree.n_nodes, tree.n_features) and not (
        is_on_categories(&tree.sets, node.feature)
        and not has_set(&tree.sets, node.payload.set_at)
    )


cdef inline void _set_bound(double threshold, value_t* bound) noexcept nogil:
    """The threshold in the type of the values: x <= threshold iff x <= bound for each such x."""
    if value_t is float:
        bound[0] = float_at_most(threshold)
    else:
        bound[0] = threshold


cdef inline bint _is_beyond(value_t value, value_t bound, bint missing_right) noexcept nogil:
    """Whether a value lies beyond a cut. A missing one compares false with everything."""
    return not value <= bound if missing_right else value > bound


cdef inline bint _is_member(const uint64_t* header, value_t value) noexcept nogil:
    """Whether a value is the code of a category of the set. What is no code is in no set."""
    return 0 <= value < 4294967296.0 and in_set(header, <code_t> value)


cdef inline bint _is_in_word(uint64_t word, value_t value) noexcept nogil:
    """The same for a set that is one word, without a branch."""
    cdef bint is_within = (0 <= value) & (value < 64)
    return is_within & (word >> <uint32_t> (value if is_within else 0))


cdef inline int64_t _place_of_column(const Node* node, const int64_t* strides) noexcept nogil:
    return (node.feature if node.feature >= 0 else ~node.feature) * strides[1]


cdef inline bint goes_right(
    const WalkedTree* tree,
    const Node* node,
    const value_t* block,
    const int64_t* strides,
    int64_t row,
) noexcept nogil:
    """Whether a row of the block goes right at a node that can go on."""
    cdef value_t value = block[_place_of_column(node, strides) + row * strides[0]]
    cdef value_t bound
    if is_on_categories(&tree.sets, node.feature):
        return (node.feature >= 0) == _is_member(
            tree.sets.words + <int64_t> node.payload.set_at, value
        )
    _set_bound(node.payload.threshold, &bound)
    return _is_beyond(value, bound, node.feature < 0)


cdef inline int64_t divide_rows(
    const WalkedTree* tree,
    const Node* node,
    const value_t* block,
    const int64_t* strides,
    const uint16_t* source,
    uint16_t* target,
    int64_t n_rows,
) noexcept nogil:
    """Write the rows of a node to `target`, those that go left first; return how many these are.

    Each row is written at both ends of what is free, and one end moves on: no branch depends on it.
    The node can go on. Of up to EIGHT_ROWS rows, EIGHT_ROWS are read and written.
    """
    cdef const value_t* column = block + _place_of_column(node, strides)
    cdef const uint64_t* header
    cdef bint missing_right = node.feature < 0
    cdef bint is_word
    cdef int64_t low = 0
    cdef int64_t high = n_rows - 1
    cdef int64_t by_ones = n_rows
    cdef int64_t i, row
    cdef bint right
    cdef value_t value, bound
    if is_on_categories(&tree.sets, node.feature):
        header = tree.sets.words + <int64_t> node.payload.set_at
        is_word = is_first_word(header)
        for i in range(n_rows):
            row = source[i]
            value = column[row * strides[0]]
            right = missing_right != (
                _is_in_word(header[1], value) if is_word else _is_member(header, value)
            )
            target[low] = <uint16_t> row
            target[high] = <uint16_t> row
            low += not right
            high -= right
        return low
    _set_bound(node.payload.threshold, &bound)
    if strides[0] == 1 and has_eight_rows():
        if n_rows <= EIGHT_ROWS:
            if value_t is float:
                return divide_few_floats(column, source, target, n_rows, bound, missing_right)
            else:
                return divide_few_doubles(column, source, target, n_rows, bound, missing_right)
        by_ones = n_rows & 7
    for i in range(by_ones):
        row = source[i]
        right = _is_beyond(column[row * strides[0]], bound, missing_right)
        target[low] = <uint16_t> row
        target[high] = <uint16_t> row
        low += not right
        high -= right
    if by_ones == n_rows:
        return low
    if value_t is float:
        return low + divide_floats(
            column, source + by_ones, target + low, n_rows - by_ones, bound, missing_right
        )
    else:
        return low + divide_doubles(
            column, source + by_ones, target + low, n_rows - by_ones, bound, missing_right
        )
