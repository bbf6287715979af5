"""Moving rows: splitting a node, and ordering rows by the leaf of a grown tree."""

from lacforest._tree.types cimport (
    CodeTable, Node, Split, Workspace, int32_t, int64_t, row_t
)


# Walk rows of the table to their leaves by codes.
cdef void leaves_of_rows(
    const CodeTable* table, const Node* nodes, const row_t* rows, int64_t n_rows, int32_t* leaves
) noexcept nogil

# Reorder rows[start:end] into [goes left | goes right]; return where the right side begins.
cdef int64_t split_rows(
    const CodeTable* table, Workspace* work, int64_t start, int64_t end, const Split* best
) noexcept nogil

# Order rows[:n_rows] by their leaf. leaf_start has n_nodes + 1 entries; afterwards the rows of leaf
# j are rows[leaf_start[j]:leaf_start[j + 1]], and inner nodes have empty slices.
cdef void order_by_leaf(
    const CodeTable* table,
    Workspace* work,
    int64_t n_rows,
    const Node* nodes,
    int32_t n_nodes,
    int64_t* leaf_start,
) noexcept nogil
