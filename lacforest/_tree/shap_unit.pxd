"""Values of the terms of a unit, a small subtree in which few rows behave differently."""

from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memset

from lacforest._tree.types cimport (
    KEY_BITS, KEY_POINTS, UNITS_TOGETHER, RowBlock, TermPath, TermTables, TermUnit, UnitGroup
)

cdef extern from "wide_loops.h" nogil:
    void add_four_slots(
        const double* values, int64_t value_stride, const uint16_t* slots, int64_t slot_stride,
        int64_t n_rows, double* sums,
    ) noexcept
    void add_places(
        const double* values, const uint16_t* place, int32_t n_slots, double* sums
    ) noexcept

cdef enum:
    CHUNK = 256             # masks that a term is evaluated for at a time: within L1
    NO_SLOT = 0xFFFF

cdef inline int32_t number_keys(
    uint16_t* keys, int64_t n_rows, int64_t n_keys, TermUnit* unit
) noexcept nogil:
    """Replace keys by slots, numbered in order of appearance, and return how many there are."""
    cdef int32_t n_slots = 0
    cdef int64_t i
    cdef uint16_t key
    memset(unit.slot_of, 0xFF, n_keys * sizeof(uint16_t))
    for i in range(n_rows):
        key = keys[i]
        if unit.slot_of[key] == NO_SLOT:
            unit.slot_of[key] = <uint16_t> n_slots
            unit.key[n_slots] = key
            n_slots += 1
        keys[i] = unit.slot_of[key]
    return n_slots


cdef inline void _double_table(
    double* table, int32_t size, int32_t n_points, const double* points, double share
) noexcept nogil:
    """Extend products over the masks of some features by one feature, the next higher bit."""
    cdef int32_t k, q
    cdef double violated
    for k in range(size):
        for q in range(n_points):
            violated = (1.0 - points[q]) * share
            table[(size + k) * n_points + q] = table[k * n_points + q] * violated
            table[k * n_points + q] *= points[q] + violated


cdef inline void prepare_term(
    TermTables* term, const TermPath* path, double worth, const double[:, :, ::1] rules
) noexcept nogil:
    """Products of factors for both parts of a mask; the low one has the worth and the weights."""
    cdef int32_t n_points = (path.n_features + 1) // 2
    cdef const double* points = &rules[n_points, 0, 0]
    cdef const double* weights = &rules[n_points, 1, 0]
    cdef double* gain = term.gain
    cdef int32_t p, q
    cdef double share
    term.n_points = n_points
    term.n_low = path.n_features // 2
    term.inverse = &rules[n_points, 2, 0]
    for q in range(n_points):
        term.low[q] = worth * weights[q]
        term.high[q] = 1.0
    for p in range(path.n_features):
        share = path.share[p]
        if p < term.n_low:
            _double_table(term.low, 1 << p, n_points, points, share)
        else:
            _double_table(term.high, 1 << (p - term.n_low), n_points, points, share)
        for q in range(n_points):
            gain[q] = (1.0 - share) / (points[q] + (1.0 - points[q]) * share)
        for q in range(n_points, KEY_POINTS):
            gain[q] = 0.0    # evaluate_term takes points by fours and pairs
        gain += KEY_POINTS


cdef inline int32_t find_masks(
    int32_t n_features, const uint16_t* masks, TermUnit* unit
) noexcept nogil:
    """The masks of a term that occur, and the place among them of each slot's mask."""
    cdef int32_t n_masks = 0
    cdef int32_t i
    cdef uint16_t mask
    memset(unit.slot_of, 0xFF, (<size_t> 1 << n_features) * sizeof(uint16_t))
    for i in range(unit.n_slots):
        mask = masks[i]
        if unit.slot_of[mask] == NO_SLOT:
            unit.slot_of[mask] = <uint16_t> n_masks
            unit.mask[n_masks] = mask
            n_masks += 1
        unit.place[i] = unit.slot_of[mask]
    return n_masks


