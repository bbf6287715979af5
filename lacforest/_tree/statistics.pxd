"""Building statistics: counts of a node's rows by class, and by the values of one feature.

The search scans what is built here; it reads no column itself.
"""

from libc.string cimport memset

from lacforest._tree.keys cimport bit_length, sort_keys
from lacforest._tree.types cimport (
    N_CELLS, CodeRange, CodeTable, FeatureStatistics, NodeSearch, Workspace, check, class_t,
    code_t, count_t, int32_t, int64_t, key_t, row_t, uint8_t, uint32_t, uint64_t
)

cdef enum:
    CELLS_PER_ROW = 4        # most cells per row for which counting is faster than sorting


# Copy the codes of rows[:n_rows] in one column to codes, and return their range; n_rows >= 1.
cdef CodeRange gather(
    const CodeTable* table, int32_t feature, const row_t* rows, int64_t n_rows, code_t* codes
) noexcept nogil


cdef inline bint has_cut(const CodeRange* codes) noexcept nogil:
    """Whether the node's rows differ in the feature: in their values, or some miss it."""
    return codes.low < codes.high or (codes.low == codes.high and codes.n_missing > 0)


cdef inline double row_weight(const Workspace* work, int64_t position) noexcept nogil:
    """Weight of rows[position]. Rows of the last class always weigh 1."""
    if work.is_weighted and work.classes[position] < work.n_classes - 1:
        return work.weight[work.rows[position]]
    return 1.0


cdef inline void count_row(
    const Workspace* work, int64_t position, count_t* counts
) noexcept nogil:
    """Add rows[position] to counts by class."""
    if count_t is int64_t:
        counts[work.classes[position]] += 1
    else:
        counts[work.classes[position]] += row_weight(work, position)


cdef inline bint is_zero(const uint64_t* counts, int32_t n_classes) noexcept nogil:
    cdef int32_t k
    for k in range(n_classes):
        if counts[k] != 0:
            return False
    return True


cdef inline void count_node(
    const Workspace* work, int64_t start, int64_t end, count_t* counts
) noexcept nogil:
    """Counts of rows[start:end] by class."""
    cdef int64_t i
    memset(counts, 0, work.n_classes * sizeof(count_t))
    for i in range(start, end):
        check(work.classes[i] < work.n_classes)
        count_row(work, i, counts)


cdef inline void count_missing(
    const NodeSearch* search, const code_t* codes, code_t missing, count_t* counts
) noexcept nogil:
    """Counts of the rows that miss the feature by class."""
    cdef int64_t i
    memset(counts, 0, search.work.n_classes * sizeof(count_t))
    for i in range(search.n_rows):
        if codes[i] == missing:
            count_row(search.work, search.start + i, counts)


cdef inline void count_left(
    const NodeSearch* search, const code_t* codes, code_t last, count_t* counts
) noexcept nogil:
    """Add the rows with codes up to `last` to counts by class. Missing codes lie above."""
    cdef const class_t* classes = search.work.classes + search.start
    cdef int64_t i
    for i in range(search.n_rows):
        if count_t is int64_t:
            counts[classes[i]] += codes[i] <= last
        elif codes[i] <= last:
            count_row(search.work, search.start + i, counts)


cdef inline bint are_few_cells(int64_t n_cells, int64_t n_rows) noexcept nogil:
    """Whether counting by (code, class) fits into the table of cells, and is fast."""
    return n_cells <= N_CELLS and n_cells <= CELLS_PER_ROW * n_rows


cdef inline void fill_cells(
    const NodeSearch* search, const code_t* codes, const CodeRange* span, count_t* cells
) noexcept nogil:
    """Counts by (code, class) of the rows that have the feature."""
    cdef const Workspace* work = search.work
    cdef int64_t n_classes = work.n_classes
    cdef int64_t start = search.start
    cdef code_t low = span.low
    cdef code_t missing = span.missing
    cdef int64_t i
    check((<int64_t> (span.high - low) + 1) * n_classes <= N_CELLS)
    memset(cells, 0, (<int64_t> (span.high - low) + 1) * n_classes * sizeof(count_t))
    for i in range(search.n_rows):
        if codes[i] != missing:
            count_row(work, start + i, cells + <int64_t> (codes[i] - low) * n_classes)


cdef inline bint is_counted_at_once(const NodeSearch* search, int32_t feature) noexcept nogil:
    """Whether `count_column` can count a column of the node, and is fast."""
    cdef const CodeTable* table = search.table
    cdef int64_t n_cells = <int64_t> table.n_codes[feature] * search.work.n_classes
    return (
        table.width[feature] == 1
        and not table.has_missing[feature]
        and n_cells <= search.n_rows
        and 2 * n_cells <= N_CELLS
    )


