"""What trees are grown on and by what rules: checked when made, then read by all threads."""

from libc.math cimport INFINITY
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint16_t

from lacforest._tree.criterion cimport AugmentedGiniCriterion, GiniCriterion
from lacforest._tree.coded_columns cimport CodedColumns, ColumnValues
from lacforest._tree.types cimport class_t

import numpy as np

# A depth that no tree reaches, and more features than any table has.
cdef int32_t NO_LIMIT = 0x7FFFFFFF
# Integer counts: limits are exact, and twice a limit does not overflow.
cdef double MOST_ROWS = 9007199254740992.0
cdef int32_t MOST_CLASSES = 1 << 16


def _at_least_one(name, value):
    """An int clamped to C limits that never bind."""
    if value != int(value) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")
    return min(int(value), NO_LIMIT)


cdef double _finite(name, value) except? -1.0:
    cdef double number = value
    if not -INFINITY < number < INFINITY:
        raise ValueError(f"{name} must be finite, got {value!r}")
    return number


cdef class TreeLimits:
    """What a cut and a node must satisfy.

    Parameters
    ----------
    max_features : int
        Features drawn at a node, tau in the paper.
    min_leaf : float, default=1
        Rows of any kind in each child, by weight.
    min_split : float, default=2
        Rows of any kind in a node that may be split, by weight.
    min_labeled, min_unlabeled : float, default=0
        Labelled and unlabelled rows in each child (Eqns 5 and 6), by weight. They apply to
        augmented Gini impurity only.
    rows_per_category : float, default=0
        Where the categories of a node are more than eight and have fewer rows each on average, by
        weight, one of them is cut off at a time: sets would fit the labels of single rows.
    max_depth : int or None, default=None
    draw_until_feasible : bool, default=False
        Draw features beyond `max_features` until one of them has a feasible cut.
    """

    def __cinit__(
        self,
        *,
        max_features,
        min_leaf=1,
        min_split=2,
        min_labeled=0,
        min_unlabeled=0,
        rows_per_category=0,
        max_depth=None,
        bint draw_until_feasible=False,
    ):
        self.limits.max_features = _at_least_one("max_features", max_features)
        self.limits.max_depth = (
            NO_LIMIT if max_depth is None else _at_least_one("max_depth", max_depth)
        )
        self.limits.min_leaf = _finite("min_leaf", min_leaf)
        self.limits.min_split = _finite("min_split", min_split)
        self.limits.min_labeled = _finite("min_labeled", min_labeled)
        self.limits.min_unlabeled = _finite("min_unlabeled", min_unlabeled)
        self.limits.rows_per_category = _finite("rows_per_category", rows_per_category)
        self.limits.draw_until_feasible = draw_until_feasible

    def check_whole(self):
        """Raise ValueError unless the limits can be held against integer counts."""
        largest = max(
            self.limits.min_leaf,
            self.limits.min_split,
            self.limits.min_labeled,
            self.limits.min_unlabeled,
        )
        if largest > MOST_ROWS:
            raise ValueError(f"limits without weights must not exceed 2**53 rows, got {largest}")


cdef class GrowthRules:
    """How trees are grown: every cut of a drawn feature is a candidate.

    Parameters
    ----------
    criterion : AugmentedGiniCriterion or GiniCriterion
    limits : TreeLimits
    """

    def __cinit__(self, criterion, TreeLimits limits not None):
        if not isinstance(criterion, (AugmentedGiniCriterion, GiniCriterion)):
            raise TypeError(
                "criterion must be an AugmentedGiniCriterion or a GiniCriterion, got "
                f"{type(criterion).__name__}"
            )
        self.criterion = criterion
        self.limits = limits
        self.candidates.are_random = False

    @staticmethod
    def with_random_cuts(criterion, TreeLimits limits not None, ColumnValues values not None):
        """Rules with one candidate per drawn feature, a random cut.

        Parameters
        ----------
        criterion : AugmentedGiniCriterion or GiniCriterion
        limits : TreeLimits
        values : ColumnValues
            The distinct values of every column, between which cuts are drawn.
        """
        cdef GrowthRules rules = GrowthRules(criterion, limits)
        rules.values = values
        rules.candidates.are_random = True
        rules.candidates.keep_codes = False
        rules.candidates.values = values.addresses
        return rules


