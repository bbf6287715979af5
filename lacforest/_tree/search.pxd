"""The search for the best cut of a node."""

from lacforest._tree.random cimport with_few_bits
from lacforest._tree.types cimport NodeSearch, code_t, count_t, criterion_t, uint64_t


# Set search.best to the best feasible cut over a fresh draw of tau features (Eqn 4), or its feature
# to -1. work.node_counts holds the node's counts by class, `node` their sums.
cdef void find_best_cut(
    const criterion_t* criterion, NodeSearch* search, const count_t* node, uint64_t* random_state
) noexcept nogil


# The threshold of the best random cut, with few bits: it divides the table as the one drawn does.
cdef inline double short_threshold(const NodeSearch* search) noexcept nogil:
    cdef const double* values = <const double*> search.candidates.values[search.best.feature]
    cdef code_t last = search.best.cut.last
    cdef code_t following = search.best.cut.next
    if following >= search.table.n_codes[search.best.feature]:
        return search.best.threshold      # present | missing
    return with_few_bits(search.best.threshold, values[last], values[following])