cdef inline FeatureStatistics count_column(
    const NodeSearch* search, int32_t feature, int64_t* cells
) noexcept nogil:
    """The cells of the node's rows, counted where the column stands, without gathering codes.

    Neighbouring rows are often of one class and one code: where it pays, they are counted in two
    tables in turn, so that a count need not wait for the one before it.
    """
    cdef const uint8_t* column = <const uint8_t*> search.table.column[feature]
    cdef const row_t* rows = search.work.rows + search.start
    cdef const class_t* classes = search.work.classes + search.start
    cdef int64_t n_classes = search.work.n_classes
    cdef int64_t n_cells = <int64_t> search.table.n_codes[feature] * n_classes
    cdef int64_t n_rows = search.n_rows
    cdef int64_t n_others = n_cells if 2 * n_cells <= n_rows else 0
    cdef int64_t* others = cells + n_others
    cdef int64_t i
    cdef int64_t first = 0
    cdef int64_t last = n_cells - 1
    cdef FeatureStatistics statistics
    memset(cells, 0, (n_cells + n_others) * sizeof(int64_t))
    for i in range(n_rows // 2):
        check(rows[2 * i + 1] < search.table.n_rows)
        cells[column[rows[2 * i]] * n_classes + classes[2 * i]] += 1
        others[column[rows[2 * i + 1]] * n_classes + classes[2 * i + 1]] += 1
    if n_rows % 2:
        cells[column[rows[n_rows - 1]] * n_classes + classes[n_rows - 1]] += 1
    for i in range(n_others):
        cells[i] += others[i]
    while cells[first] == 0:
        first += 1
    while cells[last] == 0:
        last -= 1
    statistics.codes.low = <code_t> (first // n_classes)
    statistics.codes.high = <code_t> (last // n_classes)
    statistics.codes.missing = search.table.n_codes[feature]
    statistics.codes.n_missing = 0
    statistics.in_cells = True
    statistics.keys = NULL
    statistics.n_keys = 0
    statistics.cells = cells + statistics.codes.low * n_classes
    return statistics


cdef inline int64_t _pack_keys(
    const NodeSearch* search, const code_t* codes, const CodeRange* span, key_t* keys
) noexcept nogil:
    """Write one key per row that has the feature; return how many there are.

    Below the code, counts in integers need the class only; weighted counts need the row's position.
    """
    cdef const class_t* classes = search.work.classes + search.start
    cdef int32_t class_bits = search.work.class_bits
    cdef code_t low = span.low
    cdef code_t missing = span.missing
    cdef int64_t n_rows = search.n_rows
    cdef int64_t i
    cdef int64_t n_keys = 0
    if span.n_missing == 0:
        for i in range(n_rows):     # simple enough to be vectorised
            if key_t is uint32_t:
                keys[i] = ((codes[i] - low) << class_bits) | classes[i]
            else:
                keys[i] = (<uint64_t> (codes[i] - low) << 32) | <uint64_t> i
        return n_rows
    for i in range(n_rows):
        if key_t is uint32_t:
            keys[n_keys] = ((codes[i] - low) << class_bits) | classes[i]
        else:
            keys[n_keys] = (<uint64_t> (codes[i] - low) << 32) | <uint64_t> i
        n_keys += codes[i] != missing
    return n_keys


cdef inline FeatureStatistics build_statistics(
    const NodeSearch* search, const code_t* codes, const CodeRange* span, count_t* cells
) noexcept nogil:
    """The node's rows by their codes in one column, either as cells or as sorted keys.

    codes are the gathered ones and lie in work.spare: sorting overwrites them. Where the node spans
    few codes, counting (code, class) cells is faster than sorting.
    """
    cdef Workspace* work = search.work
    cdef int64_t n_cells = (<int64_t> (span.high - span.low) + 1) * work.n_classes
    cdef int32_t bits = bit_length(span.high - span.low)
    cdef FeatureStatistics statistics
    statistics.codes = span[0]
    statistics.in_cells = are_few_cells(n_cells, search.n_rows)
    statistics.n_keys = 0
    statistics.cells = cells
    if statistics.in_cells:
        statistics.keys = NULL
        fill_cells(search, codes, span, cells)
    elif count_t is int64_t:
        statistics.n_keys = _pack_keys(search, codes, span, <uint32_t*> work.keys)
        statistics.keys = sort_keys(
            <uint32_t*> work.keys, <uint32_t*> work.spare, statistics.n_keys, work.class_bits, bits
        )
    else:
        statistics.n_keys = _pack_keys(search, codes, span, work.keys)
        statistics.keys = sort_keys(work.keys, work.spare, statistics.n_keys, 32, bits)
    return statistics