cdef inline void evaluate_term(
    const TermTables* term, const TermPath* path, TermUnit* unit, int32_t n_masks
) noexcept nogil:
    """Values of a term for the masks that occur, in the columns of its features."""
    cdef uint16_t low_bits = <uint16_t> ((1 << term.n_low) - 1)
    cdef int32_t n_points = term.n_points
    cdef double[KEY_POINTS][CHUNK] products
    cdef double[2][CHUNK] values      # of satisfied and of violated features
    cdef const uint16_t* masks = unit.mask
    cdef double* column
    cdef const double* gain
    cdef int32_t first = 0
    cdef int32_t n, i, p, q
    memset(products, 0, sizeof(products))
    memset(unit.term_values, 0, n_masks * KEY_BITS * sizeof(double))
    while first < n_masks:
        n = min(n_masks - first, <int32_t> CHUNK)
        memset(values[1], 0, n * sizeof(double))
        for q in range(n_points):
            for i in range(n):
                products[q][i] = (
                    term.low[(masks[i] & low_bits) * n_points + q]
                    * term.high[(masks[i] >> term.n_low) * n_points + q]
                )
                values[1][i] -= products[q][i] * term.inverse[q]
        gain = term.gain
        for p in range(path.n_features):
            for i in range(n):
                values[0][i] = (
                    products[0][i] * gain[0] + products[1][i] * gain[1]
                    + products[2][i] * gain[2] + products[3][i] * gain[3]
                )
            for q in range(4, n_points, 2):
                for i in range(n):
                    values[0][i] += products[q][i] * gain[q] + products[q + 1][i] * gain[q + 1]
            column = unit.term_values + first * KEY_BITS + unit.column_of[path.feature[p]]
            for i in range(n):
                column[i * KEY_BITS] = values[(masks[i] >> p) & 1][i]
            gain += KEY_POINTS
        masks += n
        first += n


cdef inline void add_term(TermUnit* unit) noexcept nogil:
    """Add to each slot the values of its mask."""
    add_places(unit.term_values, unit.place, unit.n_slots, unit.values)


cdef inline void add_column(int32_t feature, UnitGroup* group, TermUnit* unit) noexcept nogil:
    """Give a feature a column of the unit that is being opened, unless it has one."""
    cdef int32_t n_columns = group.n_columns[group.n_units]
    cdef int32_t* features = group.feature + group.n_units * KEY_BITS
    cdef int32_t column = unit.column_of[feature]
    if group.is_narrow or (column < n_columns and features[column] == feature):
        return
    unit.column_of[feature] = n_columns
    features[n_columns] = feature
    group.n_columns[group.n_units] += 1


cdef inline void _spread_columns(UnitGroup* group, const RowBlock* block) noexcept nogil:
    """Add values to rows of a wide table, four columns of a unit at a time."""
    cdef const uint16_t* slots
    cdef const double* values
    cdef double* one
    cdef double* two
    cdef double* three
    cdef double* four
    cdef const int32_t* features
    cdef int64_t i
    cdef int32_t c, u
    for u in range(group.n_units):
        slots = group.slots + u * group.slot_stride
        # Columns behind the last one have values of zero, which any feature can take.
        features = group.feature + u * KEY_BITS
        for c in range(0, group.n_columns[u], 4):
            values = group.values + u * group.value_stride + c
            one = block.sums + features[c] * block.sum_stride
            two = block.sums + features[c + 1] * block.sum_stride
            three = block.sums + features[c + 2] * block.sum_stride
            four = block.sums + features[c + 3] * block.sum_stride
            for i in range(block.n_rows):
                one[i] += values[slots[i] * KEY_BITS]
                two[i] += values[slots[i] * KEY_BITS + 1]
                three[i] += values[slots[i] * KEY_BITS + 2]
                four[i] += values[slots[i] * KEY_BITS + 3]
    group.n_units = 0


cdef inline void spread_values(UnitGroup* group, const RowBlock* block) noexcept nogil:
    """Add to each row the values of its slots in all units, and empty the group."""
    cdef int32_t u
    if not group.is_narrow:
        _spread_columns(group, block)
        return
    # A unit that is not there has one slot, whose values are zero.
    for u in range(group.n_units, UNITS_TOGETHER):
        memset(group.values + u * group.value_stride, 0, KEY_BITS * sizeof(double))
        memset(group.slots + u * group.slot_stride, 0, block.n_rows * sizeof(uint16_t))
    add_four_slots(
        group.values, group.value_stride, group.slots, group.slot_stride, block.n_rows, block.sums
    )
    group.n_units = 0
