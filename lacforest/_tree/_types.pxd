"""All structs and typedefs of the core. No other file declares one."""

from libc.stdint cimport (
    int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
)

# Invariants of raw pointers, which Cython does not check: nothing in a release, an abort in a build
# with bounds_checks.
cdef extern from "<assert.h>" nogil:
    void check "assert" (bint condition) noexcept

ctypedef uint32_t row_t      # a row of the stacked table: labelled rows first, then unlabelled
ctypedef uint16_t class_t    # 0..K-1 known; K = unlabelled (phase 1), pseudo-labelled (phase 2)
ctypedef uint32_t code_t     # rank of a value in its column; n_codes of the column = missing

# Counts are integers unless rows carry weights. Weighted counts are doubles, which hold every
# integer below 2**53 exactly, so integer weights give the same bits as repeated rows.
ctypedef fused count_t:
    int64_t
    double

# How the codes of a column are stored.
ctypedef fused stored_t:
    uint8_t
    uint16_t
    uint32_t

# A key carries a code above and, below, the class (4 bytes) or the position in the node (8 bytes).
ctypedef fused key_t:
    uint32_t
    uint64_t


cdef struct CodeTable:
    # The coded columns: written once per fit, then read by all trees of both phases.
    const uintptr_t* column      # address of each column, n_rows codes of width[f] bytes
    const uint8_t* width         # 1, 2 or 4
    const code_t* n_codes        # distinct values of the column, without missing
    const uint8_t* has_missing   # does the column hold a missing value anywhere?
    int32_t n_features
    int64_t n_rows


cdef struct AugmentedGini:
    # Definition 1 of the paper; see _criterion.pxd
    double ratio                 # r = (1 - theta) * n_u / n_l
    class_t n_known              # K; class code K marks an unlabelled row


cdef struct Gini:
    class_t n_known              # kept for symmetry: class code K is one class more


ctypedef fused criterion_t:
    AugmentedGini
    Gini


cdef struct EveryCut:
    # Candidates of a feature: all cuts between neighbouring values; see _every_cut.pxd
    bint nothing                 # a struct may not be empty


cdef struct RandomCut:
    # Candidates of a feature: one cut, drawn between its extremes; see _random_cut.pxd
    const uintptr_t* values      # address of each column's distinct values, n_codes[f] doubles


ctypedef fused policy_t:
    EveryCut
    RandomCut


cdef struct SideTerms:
    # Weight times impurity of one child, kept as base - part / whole
    double base
    double part
    double whole


cdef struct Limits:
    # What a cut and a node must satisfy. Whole numbers when rows carry no weights.
    double min_labeled           # labelled rows in each child (Eqn 5)
    double min_unlabeled         # unlabelled rows in each child (Eqn 6)
    double min_leaf              # rows of any kind in each child
    double min_split             # rows of any kind in a node that may be split
    int32_t max_depth
    int32_t max_features         # tau
    bint search_on               # draw beyond tau until some feature has a feasible cut


cdef struct Split:
    double loss                  # what the criterion minimises, summed over both children
    int32_t feature              # -1 = no feasible cut
    code_t cut                   # last code of the node that goes left
    code_t next                  # first code that goes right; n_codes = only missing rows do
    bint missing_left
    bint has_missing             # does some row of the node miss the feature?
    double n_left                # rows (by weight) that go left
    double threshold             # where a random cut fell


cdef struct CodeRange:
    # What one pass over a node's codes of one feature tells
    code_t low                   # smallest and largest code that is not missing
    code_t high                  # (low > high where all rows miss the feature)
    int64_t n_missing


cdef struct Slice:
    # A node waiting to be grown; its rows are rows[start:end]
    int64_t start
    int64_t end
    int32_t node
    int32_t depth


cdef struct Cut:
    # A cut in codes, while the forest grows
    code_t last                  # last code that goes left
    code_t next                  # first code that goes right; n_codes = only missing rows do


cdef union Key:
    Cut cut                      # inner node that still grows
    double threshold             # inner node of a frozen forest, or one that a random cut made
    double n_rows                # leaf: how many rows it holds, by weight


cdef struct Node:
    # 16 bytes, the same in a growing and in a frozen forest.
    Key key
    int32_t feature              # ~feature where missing values go right
    int32_t left                 # right = left + 1; leaf: ~(row of leaf_values), negative


cdef struct OpenBlock:
    # Rows of a batch that wait at a node of a frozen tree
    int32_t node
    int32_t start
    int32_t end
    int32_t side                 # which of the two buffers of rows holds them


cdef struct Workspace:
    # The scratch memory of one thread, reused by all trees of a block. Only _partition writes
    # rows and classes; only _keys writes keys and spare.
    row_t* rows                  # the rows of the tree, every node contiguous
    class_t* classes             # class of rows[i], moved along with it
    uint64_t* keys               # one key a row: 4 bytes where counts are integers, else 8
    uint64_t* spare              # that, and at least 6 bytes a row: radix passes, partitions
    uint64_t* cells              # (code, class) cells of the counting path, N_CELLS counts
    uint64_t* node_counts        # K + 1 counts of the node
    uint64_t* left_counts        # K + 1 counts left of the cut; all zero between searches
    uint64_t* missing_counts     # K + 1 counts of the node's rows that miss the feature
    int32_t* features            # a permutation of all features
    const double* weight         # weight of each row of the table; NULL = no weights
    int32_t n_classes            # K + 1
    int32_t class_bits           # bits of a class code in a 4-byte key


cdef enum:
    N_CELLS = 1 << 15            # cells of the counting path: 256 KiB, within L2
    CELLS_PER_ROW = 4            # counting pays while the table has at most this many cells a row
