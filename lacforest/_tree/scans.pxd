"""Scanning statistics: the cuts of a feature, and whether they are better than the best so far.

A cut must beat the best so far by more than rounding could: ties go to the first drawn feature,
then to missing values going right, then to the lowest cut.
"""

from libc.string cimport memset

from lacforest._tree.categories cimport keep_categories
from lacforest._tree.criterion cimport (
    copy_sums, cut_loss, is_feasible, may_beat, move_rows, set_least, side_terms
)
from lacforest._tree.statistics cimport row_weight
from lacforest._tree.types cimport (
    LABELED, N_SUMS, SIZE, SQUARES, UNLABELED, FeatureStatistics, NodeSearch, SideTerms, Workspace,
    check, class_t, code_t, count_t, criterion_t, int32_t, int64_t, uint32_t, uint64_t
)


cdef inline void set_loss(NodeSearch* search, double loss) noexcept nogil:
    search.best.loss = loss
    search.to_beat = loss - search.margin
    search.to_check = loss - 0.5 * search.margin


cdef inline void consider(
    const criterion_t* criterion,
    NodeSearch* search,
    const count_t* least,
    const count_t* node,
    const count_t* left,
    count_t* right,
    code_t last,
    code_t next_code,
    bint missing_left,
) noexcept nogil:
    """Take the cut last | next_code if it is feasible and beats the best so far by the margin.

    Of the right side SQUARES is given; its other sums are set here.
    """
    cdef SideTerms left_terms, right_terms
    cdef double loss
    right[LABELED] = node[LABELED] - left[LABELED]
    right[UNLABELED] = node[UNLABELED] - left[UNLABELED]
    if count_t is double:
        right[SIZE] = node[SIZE] - left[SIZE]
    if not is_feasible(criterion, least, left, right):
        return
    left_terms = side_terms(criterion, left)
    right_terms = side_terms(criterion, right)
    # Half the margin far exceeds the rounding of either side: this pre-check never rejects a cut
    # that the exact test accepts.
    if may_beat(left_terms, right_terms, search.to_check):
        loss = cut_loss(left_terms, right_terms)
        if loss < search.to_beat:
            set_loss(search, loss)
            search.best.cut.last = last
            search.best.cut.next = next_code
            search.best.missing_left = missing_left
            search.best.n_left = <double> (left[LABELED] + left[UNLABELED])


cdef inline void keep(NodeSearch* search, int32_t feature, bint has_missing) noexcept nogil:
    """Note the feature of the cut that has just become the best."""
    search.best.feature = feature
    search.best.has_missing = has_missing
    search.best.n_categories = 0
    if search.table.is_categorical[feature]:
        keep_categories(search.work, &search.best)


cdef inline void _start_scan(
    const criterion_t* criterion, const Workspace* work, const count_t* node, bint missing_left,
    count_t* left, count_t* right,
) noexcept nogil:
    """Put all rows on the right of the cut, except missing ones if they go left."""
    cdef const count_t* missing_counts = <const count_t*> work.missing_counts
    cdef uint32_t k
    left[LABELED] = 0
    left[UNLABELED] = 0
    left[SQUARES] = 0
    left[SIZE] = 0
    right[SQUARES] = node[SQUARES]
    if missing_left:
        for k in range(<uint32_t> work.n_classes):
            if missing_counts[k] > 0:
                move_rows(
                    criterion, k, missing_counts[k], <const count_t*> work.node_counts,
                    <count_t*> work.left_counts, left, right,
                )


cdef inline void _scan_keys(
    const criterion_t* criterion,
    NodeSearch* search,
    const count_t* sums,
    const FeatureStatistics* statistics,
    bint missing_left,
) noexcept nogil:
    """Consider every cut of sorted keys, with missing rows on one side throughout."""
    cdef const Workspace* work = search.work
    cdef const uint32_t* narrow = <const uint32_t*> statistics.keys
    cdef const uint64_t* wide = <const uint64_t*> statistics.keys
    cdef const class_t* classes = work.classes + search.start
    cdef const count_t* node_counts = <const count_t*> work.node_counts
    cdef count_t* left_counts = <count_t*> work.left_counts
    cdef int32_t class_bits = work.class_bits
    cdef uint32_t class_mask = (<uint32_t> 1 << class_bits) - 1
    cdef code_t low = statistics.codes.low
    cdef count_t[N_SUMS] least, node, left, right
    cdef count_t amount = 1
    cdef int64_t i, n_keys = statistics.n_keys
    cdef uint32_t k
    cdef code_t code, next_code
    set_least(search.limits, least)
    copy_sums(sums, node)
    _start_scan(criterion, work, node, missing_left, left, right)
    if count_t is int64_t:
        next_code = narrow[0] >> class_bits
    else:
        next_code = <code_t> (wide[0] >> 32)
    for i in range(n_keys):
        code = next_code
        if count_t is int64_t:
            k = narrow[i] & class_mask
        else:
            k = classes[<uint32_t> wide[i]]
            amount = row_weight(work, search.start + <uint32_t> wide[i])
        check(k < <uint32_t> work.n_classes)
        move_rows(criterion, k, amount, node_counts, left_counts, left, right)
        if i + 1 == n_keys:
            if missing_left or statistics.codes.n_missing == 0:
                break
            next_code = statistics.codes.missing - low   # the last cut: present | missing
        elif count_t is int64_t:
            next_code = narrow[i + 1] >> class_bits
        else:
            next_code = <code_t> (wide[i + 1] >> 32)
        if next_code != code:
            consider(
                criterion, search, least, node, left, right, low + code, low + next_code,
                missing_left,
            )
    memset(left_counts, 0, work.n_classes * sizeof(count_t))


cdef inline void _scan_cells(
    const criterion_t* criterion,
    NodeSearch* search,
    const count_t* sums,
    const FeatureStatistics* statistics,
    bint missing_left,
) noexcept nogil:
    """Consider every cut of the table of cells, with missing rows on one side throughout."""
    cdef const Workspace* work = search.work
    cdef const count_t* cells = <const count_t*> statistics.cells
    cdef const count_t* node_counts = <const count_t*> work.node_counts
    cdef count_t* left_counts = <count_t*> work.left_counts
    cdef uint32_t k, n_classes = <uint32_t> work.n_classes
    cdef count_t[N_SUMS] least, node, left, right
    cdef count_t n_rows
    cdef code_t code, last
    set_least(search.limits, least)
    copy_sums(sums, node)
    _start_scan(criterion, work, node, missing_left, left, right)
    last = statistics.codes.low
    for code in range(statistics.codes.low, statistics.codes.high + 1):
        n_rows = 0
        for k in range(n_classes):
            n_rows += cells[k]
        if n_rows > 0:
            if code != statistics.codes.low:
                consider(criterion, search, least, node, left, right, last, code, missing_left)
            last = code
            for k in range(n_classes):
                if cells[k] > 0:
                    move_rows(criterion, k, cells[k], node_counts, left_counts, left, right)
        cells += n_classes
    if statistics.codes.n_missing > 0 and not missing_left:
        consider(
            criterion, search, least, node, left, right, last, statistics.codes.missing, False
        )
    memset(left_counts, 0, n_classes * sizeof(count_t))


cdef inline void scan(
    const criterion_t* criterion,
    NodeSearch* search,
    const count_t* sums,
    const FeatureStatistics* statistics,
    bint missing_left,
) noexcept nogil:
    """Consider every cut of a feature, with missing rows on one side throughout."""
    if statistics.in_cells:
        _scan_cells(criterion, search, sums, statistics, missing_left)
    else:
        _scan_keys(criterion, search, sums, statistics, missing_left)
