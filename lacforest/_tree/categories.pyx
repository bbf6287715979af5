"""Categories of a node: an order in which cuts of a column without order are scanned.

`category_scores.pxd` says which order. A random cut is drawn uniformly between the smallest and the
largest score, which takes no sorting; see docs/guide/categories.rst.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from lacforest._tree.category_scores cimport score_listed
from lacforest._tree.category_sort cimport sort_listed, sort_scored
from lacforest._tree.statistics cimport are_few_cells, count_row, fill_cells
from lacforest._tree.types cimport (
    N_CELLS, CategoryScratch, CodeRange, FeatureStatistics, NodeSearch, ScoredCategory, Split,
    Workspace, code_t, count_t
)


cdef inline void _count_sparsely(
    const NodeSearch* search, const code_t* codes, code_t missing, count_t* counts
) noexcept nogil:
    """List the categories of the node as rows have them, with counts of their rows by class.

    slot needs no clearing: an entry counts only if `order` has the code in that place.
    """
    cdef CategoryScratch* scratch = &search.work.categories
    cdef int64_t n_classes = search.work.n_classes
    cdef code_t n_present = 0
    cdef code_t slot, code
    cdef int64_t i
    for i in range(search.n_rows):
        code = codes[i]
        if code == missing:
            continue
        slot = scratch.slot[code]
        if slot >= n_present or scratch.order[slot].code != code:
            slot = n_present
            scratch.slot[code] = slot
            scratch.order[slot].code = code
            scratch.order[slot].score = 0.0
            memset(counts + slot * n_classes, 0, n_classes * sizeof(count_t))
            n_present += 1
        count_row(search.work, search.start + i, counts + slot * n_classes)
    scratch.n_present = n_present
    sort_listed(scratch.order, n_present)      # by code: all scores are equal


cdef inline void _list_counted(
    CategoryScratch* scratch, const CodeRange* span, const count_t* counts, int64_t n_classes
) noexcept nogil:
    """List the categories with rows, where each category between low and high has counts."""
    cdef code_t n_present = 0
    cdef code_t code
    cdef count_t n_rows
    cdef int64_t k
    for code in range(span.low, span.high + 1):
        n_rows = 0
        for k in range(n_classes):
            n_rows += counts[k]
        scratch.slot[code] = code - span.low
        scratch.order[n_present].code = code
        n_present += n_rows > 0
        counts += n_classes
    scratch.n_present = n_present


cdef inline FeatureStatistics _places(
    const CategoryScratch* scratch, const CodeRange* span, const count_t* cells
) noexcept nogil:
    """The ordered categories as codes: places from 0 on."""
    cdef FeatureStatistics statistics
    statistics.codes.low = 0
    statistics.codes.high = scratch.n_places - 1
    statistics.codes.missing = scratch.n_places
    statistics.codes.n_missing = span.n_missing
    statistics.in_cells = True
    statistics.cells = cells
    statistics.keys = NULL
    statistics.n_keys = 0
    return statistics


cdef inline void _score_counted(
    const NodeSearch* search,
    const CodeRange* span,
    const count_t* counts,
    double known_mass,
    int64_t n_classes,
) noexcept nogil:
    _list_counted(&search.work.categories, span, counts, n_classes)
    score_listed(search, counts, known_mass, n_classes)


cdef void score_counted(
    const NodeSearch* search, const CodeRange* span, const count_t* counts, double known_mass
) noexcept nogil:
    # Constant numbers of classes compile to plain sums in place of short loops.
    if search.work.n_classes == 2:
        _score_counted(search, span, counts, known_mass, 2)
    elif search.work.n_classes == 3:
        _score_counted(search, span, counts, known_mass, 3)
    else:
        _score_counted(search, span, counts, known_mass, search.work.n_classes)


cdef void score_categories(
    const NodeSearch* search,
    const code_t* codes,
    const CodeRange* span,
    double known_mass,
    const count_t** counts,
) noexcept nogil:
    cdef Workspace* work = search.work
    cdef int64_t n_codes = <int64_t> (span.high - span.low) + 1
    if are_few_cells(2 * n_codes * work.n_classes, 2 * search.n_rows):
        # The first half of the cells may hold counts of whole rows.
        counts[0] = <const count_t*> work.cells + N_CELLS // 2
        fill_cells(search, codes, span, <count_t*> work.cells + N_CELLS // 2)
        score_counted(search, span, counts[0], known_mass)
    else:
        counts[0] = <const count_t*> work.categories.counts
        _count_sparsely(search, codes, span.missing, <count_t*> work.categories.counts)
        score_listed(search, counts[0], known_mass, work.n_classes)


cdef inline void _copy_cells(
    const CategoryScratch* scratch, const count_t* counts, int64_t n_classes, count_t* cells
) noexcept nogil:
    """The cells of the ordered categories; all those beyond n_places share the last place."""
    cdef const count_t* own
    cdef count_t* target
    cdef int64_t k
    cdef code_t c
    for c in range(scratch.n_places):
        own = counts + <int64_t> scratch.slot[scratch.order[c].code] * n_classes
        target = cells + c * n_classes
        for k in range(n_classes):
            target[k] = own[k]
    for c in range(scratch.n_places, scratch.n_present):
        own = counts + <int64_t> scratch.slot[scratch.order[c].code] * n_classes
        for k in range(n_classes):
            target[k] += own[k]


cdef inline FeatureStatistics _sort_scored(
    const NodeSearch* search, const CodeRange* span, const count_t* counts
) noexcept nogil:
    """The scored categories in the order of their scores."""
    cdef CategoryScratch* scratch = &search.work.categories
    cdef count_t* cells = <count_t*> scratch.cells
    if scratch.n_places > 2:
        sort_scored(scratch.order, scratch.n_present)
    if search.work.n_classes == 2:
        _copy_cells(scratch, counts, 2, cells)
    elif search.work.n_classes == 3:
        _copy_cells(scratch, counts, 3, cells)
    else:
        _copy_cells(scratch, counts, search.work.n_classes, cells)
    return _places(scratch, span, cells)


cdef FeatureStatistics order_counted(
    const NodeSearch* search, const CodeRange* span, const count_t* counts, double known_mass
) noexcept nogil:
    cdef CodeRange places
    if span.high == span.low + 1:
        places = span[0]
        take_two_categories(search.work, &places)
        return _places(&search.work.categories, span, counts)
    score_counted(search, span, counts, known_mass)
    return _sort_scored(search, span, counts)


cdef FeatureStatistics order_categories(
    const NodeSearch* search,
    const code_t* codes,
    const CodeRange* span,
    double known_mass,
    count_t* cells,
) noexcept nogil:
    cdef const count_t* counts = NULL
    if span.high == span.low + 1 and are_few_cells(2 * search.work.n_classes, search.n_rows):
        fill_cells(search, codes, span, cells)
        return order_counted(search, span, <const count_t*> cells, known_mass)
    score_categories(search, codes, span, known_mass, &counts)
    return _sort_scored(search, span, counts)


cdef inline code_t _draw_left(
    CategoryScratch* scratch,
    double share,
    const count_t* counts,
    int64_t n_classes,
    count_t* left_counts,
) noexcept nogil:
    """Move the categories on the left of the cut to the front, and add up their counts."""
    cdef ScoredCategory* order = scratch.order
    cdef ScoredCategory own
    cdef const count_t* own_counts
    cdef double low = order[0].score
    cdef double high = order[0].score
    cdef double threshold
    cdef code_t n_left = 1
    cdef code_t last = 0
    cdef code_t c, place
    cdef int64_t k
    cdef bint is_left
    if scratch.n_places > 2:
        for c in range(1, scratch.n_places):
            low = order[c].score if order[c].score < low else low
            last = c if order[c].score >= high else last
            high = order[last].score
        n_left = 1 + <code_t> (share * (scratch.n_places - 1))     # where all scores are equal
    threshold = low + share * (high - low)
    if scratch.n_places > 2 and low < high:
        n_left = 0
        for c in range(scratch.n_places):
            own = order[c]
            # The last of the highest score stays on the right, even if rounding says otherwise.
            is_left = (own.score <= threshold) & (c != last)
            place = n_left if is_left else c
            order[c] = order[place]
            order[place] = own
            n_left += is_left
            own_counts = counts + <int64_t> scratch.slot[own.code] * n_classes
            for k in range(n_classes):
                left_counts[k] += own_counts[k] * is_left
        return n_left - 1
    for c in range(n_left):
        own_counts = counts + <int64_t> scratch.slot[order[c].code] * n_classes
        for k in range(n_classes):
            left_counts[k] += own_counts[k]
    return n_left - 1


cdef code_t draw_place(
    Workspace* work, uint64_t word, const count_t* counts, count_t* left_counts
) noexcept nogil:
    cdef double share = <double> (word >> 11) * (1.0 / 9007199254740992.0)   # 53 bits in [0, 1)
    if work.n_classes == 2:
        return _draw_left(&work.categories, share, counts, 2, left_counts)
    if work.n_classes == 3:
        return _draw_left(&work.categories, share, counts, 3, left_counts)
    return _draw_left(&work.categories, share, counts, work.n_classes, left_counts)


cdef void keep_categories(Workspace* work, Split* best) noexcept nogil:
    cdef code_t c
    best.n_categories = work.categories.n_present
    best.n_left_categories = best.cut.last + 1
    if best.n_left_categories == work.categories.n_places:
        best.n_left_categories = best.n_categories       # present | missing
    for c in range(best.n_categories):
        work.categories.best[c] = work.categories.order[c].code
