"""The search of a node by rows that hold the codes of several columns.

Drawing a cut takes the range of a column's codes, and judging it the rows on its left by class.
Where few columns have one byte each, two passes over whole rows find both for all columns at once.
Categories need no range: rows are counted up to each code where that takes few steps, else by code,
all drawn columns in one pass.

Of many columns few are drawn. Small nodes then copy the codes of these to short rows: a row of the
table is fewer lines of the cache than as many columns are.
"""

from libc.math cimport INFINITY
from libc.string cimport memset

from lacforest._tree.random cimport draw_feature, next_word, value_between
from lacforest._tree.ranks cimport last_at_most
from lacforest._tree.statistics cimport are_few_cells
from lacforest._tree.types cimport (
    MOST_COPIED_ROWS, MOST_DRAWN_CODES, MOST_ROW_CODES, N_CELLS, CodeRange, CodeTable, DrawnRows,
    NodeSearch, RowCuts, Workspace, check, class_t, code_t, count_t, int32_t, int64_t, row_t,
    uint8_t, uint32_t, uint64_t
)

cdef extern from "row_codes.h" nogil:
    void copy_columns(
        const uint8_t* codes, int32_t width, const row_t* rows, int64_t n_rows,
        const int32_t* columns, int32_t n_columns, int32_t width_of_copies, uint8_t* copies,
    ) noexcept
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
    ROW_STEPS = 2            # of 16 codes, in whose time a row's categories are found


cdef inline bint has_many_columns(const CodeTable* table) noexcept nogil:
    """Whether the drawn columns are copied to rows of their own."""
    return table.n_features > MOST_ROW_CODES


