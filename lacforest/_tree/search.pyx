"""The best cut of a node, among those of the features drawn for it.

Every cut between neighbouring codes of the node is tried, in ascending order (the candidates of the
paper), or one random cut per feature (those of extremely randomised trees), drawn uniformly between
the smallest and the largest value of the node: the threshold is the value drawn. Categories get an
order at every node, see categories.pyx, and cuts are places in it.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from lacforest._tree.categories cimport (
    draw_place, order_categories, order_counted, score_categories, score_counted,
    take_two_categories
)
from lacforest._tree.criterion cimport category_mass, node_weight, set_least, sum_sides
from lacforest._tree.random cimport draw_feature, next_word, value_between
from lacforest._tree.ranks cimport last_at_most
from lacforest._tree.scans cimport consider, keep, scan, set_loss
from lacforest._tree.statistics cimport (
    build_statistics, count_column, count_left, count_missing, gather, has_cut, is_counted_at_once,
    is_zero
)
from lacforest._tree.types cimport (
    LABELED, N_CELLS, N_SUMS, UNLABELED, CodeRange, DrawnRows, FeatureStatistics, NodeSearch,
    RowCuts, Workspace, check, code_t, count_t, criterion_t
)
from lacforest._tree.whole_rows cimport (
    draw_columns, draw_row_cuts, find_ranges, reads_rows, rows_by_category, take_codes
)

# Relative to the node's weight. Sums over a million rows err by about 1e-13 of it.
cdef double TIE = 1e-12


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
                if search.table.is_categorical[feature]:
                    statistics = order_counted(
                        search, &statistics.codes, <const int64_t*> statistics.cells,
                        category_mass(criterion),
                    )
                scan(criterion, search, node, &statistics, False)
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
        scan(criterion, search, node, &statistics, missing_left)
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
        score_categories(search, codes, &span, category_mass(criterion), &counts)
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
        consider(criterion, search, least, node, left, right, last, following, missing_left)
    if search.best.loss < loss:
        search.best.threshold = threshold
    memset(left_counts, 0, work.n_classes * sizeof(count_t))
    return span.n_missing > 0


# ------------------------------------------------------------------------------ whole rows of codes


cdef inline int32_t _try_every_cut_of_rows(
    const criterion_t* criterion, NodeSearch* search, const count_t* node, uint64_t* random_state
) noexcept nogil:
    """Improve the best cut as max_features calls of _try_every_cut do; return how many it drew."""
    cdef Workspace* work = search.work
    cdef code_t* codes = <code_t*> work.spare
    cdef DrawnRows drawn
    cdef CodeRange span
    cdef FeatureStatistics statistics
    cdef double loss
    cdef int32_t i
    draw_columns(search, random_state, &drawn, NULL)
    find_ranges(search, &drawn)
    for i in range(drawn.n_drawn):
        loss = search.best.loss
        if loss <= 0.5 * search.margin:
            break      # no impurity is left to reduce
        if drawn.low[drawn.place[i]] < drawn.high[drawn.place[i]]:
            span = take_codes(search, &drawn, i, codes)
            statistics = build_statistics(search, codes, &span, <count_t*> work.cells)
            scan(criterion, search, node, &statistics, False)
            if search.best.loss < loss:
                keep(search, work.features[i], False)
    return drawn.n_drawn


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
    cdef DrawnRows drawn
    cdef RowCuts cuts
    cdef CodeRange span
    cdef code_t last
    cdef double loss
    cdef int32_t i, k, feature, place
    draw_row_cuts(search, random_state, &drawn, &cuts, of_categories)
    set_least(search.limits, least)
    for i in range(drawn.n_drawn):
        feature = work.features[i]
        place = drawn.place[i]
        loss = search.best.loss
        if loss <= 0.5 * search.margin:
            break      # no impurity is left to reduce
        memset(left_counts, 0, work.n_classes * sizeof(count_t))
        last = cuts.last[place]
        if search.table.is_categorical[feature]:
            own = rows_by_category(search, feature, &cuts, of_categories)
            if own == NULL:
                _try_random_cut(criterion, search, node, feature, cuts.word[place])
                if search.best.loss < loss:
                    keep(search, feature, False)
                continue
            span = CodeRange(0, search.table.n_codes[feature] - 1, search.table.n_codes[feature], 0)
            score_counted(search, &span, own, category_mass(criterion))
            if work.categories.n_present == 1:
                continue
            last = draw_place(work, cuts.word[place], own, left_counts)
        elif drawn.low[place] == drawn.high[place]:
            continue
        else:
            for k in range(work.n_classes):
                left_counts[k] = <count_t> counts[k * drawn.width + place]
        sum_sides(criterion, <const count_t*> work.node_counts, left_counts, left, right)
        consider(criterion, search, least, node, left, right, last, last + 1, False)
        if search.best.loss < loss:
            search.best.threshold = cuts.threshold[place]
            keep(search, feature, False)
    memset(left_counts, 0, work.n_classes * sizeof(count_t))
    return drawn.n_drawn


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
    set_loss(search, INFINITY)
    search.best.feature = -1
    search.best.has_missing = False
    search.best.n_categories = 0
    if count_t is int64_t:
        if reads_rows(search):
            if search.candidates.are_random:
                n_drawn = _try_cuts_of_rows(criterion, search, node, random_state)
            else:
                n_drawn = _try_every_cut_of_rows(criterion, search, node, random_state)
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
            keep(search, feature, has_missing)
    if search.best.feature >= 0 and not search.best.has_missing:
        # The node shows no side for missing values: they follow the larger child.
        search.best.missing_left = (
            2 * search.best.n_left >= <double> (node[LABELED] + node[UNLABELED])
        )
