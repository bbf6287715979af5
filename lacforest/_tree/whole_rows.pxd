"""Random cuts of a node by rows that hold the codes of all columns.

Drawing a cut takes the range of a column's codes, and judging it the rows on its left by class.
Where few columns have one byte each, two passes over whole rows find both for all columns at once.
Columns of few categories need no range: rows are counted up to each of their codes. Those of more
categories are counted one by one.
"""

from libc.math cimport INFINITY
from libc.string cimport memset

from lacforest._tree.random cimport draw_feature, next_word, value_between
from lacforest._tree.ranks cimport last_at_most
from lacforest._tree.statistics cimport are_few_cells
from lacforest._tree.types cimport (
    FEW_CATEGORIES, N_CELLS, CodeRange, CodeTable, NodeSearch, RowCuts, Workspace, class_t, code_t,
    count_t, int32_t, int64_t, row_t, uint8_t, uint32_t, uint64_t
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
    MIN_WHOLE_ROWS = 8       # fewest rows of a node for which this pays


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


cdef inline void draw_row_cuts(
    const NodeSearch* search, uint64_t* random_state, RowCuts* cuts
) noexcept nogil:
    """Draw features and their cuts, and count the rows on the left of each in work.cells.

    Counts are uint32_t, by end, class and column, in the first half of work.cells: up to cuts.last
    and, for columns of few categories, up to each of the codes after it, which is 0 there. The
    features are work.features[:cuts.n_drawn], drawn in this order. Columns of more categories are
    not counted.
    """
    cdef Workspace* work = search.work
    cdef const row_t* rows = work.rows + search.start
    cdef const uint8_t* codes = search.candidates.row_codes
    cdef int32_t width = search.candidates.row_width
    cdef int64_t n_counts = <int64_t> work.n_classes * width
    cdef uint32_t* counts = <uint32_t*> work.cells
    cdef bint needs_ranges = False
    cdef int64_t n_ends = 1
    cdef const double* values
    cdef uint8_t low, high
    cdef int32_t i, feature
    cuts.n_drawn = min(search.limits.max_features, search.table.n_features)
    memset(cuts.last, 0, width)
    for i in range(cuts.n_drawn):
        feature = draw_feature(work.features, i, search.table.n_features, random_state)
        cuts.word[feature] = next_word(random_state)
        cuts.threshold[feature] = INFINITY
        if has_few_categories(search.table, feature):
            n_ends = max(n_ends, <int64_t> search.table.n_codes[feature] - 1)
        else:
            needs_ranges = True
    if needs_ranges:
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
    count_codes_up_to(
        codes, width, rows, work.classes + search.start, search.n_rows, cuts.last, n_ends, n_counts,
        <uint8_t*> (counts + n_ends * n_counts), counts,
    )


cdef inline CodeRange _take_few_categories(
    const NodeSearch* search, int32_t feature, count_t* of_categories
) noexcept nogil:
    """The rows of a column of few categories, which `draw_row_cuts` counted."""
    cdef const Workspace* work = search.work
    cdef int32_t width = search.candidates.row_width
    cdef int32_t n_classes = work.n_classes
    cdef int32_t last = <int32_t> search.table.n_codes[feature] - 1
    cdef const count_t* node_counts = <const count_t*> work.node_counts
    cdef const uint32_t* up_to = <const uint32_t*> work.cells + feature
    cdef count_t below, own
    cdef count_t n_rows
    cdef CodeRange span
    cdef int32_t c, k
    span.low = <code_t> last + 1
    span.high = 0
    for c in range(last + 1):
        n_rows = 0
        for k in range(n_classes):
            below = 0 if c == 0 else <count_t> up_to[(k - n_classes) * width]
            own = (node_counts[k] if c == last else <count_t> up_to[k * width]) - below
            of_categories[k] = own
            n_rows += own
        if n_rows > 0:
            span.low = min(span.low, <code_t> c)
            span.high = <code_t> c
        if span.low <= <code_t> c:       # lines begin with the first code that has rows
            of_categories += n_classes
        up_to += n_classes * width
    span.n_missing = 0
    span.missing = <code_t> last + 1
    return span


cdef inline bint count_categories(
    const NodeSearch* search,
    int32_t feature,
    const RowCuts* cuts,
    count_t* of_categories,
    CodeRange* span,
) noexcept nogil:
    """The rows of a drawn column of categories by class, one line per code of the span.

    `of_categories` is the second half of work.cells. Return False where it has no room for that
    many categories, or lines would have few rows.
    """
    cdef const uint8_t* codes = search.candidates.row_codes + feature
    cdef const row_t* rows = search.work.rows + search.start
    cdef const class_t* classes = search.work.classes + search.start
    cdef int64_t width = search.candidates.row_width
    cdef int64_t n_classes = search.work.n_classes
    cdef int64_t n_cells, i
    if has_few_categories(search.table, feature):
        span[0] = _take_few_categories(search, feature, of_categories)
        return True
    span.low = cuts.low[feature]
    span.high = cuts.high[feature]
    span.n_missing = 0
    span.missing = search.table.n_codes[feature]
    n_cells = (<int64_t> (span.high - span.low) + 1) * n_classes
    if not are_few_cells(2 * n_cells, 2 * search.n_rows):
        return False
    memset(of_categories, 0, n_cells * sizeof(count_t))
    for i in range(search.n_rows):
        of_categories[(codes[rows[i] * width] - span.low) * n_classes + classes[i]] += 1
    return True
