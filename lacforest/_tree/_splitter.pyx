"""The feature draw, and the best candidate over the drawn features.

A challenger must beat the incumbent by more than rounding could: ties go to the first drawn
feature, then to missing values going right, then to the lowest code.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint64_t

from lacforest._tree._criterion cimport node_weight
from lacforest._tree._every_cut cimport search_every_cut
from lacforest._tree._random cimport draw_feature, next_word
from lacforest._tree._random_cut cimport try_random_cut
from lacforest._tree._types cimport (
    CodeTable, EveryCut, Limits, RandomCut, Split, Workspace, count_t, criterion_t, policy_t
)

# Relative to the node's weight. Sums of a million rows err by about 1e-13 of it.
cdef double TIE = 1e-12


cdef Split best_split(
    const criterion_t* criterion,
    const policy_t* policy,
    const CodeTable* table,
    const Limits* limits,
    Workspace* work,
    int64_t start,
    int64_t end,
    count_t n_labeled,
    count_t n_unlabeled,
    count_t sum_squares,
    uint64_t* random_state,
) noexcept nogil:
    """Best feasible candidate of rows[start:end] over a fresh draw of tau features (Eqn 4).

    work.node_counts holds the node's counts; n_labeled, n_unlabeled and sum_squares sum them up.
    """
    cdef Split best
    cdef double margin = TIE * node_weight(criterion, <double> n_labeled, <double> n_unlabeled)
    cdef double loss
    cdef bint has_missing
    cdef int32_t n_drawn = 0
    cdef int32_t feature
    cdef uint64_t word = 0
    best.loss = INFINITY
    best.feature = -1
    best.cut = 0
    best.next = 0
    best.missing_left = False
    best.has_missing = False
    best.n_left = 0.0
    best.threshold = 0.0
    while n_drawn < table.n_features:
        if n_drawn >= limits.max_features and not (limits.search_on and best.feature < 0):
            break
        feature = draw_feature(work.features, n_drawn, table.n_features, random_state)
        n_drawn += 1
        if policy_t is RandomCut:
            # A word for every drawn feature, whatever becomes of it: draws depend on no data.
            word = next_word(random_state)
        loss = best.loss
        if loss <= 0.5 * margin:
            continue   # no impurity is left to reduce; only the draws go on
        if policy_t is EveryCut:
            has_missing = search_every_cut(
                criterion, table, limits, work, start, end, feature,
                n_labeled, n_unlabeled, sum_squares, margin, &best,
            )
        else:
            has_missing = try_random_cut(
                criterion, policy, table, limits, work, start, end, feature, word,
                n_labeled, n_unlabeled, margin, &best,
            )
        if best.loss < loss:
            best.feature = feature
            best.has_missing = has_missing
    if best.feature >= 0 and not best.has_missing:
        # Nothing to learn the side from: missing values follow the larger child.
        best.missing_left = 2 * best.n_left >= <double> (n_labeled + n_unlabeled)
    return best
