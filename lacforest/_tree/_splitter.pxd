"""The search for the best cut of a node. Reads rows[], never writes it."""

from lacforest._tree._types cimport (
    CodeTable, Limits, Split, Workspace, count_t, criterion_t, int64_t, policy_t, uint64_t
)


cdef Split best_split(
    const criterion_t* criterion,
    const policy_t* policy,
    const CodeTable* table,
    const Limits* limits,
    Workspace* work,
    int64_t start,
    int64_t end,
    count_t n_labeled,
    count_t n_unlabeled,
    count_t sum_squares,
    uint64_t* random_state,
) noexcept nogil
