"""One cut a feature, drawn uniformly between its smallest and largest value in the node.

The candidates of extremely randomised trees: a pass over the node's codes, and no sorting. The draw
is one of values, and the threshold is where it fell, not midway between two values.
"""

from libc.math cimport INFINITY
from libc.string cimport memset

from lacforest._tree._candidates cimport consider, count_missing
from lacforest._tree._keys cimport gather, last_at_most, row_amount
from lacforest._tree._types cimport (
    AugmentedGini, CodeRange, CodeTable, Limits, RandomCut, Split, Workspace, class_t, code_t,
    count_t, criterion_t, int32_t, int64_t, uint32_t, uint64_t
)


cdef inline double value_between(double low, double high, uint64_t word) noexcept nogil:
    """The value at a share word / 2**64 of the way from low to high: at least low, below high."""
    cdef double share = <double> (word >> 11) * (1.0 / 9007199254740992.0)   # 53 bits in [0, 1)
    cdef double value = low + share * (high - low)
    if high - low > 1.7e308:         # the difference overflowed
        value = (1.0 - share) * low + share * high
    return value if low <= value < high else low


cdef inline void _sum_side(
    const criterion_t* criterion,
    const Workspace* work,
    count_t* left_labeled,
    count_t* left_unlabeled,
    count_t* left_squares,
    count_t* right_squares,
) noexcept nogil:
    """Sums of both sides as the criterion sees them, from node_counts and left_counts."""
    cdef const count_t* node = <const count_t*> work.node_counts
    cdef const count_t* left = <const count_t*> work.left_counts
    cdef int32_t last = work.n_classes - 1
    cdef int32_t n_summed = work.n_classes
    cdef int32_t k
    left_labeled[0] = 0
    left_unlabeled[0] = 0
    left_squares[0] = 0
    right_squares[0] = 0
    if criterion_t is AugmentedGini:
        n_summed = last
        left_unlabeled[0] = left[last]
    for k in range(n_summed):
        left_labeled[0] += left[k]
        left_squares[0] += left[k] * left[k]
        right_squares[0] += (node[k] - left[k]) * (node[k] - left[k])


cdef inline bint try_random_cut(
    const criterion_t* criterion,
    const RandomCut* policy,
    const CodeTable* table,
    const Limits* limits,
    Workspace* work,
    int64_t start,
    int64_t end,
    int32_t feature,
    uint64_t word,
    count_t n_labeled,
    count_t n_unlabeled,
    double margin,
    Split* best,
) noexcept nogil:
    """Improve best by the cut that `word` draws; returns whether some row misses the feature."""
    cdef int64_t n_rows = end - start
    cdef code_t* codes = <code_t*> work.spare
    cdef code_t missing = table.n_codes[feature]
    cdef CodeRange found = gather(table, feature, work.rows + start, n_rows, codes)
    cdef const double* values = <const double*> policy.values[feature]
    cdef const class_t* classes = work.classes + start
    cdef count_t* left = <count_t*> work.left_counts
    cdef const count_t* missing_counts = <const count_t*> work.missing_counts
    cdef count_t left_labeled, left_unlabeled, left_squares, right_squares
    cdef double threshold = INFINITY       # present | missing
    cdef double loss = best.loss
    cdef code_t last = found.high
    cdef int64_t i
    cdef int32_t k
    cdef bint missing_left
    if found.low >= found.high and (found.n_missing == 0 or found.low > found.high):
        return False   # constant in this node
    if found.low < found.high:
        threshold = value_between(values[found.low], values[found.high], word)
        last = last_at_most(values, found.low, found.high - 1, threshold)
    if found.n_missing > 0:
        count_missing(work, start, n_rows, codes, missing, n_labeled)

    # Missing codes lie above every cut: they are on the right until they are moved.
    for i in range(n_rows):
        if count_t is int64_t:
            left[classes[i]] += codes[i] <= last
        elif codes[i] <= last:
            left[classes[i]] += row_amount(work, start + i, n_labeled)
    # With nothing else to cut, missing rows on the left would leave the right side empty.
    for missing_left in range(1 + (found.n_missing > 0 and found.low < found.high)):
        if missing_left:
            for k in range(work.n_classes):
                left[k] += missing_counts[k]
        _sum_side(
            criterion, work, &left_labeled, &left_unlabeled, &left_squares, &right_squares
        )
        consider(
            criterion,
            <count_t> limits.min_leaf, <count_t> limits.min_labeled, <count_t> limits.min_unlabeled,
            left_labeled, left_unlabeled, left_squares,
            n_labeled - left_labeled, n_unlabeled - left_unlabeled, right_squares,
            last, missing, missing_left, margin, best,
        )
    if best.loss < loss:
        best.threshold = threshold
    memset(left, 0, work.n_classes * sizeof(count_t))
    return found.n_missing > 0
