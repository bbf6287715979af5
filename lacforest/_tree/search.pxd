"""The search for the best cut of a node."""

from lacforest._tree.types cimport NodeSearch, count_t, criterion_t, uint64_t


# Set search.best to the best feasible cut over a fresh draw of tau features (Eqn 4), or its feature
# to -1. work.node_counts holds the node's counts by class, `node` their sums.
cdef void find_best_cut(
    const criterion_t* criterion, NodeSearch* search, const count_t* node, uint64_t* random_state
) noexcept nogil
