"""Values of the terms of a unit, a small subtree in which few rows behave differently."""

from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memset

from lacforest._tree.types cimport (
    COLUMN_STRIDE, KEY_POINTS, RowBlock, TermPath, TermTables, TermUnit
)

cdef enum:
    CHUNK = 256             # slots that a term is evaluated for at a time: within L1

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


cdef inline void evaluate_term(
    const TermTables* term, const TermPath* path, const uint16_t* masks, TermUnit* unit
) noexcept nogil:
    """Add the values of a term to the columns of its features, for all slots."""
    cdef uint16_t low_bits = <uint16_t> ((1 << term.n_low) - 1)
    cdef int32_t n_points = term.n_points
    cdef double[KEY_POINTS][CHUNK] products
    cdef double[2][CHUNK] values      # of satisfied and of violated features
    cdef double* column
    cdef const double* gain
    cdef int32_t first = 0
    cdef int32_t n, i, p, q
    memset(products, 0, sizeof(products))
    while first < unit.n_slots:
        n = min(unit.n_slots - first, <int32_t> CHUNK)
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
            column = unit.values + unit.column_of[path.feature[p]] * COLUMN_STRIDE + first
            for i in range(n):
                column[i] += values[(masks[i] >> p) & 1][i]
            gain += KEY_POINTS
        masks += n
        first += n


cdef inline void add_columns(const TermPath* path, TermUnit* unit) noexcept nogil:
    """Give each feature of the path a column of the unit."""
    cdef int32_t p, feature
    for p in range(path.n_features):
        feature = path.feature[p]
        if unit.column_of[feature] < 0:
            unit.column_of[feature] = unit.n_columns
            unit.feature[unit.n_columns] = feature
            memset(unit.values + unit.n_columns * COLUMN_STRIDE, 0, unit.n_slots * sizeof(double))
            unit.n_columns += 1


cdef inline double* _target_of(
    TermUnit* unit, int32_t column, const RowBlock* block
) noexcept nogil:
    """Where a column of the unit is added to the rows; spare memory for one that is not there."""
    if column >= unit.n_columns:
        return block.spare
    unit.column_of[unit.feature[column]] = -1
    return block.out + unit.feature[column] * block.out_stride


cdef inline void spread_values(TermUnit* unit, const RowBlock* block) noexcept nogil:
    """Add the values of each row's slot to the row, and empty the unit."""
    cdef const uint16_t* slots = block.slots
    cdef const double* values = unit.values
    cdef double* one
    cdef double* two
    cdef double* three
    cdef double* four
    cdef int32_t column
    cdef int64_t i, slot
    for column in range(0, unit.n_columns, 4):
        one, two = _target_of(unit, column, block), _target_of(unit, column + 1, block)
        three, four = _target_of(unit, column + 2, block), _target_of(unit, column + 3, block)
        for i in range(block.n_rows):
            slot = slots[i]
            one[i] += values[slot]
            two[i] += values[slot + COLUMN_STRIDE]
            three[i] += values[slot + 2 * COLUMN_STRIDE]
            four[i] += values[slot + 3 * COLUMN_STRIDE]
        values += 4 * COLUMN_STRIDE
    unit.n_columns = 0
