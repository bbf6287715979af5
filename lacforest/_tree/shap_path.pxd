"""The way from the root of a tree to a node, and what rows do on it."""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

from lacforest._tree.sets cimport in_set, is_on_categories
from lacforest._tree.types cimport TermNode, TermPath, TreeSets, rank_t

cdef extern from "wide_loops.h" nogil:
    void prepare_wide_loops(bint are_allowed) noexcept
    void mark_narrow(
        const uint16_t* ranks, uint16_t shift, uint16_t cut, uint16_t if_right, uint16_t if_left,
        const uint16_t* before, uint16_t* after, int64_t n_rows,
    ) noexcept
    void mark_long(
        const uint32_t* ranks, uint32_t shift, uint32_t cut, uint16_t if_right, uint16_t if_left,
        const uint16_t* before, uint16_t* after, int64_t n_rows,
    ) noexcept

cdef inline void step_up(TermPath* path) noexcept nogil:
    """Take the last edge of the path back."""
    cdef int32_t position = path.position[path.depth]
    path.share[position] = path.share_before[path.depth]
    if path.n_before[path.depth] < path.n_features:
        path.position_of[path.feature[position]] = -1
        path.n_features -= 1
    path.depth -= 1


cdef inline void step_to(const TermNode* tree, TermPath* path, int32_t node) noexcept nogil:
    """Lead the path to a node whose parent is on it."""
    cdef int32_t depth = tree[node].depth
    cdef int32_t feature, position
    while path.depth >= depth:
        step_up(path)
    feature = tree[path.node[depth - 1]].feature
    feature = feature if feature >= 0 else ~feature
    position = path.position_of[feature]
    path.n_before[depth] = path.n_features
    if position < 0:
        position = path.n_features
        path.position_of[feature] = position
        path.feature[position] = feature
        path.share[position] = 1.0
        path.n_features += 1
    path.depth = depth
    path.node[depth] = node
    path.position[depth] = position
    path.share_before[depth] = path.share[position]
    path.share[position] *= tree[node].share


cdef inline int32_t open_children(
    const TermNode* tree, int32_t node, int32_t* stack, int32_t n_open
) noexcept nogil:
    """Put the children with terms on the stack, the left one on top; return its new height."""
    cdef int32_t side
    if tree[node].left >= 0:
        for side in range(1, -1, -1):
            if tree[tree[node].left + side].n_inner >= 0:
                stack[n_open] = tree[node].left + side
                n_open += 1
    return n_open


cdef inline void mark_rows(
    const TermNode* node,
    bint is_right,
    const rank_t[:, ::1] ranks,
    int64_t first_row,
    int64_t n_rows,
    const TreeSets* sets,
    const uint16_t* before,
    uint16_t bit,
    uint16_t* after,
) noexcept nogil:
    """Set a bit for rows that do not go to the child of that side.

    In a column of categories the ranks are their codes.
    """
    cdef const uint64_t* header
    cdef const rank_t* column
    cdef rank_t shift = 0
    cdef rank_t cut
    cdef uint16_t if_left = bit if is_right else 0
    cdef uint16_t if_right = 0 if is_right else bit
    cdef int64_t i
    if node.feature >= 0:
        column = &ranks[node.feature, first_row]
        shift = 1    # missing values wrap around to 0, which goes left
    else:
        column = &ranks[~node.feature, first_row]
    if is_on_categories(sets, node.feature):
        header = sets.words + node.cut
        for i in range(n_rows):
            after[i] = before[i] | (
                if_left if in_set(header, column[i]) != (node.feature >= 0) else if_right
            )
        return
    cut = <rank_t> (node.cut + shift)
    if rank_t is uint16_t:
        mark_narrow(column, shift, cut, if_right, if_left, before, after, n_rows)
    else:
        mark_long(column, shift, cut, if_right, if_left, before, after, n_rows)
