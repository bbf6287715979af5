"""Values of the terms of a unit, a part of a tree in which few rows behave differently."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t
from libc.string cimport memset

from lacforest._tree.types cimport (
    GAIN_COLUMNS, KEY_BITS, KEY_POINTS, MASKS_PER_SLOT, ROW_TILE, RowBlock, TermPath, TermTables,
    TermUnit, UNITS_TOGETHER, UnitGroup, check
)

cdef extern from "wide_loops.h" nogil:
    void evaluate_masks(
        const uint16_t* masks, int32_t n_masks, const double* low, const double* high,
        int32_t n_low, const double* gain, const int32_t* shifts, int32_t n_points, int32_t width,
        float* values,
    ) noexcept
    void mark_occurring(const uint16_t* keys, int64_t n_rows, uint8_t* occurs) noexcept
    void replace_keys(uint16_t* keys, int64_t n_rows, const uint16_t* slot_of) noexcept
    int32_t list_keys(
        uint8_t* occurs, int64_t n_keys, uint16_t* slot_of, uint16_t* key
    ) noexcept
    void mark_keys(
        const uint16_t* keys, int32_t place, uint16_t side, uint16_t bit, const uint16_t* before,
        uint16_t* after, int32_t n_keys,
    ) noexcept
    void add_masks(
        const float* values, const uint16_t* masks, int32_t n_slots, int32_t width, bint is_first,
        float* sums,
    ) noexcept

cdef extern from "shap_sums.h" nogil:
    void add_rows(
        const float** values, const uint16_t* slots, int64_t slot_stride, int32_t n_units,
        int64_t n_rows, float* sums,
    ) noexcept
    void add_columns(
        const float* values, int32_t width, const uint16_t* slots, int64_t n_rows, float** columns
    ) noexcept
    void move_sums(
        float* sums, int64_t row_stride, int64_t feature_stride, int64_t n_rows,
        int64_t n_features, double* results,
    ) noexcept

cdef inline int32_t number_keys(
    uint16_t* keys, int64_t n_rows, int64_t n_keys, TermUnit* unit
) noexcept nogil:
    """Replace keys by slots, numbered in order of the keys, and return how many there are."""
    cdef int32_t n_slots
    mark_occurring(keys, n_rows, unit.occurs)
    n_slots = list_keys(unit.occurs, n_keys, unit.slot_of, unit.key)
    replace_keys(keys, n_rows, unit.slot_of)
    return n_slots


cdef inline void _double_table(
    double* table, int32_t n_filled, const double* factors, int32_t n_points
) noexcept nogil:
    """Extend products over the masks of some features by one feature."""
    cdef double* satisfied
    cdef double* violated
    cdef int32_t k, q
    for k in range(n_filled):
        satisfied = table + k * KEY_POINTS
        violated = table + (n_filled + k) * KEY_POINTS
        for q in range(n_points):
            violated[q] = satisfied[q] * factors[KEY_POINTS + q]
            satisfied[q] *= factors[q]


cdef inline void prepare_term(
    TermTables* term, const TermPath* path, double worth, const double[:, :, ::1] rules,
    const TermUnit* unit,
) noexcept nogil:
    """Products of factors for both parts of a mask; the low one has the worth and the weights."""
    cdef int32_t n_points = (path.n_features + 1) // 2
    cdef const double* points = &rules[n_points, 0, 0]
    cdef double[2 * KEY_POINTS] factors     # of a feature that is satisfied, and violated
    cdef double* gain
    cdef int32_t p, q, column
    cdef double share
    term.n_points = n_points
    term.n_features = path.n_features
    term.n_low = path.n_features // 2
    memset(term.gain, 0, n_points * GAIN_COLUMNS * sizeof(double))
    # Of a mask's sixteen bits none is in the place of the sign.
    memset(term.shift, 0, sizeof(term.shift))
    for q in range(n_points):
        term.low[q] = worth * rules[n_points, 1, q]
        term.high[q] = 1.0
        term.gain[q * GAIN_COLUMNS + KEY_BITS] = -rules[n_points, 2, q]
    for p in range(path.n_features):
        share = path.share[p]
        column = unit.column_of[path.feature[p]]
        check(column < unit.n_columns and unit.feature[column] == path.feature[p])
        term.shift[unit.target[column]] = 31 - p
        gain = term.gain + unit.target[column]
        for q in range(n_points):
            factors[KEY_POINTS + q] = (1.0 - points[q]) * share
            factors[q] = points[q] + factors[KEY_POINTS + q]
            gain[q * GAIN_COLUMNS] = (1.0 - share) / factors[q]
        if p < term.n_low:
            _double_table(term.low, 1 << p, factors, n_points)
        else:
            _double_table(term.high, 1 << (p - term.n_low), factors, n_points)


cdef inline void add_term(
    const TermTables* term, const uint16_t* masks, TermUnit* unit
) noexcept nogil:
    """Evaluate a term for the masks that occur, and add to each slot the values of its mask."""
    cdef const uint16_t* found = masks
    cdef int32_t n_found = unit.n_slots
    # Of few slots, most have masks of their own: to look through all masks would take longer.
    if 1 << term.n_features <= MASKS_PER_SLOT * n_found:
        mark_occurring(masks, n_found, unit.occurs)
        n_found = list_keys(unit.occurs, 1 << term.n_features, unit.slot_of, unit.mask)
        found = unit.mask
    evaluate_masks(
        found, n_found, term.low, term.high, term.n_low, term.gain, term.shift, term.n_points,
        unit.width, unit.term_values,
    )
    add_masks(unit.term_values, masks, unit.n_slots, unit.width, unit.is_empty, unit.values)
    unit.is_empty = False


cdef inline void add_column(int32_t feature, TermUnit* unit) noexcept nogil:
    """Give a feature a column of the unit that is being opened, unless it has one."""
    cdef int32_t column = unit.column_of[feature]
    if column < unit.n_columns and unit.feature[column] == feature:
        return
    check(unit.n_columns < KEY_BITS)
    unit.column_of[feature] = unit.n_columns
    unit.feature[unit.n_columns] = feature
    unit.n_columns += 1


cdef inline void place_columns(TermUnit* unit, bint by_row) noexcept nogil:
    """Where the values of each column stand: in place of its feature if sums are kept by row."""
    cdef int32_t c
    unit.width = 8 if unit.n_columns <= 8 and not by_row else KEY_BITS
    for c in range(unit.n_columns):
        unit.target[c] = unit.feature[c] if by_row else c


cdef inline void spread_values(UnitGroup* group, const RowBlock* block) noexcept nogil:
    """Add to each row the values of its slots in all units, in their order; empty the group."""
    cdef const int32_t* features
    cdef const float* values[UNITS_TOGETHER]
    cdef float* columns[4]
    cdef int64_t first = 0
    cdef int32_t c, k, u
    if block.row_stride > 1:
        for u in range(group.n_units):
            values[u] = group.values + group.first_value[u]
        add_rows(
            values, group.slots, group.slot_stride, group.n_units, block.n_rows, block.sums
        )
        first = block.n_rows
    while first < block.n_rows:
        for u in range(group.n_units):
            features = group.feature + u * KEY_BITS
            for c in range(0, group.n_columns[u], 4):
                for k in range(4):
                    # Columns behind the last one have values of zero.
                    columns[k] = block.sink
                    if c + k < group.n_columns[u]:
                        columns[k] = block.sums + features[c + k] * block.feature_stride + first
                add_columns(
                    group.values + group.first_value[u] + c, 8 if group.n_columns[u] <= 8 else 16,
                    group.slots + u * group.slot_stride + first,
                    min(block.n_rows - first, <int64_t> ROW_TILE), columns,
                )
        first += ROW_TILE
    group.n_units = 0
    group.n_values = 0
