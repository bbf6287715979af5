"""Scores of the categories of a node, whose order is that in which cuts are scanned.

With P_c the distribution of a category over the classes and N_c its mass, categories are ordered
along the first principal direction of the P_c weighted by N_c (Coppersmith, Hong and Hosking 1999).
With two classes that is the order of their shares, in which the best of all sets is a cut (Breiman
et al. 1984) for every impurity that is concave in the shares.

The direction is found by a few rounds of the power method, from the class whose share differs most
between categories. A direction that is not exact gives other candidates, not wrong ones.

Where many categories have few rows each, nearly every one has a single class: any cut of the order
would separate the rows of the node and say nothing about others. There, the only cut is that of one
category against all others which reduces Gini impurity most.
"""

from lacforest._tree.types cimport (
    CategoryScratch, NodeSearch, ScoredCategory, Workspace, check, code_t, count_t, int32_t, int64_t
)

cdef enum:
    N_ROUNDS = 3             # of the power method: too few to overflow without normalising
    FEW_CLASSES = 3          # up to which the compiler is told how many there are
    MANY = 8                 # with more categories, those of few rows are cut off one at a time


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


cdef inline void _center_shares(
    CategoryScratch* scratch, int64_t n_classes, double* variance
) noexcept nogil:
    """Subtract the mean of the shares, by mass; add up the variance of each class.

    The score of each category is its mass.
    """
    cdef const ScoredCategory* order = scratch.order
    cdef double[FEW_CLASSES] few
    cdef double* mean = scratch.mean
    cdef double* shares
    cdef double total = 0.0
    cdef int64_t k
    cdef code_t c
    if n_classes <= FEW_CLASSES:
        mean = few
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


cdef inline double _along(
    const double* shares, const double* direction, int64_t n_classes
) noexcept nogil:
    cdef double along = 0.0
    cdef int64_t k
    for k in range(n_classes):
        along += shares[k] * direction[k]
    return along


cdef inline void _score_by_direction(CategoryScratch* scratch, int64_t n_classes) noexcept nogil:
    """Scores along the direction in which shares differ most. The score before is the mass.

    Where the compiler knows a small number of classes, it keeps local sums in registers.
    """
    cdef ScoredCategory* order = scratch.order
    cdef double[FEW_CLASSES] few_now, few_next
    cdef double* direction = scratch.direction
    cdef double* following = scratch.next_direction
    cdef const double* shares
    cdef double weight
    cdef double widest
    cdef int64_t k
    cdef int64_t start = 0
    cdef int32_t _r
    cdef code_t c
    if n_classes <= FEW_CLASSES:
        direction = few_now
        following = few_next
    _center_shares(scratch, n_classes, following)
    widest = following[0]
    for k in range(1, n_classes):
        start = k if following[k] > widest else start
        widest = following[k] if following[k] > widest else widest
    for k in range(n_classes):
        direction[k] = k == start
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
    _center_shares(scratch, n_classes, scratch.direction)
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


cdef inline void score_listed(
    const NodeSearch* search, const count_t* counts, double known_mass, int64_t n_classes
) noexcept nogil:
    """Score the categories of the node, which are listed in the order of their codes."""
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
