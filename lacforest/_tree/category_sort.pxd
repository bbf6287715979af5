"""Sorting the categories of a node by their scores."""

from libc.stdlib cimport qsort

from lacforest._tree.types cimport ScoredCategory, code_t, int64_t

cdef enum:
    FEW = 16                 # categories up to which insertion sorts fastest
    FEWEST = 8               # categories up to which ranks sort fastest: they need no branches


cdef inline bint _is_before(
    const ScoredCategory* first, const ScoredCategory* second
) noexcept nogil:
    """By score, then by code: no two categories tie."""
    if first.score != second.score:
        return first.score < second.score
    return first.code < second.code


cdef inline int _compare(const void* first, const void* second) noexcept nogil:
    if _is_before(<const ScoredCategory*> first, <const ScoredCategory*> second):
        return -1
    return 1


cdef inline void sort_listed(ScoredCategory* order, code_t n_present) noexcept nogil:
    """Sort categories in any order by score, then by code."""
    cdef ScoredCategory moved
    cdef int64_t i, j
    if n_present > FEW:
        qsort(order, n_present, sizeof(ScoredCategory), _compare)
        return
    for i in range(1, <int64_t> n_present):
        moved = order[i]
        j = i
        while j > 0 and _is_before(&moved, order + j - 1):
            order[j] = order[j - 1]
            j -= 1
        order[j] = moved


cdef inline void sort_scored(ScoredCategory* order, code_t n_present) noexcept nogil:
    """Sort categories in the order of their codes by score: of equal ones the first stays first."""
    cdef ScoredCategory[FEWEST] copy
    cdef code_t[FEWEST] place
    cdef code_t i, j
    cdef bint is_before
    if n_present > FEWEST:
        sort_listed(order, n_present)
        return
    for i in range(n_present):
        copy[i] = order[i]
        place[i] = i
        for j in range(i):
            is_before = copy[i].score < copy[j].score
            place[i] -= is_before
            place[j] += is_before
    for i in range(n_present):
        order[place[i]] = copy[i]
