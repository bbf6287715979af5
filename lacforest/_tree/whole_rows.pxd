"""Random cuts of a node by rows that hold the codes of all columns.

Drawing a cut takes the range of a column's codes, and judging it the rows on its left by class.
Where few columns have one byte each, two passes over whole rows find both for all columns at once.
Categories need no range: rows are counted up to each code where all drawn columns have few, else by
code, all drawn columns in one pass.
"""

from libc.math cimport INFINITY
from libc.string cimport memset

from lacforest._tree.random cimport draw_feature, next_word, value_between
from lacforest._tree.ranks cimport last_at_most
from lacforest._tree.statistics cimport are_few_cells
from lacforest._tree.types cimport (
    FEW_CATEGORIES, N_CELLS, CodeTable, NodeSearch, RowCuts, Workspace, class_t, code_t, count_t,
    int32_t, int64_t, row_t, uint8_t, uint32_t, uint64_t
)

cdef extern from "row_codes.h" nogil:
    void find_code_ranges(
        const uint8_t* codes, int32_t width, const row_t* rows, int64_t n_rows, uint8_t* low,
        uint8_t* high,
    ) noexcept
    void count_codes_up_to(
        const uint8_t* codes, int32_t width, const row_t* rows, const class_t* classes,
        int64_t n_rows, const uint8_t* last, int64_t n_ends, int64_t n_counts, uint8_t* few,
        uint32_t* counts,
    ) noexcept

cdef enum:
    MIN_WHOLE_ROWS = 4       # fewest rows of a node for which this pays


cdef inline bint reads_rows(const NodeSearch* search) noexcept nogil:
    """Whether to search the node by whole rows: there are such, and cells have room to count."""
    return (
        search.candidates.are_random
        and search.candidates.row_codes != NULL
        and search.n_rows >= MIN_WHOLE_ROWS
        and (FEW_CATEGORIES - 1) * <int64_t> search.work.n_classes * search.candidates.row_width
        <= N_CELLS
    )


cdef inline bint has_few_categories(const CodeTable* table, int32_t feature) noexcept nogil:
    """Whether the rows of a column are counted up to each of its codes."""
    return table.is_categorical[feature] and table.n_codes[feature] <= FEW_CATEGORIES


cdef inline void _plan_counts(const NodeSearch* search, RowCuts* cuts) noexcept nogil:
    """How the rows of the drawn columns are counted.

    By code if one of them has more than few categories, unless there is no room for the n_cells
    counts, or they would be sparse. Otherwise n_counted is 0.
    """
    cdef const CodeTable* table = search.table
    cdef int64_t n_cells
    cdef int32_t i, feature
    cdef int32_t n_ends = 0
    cdef bint is_by_code = False
    cdef bint is_dense = True
    cuts.has_numbers = False
    cuts.n_counted = 0
    cuts.n_cells = 0
    for i in range(cuts.n_drawn):
        feature = search.work.features[i]
        if not table.is_categorical[feature]:
            cuts.has_numbers = True
            continue
        if has_few_categories(table, feature):
            n_ends = max(n_ends, <int32_t> table.n_codes[feature] - 1)
        else:
            is_by_code = True
        n_cells = <int64_t> table.n_codes[feature] * search.work.n_classes
        is_dense &= are_few_cells(n_cells, search.n_rows)
        cuts.counted[cuts.n_counted] = feature
        cuts.first_cell[feature] = cuts.n_cells
        cuts.n_counted += 1
        cuts.n_cells += <int32_t> n_cells
        is_dense &= 2 * cuts.n_cells <= N_CELLS // 2
    if is_by_code and is_dense:
        cuts.n_ends = cuts.has_numbers
    else:
        cuts.n_counted = 0
        cuts.n_ends = max(n_ends, <int32_t> cuts.has_numbers)


