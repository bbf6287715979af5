"""What every candidate of a node goes through, whichever way candidates are chosen."""

from libc.string cimport memset

from lacforest._tree._criterion cimport cut_loss, may_beat, side_terms
from lacforest._tree._keys cimport row_amount
from lacforest._tree._types cimport (
    AugmentedGini, SideTerms, Split, Workspace, code_t, count_t, criterion_t, int64_t
)


cdef inline void consider(
    const criterion_t* criterion,
    count_t min_leaf,
    count_t min_labeled,
    count_t min_unlabeled,
    count_t left_labeled,
    count_t left_unlabeled,
    count_t left_squares,
    count_t right_labeled,
    count_t right_unlabeled,
    count_t right_squares,
    code_t cut,
    code_t next_code,
    bint missing_left,
    double margin,
    Split* best,
) noexcept nogil:
    """Take the cut if it is feasible and beats the best so far by more than margin."""
    cdef SideTerms left, right
    cdef double loss
    if (
        left_labeled + left_unlabeled < min_leaf
        or right_labeled + right_unlabeled < min_leaf
    ):
        return
    if criterion_t is AugmentedGini:
        if (
            left_labeled < min_labeled
            or right_labeled < min_labeled
            or left_unlabeled < min_unlabeled
            or right_unlabeled < min_unlabeled
        ):
            return
    left = side_terms(
        criterion, <double> left_labeled, <double> left_unlabeled, <double> left_squares
    )
    right = side_terms(
        criterion, <double> right_labeled, <double> right_unlabeled, <double> right_squares
    )
    # Half the margin is far more than the rounding of either side: nothing that would be taken
    # is turned away here.
    if may_beat(left, right, best.loss - 0.5 * margin):
        loss = cut_loss(left, right)
        if loss < best.loss - margin:
            best.loss = loss
            best.cut = cut
            best.next = next_code
            best.missing_left = missing_left
            best.n_left = <double> (left_labeled + left_unlabeled)


cdef inline void count_missing(
    Workspace* work,
    int64_t start,
    int64_t n_rows,
    const code_t* codes,
    code_t missing,
    count_t tag,
) noexcept nogil:
    cdef count_t* counts = <count_t*> work.missing_counts
    cdef int64_t i
    memset(counts, 0, work.n_classes * sizeof(count_t))
    for i in range(n_rows):
        if codes[i] == missing:
            counts[work.classes[start + i]] += row_amount(work, start + i, tag)
