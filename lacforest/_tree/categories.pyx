"""Categories of a node: an order in which cuts of a column without order are scanned.

With P_c the distribution of a category over the classes and N_c its mass, categories are ordered
along the first principal direction of the P_c weighted by N_c (Coppersmith, Hong and Hosking 1999).
With two classes that is the order of their shares, in which the best of all sets is a cut (Breiman
et al. 1984) for every impurity that is concave in the shares.

The direction is found by a few rounds of the power method, from the class whose share differs most
between categories. A direction that is not exact gives other candidates, not wrong ones.

Where many categories have few rows each, nearly every one has a single class: any cut of the order
would separate the rows of the node and say nothing about others. There, the only cut is that of one
category against all others which reduces Gini impurity most.

A random cut is drawn uniformly between the smallest and the largest score; see
docs/guide/categories.rst.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

from lacforest._tree.category_sort cimport sort_listed, sort_scored
from lacforest._tree.statistics cimport are_few_cells, count_row, fill_cells
from lacforest._tree.types cimport (
    N_CELLS, CategoryScratch, CodeRange, FeatureStatistics, NodeSearch, ScoredCategory, Split,
    Workspace, check, code_t, count_t
)

cdef enum:
    N_ROUNDS = 3             # of the power method: too few to overflow without normalising
    MANY = 8                 # with more categories, those of few rows are cut off one at a time


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


cdef inline double _find_shares(
    const count_t* counts, int64_t n_classes, double known_mass, double* shares
) noexcept nogil:
    """Shares of the classes in the mass of a category, which is returned."""
    cdef double mass = 0.0
    cdef double per_mass
    cdef int64_t k
    for k in range(n_classes):
        shares[k] = <double> counts[k]
        if k < n_classes - 1:
            shares[k] *= known_mass
        mass += shares[k]
    if mass > 0.0:
        per_mass = 1.0 / mass
        for k in range(n_classes):
            shares[k] *= per_mass
    return mass


cdef inline void _center_shares(CategoryScratch* scratch, int64_t n_classes) noexcept nogil:
    """Subtract the mean of the shares, by mass; set the direction to the class of most variance.

    The score of each category is its mass.
    """
    cdef const ScoredCategory* order = scratch.order
    cdef double* mean = scratch.mean
    cdef double* variance = scratch.next_direction
    cdef double* shares
    cdef double total = 0.0
    cdef int64_t k
    cdef int64_t widest = 0
    cdef code_t c
    for k in range(n_classes):
        mean[k] = 0.0
        variance[k] = 0.0
    for c in range(scratch.n_present):
        total += order[c].score
        for k in range(n_classes):
            mean[k] += order[c].score * scratch.shares[c * n_classes + k]
    for k in range(n_classes):
        mean[k] /= total if total > 0.0 else 1.0
    for c in range(scratch.n_present):
        shares = scratch.shares + c * n_classes
        for k in range(n_classes):
            shares[k] -= mean[k]
            variance[k] += order[c].score * shares[k] * shares[k]
    for k in range(n_classes):
        scratch.direction[k] = 0.0
        if variance[k] > variance[widest]:
            widest = k
    scratch.direction[widest] = 1.0


cdef inline double _along(
    const double* shares, const double* direction, int64_t n_classes
) noexcept nogil:
    cdef double along = 0.0
    cdef int64_t k
    for k in range(n_classes):
        along += shares[k] * direction[k]
    return along


cdef inline void _score_by_direction(CategoryScratch* scratch, int64_t n_classes) noexcept nogil:
    """Scores along the direction in which shares differ most. The score before is the mass."""
    cdef ScoredCategory* order = scratch.order
    cdef double* direction = scratch.direction
    cdef double* following = scratch.next_direction
    cdef const double* shares
    cdef double weight
    cdef int64_t k
    cdef int32_t _r
    cdef code_t c
    _center_shares(scratch, n_classes)
    for _r in range(N_ROUNDS):
        for k in range(n_classes):
            following[k] = 0.0
        for c in range(scratch.n_present):
            shares = scratch.shares + c * n_classes
            weight = order[c].score * _along(shares, direction, n_classes)
            for k in range(n_classes):
                following[k] += weight * shares[k]
        for k in range(n_classes):
            direction[k] = following[k]
    for c in range(scratch.n_present):
        order[c].score = _along(scratch.shares + c * n_classes, direction, n_classes)


cdef inline void _score(
    CategoryScratch* scratch, const count_t* counts, int64_t n_classes, double known_mass
) noexcept nogil:
    """Score the listed categories. With two classes the score is the share of the second."""
    cdef double* shares
    cdef double mass
    cdef code_t c
    for c in range(scratch.n_present):
        shares = scratch.shares + c * n_classes
        mass = _find_shares(
            counts + scratch.slot[scratch.order[c].code] * n_classes, n_classes, known_mass, shares
        )
        scratch.order[c].score = shares[1] if n_classes == 2 else mass
    if n_classes > 2:
        _score_by_direction(scratch, n_classes)


cdef inline double _n_rows(const Workspace* work, const count_t* counts) noexcept nogil:
    """Rows of the node's categories by weight, without factors of classes."""
    cdef double n_rows = 0.0
    cdef const count_t* own
    cdef code_t c
    cdef int32_t k
    for c in range(work.categories.n_present):
        own = counts + work.categories.slot[work.categories.order[c].code] * work.n_classes
        for k in range(work.n_classes):
            n_rows += <double> own[k] * work.rows_per_weight[k]
    return n_rows


