"""Growing one tree from its open slices."""

from lacforest._tree.types cimport NodeSearch, criterion_t, uint64_t
from lacforest._tree.workspace cimport GrowingTree, StopSignal


# Grow every open slice of the tree until nothing is left to split. search names the table, the
# limits, the candidates and the workspace, whose rows[] and classes[] the slices refer to.
cdef int grow_tree(
    const criterion_t* criterion,
    NodeSearch* search,
    GrowingTree tree,
    uint64_t random_state,
    StopSignal stop,
) except -1 nogil
