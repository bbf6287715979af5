"""Growing one tree from its open slices, for whoever seats the rows."""

from lacforest._tree._buffers cimport GrowingTree, StopSignal
from lacforest._tree._ranks cimport CodedColumns
from lacforest._tree._types cimport (
    AugmentedGini, CodeTable, Limits, RandomCut, Workspace, int32_t, int64_t, uint64_t
)


# Grow every open slice of the tree; augmented = NULL grows by Gini impurity, random = NULL tries
# every cut of a drawn feature.
cdef int grow_tree(
    const AugmentedGini* augmented,
    const RandomCut* random,
    bint narrow,
    const CodeTable* table,
    const Limits* limits,
    Workspace* work,
    GrowingTree tree,
    uint64_t seed,
    StopSignal stop,
) except -1 nogil

# Whether a 4-byte key holds any code and class.
cdef bint fits_narrow_keys(CodedColumns columns, int32_t n_classes) except -1

# (Scratch, GrowingTree) that an earlier block of the same fit left, or new ones.
cdef tuple take_bench(
    list benches, int64_t n_rows, int32_t n_features, int32_t n_classes, bint narrow
)
