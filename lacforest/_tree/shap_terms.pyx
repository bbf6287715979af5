"""A frozen tree as a sum of terms, the form in which its Shapley values are computed."""

from libc.stdint cimport int64_t, uint8_t

from lacforest._tree.types cimport TermNode, rank_t
from lacforest._tree.walkable cimport check_starts, check_trees

import numpy as np

cdef int64_t MOST_FEATURES = 1 << 31

cdef enum:
    SEARCHES = 32   # searches of thresholds at a time

TERM_NODE = np.dtype(
    [("share", "f8"), ("worth", "f8"), ("cut", "u4"), ("feature", "i4"), ("left", "i4"),
     ("depth", "i4"), ("n_inner", "i8")]
)


def split_terms(
    uint8_t[::1] node_bytes not None,
    const int64_t[::1] tree_start not None,
    const double[::1] leaf_value not None,
    const double[::1] leaf_rows not None,
):
    """Write each tree as a short sum of terms.

    Fills `share`, `worth`, `depth` and `n_inner` of all nodes. A term with worth w at an inner node
    stands for w at every leaf below it. Leaves are mostly 0 or 1: each node has one of the two as
    its state, a term stands where the state changes or where a leaf differs from it, and the states
    are such that the sum of the depths of terms is least. A node without training rows shares them
    evenly.

    Parameters
    ----------
    node_bytes : uint8 view of a TERM_NODE array
    tree_start : int64 array of shape (n_trees + 1,)
    leaf_value, leaf_rows : float64 arrays of shape (n_nodes,)
        Output and training rows of each leaf; not read at inner nodes.

    Returns
    -------
    float64 array of shape (n_trees,)
        What each tree answers if no feature is known.
    """
    check_starts(node_bytes, sizeof(TermNode), tree_start)
    cdef TermNode* nodes = <TermNode*> &node_bytes[0]
    cdef TermNode* node
    cdef TermNode* child
    cdef int64_t n_trees = tree_start.shape[0] - 1
    cdef int64_t t, i, below, first
    cdef uint8_t side
    cdef double total
    cdef double[2] keep
    # The features of terms are checked against a table by add_shap_values.
    check_trees(nodes, tree_start, MOST_FEATURES)
    if not leaf_value.shape[0] == leaf_rows.shape[0] >= tree_start[n_trees]:
        raise ValueError("leaf_value and leaf_rows must have one entry per node")
    cdef double[::1] rows = np.array(leaf_rows)
    cdef double[::1] answer = np.array(leaf_value)
    cdef double[:, ::1] cost = np.empty((leaf_rows.shape[0], 2))
    cdef uint8_t[::1] state = np.zeros(leaf_rows.shape[0], dtype=np.uint8)
    means = np.empty(n_trees)
    for t in range(n_trees):
        first = tree_start[t]
        nodes[first].depth = 0
        nodes[first].share = 1.0
        for i in range(first, tree_start[t + 1]):
            if nodes[i].left >= 0:
                child = nodes + first + nodes[i].left
                child[0].depth = child[1].depth = nodes[i].depth + 1
        for i in range(tree_start[t + 1] - 1, first - 1, -1):
            node = nodes + i
            if node.left < 0:
                for side in range(2):
                    cost[i, side] = 0.0 if leaf_value[i] == side else node.depth
                continue
            below = first + node.left
            child = nodes + below
            total = rows[below] + rows[below + 1]
            rows[i] = total
            child[0].share = rows[below] / total if total > 0.0 else 0.5
            child[1].share = rows[below + 1] / total if total > 0.0 else 0.5
            answer[i] = child[0].share * answer[below] + child[1].share * answer[below + 1]
            for side in range(2):
                keep[side] = cost[below, side] + cost[below + 1, side]
            for side in range(2):
                cost[i, side] = min(keep[side], keep[1 - side] + node.depth)
        means[t] = answer[first]
        state[first] = cost[first, 1] < cost[first, 0]
        for i in range(first, tree_start[t + 1]):
            node = nodes + i
            side = state[i]
            node.worth = 0.0
            if node.left < 0:
                node.worth = leaf_value[i] - side
                continue
            below = first + node.left
            if i > first and cost[below, side] + cost[below + 1, side] > cost[i, side]:
                node.worth = 1.0 - 2.0 * side
                side = 1 - side
            state[below] = state[below + 1] = side
        for i in range(tree_start[t + 1] - 1, first - 1, -1):
            node = nodes + i
            node.n_inner = -1 if node.worth == 0.0 else 0
            if node.left >= 0:
                child = nodes + first + node.left
                if child[0].n_inner >= 0 or child[1].n_inner >= 0:
                    node.n_inner = 1 + max(child[0].n_inner, 0) + max(child[1].n_inner, 0)
    return means


def rank_column(
    const double[::1] thresholds not None,
    const double[::1] column not None,
    rank_t[::1] ranks not None,
):
    """Write to `ranks` how many thresholds are below each value; the largest number where missing.

    Parameters
    ----------
    thresholds : float64 array
        At least one, in ascending order.
    column : float64 array of shape (n_rows,)
    ranks : uint16 or uint32 array of shape (n_rows,)
    """
    cdef int64_t n_thresholds = thresholds.shape[0]
    cdef rank_t missing = <rank_t> -1
    cdef int64_t[SEARCHES] found
    cdef int64_t first = 0
    cdef int64_t n_values, i, size, half
    cdef double value
    if ranks.shape[0] != column.shape[0]:
        raise ValueError("column and ranks must have one entry per row")
    if not 1 <= n_thresholds < <int64_t> missing:
        raise ValueError(f"{n_thresholds} thresholds")
    with nogil:
        # Searches take their steps in turn and without branches: the processor waits for none.
        while first < column.shape[0]:
            n_values = min(column.shape[0] - first, <int64_t> SEARCHES)
            for i in range(n_values):
                found[i] = 0
            size = n_thresholds
            while size > 1:
                half = size // 2
                for i in range(n_values):
                    found[i] += half & -<int64_t> (
                        thresholds[found[i] + half - 1] < column[first + i]
                    )
                size -= half
            for i in range(n_values):
                value = column[first + i]
                found[i] += thresholds[found[i]] < value
                ranks[first + i] = <rank_t> found[i] if value == value else missing
            first += SEARCHES