cdef class GrowthTable:
    """Coded rows with their classes and weights.

    Parameters
    ----------
    columns : CodedColumns
    classes : uint16 array of shape (n_rows,)
        Class code of each row; ``n_classes - 1`` marks rows that carry no label (Step I) or a
        pseudo-label (Step II).
    taking_part : uint8 array of shape (n_rows,)
        Rows that count; all others are left out of every sample.
    n_labeled : int
        Rows [0, n_labeled) are labelled.
    n_classes : int
        Known classes plus one.
    weight : float64 array of shape (n_rows,) or None, default=None
        Weights of rows. Rows of the last class weigh 1 whatever it says.
    class_factor : float64 array of shape (n_classes - 1,) or None, default=None
        The part of each known class in the weights of its rows. Limits count rows without it.
    most_rows : tuple of two ints or None, default=(None, None)
        Most labelled and most unlabelled rows of a tree. A tree with more of a kind draws as many,
        without replacement and by its own seed. None is no limit.
    chances : float64 array or None, default=None
        Trees with a sample seed take each row by its hash: chances to take it at most 0, 1, ...
        times; see sampling.pxd. None draws as many rows as there are, with replacement.
    """

    def __cinit__(
        self,
        CodedColumns columns not None,
        const uint16_t[::1] classes not None,
        const uint8_t[::1] taking_part not None,
        int64_t n_labeled,
        int32_t n_classes,
        const double[::1] weight=None,
        class_factor=None,
        most_rows=(None, None),
        const double[::1] chances=None,
    ):
        cdef int64_t n_rows = columns.table.n_rows
        cdef int64_t i
        cdef int64_t n_bad = 0
        cdef class_t largest = 0
        if not 1 <= n_classes <= MOST_CLASSES:
            raise ValueError(f"n_classes must lie between 1 and {MOST_CLASSES}, got {n_classes}")
        if not 0 <= n_labeled <= n_rows:
            raise ValueError(f"n_labeled must lie between 0 and {n_rows} rows, got {n_labeled}")
        _check_length("classes", classes.shape[0], n_rows)
        _check_length("taking_part", taking_part.shape[0], n_rows)
        if weight is not None:
            _check_length("weight", weight.shape[0], n_rows)
        if class_factor is not None:
            class_factor = np.ascontiguousarray(class_factor, dtype=np.float64)
            if weight is None or class_factor.shape != (n_classes - 1,):
                raise ValueError("class_factor needs weights, and one factor per known class")
            if not (np.isfinite(class_factor) & (class_factor > 0)).all():
                raise ValueError("class_factor must be finite and positive")
        for i in range(n_rows):
            largest = classes[i] if classes[i] > largest else largest
        if weight is not None:
            for i in range(n_rows):
                n_bad += not 0.0 <= weight[i] < INFINITY
        if n_bad:
            raise ValueError("weight must be finite and not negative")
        if largest >= n_classes:
            raise ValueError(f"class codes must lie below n_classes = {n_classes}, got {largest}")
        if chances is not None and chances.shape[0] == 0:
            raise ValueError("chances must not be empty")
        self.columns = columns
        self.n_labeled = n_labeled
        # Samples with replacement may hold more rows of a kind than the table has.
        self.max_labeled, self.max_unlabeled = (_row_limit(most) for most in most_rows)
        self.n_classes = n_classes
        self.is_weighted = weight is not None
        self.classes = &classes[0]
        self.taking_part = &taking_part[0]
        if weight is not None:
            self.weight = &weight[0]
        self._class_factor = class_factor
        if chances is not None:
            self.chances = &chances[0]
            self.n_chances = chances.shape[0]
        self._owners = (
            classes.base,
            taking_part.base,
            None if weight is None else weight.base,
            None if chances is None else chances.base,
        )

    cdef int write_rows_per_weight(self, double* target) except -1:
        """The reciprocal factor of each class; rows of the last class count as they are."""
        cdef int32_t k
        for k in range(self.n_classes):
            target[k] = 1.0
        if self._class_factor is not None:
            for k in range(self.n_classes - 1):
                target[k] = 1.0 / <double> self._class_factor[k]
        return 0


def _row_limit(most):
    if most is None:
        return INT64_MAX
    if most < 0:
        raise ValueError(f"most_rows must not be negative, got {most}")
    return min(most, INT64_MAX)


def _check_length(name, int64_t length, int64_t n_rows):
    if length != n_rows:
        raise ValueError(f"{name} has {length} entries, but the table has {n_rows} rows")
