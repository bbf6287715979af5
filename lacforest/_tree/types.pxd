"""Structs, unions, fused types and typedefs of the compiled core: all of them, and only here.

So are constants that several files share; one that one file uses is declared in that file.
tests/unit/test_core_sources.py checks both rules.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t

# Invariants of raw pointers, which Cython does not check; compiled out of a release build.
cdef extern from "<assert.h>" nogil:
    void check "assert" (bint condition) noexcept

ctypedef uint32_t row_t      # row of the stacked table: labelled rows first, then unlabelled ones
ctypedef uint16_t class_t    # 0..K-1 known; K = unlabelled (Step I), pseudo-labelled (Step II)
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

# A sort key: the code, and below it the class (4 bytes) or the place of the row in its node (8).
ctypedef fused key_t:
    uint32_t
    uint64_t

# Thresholds of a column below a value; the largest number marks a missing value.
ctypedef fused rank_t:
    uint16_t
    uint32_t

# Values of a table as the caller stores them.
ctypedef fused value_t:
    float
    double


cdef enum:
    # Sums of a node or of one side of a cut: positions in an array of N_SUMS counts.
    LABELED = 0
    UNLABELED = 1
    SQUARES = 2              # sum of squared class counts of labelled rows
    SIZE = 3                 # doubles only: labelled rows without the factors of their classes
    N_SUMS = 4
    ANY_KIND = 2             # fewest rows of a child, by kind: of any, after the first two

cdef enum:
    N_CELLS = 1 << 15        # capacity of the table of cells: 256 KiB, within L2
    MOST_ROW_CODES = 64      # most columns for which reading whole rows pays
    MOST_DRAWN_CODES = 128   # most columns of which codes are copied
    MOST_COPIED_ROWS = 1024  # of a node, whose codes in drawn columns are copied together
    BLOCK_ROWS = 1 << 14     # most rows that walk through frozen trees together
    EIGHT_ROWS = 8           # that are divided in one step; arrays of fewer have room for them
    SMALL_ROWS = 1 << 10     # of a slice of them that ends its walk level by level


cdef struct CodeTable:
    # The coded columns: written once per fit, then read by all trees of both steps.
    const uintptr_t* column      # address of each column, n_rows codes of width[f] bytes
    const uint8_t* width         # 1, 2 or 4
    const code_t* n_codes        # distinct values of the column, without missing
    const uint8_t* has_missing   # whether any row of the column is missing
    const uint8_t* is_categorical    # whether codes are categories, which have no order
    const uint8_t* row_codes     # the same codes row by row, see row_codes.h; NULL = none
    int32_t row_width            # bytes of a row of them
    int32_t n_features
    int64_t n_rows


cdef struct AugmentedGini:    # Definition 1 of the paper; see criterion.pxd
    double ratio                 # r = (1 - theta) * n_u / n_l
    uint32_t n_known             # K; class code K marks an unlabelled row
    const double* rows_per_weight    # Workspace.rows_per_weight


cdef struct Gini:
    uint32_t n_classes           # K + 1; every class counts alike
    const double* rows_per_weight    # Workspace.rows_per_weight


ctypedef fused criterion_t:
    AugmentedGini
    Gini


cdef struct SideTerms:    # Weight times impurity of one child, as base - part / whole
    double base
    double part
    double whole


cdef struct Limits:
    # What a cut and a node must satisfy. Whole numbers when rows carry no weights.
    double min_labeled           # labelled rows in each child (Eqn 5)
    double min_unlabeled         # unlabelled rows in each child (Eqn 6)
    double min_leaf              # rows of any kind in each child
    double min_split             # rows of any kind in a node that may be split
    double rows_per_category     # of a node; with fewer, one category stands against all others
    int32_t max_depth
    int32_t max_features         # tau
    bint draw_until_feasible     # draw beyond tau until some feature has a feasible cut


cdef struct Candidates:    # Which cuts of a drawn feature are tried: one random cut, or every cut
    bint are_random
    bint keep_codes              # random cuts: nodes keep the cut in codes, not the threshold
    const uintptr_t* values      # random cuts: address of each column's distinct values


cdef struct Cut:
    code_t last                  # last code that goes left
    code_t next                  # first code that goes right; n_codes = only missing rows do


cdef struct DrawnRows:    # Codes of a node's rows in drawn columns, by row; see whole_rows.pxd
    const uint8_t* codes
    const row_t* rows            # of codes; NULL = one after the other
    int32_t width                # bytes of a row
    int32_t n_drawn
    int32_t[MOST_DRAWN_CODES] place    # of each drawn column in a row
    uint8_t[MOST_DRAWN_CODES] low      # by place: codes of the node's rows
    uint8_t[MOST_DRAWN_CODES] high


cdef struct RowCuts:    # One random cut of each drawn column, by place
    int32_t n_ends               # codes up to which rows are counted from that of a cut on
    bint has_numbers             # whether a drawn column holds numbers
    int32_t n_counted            # drawn columns whose rows are counted by category: their counts
    int32_t n_cells              # begin at first_cell, and there are n_cells in all
    int32_t[MOST_DRAWN_CODES] counted
    int32_t[MOST_DRAWN_CODES] first_cell
    uint8_t[MOST_DRAWN_CODES] last     # last code that goes left
    double[MOST_DRAWN_CODES] threshold
    uint64_t[MOST_DRAWN_CODES] word    # what draws the cut


cdef struct Split:
    double loss                  # what the criterion minimises, summed over both children
    int32_t feature              # -1 = no feasible cut
    Cut cut                      # between codes of the node
    bint missing_left
    bint has_missing             # whether any row of the node misses the feature
    double n_left                # rows (by weight) that go left
    double threshold             # of a random cut
    code_t n_categories          # of the node, in Workspace.categories.best; 0 = a number is cut
    code_t n_left_categories     # the first of them, which go left; the cut then means nothing


cdef struct CodeRange:    # The codes of a node's rows in one column
    code_t low                   # smallest and largest code that is not missing
    code_t high                  # (low > high where all rows miss the feature)
    code_t missing               # the code of a missing value
    int64_t n_missing


cdef struct FeatureStatistics:    # A node's rows by the values of one feature
    CodeRange codes
    bint in_cells                # counts by (code, class) in cells; else sorted keys
    const void* cells
    const void* keys             # uint32_t where counts are integers, else uint64_t
    int64_t n_keys


cdef struct ScoredCategory:
    double score                 # place along the direction in which categories differ most
    code_t code


cdef struct CategoryScratch:
    # The categories of a node in one column; NULL where no column is categorical
    code_t* slot                 # by code: its row in a table of counts by class
    ScoredCategory* order        # those present, in the order of their codes, then of scores
    code_t n_present
    code_t n_places              # of cells: n_present, or 2 where one category stands against all
    uint64_t* counts             # a table of counts, where Workspace.cells would be too sparse
    uint64_t* cells              # counts in the order of scores
    double* shares               # of classes, in the order of codes
    double* mean                 # by class
    double* direction            # by class
    double* next_direction       # by class
    code_t* best                 # categories of the best cut so far, those on the left first


cdef struct Workspace:    # The scratch memory of one thread, reused from tree to tree
    row_t* rows                  # the rows of the tree, every node contiguous
    class_t* classes             # class of rows[i], moved along with it
    uint64_t* keys               # one sort key per row: 4 bytes where counts are integers, else 8
    uint64_t* spare              # as many bytes as keys, and at least 6 per row
    uint64_t* cells              # N_CELLS counts
    uint8_t* drawn_codes         # of up to MOST_COPIED_ROWS rows in up to MOST_DRAWN_CODES columns
    uint64_t* node_counts        # counts of the node by class
    uint64_t* left_counts        # counts left of the cut by class; all zero between two searches
    uint64_t* missing_counts     # counts of the rows that miss the feature by class
    double* rows_per_weight      # reciprocal factor of each class: limits count without factors
    CategoryScratch categories
    int32_t* features            # a permutation of all features
    const double* weight         # weight of each row of the table, read where is_weighted
    bint is_weighted
    bint is_narrow               # counts are integers and sort keys have 4 bytes
    int32_t n_classes            # K + 1
    int32_t class_bits           # bits of a class code in a 4-byte key


cdef struct NodeSearch:    # The search for the best cut of one node
    const CodeTable* table
    const Limits* limits
    Candidates candidates
    Workspace* work
    int64_t start                # the node is work.rows[start:start + n_rows]
    int64_t n_rows
    double margin                # by how much a cut must beat the best so far
    double to_beat               # best.loss - margin: a cut is taken below it
    double to_check              # best.loss - margin / 2: a cheap pre-check holds cuts against it
    Split best


cdef struct Slice:    # A node that waits to be grown; its rows are rows[start:end]
    int64_t start
    int64_t end
    int32_t node
    int32_t depth


cdef union NodePayload:
    Cut cut                      # inner node of a growing tree, on numbers
    double threshold             # inner node of a frozen tree, or one made by a random cut
    double n_rows                # leaf: its rows, by weight
    double set_at                # inner node on categories: where its set begins, see sets.pxd


cdef struct Node:    # 16 bytes, the same in a growing and in a frozen forest
    NodePayload payload
    int32_t feature              # ~feature where missing values go right
    int32_t left                 # right = left + 1; leaf: ~(row of leaf_values), negative


cdef struct ForestSets:    # The sets of all trees
    const uint8_t* is_categorical    # by feature; NULL = no feature is
    const uint64_t* words
    const int64_t* tree_start    # where the words of each tree begin


cdef struct TreeSets:    # The sets of one tree; see sets.pxd
    const uint8_t* is_categorical    # by feature; NULL = no feature is
    const uint64_t* words
    int64_t n_words


cdef struct WalkedTree:    # A frozen tree
    const Node* nodes
    int64_t n_nodes
    int64_t n_features           # of the table
    TreeSets sets
    uint32_t limit               # walks end at nodes whose left entry, unsigned, is not below it


cdef struct OpenBlock:    # Rows of a block that wait at a node of a frozen tree
    int32_t node
    int32_t start
    int32_t end
    int32_t side                 # which of the two buffers of rows holds them


cdef struct BlockWalk:
    # All rows through all trees: block by block of rows, and tree by tree within a block
    int64_t n_rows               # rows and trees in all
    int64_t n_trees
    int64_t tree                 # the tree that the block walks
    int64_t begin                # the first row of the block
    int64_t stuck                # the node from which no walk can go on; -1 = none
    int32_t n_block              # rows of the block
    int32_t max_block            # of all but the last
    bint by_left                 # the rows ask for the left entry of their node, not its number
    int32_t[BLOCK_ROWS] at       # the node of the tree that each row of the block reached


# Shapley values; shap.pyx says what a term and a unit are.
cdef enum:
    KEY_BITS = 16                # of a key: features above a unit, and inner nodes of the unit
    KEY_POINTS = 8               # points that integrate a term of KEY_BITS features
    KEY_TABLE = 256              # parts of a mask: a term's tables have entries for half its bits
    GAIN_COLUMNS = KEY_BITS + 4  # factors of each column if satisfied, then of any if violated
    MASKS_PER_SLOT = 64          # masks to look through take as long as a slot to evaluate
    MAX_BLOCK_ROWS = 16384       # most rows that are handled together, and most slots
    ROW_TILE = 256               # rows that units are added to in turn: their sums are within L2
    UNITS_TOGETHER = 16          # most units that are added to the rows together
    STARTS_UNIT = 1              # what a node is to units: the first node of one
    JOINS_UNIT = 2               # belongs to its parent's unit
    SPLITS_UNIT = 4              # an inner node of a unit
    IS_VISITED = 8               # a unit starts there or below it, or there is a long term


cdef struct TermNode:
    double share                 # of the parent's training rows
    double worth                 # of the node's term; 0 = the node has none
    uint32_t cut                 # ranks up to this one go left; on categories: see Node.set_at
    int32_t feature              # ~feature where missing values go right
    int32_t left                 # within the tree, right = left + 1; negative at leaves
    int32_t depth
    int64_t n_inner              # nodes of the subtree with a term below them; -1 = no term at all


# Nodes of trees that rows walk down.
ctypedef fused node_t:
    Node
    TermNode


cdef struct TermPath:
    # The way from the root to the current node. Distinct features, in order of first use:
    int32_t n_features
    int32_t* feature
    double* share
    int32_t* position_of         # position among them of each column; -1 = not on the path
    # Edges, by the depth of the node that they lead to:
    int32_t depth
    int32_t* node
    int32_t* position            # position of the edge's feature
    int32_t* n_before            # distinct features without this edge
    double* share_before         # share of the edge's feature without this edge


cdef struct TermTables:    # Products and quotients of one term; see prepare_term
    int32_t n_points
    int32_t n_features           # on the path, in whose order a mask has bits
    int32_t n_low                # features in the low part of a mask
    int32_t[KEY_BITS] shift      # by place: brings the bit of the feature there to bit 31
    double* low                  # products over these features, by low part of a mask and point
    double* high                 # products over the other features
    double* gain                 # factors of a column, by point; see GAIN_COLUMNS


cdef struct TermUnit:
    # A unit. Rows with the same key share a slot. Its columns are the features on the paths to its
    # terms, first those above it; a bit of a mask is a position on the path to its term.
    int32_t n_slots
    int32_t n_columns
    int32_t width                # values of a slot: 8 or 16
    bint is_empty                # no term has been added yet: the values are not set
    int32_t* feature             # by column
    int32_t* column_of           # column of each feature of the unit; anything for other features
    uint16_t* key                # by slot
    uint16_t* slot_of            # slot of each key
    uint8_t* occurs              # by key; all zero between uses
    int32_t* bit                 # bit of the path's node at each depth
    int32_t[KEY_BITS] target     # place of a column's value among those of a slot
    float* values                # by slot and place
    # The masks of one term that occur:
    uint16_t* mask
    float* term_values           # by mask and place


cdef struct UnitGroup:    # Units that wait to be added to the rows
    int32_t n_units
    int64_t n_values             # that the units take up
    int32_t[UNITS_TOGETHER] n_columns
    int32_t* feature             # by unit and column, KEY_BITS columns
    uint16_t* slots              # by unit and row
    int64_t slot_stride
    float* values                # by unit, slot and place
    int64_t[UNITS_TOGETHER] first_value


cdef struct RowBlock:    # Rows that are handled together
    int64_t first_row
    int64_t n_rows
    uint16_t* masks              # features that rows violate, by depth; slots: at depth + 1
    int64_t mask_stride
    uint16_t* slots              # slot of each row in a long term
    float* sums                  # of the trees since they were last added to the results
    int64_t row_stride           # in sums; 1 if they stand by feature, else KEY_BITS
    int64_t feature_stride
    float* sink                  # sums of ROW_TILE rows that take zeros
    TreeSets sets                # of the current tree


cdef struct LongTerm:    # The values of a term with more than KEY_BITS features, by slot
    int64_t* row                 # any row of the slot
    uint8_t* is_violated         # by slot and feature
    double* product              # by slot and point
    double* gain                 # of one feature if satisfied, by point
    double* value                # of one feature


cdef struct ShapScratch:    # of one thread
    TermPath path
    TermTables term
    TermUnit unit
    UnitGroup group
    LongTerm long_term
    int32_t* stack               # nodes that wait to be visited
