"""Random cuts of a node by rows that hold the codes of all columns.

Drawing a cut takes the range of a column's codes, and judging it the rows on its left by class.
Where few columns have one byte each, two passes over whole rows find both for all columns at once.
"""

from libc.math cimport INFINITY
from libc.string cimport memset

from lacforest._tree.random cimport draw_feature, next_word, value_between
from lacforest._tree.ranks cimport last_at_most
from lacforest._tree.types cimport (
    N_CELLS, NodeSearch, RowCuts, Workspace, class_t, int32_t, int64_t, row_t, uint8_t, uint32_t,
    uint64_t
)

cdef extern from "row_codes.h" nogil:
    void find_code_ranges(
        const uint8_t* codes, int32_t width, const row_t* rows, int64_t n_rows, uint8_t* low,
        uint8_t* high,
    ) noexcept
    void count_codes_up_to(
        const uint8_t* codes, int32_t width, const row_t* rows, const class_t* classes,
        int64_t n_rows, const uint8_t* last, int64_t n_counts, uint8_t* few, uint32_t* counts,
    ) noexcept

cdef enum:
    MIN_WHOLE_ROWS = 8       # fewest rows of a node for which this pays


cdef inline bint reads_rows(const NodeSearch* search) noexcept nogil:
    """Whether to search the node by whole rows: there are such, and cells have room to count."""
    return (
        search.candidates.are_random
        and search.candidates.row_codes != NULL
        and search.n_rows >= MIN_WHOLE_ROWS
        and <int64_t> search.work.n_classes * search.candidates.row_width <= N_CELLS
    )


cdef inline void draw_row_cuts(
    const NodeSearch* search, uint64_t* random_state, RowCuts* cuts
) noexcept nogil:
    """Draw features and their cuts, and count the rows on the left of each in work.cells.

    Counts are uint32_t, by class and column, in the first half of work.cells. The features are
    work.features[:cuts.n_drawn], drawn in this order. Of categorical columns only those are counted
    of which the node has two categories with neighbouring codes: they have one cut.
    """
    cdef Workspace* work = search.work
    cdef const row_t* rows = work.rows + search.start
    cdef const uint8_t* codes = search.candidates.row_codes
    cdef int32_t width = search.candidates.row_width
    cdef int64_t n_counts = <int64_t> work.n_classes * width
    cdef uint32_t* counts = <uint32_t*> work.cells
    cdef const double* values
    cdef uint64_t word
    cdef uint8_t low, high
    cdef int32_t i, feature
    cuts.n_drawn = min(search.limits.max_features, search.table.n_features)
    find_code_ranges(codes, width, rows, search.n_rows, cuts.low, cuts.high)
    memset(cuts.last, 0, width)
    for i in range(cuts.n_drawn):
        feature = draw_feature(work.features, i, search.table.n_features, random_state)
        word = next_word(random_state)
        low = cuts.low[feature]
        high = cuts.high[feature]
        cuts.are_counted[feature] = True
        cuts.word[feature] = word
        if search.table.is_categorical[feature]:
            cuts.are_counted[feature] = high <= low + 1
            cuts.threshold[feature] = INFINITY
            cuts.last[feature] = low
        elif low < high:
            values = <const double*> search.candidates.values[feature]
            cuts.threshold[feature] = value_between(values[low], values[high], word)
            cuts.last[feature] = <uint8_t> last_at_most(
                values, low, high - 1, cuts.threshold[feature]
            )
    count_codes_up_to(
        codes, width, rows, work.classes + search.start, search.n_rows, cuts.last, n_counts,
        <uint8_t*> (counts + n_counts), counts,
    )
