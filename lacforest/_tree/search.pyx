"""Scanning statistics: the cuts of the drawn features, and the best of them.

A cut must beat the best so far by more than rounding could: ties go to the first drawn feature,
then to missing values going right, then to the lowest cut.

Every cut between neighbouring codes of the node is tried, in ascending order (the candidates of the
paper), or one random cut per feature (those of extremely randomised trees), drawn uniformly between
the smallest and the largest value of the node: the threshold is the value drawn. Categories get an
order at every node, see categories.pyx, and cuts are places in it.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from lacforest._tree.categories cimport (
    draw_place, keep_categories, order_categories, order_counted, rank_categories,
    take_two_categories
)
from lacforest._tree.criterion cimport (
    category_mass, copy_sums, cut_loss, is_feasible, may_beat, move_rows, node_weight, set_least,
    side_terms, sum_sides
)
from lacforest._tree.random cimport draw_feature, next_word, value_between
from lacforest._tree.ranks cimport last_at_most
from lacforest._tree.statistics cimport (
    build_statistics, count_column, count_left, count_missing, gather, has_cut, is_counted_at_once,
    is_zero, row_weight
)
from lacforest._tree.types cimport (
    LABELED, N_CELLS, N_SUMS, SIZE, SQUARES, UNLABELED, CodeRange, FeatureStatistics, NodeSearch,
    RowCuts, SideTerms, Workspace, check, class_t, code_t, count_t, criterion_t
)
from lacforest._tree.whole_rows cimport draw_row_cuts, reads_rows, rows_by_category

# Relative to the node's weight. Sums over a million rows err by about 1e-13 of it.
cdef double TIE = 1e-12


cdef inline void _set_loss(NodeSearch* search, double loss) noexcept nogil:
    search.best.loss = loss
    search.to_beat = loss - search.margin
    search.to_check = loss - 0.5 * search.margin


cdef inline void _consider(
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
            _set_loss(search, loss)
            search.best.cut.last = last
            search.best.cut.next = next_code
            search.best.missing_left = missing_left
            search.best.n_left = <double> (left[LABELED] + left[UNLABELED])


cdef inline void _keep(NodeSearch* search, int32_t feature, bint has_missing) noexcept nogil:
    """Note the feature of the cut that has just become the best."""
    search.best.feature = feature
    search.best.has_missing = has_missing
    search.best.n_categories = 0
    if search.table.is_categorical[feature]:
        keep_categories(search.work, &search.best)


# ------------------------------------------------------------------------------ every cut


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
            _consider(
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
                _consider(criterion, search, least, node, left, right, last, code, missing_left)
            last = code
            for k in range(n_classes):
                if cells[k] > 0:
                    move_rows(criterion, k, cells[k], node_counts, left_counts, left, right)
        cells += n_classes
    if statistics.codes.n_missing > 0 and not missing_left:
        _consider(
            criterion, search, least, node, left, right, last, statistics.codes.missing, False
        )
    memset(left_counts, 0, n_classes * sizeof(count_t))


cdef inline bint _try_every_cut(
    const criterion_t* criterion, NodeSearch* search, const count_t* node, int32_t feature
) noexcept nogil:
    """Improve the best cut by those of one feature; return whether any row misses it."""
    cdef Workspace* work = search.work
    cdef code_t* codes = <code_t*> work.spare
    cdef CodeRange span
    cdef FeatureStatistics statistics
    cdef bint missing_left
    if count_t is int64_t:
        if is_counted_at_once(search, feature):
            statistics = count_column(search, feature, <int64_t*> work.cells)
            if has_cut(&statistics.codes):
                _scan_cells(criterion, search, node, &statistics, False)
            return False
    span = gather(search.table, feature, work.rows + search.start, search.n_rows, codes)
    if not has_cut(&span):
        return False
    if span.n_missing > 0:
        count_missing(search, codes, span.missing, <count_t*> work.missing_counts)
    if search.table.is_categorical[feature]:
        statistics = order_categories(
            search, codes, &span, category_mass(criterion), <count_t*> work.categories.cells
        )
    else:
        statistics = build_statistics(search, codes, &span, <count_t*> work.cells)
    for missing_left in range(1 + (span.n_missing > 0)):
        if statistics.in_cells:
            _scan_cells(criterion, search, node, &statistics, missing_left)
        else:
            _scan_keys(criterion, search, node, &statistics, missing_left)
    return span.n_missing > 0


# ------------------------------------------------------------------------------ one random cut


cdef inline bint _try_random_cut(
    const criterion_t* criterion,
    NodeSearch* search,
    const count_t* node,
    int32_t feature,
    uint64_t word,
) noexcept nogil:
    """Improve the best cut by the one `word` draws; return whether any row misses the feature."""
    cdef Workspace* work = search.work
    cdef code_t* codes = <code_t*> work.spare
    cdef CodeRange span
    cdef const double* values = <const double*> search.candidates.values[feature]
    cdef count_t* left_counts = <count_t*> work.left_counts
    cdef const count_t* missing_counts = <const count_t*> work.missing_counts
    cdef const count_t* counts = NULL
    cdef count_t[N_SUMS] least, left, right
    cdef double threshold = INFINITY       # present | missing
    cdef double loss = search.best.loss
    cdef int32_t k
    cdef bint missing_left
    cdef code_t last, following
    span = gather(search.table, feature, work.rows + search.start, search.n_rows, codes)
    if not has_cut(&span):
        return False
    if span.n_missing > 0:
        count_missing(search, codes, span.missing, <count_t*> work.missing_counts)
    if search.table.is_categorical[feature] and span.high == span.low + 1:
        count_left(search, codes, span.low, left_counts)
        take_two_categories(work, &span)
        last = 0
        following = 1
    elif search.table.is_categorical[feature]:
        rank_categories(search, codes, &span, category_mass(criterion), &counts)
        last = draw_place(work, word, counts, left_counts)
        following = last + 1
    else:
        last, following = span.high, span.missing    # present | missing, unless values differ
        if span.low < span.high:
            threshold = value_between(values[span.low], values[span.high], word)
            last = last_at_most(values, span.low, span.high - 1, threshold)
            following = last + 1
        count_left(search, codes, last, left_counts)
    set_least(search.limits, least)
    # Where all present values are equal, missing rows on the left would leave the right side empty.
    for missing_left in range(1 + (span.n_missing > 0 and span.low < span.high)):
        if missing_left:
            for k in range(work.n_classes):
                left_counts[k] += missing_counts[k]
        sum_sides(criterion, <const count_t*> work.node_counts, left_counts, left, right)
        _consider(criterion, search, least, node, left, right, last, following, missing_left)
    if search.best.loss < loss:
        search.best.threshold = threshold
    memset(left_counts, 0, work.n_classes * sizeof(count_t))
    return span.n_missing > 0


# ------------------------------------------------------------------------------ whole rows of codes


cdef inline int32_t _try_cuts_of_rows(
    const criterion_t* criterion, NodeSearch* search, const count_t* node, uint64_t* random_state
) noexcept nogil:
    """Improve the best cut as max_features calls of _try_random_cut do; return how many it drew."""
    cdef Workspace* work = search.work
    cdef const uint32_t* counts = <const uint32_t*> work.cells
    cdef count_t* left_counts = <count_t*> work.left_counts
    cdef count_t* of_categories = <count_t*> work.cells + N_CELLS // 2   # behind `counts`
    cdef const count_t* own
    cdef count_t[N_SUMS] least, left, right
    cdef RowCuts cuts
    cdef CodeRange span
    cdef code_t last
    cdef double loss
    cdef int32_t i, k, feature
    draw_row_cuts(search, random_state, &cuts, of_categories)
    set_least(search.limits, least)
    for i in range(cuts.n_drawn):
        feature = work.features[i]
        loss = search.best.loss
        if loss <= 0.5 * search.margin:
            break      # no impurity is left to reduce
        memset(left_counts, 0, work.n_classes * sizeof(count_t))
        last = cuts.last[feature]
        if search.table.is_categorical[feature]:
            own = rows_by_category(search, feature, &cuts, of_categories)
            if own == NULL:
                _try_random_cut(criterion, search, node, feature, cuts.word[feature])
                if search.best.loss < loss:
                    _keep(search, feature, False)
                continue
            span = CodeRange(0, search.table.n_codes[feature] - 1, search.table.n_codes[feature], 0)
            order_counted(search, &span, own, category_mass(criterion))
            if work.categories.n_present == 1:
                continue
            last = draw_place(work, cuts.word[feature], own, left_counts)
        elif cuts.low[feature] == cuts.high[feature]:
            continue
        else:
            for k in range(work.n_classes):
                left_counts[k] = <count_t> counts[k * search.candidates.row_width + feature]
        sum_sides(criterion, <const count_t*> work.node_counts, left_counts, left, right)
        _consider(criterion, search, least, node, left, right, last, last + 1, False)
        if search.best.loss < loss:
            search.best.threshold = cuts.threshold[feature]
            _keep(search, feature, False)
    memset(left_counts, 0, work.n_classes * sizeof(count_t))
    return cuts.n_drawn


# ------------------------------------------------------------------------------ one node


cdef void find_best_cut(
    const criterion_t* criterion, NodeSearch* search, const count_t* node, uint64_t* random_state
) noexcept nogil:
    cdef int32_t n_features = search.table.n_features
    cdef int32_t feature, n_drawn = 0
    cdef uint64_t word = 0
    cdef double loss
    cdef bint has_missing
    check(is_zero(search.work.left_counts, search.work.n_classes))
    search.margin = TIE * node_weight(criterion, node)
    _set_loss(search, INFINITY)
    search.best.feature = -1
    search.best.has_missing = False
    search.best.n_categories = 0
    if count_t is int64_t:
        if reads_rows(search):
            n_drawn = _try_cuts_of_rows(criterion, search, node, random_state)
    while n_drawn < n_features:
        if n_drawn >= search.limits.max_features and not (
            search.limits.draw_until_feasible and search.best.feature < 0
        ):
            break
        feature = draw_feature(search.work.features, n_drawn, n_features, random_state)
        n_drawn += 1
        if search.candidates.are_random:
            # Consume one word per drawn feature, used or not: what a feature holds does not shift
            # the draws after it.
            word = next_word(random_state)
        loss = search.best.loss
        if loss <= 0.5 * search.margin:
            continue   # no impurity is left to reduce; only the draws go on
        if search.candidates.are_random:
            has_missing = _try_random_cut(criterion, search, node, feature, word)
        else:
            has_missing = _try_every_cut(criterion, search, node, feature)
        if search.best.loss < loss:
            _keep(search, feature, has_missing)
    if search.best.feature >= 0 and not search.best.has_missing:
        # The node shows no side for missing values: they follow the larger child.
        search.best.missing_left = (
            2 * search.best.n_left >= <double> (node[LABELED] + node[UNLABELED])
        )
