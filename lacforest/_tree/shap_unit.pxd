"""Values of the terms of a unit, a small subtree in which few rows behave differently."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memcpy, memset

from lacforest._tree.types cimport (
    GAIN_COLUMNS, KEY_BITS, KEY_POINTS, KEY_TABLE, ROW_TILE, RowBlock, TermPath, TermTables,
    TermUnit, UnitGroup, check
)

cdef extern from "wide_loops.h" nogil:
    void evaluate_masks(
        const uint16_t* masks, int32_t n_masks, const double* low, const double* high,
        int32_t n_low, const double* gain, int32_t n_points, int32_t width, double* values,
    ) noexcept
    int32_t number_masks(
        const uint16_t* masks, int32_t n_masks, uint16_t* place_of, uint16_t* found,
        uint16_t* places,
    ) noexcept
    void add_places(
        const double* values, const uint16_t* place, int32_t n_slots, int32_t width, double* sums
    ) noexcept
    void add_columns(
        const double* values, int32_t width, const uint16_t* slots, int64_t n_rows,
        double* const* columns,
    ) noexcept

cdef inline int32_t number_keys(
    uint16_t* keys, int64_t n_rows, int64_t n_keys, TermUnit* unit
) noexcept nogil:
    """Replace keys by slots, numbered in order of the keys, and return how many there are."""
    # Copies: a write to bytes could change the pointers, for all that the compiler knows.
    cdef uint16_t* slot_of = unit.slot_of
    cdef uint16_t* key = unit.key
    cdef uint8_t* occurs = unit.occurs
    cdef int32_t n_slots = 0
    cdef int64_t i, first
    cdef uint64_t eight
    for i in range(n_rows):
        occurs[keys[i]] = 1
    for first in range(0, n_keys, 8):
        memcpy(&eight, occurs + first, 8)
        if eight == 0:
            continue
        memset(occurs + first, 0, 8)
        for i in range(first, first + 8):
            # Without branches: a key that does not occur is overwritten by the next one.
            slot_of[i] = <uint16_t> n_slots
            key[n_slots] = <uint16_t> i
            n_slots += eight & 1
            eight >>= 8
    for i in range(n_rows):
        keys[i] = slot_of[keys[i]]
    return n_slots


cdef inline void _double_table(
    double* table, uint16_t* filled, int32_t n_filled, int32_t bit, const double* factors,
    int32_t n_points,
) noexcept nogil:
    """Extend products over the masks of some columns by one column."""
    cdef double* satisfied
    cdef double* violated
    cdef int32_t k, q
    for k in range(n_filled):
        satisfied = table + filled[k] * KEY_POINTS
        violated = table + (filled[k] | bit) * KEY_POINTS
        filled[n_filled + k] = <uint16_t> (filled[k] | bit)
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
    cdef uint16_t[2][KEY_TABLE] filled      # entries of both tables
    cdef int32_t[2] n_filled = [1, 1]
    cdef double* gain
    cdef int32_t p, q, column
    cdef double share
    term.n_points = n_points
    term.n_low = unit.n_columns // 2
    filled[0][0] = filled[1][0] = 0
    memset(term.gain, 0, n_points * GAIN_COLUMNS * sizeof(double))
    for q in range(n_points):
        term.low[q] = worth * rules[n_points, 1, q]
        term.high[q] = 1.0
        term.gain[q * GAIN_COLUMNS + KEY_BITS] = -rules[n_points, 2, q]
    for p in range(path.n_features):
        share = path.share[p]
        column = unit.column_of[path.feature[p]]
        check(column < unit.n_columns and unit.feature[column] == path.feature[p])
        gain = term.gain + column
        for q in range(n_points):
            factors[KEY_POINTS + q] = (1.0 - points[q]) * share
            factors[q] = points[q] + factors[KEY_POINTS + q]
            gain[q * GAIN_COLUMNS] = (1.0 - share) / factors[q]
        if column < term.n_low:
            _double_table(term.low, filled[0], n_filled[0], 1 << column, factors, n_points)
            n_filled[0] *= 2
        else:
            column -= term.n_low
            _double_table(term.high, filled[1], n_filled[1], 1 << column, factors, n_points)
            n_filled[1] *= 2


cdef inline void add_term(
    const TermTables* term, const uint16_t* masks, TermUnit* unit
) noexcept nogil:
    """Evaluate a term for the masks that occur, and add to each slot the values of its mask."""
    cdef int32_t n_masks = number_masks(
        masks, unit.n_slots, unit.place_of, unit.mask, unit.place
    )
    evaluate_masks(
        unit.mask, n_masks, term.low, term.high, term.n_low, term.gain, term.n_points, unit.width,
        unit.term_values,
    )
    add_places(unit.term_values, unit.place, unit.n_slots, unit.width, unit.values)


cdef inline void add_column(int32_t feature, TermUnit* unit) noexcept nogil:
    """Give a feature a column of the unit that is being opened, unless it has one."""
    cdef int32_t column = unit.column_of[feature]
    if column < unit.n_columns and unit.feature[column] == feature:
        return
    check(unit.n_columns < KEY_BITS)
    unit.column_of[feature] = unit.n_columns
    unit.feature[unit.n_columns] = feature
    unit.n_columns += 1


cdef inline void spread_values(UnitGroup* group, const RowBlock* block) noexcept nogil:
    """Add to each row the values of its slots in all units, in their order; empty the group."""
    cdef const int32_t* features
    cdef double* columns[4]
    cdef int64_t first = 0
    cdef int32_t c, k, u, width
    while first < block.n_rows:
        for u in range(group.n_units):
            features = group.feature + u * KEY_BITS
            width = (group.n_columns[u] + 3) // 4 * 4
            for c in range(0, width, 4):
                for k in range(4):
                    # Columns behind the last one have values of zero.
                    columns[k] = block.sink
                    if c + k < group.n_columns[u]:
                        columns[k] = block.sums + features[c + k] * block.sum_stride + first
                add_columns(
                    group.values + group.first_value[u] + c, width,
                    group.slots + u * group.slot_stride + first,
                    min(block.n_rows - first, <int64_t> ROW_TILE), columns,
                )
        first += ROW_TILE
    group.n_units = 0
    group.n_values = 0
