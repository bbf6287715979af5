"""Moving rows: splitting a node, and ordering rows by the leaf of a grown tree."""

from lacforest._tree.types cimport (
    CodeTable, Node, Split, TreeSets, Workspace, int32_t, int64_t, row_t, uint64_t
)
from lacforest._tree.workspace cimport GrowingTree


# Walk rows of the table to their leaves by codes. Nodes on categories have valid sets.
cdef void leaves_of_rows(
    const CodeTable* table,
    const Node* nodes,
    const TreeSets* sets,
    const row_t* rows,
    int64_t n_rows,
    int32_t* leaves,
) noexcept nogil

# Reorder rows[start:end] into [goes left | goes right]; return where the right side begins. The
# header is that of the set of a cut on categories, NULL where numbers are cut.
cdef int64_t split_rows(
    const CodeTable* table,
    Workspace* work,
    int64_t start,
    int64_t end,
    const Split* best,
    const uint64_t* header,
) noexcept nogil

# Order rows[:n_rows] by the leaves of the tree, and open each of these, the first one on top.
cdef int open_leaves(
    const CodeTable* table, GrowingTree tree, Workspace* work, int64_t n_rows
) except -1 nogil
