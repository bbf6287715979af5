"""Which terms of a tree make up a unit, for all rows alike."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from lacforest._tree.shap_path cimport open_children, step_to, step_up
from lacforest._tree.types cimport (
    IS_VISITED, JOINS_UNIT, KEY_BITS, SPLITS_UNIT, STARTS_UNIT, TermNode, TermPath
)


cdef inline void count_features_above(
    const TermNode* tree, TermPath* path, int32_t* stack, int32_t* n_above
) noexcept nogil:
    """Distinct features on the path to each node with terms below it."""
    cdef int32_t n_open = 1
    cdef int32_t here
    stack[0] = 0
    n_above[0] = 0
    while n_open > 0:
        n_open -= 1
        here = stack[n_open]
        if here > 0:
            step_to(tree, path, here)
            n_above[here] = path.n_features
        n_open = open_children(tree, here, stack, n_open)
    while path.depth > 0:
        step_up(path)


cdef inline void plan_units(
    const TermNode* tree, int64_t n_nodes, const int32_t* n_above, int32_t* n_inner, uint8_t* plan
) noexcept nogil:
    """Join terms to as few units as their keys have bits for, from the leaves to the root.

    A unit starts at a node. Its key has a bit for each feature above, and one for each of its inner
    nodes, which have a term of the unit below them. A node takes over what is open at its children,
    that of fewer inner nodes first; what does not fit starts at the child. n_inner is scratch
    memory: inner nodes of what is open at a node; -1 = nothing is.
    """
    cdef const TermNode* node
    cdef int64_t i, child
    cdef int32_t k, n_bits, side
    for i in range(n_nodes - 1, -1, -1):
        node = tree + i
        plan[i] = 0
        n_inner[i] = -1
        if node.n_inner < 0:
            continue
        n_bits = n_above[i]
        if node.worth != 0.0:
            if n_bits <= KEY_BITS:
                n_inner[i] = 0
            else:
                plan[i] |= IS_VISITED
        if node.n_inner == 0:
            continue
        n_bits += 1
        side = n_inner[node.left + 1] < n_inner[node.left]
        for k in range(2):
            child = node.left + (side ^ k)
            if n_inner[child] >= 0:
                if n_bits + n_inner[child] <= KEY_BITS:
                    n_bits += n_inner[child]
                    plan[child] |= JOINS_UNIT
                    plan[i] |= SPLITS_UNIT
                else:
                    plan[child] |= STARTS_UNIT | IS_VISITED
            plan[i] |= plan[child] & IS_VISITED
        if plan[i] & SPLITS_UNIT:
            n_inner[i] = n_bits - n_above[i]
    if n_inner[0] >= 0:
        plan[0] |= STARTS_UNIT | IS_VISITED


cdef inline int32_t open_planned(
    const TermNode* tree, const uint8_t* plan, uint8_t flag, int32_t node, int32_t* stack,
    int32_t n_open,
) noexcept nogil:
    """Put the children that the plan has marked on the stack, the left one on top."""
    cdef int32_t side
    if tree[node].left >= 0:
        for side in range(1, -1, -1):
            if plan[tree[node].left + side] & flag:
                stack[n_open] = tree[node].left + side
                n_open += 1
    return n_open


cdef inline int64_t first_contradiction(
    const TermNode* tree, int64_t n_nodes, uint8_t* has_parent
) noexcept nogil:
    """The first node of a walkable tree that is not as split_terms leaves it; -1 = none.

    Depths and numbers of inner nodes bound the scratch memory, and a node with two parents would be
    visited twice. has_parent is scratch memory of n_nodes zeros.
    """
    cdef int64_t i, n_inner
    cdef const TermNode* child
    if tree[0].depth != 0:
        return 0
    for i in range(n_nodes):
        n_inner = -1 if tree[i].worth == 0.0 else 0
        if tree[i].left >= 0:
            child = tree + tree[i].left
            if (
                has_parent[tree[i].left] or has_parent[tree[i].left + 1]
                or child[0].depth != tree[i].depth + 1 or child[1].depth != tree[i].depth + 1
            ):
                return i
            has_parent[tree[i].left] = has_parent[tree[i].left + 1] = True
            if child[0].n_inner >= 0 or child[1].n_inner >= 0:
                n_inner = 1 + max(child[0].n_inner, 0) + max(child[1].n_inner, 0)
        if tree[i].n_inner != n_inner:
            return i
    return -1
