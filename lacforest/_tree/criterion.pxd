"""Augmented Gini (Definition 1) and Gini impurity, and everything that depends on which it is.

With c_k the labelled counts of a node, n_l = sum c_k, n_u its unlabelled count, q = sum c_k^2
and r = (1 - theta) n_u(all) / n_l(all), Definition 1 reads

    v = [n_u > 0] * max(0, 1 - r n_l / n_u)
    G = 1 - v^2 - (1 - v)^2 q / n_l^2

so a row that crosses a cut changes three sums, whatever the number of classes: LABELED, UNLABELED
and SQUARES, kept as an array of N_SUMS counts. To Gini impurity every class is labelled, class K
included, and UNLABELED is zero.

Where known classes have other shares in deployment, labelled rows of class k weigh a factor f_k
more, and c_k above is the weighted count: Definition 1 with a ratio r_k = r f_k per class. Limits
such as the fewest rows of a leaf count rows without these factors: that is the fourth sum, SIZE.

The guards max(1, .) of the paper matter only where a count is zero. Tests for zero in their place
mean the same and also serve weighted counts.
"""

from cython cimport final

from lacforest._tree.types cimport (
    ANY_KIND, LABELED, SIZE, SQUARES, UNLABELED, AugmentedGini, Gini, Limits, SideTerms, count_t,
    criterion_t, int32_t, uint32_t
)


# ------------------------------------------------------------------------------ impurity


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


# ------------------------------------------------------------------------------ losses


cdef inline SideTerms side_terms(
    const criterion_t* criterion, const count_t* side
) noexcept nogil:
    """Weight times impurity of one child, as base - part / whole.

    Augmented Gini weighs by unlabelled rows. Where v > 0 it expands to
    n_u G = 2 r n_l - (r^2 n_l^2 + r^2 q) / n_u, where v = 0 to n_u - n_u q / n_l^2.
    Gini weighs by all rows: n G = n - q / n.
    """
    cdef double n_labeled = <double> side[LABELED]
    cdef double n_unlabeled = <double> side[UNLABELED]
    cdef double sum_squares = <double> side[SQUARES]
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


cdef inline double side_loss(const criterion_t* criterion, const count_t* side) noexcept nogil:
    """Weight times impurity of a node."""
    cdef SideTerms terms = side_terms(criterion, side)
    return terms.base - terms.part / terms.whole


cdef inline double cut_loss(SideTerms left, SideTerms right) noexcept nogil:
    """What the search minimises: the sum over both sides."""
    return left.base + right.base - left.part / left.whole - right.part / right.whole


cdef inline bint may_beat(SideTerms left, SideTerms right, double loss) noexcept nogil:
    """Whether cut_loss can lie below loss, up to rounding, without a division."""
    return left.part * right.whole + right.part * left.whole > (
        left.base + right.base - loss
    ) * (left.whole * right.whole)


cdef inline double node_weight(const criterion_t* criterion, const count_t* node) noexcept nogil:
    """The weight in side_loss."""
    if criterion_t is AugmentedGini:
        return <double> node[UNLABELED]
    else:
        return <double> node[LABELED]


cdef inline double category_mass(const criterion_t* criterion) noexcept nogil:
    """What a labelled row weighs against one of the last class where categories are ordered.

    In Step I the rows that labelled ones stand for among the unlabelled ones. With one known class
    categories are then ordered by their v of Definition 1.
    """
    if criterion_t is AugmentedGini:
        return criterion.ratio if criterion.ratio > 0.0 else 1.0
    else:
        return 1.0


# ------------------------------------------------------------------------------ sums


cdef inline void sum_counts(
    const criterion_t* criterion, const count_t* counts, count_t* sums
) noexcept nogil:
    """The sums of counts by class."""
    cdef uint32_t k, n_summed
    sums[LABELED] = 0
    sums[UNLABELED] = 0
    sums[SQUARES] = 0
    sums[SIZE] = 0
    if criterion_t is AugmentedGini:
        n_summed = criterion.n_known
        sums[UNLABELED] = counts[n_summed]
    else:
        n_summed = criterion.n_classes
    for k in range(n_summed):
        sums[LABELED] += counts[k]
        sums[SQUARES] += counts[k] * counts[k]
        if count_t is double:
            sums[SIZE] += counts[k] * criterion.rows_per_weight[k]


