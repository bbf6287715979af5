"""The two criteria as Python classes: what a forest is grown by, and the impurity of a node."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from lacforest._tree.criterion cimport augmented_gini, augmented_proportion, gini, side_loss
from lacforest._tree.types cimport (
    LABELED, N_SUMS, SQUARES, UNLABELED, AugmentedGini, Gini, criterion_t
)

import numpy as np


def _checked_counts(counts, name):
    values = np.ascontiguousarray(counts, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(
            f"{name} must have one count per class, got an array of shape {values.shape}"
        )
    if not np.all(np.isfinite(values)) or (values < 0).any():
        raise ValueError(f"{name} must be finite and not negative, got {counts!r}")
    return values


def _scale(values, double n_unlabeled):
    """Counts times a power of two: squares cannot underflow, and shares keep their bits."""
    exponent = np.frexp(values.max(initial=0.0))[1]
    with np.errstate(over="ignore"):
        return np.ldexp(values, -exponent), np.ldexp(n_unlabeled, -exponent)


def _checked_sides(left_counts, right_counts):
    left = _checked_counts(left_counts, "left_counts")
    right = _checked_counts(right_counts, "right_counts")
    if left.shape[0] != right.shape[0]:
        raise ValueError("left_counts and right_counts must name the same classes")
    return left, right


def _check_unlabeled(double count, name):
    if not 0.0 <= count < INFINITY:
        raise ValueError(f"{name} must be finite and not negative, got {count}")


cdef double _loss(const criterion_t* criterion, counts, double n_unlabeled) except? -1.0:
    """Weight times impurity of a node with these labelled counts."""
    cdef double[N_SUMS] sums
    sums[LABELED] = counts.sum()
    sums[UNLABELED] = n_unlabeled
    sums[SQUARES] = counts @ counts
    return side_loss(criterion, <const double*> sums)


def augmented_proportions(const double[:, :] counts not None, double ratio):
    """vartheta_{C,k+1} of nodes given as rows (labelled, unlabelled)."""
    cdef Py_ssize_t i
    if counts.shape[1] != 2:
        raise ValueError(
            f"counts must have 2 columns, labelled and unlabelled rows, got {counts.shape[1]}"
        )
    proportions = np.empty(counts.shape[0])
    cdef double[::1] out = proportions
    for i in range(counts.shape[0]):
        out[i] = augmented_proportion(ratio, counts[i, 0], counts[i, 1])
    return proportions


cdef class AugmentedGiniCriterion:
    """Augmented Gini impurity of a node (Definition 1 of the paper), the criterion of Step I.

    Parameters
    ----------
    theta : float in [0, 1]
        Proportion of the augmented class among unlabelled rows (Eqn 1).
    n_labeled, n_unlabeled : float
        Totals n_l and n_u of the training set, not of a node.

    Examples
    --------
    >>> from lacforest import AugmentedGiniCriterion
    >>> criterion = AugmentedGiniCriterion(theta=0.5, n_labeled=500, n_unlabeled=1000)
    >>> criterion.proportions([30, 10], n_unlabeled=100).tolist()
    [0.3, 0.1, 0.6]
    >>> round(criterion.impurity([30, 10], n_unlabeled=100), 4)
    0.54
    """

    def __init__(self, double theta, double n_labeled, double n_unlabeled):
        if not 0.0 <= theta <= 1.0:
            raise ValueError(f"theta must lie in [0, 1], got {theta}")
        if not (n_labeled > 0 and n_unlabeled > 0):
            raise ValueError(
                "n_labeled and n_unlabeled are totals of the training set and must be positive, "
                f"got {n_labeled} and {n_unlabeled}"
            )
        self.theta = theta
        self.n_labeled = n_labeled
        self.n_unlabeled = n_unlabeled
        self._ratio = (1.0 - theta) * n_unlabeled / n_labeled

    @property
    def ratio(self):
        """(1 - theta) n_u / n_l: unlabelled rows of known classes per labelled row."""
        return self._ratio

    def __reduce__(self):
        return type(self), (self.theta, self.n_labeled, self.n_unlabeled)

    cdef AugmentedGini rule(self, int32_t n_classes) noexcept:
        cdef AugmentedGini rule
        rule.ratio = self._ratio
        rule.n_known = n_classes - 1
        return rule

    def proportions(self, counts, double n_unlabeled):
        """Estimated class proportions of a node: vartheta_{C,1..k}, then vartheta_{C,k+1}.

        Parameters
        ----------
        counts : array-like of shape (n_known_classes,)
            Labelled rows of each known class in the node.
        n_unlabeled : float
            Unlabelled rows in the node.

        Returns
        -------
        ndarray of shape (n_known_classes + 1,)
        """
        values = _checked_counts(counts, "counts")
        _check_unlabeled(n_unlabeled, "n_unlabeled")
        total = values.sum()
        new = augmented_proportion(self._ratio, total, n_unlabeled)
        return np.append((1.0 - new) * values / (total if total > 0 else 1.0), new)

    def impurity(self, counts, double n_unlabeled):
        """G_C (Eqn 2) of a node with these labelled counts and unlabelled rows."""
        values = _checked_counts(counts, "counts")
        _check_unlabeled(n_unlabeled, "n_unlabeled")
        values, n_unlabeled = _scale(values, n_unlabeled)
        return augmented_gini(self._ratio, values.sum(), n_unlabeled, values @ values)

    def reduction(
        self, left_counts, double left_unlabeled, right_counts, double right_unlabeled
    ):
        """R_C of a cut: impurity of the node minus that of its children by unlabelled shares."""
        left, right = _checked_sides(left_counts, right_counts)
        _check_unlabeled(left_unlabeled, "left_unlabeled")
        _check_unlabeled(right_unlabeled, "right_unlabeled")
        n_unlabeled = left_unlabeled + right_unlabeled
        if not n_unlabeled > 0:
            raise ValueError("R_C is undefined for a node without unlabelled rows")
        cdef AugmentedGini rule = self.rule(<int32_t> (left.shape[0] + 1))
        loss = _loss(&rule, left, left_unlabeled) + _loss(&rule, right, right_unlabeled)
        return self.impurity(left + right, n_unlabeled) - loss / n_unlabeled


cdef class GiniCriterion:
    """Gini impurity of a node, the criterion of Step II.

    Examples
    --------
    >>> from lacforest import GiniCriterion
    >>> GiniCriterion().impurity([5, 5])
    0.5
    """

    def __reduce__(self):
        return type(self), ()

    cdef Gini rule(self, int32_t n_classes) noexcept:
        cdef Gini rule
        rule.n_classes = n_classes
        return rule

    def impurity(self, counts):
        """1 - sum_k p_k^2 of a node with these class counts."""
        values, _ = _scale(_checked_counts(counts, "counts"), 0.0)
        return gini(values.sum(), values @ values)

    def reduction(self, left_counts, right_counts):
        """Impurity of the node minus that of its children by their shares of rows."""
        left, right = _checked_sides(left_counts, right_counts)
        if not (left.sum() > 0 and right.sum() > 0):
            raise ValueError("both children of a cut must hold rows")
        cdef Gini rule = self.rule(<int32_t> left.shape[0])
        loss = _loss(&rule, left, 0.0) + _loss(&rule, right, 0.0)
        return self.impurity(left + right) - loss / (left.sum() + right.sum())
