"""Whether node arrays from Python can be walked: every step leads forward to a node of the tree."""

from libc.stdint cimport int64_t, uint8_t, uintptr_t

from lacforest._tree.types cimport node_t


cdef inline bint is_walkable(
    const node_t* node, int64_t number, int64_t n_nodes, int64_t n_features
) noexcept nogil:
    """Whether an inner node has both children behind it in the tree, and a feature of the table.

    Children behind their parent also mean that every walk ends.
    """
    cdef int64_t feature = node.feature if node.feature >= 0 else ~node.feature
    return number < node.left and <int64_t> node.left + 1 < n_nodes and feature < n_features


cdef inline int64_t first_unwalkable(
    const node_t* nodes, int64_t n_nodes, int64_t n_features
) noexcept nogil:
    """The first inner node of a tree from which a walk cannot go on; -1 = none."""
    cdef int64_t i
    for i in range(n_nodes):
        if nodes[i].left >= 0 and not is_walkable(nodes + i, i, n_nodes, n_features):
            return i
    return -1


cdef inline int refuse_node(int64_t number, int64_t tree) except -1:
    raise ValueError(
        f"node {number} of tree {tree} has children outside the tree, or splits on an unknown "
        "feature or set of categories"
    )


cdef inline int check_trees(
    const node_t* nodes, const int64_t[::1] tree_start, int64_t n_features
) except -1:
    """Raise ValueError unless rows can walk down every tree."""
    cdef int64_t t, bad
    for t in range(tree_start.shape[0] - 1):
        bad = first_unwalkable(
            nodes + tree_start[t], tree_start[t + 1] - tree_start[t], n_features
        )
        if bad >= 0:
            refuse_node(bad, t)
    return 0


cdef inline int check_starts(
    const uint8_t[::1] node_bytes, int64_t node_size, const int64_t[::1] tree_start
) except -1:
    """Raise ValueError unless the nodes are aligned and every tree has at least one of them."""
    cdef int64_t n_nodes = node_bytes.shape[0] // node_size
    cdef int64_t t
    if tree_start.shape[0] < 2 or tree_start[0] < 0 or (
        tree_start[tree_start.shape[0] - 1] > n_nodes
    ):
        raise ValueError(f"tree_start does not lie within the {n_nodes} nodes")
    for t in range(tree_start.shape[0] - 1):
        if tree_start[t] >= tree_start[t + 1]:
            raise ValueError(f"tree {t} has no nodes: tree_start must ascend")
    if <uintptr_t> &node_bytes[0] % sizeof(double) != 0:
        raise ValueError("the nodes are not aligned in memory")
    return 0