cdef inline void _count_by_code(
    const NodeSearch* search, const RowCuts* cuts, count_t* of_categories
) noexcept nogil:
    """The rows of the drawn columns of categories by code and class.

    Neighbouring rows are often counted in the same cells. Large nodes therefore count in two tables
    in turn, so that a count need not wait for the one before it.
    """
    cdef const row_t* rows = search.work.rows + search.start
    cdef const class_t* classes = search.work.classes + search.start
    cdef int64_t width = search.candidates.row_width
    cdef int64_t n_classes = search.work.n_classes
    cdef int64_t n_others = cuts.n_cells if search.n_rows > 4 * <int64_t> cuts.n_cells else 0
    cdef const uint8_t* row
    cdef count_t* own
    cdef int64_t i
    cdef int32_t j, feature
    memset(of_categories, 0, (cuts.n_cells + n_others) * sizeof(count_t))
    for i in range(search.n_rows):
        row = search.candidates.row_codes + rows[i] * width
        own = of_categories + (i & 1) * n_others + classes[i]
        for j in range(cuts.n_counted):
            feature = cuts.counted[j]
            own[cuts.first_cell[feature] + row[feature] * n_classes] += 1
    for i in range(n_others):
        of_categories[i] += of_categories[n_others + i]


cdef inline void draw_row_cuts(
    const NodeSearch* search, uint64_t* random_state, RowCuts* cuts, count_t* of_categories
) noexcept nogil:
    """Draw features and their cuts, and count the rows that judging them takes.

    The features are work.features[:cuts.n_drawn], drawn in this order. In the first half of
    work.cells are rows on the left of each cut of numbers as uint32_t, by end, class and column: up
    to cuts.last and, for columns of few categories, up to each of the codes after it, which is 0
    there. `of_categories` is the second half, for rows of categories that are counted by code.
    """
    cdef Workspace* work = search.work
    cdef const row_t* rows = work.rows + search.start
    cdef const uint8_t* codes = search.candidates.row_codes
    cdef int32_t width = search.candidates.row_width
    cdef int64_t n_counts = <int64_t> work.n_classes * width
    cdef uint32_t* counts = <uint32_t*> work.cells
    cdef const double* values
    cdef uint8_t low, high
    cdef int32_t i, feature
    cuts.n_drawn = min(search.limits.max_features, search.table.n_features)
    memset(cuts.last, 0, width)
    for i in range(cuts.n_drawn):
        feature = draw_feature(work.features, i, search.table.n_features, random_state)
        cuts.word[feature] = next_word(random_state)
        cuts.threshold[feature] = INFINITY
    _plan_counts(search, cuts)
    if cuts.has_numbers:
        find_code_ranges(codes, width, rows, search.n_rows, cuts.low, cuts.high)
        for i in range(cuts.n_drawn):
            feature = work.features[i]
            low = cuts.low[feature]
            high = cuts.high[feature]
            if low < high and not search.table.is_categorical[feature]:
                values = <const double*> search.candidates.values[feature]
                cuts.threshold[feature] = value_between(
                    values[low], values[high], cuts.word[feature]
                )
                cuts.last[feature] = <uint8_t> last_at_most(
                    values, low, high - 1, cuts.threshold[feature]
                )
    if cuts.n_ends > 0:
        count_codes_up_to(
            codes, width, rows, work.classes + search.start, search.n_rows, cuts.last, cuts.n_ends,
            n_counts, <uint8_t*> (counts + cuts.n_ends * n_counts), counts,
        )
    if cuts.n_counted > 0:
        _count_by_code(search, cuts, of_categories)


cdef inline void _take_few_categories(
    const NodeSearch* search, int32_t feature, count_t* own
) noexcept nogil:
    """The rows of a column of few categories by code and class, from those up to each code."""
    cdef int32_t width = search.candidates.row_width
    cdef int32_t n_classes = search.work.n_classes
    cdef code_t last = search.table.n_codes[feature] - 1
    cdef const count_t* node_counts = <const count_t*> search.work.node_counts
    cdef const uint32_t* up_to = <const uint32_t*> search.work.cells + feature
    cdef count_t n_up_to, n_below
    cdef code_t c
    cdef int32_t k
    for k in range(n_classes):
        n_below = 0
        for c in range(last):
            n_up_to = <count_t> up_to[(<int64_t> c * n_classes + k) * width]
            own[c * n_classes + k] = n_up_to - n_below
            n_below = n_up_to
        own[last * n_classes + k] = node_counts[k] - n_below


cdef inline const count_t* rows_by_category(
    const NodeSearch* search, int32_t feature, const RowCuts* cuts, count_t* of_categories
) noexcept nogil:
    """The rows of a drawn column by code and class; NULL if they were not counted."""
    if cuts.n_counted > 0:
        return of_categories + cuts.first_cell[feature]
    if not has_few_categories(search.table, feature):
        return NULL
    _take_few_categories(search, feature, of_categories)
    return of_categories