cdef inline int32_t _read_width(const NodeSearch* search) noexcept nogil:
    """Bytes of the rows that the search reads."""
    if has_many_columns(search.table):
        return 16 * ((search.limits.max_features + 15) // 16)
    return search.table.row_width


cdef inline bint reads_rows(const NodeSearch* search) noexcept nogil:
    """Whether to search the node by whole rows: there are such, and cells have room to count."""
    if search.table.row_codes == NULL or search.n_rows < MIN_WHOLE_ROWS:
        return False
    if has_many_columns(search.table):
        if search.n_rows > MOST_COPIED_ROWS or search.limits.max_features > MOST_DRAWN_CODES:
            return False
    elif not search.candidates.are_random:
        return False
    return <int64_t> search.work.n_classes * _read_width(search) <= N_CELLS


cdef inline void draw_columns(
    const NodeSearch* search, uint64_t* random_state, DrawnRows* drawn, uint64_t* words
) noexcept nogil:
    """Draw columns, work.features[:drawn.n_drawn] in this order, and find the rows to read.

    `words`, by place, gets what draws a random cut of each; NULL if every cut is tried.
    """
    cdef const CodeTable* table = search.table
    cdef Workspace* work = search.work
    cdef const row_t* rows = work.rows + search.start
    cdef int32_t i, feature
    drawn.n_drawn = min(search.limits.max_features, table.n_features)
    drawn.width = _read_width(search)
    check(drawn.n_drawn <= MOST_DRAWN_CODES)
    for i in range(drawn.n_drawn):
        feature = draw_feature(work.features, i, table.n_features, random_state)
        drawn.place[i] = i if has_many_columns(table) else feature
        if words != NULL:
            words[drawn.place[i]] = next_word(random_state)
    drawn.codes = table.row_codes
    drawn.rows = rows
    if has_many_columns(table):
        check(search.n_rows <= MOST_COPIED_ROWS)
        copy_columns(
            table.row_codes, table.row_width, rows, search.n_rows, work.features, drawn.n_drawn,
            drawn.width, work.drawn_codes,
        )
        drawn.codes = work.drawn_codes
        drawn.rows = NULL


cdef inline void find_ranges(const NodeSearch* search, DrawnRows* drawn) noexcept nogil:
    """Lowest and highest code of the node's rows by place."""
    find_code_ranges(
        drawn.codes, drawn.width, drawn.rows, search.n_rows, drawn.low, drawn.high
    )


cdef inline CodeRange take_codes(
    const NodeSearch* search, const DrawnRows* drawn, int32_t i, code_t* codes
) noexcept nogil:
    """What `gather` finds in a drawn column without missing values, from the copied rows."""
    cdef const uint8_t* code = drawn.codes + drawn.place[i]
    cdef int64_t j
    check(drawn.rows == NULL)
    for j in range(search.n_rows):
        codes[j] = code[j * drawn.width]
    return CodeRange(
        drawn.low[drawn.place[i]], drawn.high[drawn.place[i]],
        search.table.n_codes[search.work.features[i]], 0,
    )


cdef inline void _plan_counts(
    const NodeSearch* search, const DrawnRows* drawn, RowCuts* cuts
) noexcept nogil:
    """How the rows of the drawn columns are counted.

    Up to each code, 16 columns in one step, unless columns with many categories make that more
    steps than counting them by code has. By code n_cells counts need room, and must not be sparse.
    Where neither is possible, n_ends is for numbers alone and n_counted is 0.
    """
    cdef const CodeTable* table = search.table
    cdef int64_t n_cells
    cdef int32_t i, feature, n_steps
    cdef int32_t n_ends = 0
    cdef bint is_dense = True
    cuts.has_numbers = False
    cuts.n_counted = 0
    cuts.n_cells = 0
    for i in range(drawn.n_drawn):
        feature = search.work.features[i]
        if not table.is_categorical[feature]:
            cuts.has_numbers = True
            continue
        n_ends = max(n_ends, <int32_t> table.n_codes[feature] - 1)
        n_cells = <int64_t> table.n_codes[feature] * search.work.n_classes
        is_dense &= are_few_cells(n_cells, search.n_rows)
        cuts.counted[cuts.n_counted] = feature
        cuts.first_cell[feature] = cuts.n_cells
        cuts.n_counted += 1
        cuts.n_cells += <int32_t> n_cells
        is_dense &= 2 * cuts.n_cells <= N_CELLS // 2
    n_steps = (n_ends - cuts.has_numbers) * (drawn.width // 16)
    cuts.n_ends = cuts.has_numbers
    if (
        n_steps <= cuts.n_counted + ROW_STEPS
        and <int64_t> n_ends * search.work.n_classes * drawn.width <= N_CELLS
    ):
        cuts.n_ends = max(n_ends, cuts.n_ends)
        cuts.n_counted = 0
    elif not is_dense:
        cuts.n_counted = 0


cdef inline void _count_by_code(
    const NodeSearch* search, const RowCuts* cuts, count_t* of_categories
) noexcept nogil:
    """The rows of the drawn columns of categories by code and class.

    Neighbouring rows are often counted in the same cells. Large nodes therefore count in two tables
    in turn, so that a count need not wait for the one before it.
    """
    cdef const row_t* rows = search.work.rows + search.start
    cdef const class_t* classes = search.work.classes + search.start
    cdef int64_t width = search.table.row_width
    cdef int64_t n_classes = search.work.n_classes
    cdef int64_t n_others = cuts.n_cells if search.n_rows > 4 * <int64_t> cuts.n_cells else 0
    cdef const uint8_t* row
    cdef count_t* own
    cdef int64_t i
    cdef int32_t j, feature
    memset(of_categories, 0, (cuts.n_cells + n_others) * sizeof(count_t))
    for i in range(search.n_rows):
        row = search.table.row_codes + rows[i] * width
        own = of_categories + (i & 1) * n_others + classes[i]
        for j in range(cuts.n_counted):
            feature = cuts.counted[j]
            own[cuts.first_cell[feature] + row[feature] * n_classes] += 1
    for i in range(n_others):
        of_categories[i] += of_categories[n_others + i]


cdef inline void draw_row_cuts(
    const NodeSearch* search, uint64_t* random_state, DrawnRows* drawn, RowCuts* cuts,
    count_t* of_categories,
) noexcept nogil:
    """Draw columns and their cuts, and count the rows that judging them takes.

    In the first half of work.cells are rows on the left of each cut of numbers as uint32_t, by end,
    class and place: up to cuts.last and, for columns of categories, up to each of the codes after
    it, which is 0 there. `of_categories` is the second half, for rows of categories that are
    counted by code.
    """
    cdef Workspace* work = search.work
    cdef int64_t n_counts = <int64_t> work.n_classes * _read_width(search)
    cdef uint32_t* counts = <uint32_t*> work.cells
    cdef const double* values
    cdef uint8_t low, high
    cdef int32_t i, feature, place
    draw_columns(search, random_state, drawn, cuts.word)
    memset(cuts.last, 0, drawn.width)
    for i in range(drawn.n_drawn):
        cuts.threshold[drawn.place[i]] = INFINITY
    _plan_counts(search, drawn, cuts)
    if cuts.has_numbers:
        find_ranges(search, drawn)
        for i in range(drawn.n_drawn):
            feature = work.features[i]
            place = drawn.place[i]
            low = drawn.low[place]
            high = drawn.high[place]
            if low < high and not search.table.is_categorical[feature]:
                values = <const double*> search.candidates.values[feature]
                cuts.threshold[place] = value_between(values[low], values[high], cuts.word[place])
                cuts.last[place] = <uint8_t> last_at_most(
                    values, low, high - 1, cuts.threshold[place]
                )
    if cuts.n_ends > 0:
        count_codes_up_to(
            drawn.codes, drawn.width, drawn.rows, work.classes + search.start, search.n_rows,
            cuts.last, cuts.n_ends, n_counts, <uint8_t*> (counts + cuts.n_ends * n_counts), counts,
        )
    if cuts.n_counted > 0:
        _count_by_code(search, cuts, of_categories)


cdef inline void _take_categories(
    const NodeSearch* search, int32_t feature, count_t* own
) noexcept nogil:
    """The rows of a column of categories by code and class, from those up to each code."""
    cdef int32_t width = search.table.row_width
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
    if search.table.n_codes[feature] > <code_t> cuts.n_ends + 1:
        return NULL
    _take_categories(search, feature, of_categories)
    return of_categories
