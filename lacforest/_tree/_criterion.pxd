"""Augmented Gini (Definition 1) and Gini impurity as functions of sums only.

With c_k the labelled counts of a node, n_l = sum c_k, n_u its unlabelled count, q = sum c_k^2
and r = (1 - theta) n_u(all) / n_l(all), Definition 1 reads

    v = [n_u > 0] * max(0, 1 - r n_l / n_u)
    G = 1 - v^2 - (1 - v)^2 q / n_l^2

so a row that crosses a cut changes three numbers, whatever the number of classes. The guards
max(1, .) of the paper matter only where a count is zero; written as tests for zero they mean
the same for weighted counts.
"""

from cython cimport final

from lacforest._tree._types cimport (
    AugmentedGini, Gini, SideTerms, count_t, criterion_t, uint32_t
)


cdef inline double augmented_proportion(
    double ratio, double n_labeled, double n_unlabeled
) noexcept nogil:
    """vartheta_{C,k+1} of Definition 1."""
    cdef double known
    if n_unlabeled <= 0:
        return 0.0
    known = ratio * n_labeled / n_unlabeled
    return 1.0 - known if known < 1.0 else 0.0


cdef inline double augmented_gini(
    double ratio, double n_labeled, double n_unlabeled, double sum_squares
) noexcept nogil:
    """G_C of Definition 1 (Eqn 2)."""
    cdef double new = augmented_proportion(ratio, n_labeled, n_unlabeled)
    cdef double same_class = 0.0
    if n_labeled > 0:
        same_class = sum_squares / (n_labeled * n_labeled)
    return 1.0 - new * new - (1.0 - new) * (1.0 - new) * same_class


cdef inline double gini(double n_rows, double sum_squares) noexcept nogil:
    """1 - sum_k p_k^2; an empty node is pure."""
    if n_rows <= 0:
        return 0.0
    return 1.0 - sum_squares / (n_rows * n_rows)


cdef inline SideTerms side_terms(
    const criterion_t* criterion, double n_labeled, double n_unlabeled, double sum_squares
) noexcept nogil:
    """Weight times impurity of one child, as base - part / whole.

    Augmented Gini weighs by unlabelled rows. Where v > 0 it expands to
    n_u G = 2 r n_l - (r^2 n_l^2 + r^2 q) / n_u, where v = 0 to n_u - n_u q / n_l^2.
    Gini weighs by all rows: n G = n - q / n.
    """
    cdef SideTerms terms
    cdef double known
    if criterion_t is AugmentedGini:
        known = criterion.ratio * n_labeled
        if known <= n_unlabeled:
            terms.base = 2.0 * known
            terms.part = known * known + criterion.ratio * criterion.ratio * sum_squares
            terms.whole = n_unlabeled if n_unlabeled > 0 else 1.0
        else:
            terms.base = n_unlabeled
            terms.part = n_unlabeled * sum_squares
            terms.whole = n_labeled * n_labeled
    else:
        terms.base = n_labeled
        terms.part = sum_squares
        # Only the rounding of weighted counts can leave nothing on a side.
        terms.whole = n_labeled if n_labeled > 0 else 1.0
    return terms


cdef inline double side_loss(
    const criterion_t* criterion, double n_labeled, double n_unlabeled, double sum_squares
) noexcept nogil:
    """Weight times impurity of a node."""
    cdef SideTerms terms = side_terms(criterion, n_labeled, n_unlabeled, sum_squares)
    return terms.base - terms.part / terms.whole


cdef inline double cut_loss(SideTerms left, SideTerms right) noexcept nogil:
    """What the search minimises: both sides added up."""
    return left.base + right.base - left.part / left.whole - right.part / right.whole


cdef inline bint may_beat(SideTerms left, SideTerms right, double loss) noexcept nogil:
    """Whether cut_loss can lie below loss, up to rounding, without a division."""
    return left.part * right.whole + right.part * left.whole > (
        left.base + right.base - loss
    ) * (left.whole * right.whole)


cdef inline double node_weight(
    const criterion_t* criterion, double n_labeled, double n_unlabeled
) noexcept nogil:
    """What side_loss weighs the node by."""
    if criterion_t is AugmentedGini:
        return n_unlabeled
    else:
        return n_labeled


cdef inline bint is_settled(
    const criterion_t* criterion, count_t n_labeled, count_t n_unlabeled, count_t sum_squares
) noexcept nogil:
    """No split can improve the node: pure, or (augmented) one population is absent.

    Without unlabelled rows the shares of R_C are undefined; without labelled rows every descendant
    has v = 1 and G = 0. Neither happens while gamma > 0.
    """
    if criterion_t is AugmentedGini:
        return n_labeled == 0 or n_unlabeled == 0
    else:
        return n_labeled == 0 or sum_squares == n_labeled * n_labeled


cdef inline void move(
    const criterion_t* criterion,
    uint32_t k,
    count_t amount,
    count_t* left_counts,
    const count_t* node_counts,
    count_t* n_labeled,
    count_t* n_unlabeled,
    count_t* left_squares,
    count_t* right_squares,
) noexcept nogil:
    """Move `amount` rows of class k from the right of the cut to its left, in O(1).

    n_labeled and n_unlabeled count the left side. To Gini every class, K included, is labelled.
    """
    cdef count_t left = left_counts[k]
    cdef count_t right = node_counts[k] - left
    cdef count_t labeled = amount
    if criterion_t is AugmentedGini:
        # A product instead of a branch: labelled and unlabelled rows come in no order.
        labeled = amount * (k != criterion.n_known)
        n_unlabeled[0] += amount - labeled
    left_counts[k] = left + amount
    left_squares[0] += labeled * (2 * left + amount)
    right_squares[0] -= labeled * (2 * right - amount)
    n_labeled[0] += labeled


@final
cdef class AugmentedGiniCriterion:
    cdef AugmentedGini rule
    cdef readonly double theta
    cdef readonly double n_labeled
    cdef readonly double n_unlabeled


@final
cdef class GiniCriterion:
    cdef Gini rule