cdef inline void _single_out(
    CategoryScratch* scratch, const count_t* counts, int64_t n_classes, double known_mass
) noexcept nogil:
    """Put the category first that the best cut of one against all others separates.

    With d the deviation of its shares from those of all, a category of mass m out of M reduces Gini
    impurity by |d|^2 m M / (M - m).
    """
    cdef ScoredCategory* order = scratch.order
    cdef ScoredCategory moved
    cdef const double* shares
    cdef double total = 0.0
    cdef double best = -1.0
    cdef double mass, gain
    cdef code_t chosen = 0
    cdef code_t c
    for c in range(scratch.n_present):
        order[c].score = _find_shares(
            counts + scratch.slot[order[c].code] * n_classes, n_classes, known_mass,
            scratch.shares + c * n_classes,
        )
        total += order[c].score
    _center_shares(scratch, n_classes)
    for c in range(scratch.n_present):
        shares = scratch.shares + c * n_classes
        mass = order[c].score
        gain = _along(shares, shares, n_classes) * mass
        if mass < total:
            gain /= total - mass
        if gain > best:
            best = gain
            chosen = c
    moved = order[0]
    order[0] = order[chosen]
    order[chosen] = moved


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


cdef inline void _order_listed(
    const NodeSearch* search, const count_t* counts, double known_mass, int64_t n_classes
) noexcept nogil:
    """Order the categories of the node, which are listed in the order of their codes."""
    cdef CategoryScratch* scratch = &search.work.categories
    check(scratch.n_present >= 1)
    scratch.n_places = scratch.n_present
    if scratch.n_present <= 2:           # two have one cut, whatever their order
        return
    if scratch.n_present > MANY and (
        _n_rows(search.work, counts) < search.limits.rows_per_category * scratch.n_present
    ):
        _single_out(scratch, counts, n_classes, known_mass)
        scratch.n_places = 2
    else:
        _score(scratch, counts, n_classes, known_mass)
        sort_scored(scratch.order, scratch.n_present)


cdef inline void _order_counted(
    const NodeSearch* search,
    const CodeRange* span,
    const count_t* counts,
    double known_mass,
    int64_t n_classes,
) noexcept nogil:
    _list_counted(&search.work.categories, span, counts, n_classes)
    _order_listed(search, counts, known_mass, n_classes)


cdef void order_counted(
    const NodeSearch* search, const CodeRange* span, const count_t* counts, double known_mass
) noexcept nogil:
    # Constant numbers of classes compile to plain sums in place of short loops.
    if search.work.n_classes == 2:
        _order_counted(search, span, counts, known_mass, 2)
    elif search.work.n_classes == 3:
        _order_counted(search, span, counts, known_mass, 3)
    else:
        _order_counted(search, span, counts, known_mass, search.work.n_classes)


cdef void rank_categories(
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
        order_counted(search, span, counts[0], known_mass)
    else:
        counts[0] = <const count_t*> work.categories.counts
        _count_sparsely(search, codes, span.missing, <count_t*> work.categories.counts)
        _order_listed(search, counts[0], known_mass, work.n_classes)


cdef FeatureStatistics order_categories(
    const NodeSearch* search,
    const code_t* codes,
    const CodeRange* span,
    double known_mass,
    count_t* cells,
) noexcept nogil:
    cdef Workspace* work = search.work
    cdef CategoryScratch* scratch = &work.categories
    cdef const count_t* counts = NULL
    cdef const count_t* own
    cdef CodeRange places
    cdef int64_t k, n_classes = work.n_classes
    cdef code_t c
    if span.high == span.low + 1 and are_few_cells(2 * n_classes, search.n_rows):
        places = span[0]
        fill_cells(search, codes, span, cells)
        take_two_categories(work, &places)
        return _places(scratch, span, cells)
    rank_categories(search, codes, span, known_mass, &counts)
    for c in range(scratch.n_present):
        own = counts + scratch.slot[scratch.order[c].code] * n_classes
        if c < scratch.n_places:
            memcpy(cells + c * n_classes, own, n_classes * sizeof(count_t))
            continue
        for k in range(n_classes):       # all but one category in one place
            cells[n_classes + k] += own[k]
    return _places(scratch, span, cells)


cdef code_t draw_place(
    const Workspace* work, uint64_t word, const count_t* counts, count_t* left_counts
) noexcept nogil:
    cdef const CategoryScratch* scratch = &work.categories
    cdef const count_t* own
    cdef const ScoredCategory* order = scratch.order
    cdef code_t n_places = scratch.n_places
    cdef double share = <double> (word >> 11) * (1.0 / 9007199254740992.0)   # 53 bits in [0, 1)
    cdef double low = order[0].score
    cdef double high = order[n_places - 1].score
    cdef double threshold = low + share * (high - low)
    cdef code_t last = 0
    cdef code_t c
    cdef int32_t k
    if n_places > 2 and low < high:
        while last + 2 < n_places and order[last + 1].score <= threshold:
            last += 1
    elif n_places > 2:
        last = <code_t> (share * (n_places - 1))
    for c in range(last + 1):
        own = counts + <int64_t> scratch.slot[order[c].code] * work.n_classes
        for k in range(work.n_classes):
            left_counts[k] += own[k]
    return last


cdef void keep_categories(Workspace* work, Split* best) noexcept nogil:
    cdef code_t c
    best.n_categories = work.categories.n_present
    best.n_left_categories = best.cut.last + 1
    if best.n_left_categories == work.categories.n_places:
        best.n_left_categories = best.n_categories       # present | missing
    for c in range(best.n_categories):
        work.categories.best[c] = work.categories.order[c].code