cdef inline void sum_sides(
    const criterion_t* criterion,
    const count_t* node_counts,
    const count_t* left_counts,
    count_t* left,
    count_t* right,
) noexcept nogil:
    """The sums of the left side, and SQUARES of the right one, of counts by class."""
    cdef uint32_t k, n_summed
    sum_counts(criterion, left_counts, left)
    right[SQUARES] = 0
    if criterion_t is AugmentedGini:
        n_summed = criterion.n_known
    else:
        n_summed = criterion.n_classes
    for k in range(n_summed):
        right[SQUARES] += (node_counts[k] - left_counts[k]) * (node_counts[k] - left_counts[k])


cdef inline void move_rows(
    const criterion_t* criterion,
    uint32_t k,
    count_t amount,
    const count_t* node_counts,
    count_t* left_counts,
    count_t* left,
    count_t* right,
) noexcept nogil:
    """Move `amount` rows of class k from the right of the cut to its left, in O(1).

    Updates left_counts, the sums of the left side and SQUARES of the right one. The other sums of
    the right side are those of the node minus those of the left.
    """
    cdef count_t n_left = left_counts[k]
    cdef count_t n_right = node_counts[k] - n_left
    cdef count_t labeled = amount
    if criterion_t is AugmentedGini:
        # A product instead of a branch, which would often be mispredicted.
        labeled = amount * (k != criterion.n_known)
        left[UNLABELED] += amount - labeled
    left_counts[k] = n_left + amount
    left[SQUARES] += labeled * (2 * n_left + amount)
    right[SQUARES] -= labeled * (2 * n_right - amount)
    left[LABELED] += labeled
    if count_t is double:
        left[SIZE] += labeled * criterion.rows_per_weight[k]


cdef inline count_t n_labeled_rows(const count_t* sums) noexcept nogil:
    """Labelled rows as limits count them: without the factors of their classes."""
    if count_t is double:
        return sums[SIZE]
    else:
        return sums[LABELED]


# ------------------------------------------------------------------------------ rules of growth


cdef inline bint is_terminal(const criterion_t* criterion, const count_t* node) noexcept nogil:
    """Whether no split can improve the node: it is pure, or (augmented) lacks one population.

    Without unlabelled rows the shares of R_C are undefined; without labelled rows every descendant
    has v = 1 and G = 0. Only gamma = 0 allows such nodes.
    """
    if criterion_t is AugmentedGini:
        return node[LABELED] == 0 or node[UNLABELED] == 0
    else:
        return node[LABELED] == 0 or node[SQUARES] == node[LABELED] * node[LABELED]


cdef inline bint is_feasible(
    const criterion_t* criterion, const count_t* least, const count_t* left, const count_t* right
) noexcept nogil:
    """Whether both sides hold the rows that the limits ask for: any kind, and Eqns 5 and 6."""
    if (
        n_labeled_rows(left) + left[UNLABELED] < least[ANY_KIND]
        or n_labeled_rows(right) + right[UNLABELED] < least[ANY_KIND]
    ):
        return False
    if criterion_t is AugmentedGini:
        if (
            n_labeled_rows(left) < least[LABELED]
            or n_labeled_rows(right) < least[LABELED]
            or left[UNLABELED] < least[UNLABELED]
            or right[UNLABELED] < least[UNLABELED]
        ):
            return False
    return True


cdef inline bint records_counts(const criterion_t* criterion) noexcept nogil:
    """Whether a grown tree has the labelled and unlabelled rows of every node (Step I)."""
    if criterion_t is AugmentedGini:
        return True
    else:
        return False


cdef inline bint has_class_leaves(const criterion_t* criterion) noexcept nogil:
    """Whether leaves hold class distributions (Step II). Leaves of Step I may be split again."""
    if criterion_t is AugmentedGini:
        return False
    else:
        return True


@final
cdef class AugmentedGiniCriterion:
    cdef readonly double theta
    cdef readonly double n_labeled
    cdef readonly double n_unlabeled
    cdef double _ratio

    cdef AugmentedGini rule(self, int32_t n_classes) noexcept


@final
cdef class GiniCriterion:
    cdef Gini rule(self, int32_t n_classes) noexcept


cdef inline void set_least(const Limits* limits, count_t* least) noexcept nogil:
    """Fewest rows of a child, in the type of the counts."""
    least[LABELED] = <count_t> limits.min_labeled
    least[UNLABELED] = <count_t> limits.min_unlabeled
    least[ANY_KIND] = <count_t> limits.min_leaf


cdef inline void copy_sums(const count_t* sums, count_t* copy) noexcept nogil:
    """A scan works on a copy of its own: writing counts cannot change it, so it needs no reload."""
    copy[LABELED] = sums[LABELED]
    copy[UNLABELED] = sums[UNLABELED]
    copy[SQUARES] = sums[SQUARES]
    copy[SIZE] = sums[SIZE]
