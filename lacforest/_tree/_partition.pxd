"""The only writers of rows[] and classes[]."""

from lacforest._tree._types cimport (
    CodeTable, Node, Split, Workspace, int32_t, int64_t, row_t
)


cdef void leaves_of_rows(
    const CodeTable* table, const Node* nodes, const row_t* rows, int64_t n_rows, int32_t* leaves
) noexcept nogil

cdef int64_t split(
    const CodeTable* table, Workspace* work, int64_t start, int64_t end, const Split* best
) noexcept nogil

cdef void reseed_by_leaf(
    const CodeTable* table,
    Workspace* work,
    int64_t n_rows,
    const Node* nodes,
    int32_t n_nodes,
    int64_t* leaf_start,
) noexcept nogil
