"""The rows of a fit, checked and stacked, and what they add up to."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._input.categorical_columns import FROM_DTYPE, code_tables
from lacforest._input.categories import TableCategories
from lacforest._input.control import ControlRows, check_control
from lacforest._input.labels import check_training_labels, labeled_weights, make_labels
from lacforest._input.tables import (
    FOREST_TABLE,
    RowStack,
    by_column,
    check_training_table,
    check_unlabeled_table,
    warn_if_untransformed,
)
from lacforest._utils.classes import Labels
from lacforest._utils.frames import column_names

# Lower half of the 53 bits of a double: products of two halves are exact.
_LOW_BITS = np.uint64((1 << 27) - 1)
_HALF_COUNT = 1 << 26


_MAX_KNOWN = 65_534
_MAX_ROWS = 2**32 - 1


@dataclass(frozen=True)
class RowTotals:
    """How many rows a fit has, by kind, class and weight.

    Sums of weights are rounded once, so that they depend neither on the order of rows nor on how
    rows are grouped.

    Attributes
    ----------
    n_labeled, n_unlabeled, n_known, n_features : int
    labeled_total : float
        n_l of Definition 1: the total weight of labelled rows.
    labeled_size : float
        The same without the factors that weigh classes to their shares in deployment.
    class_totals : float64 array of shape (n_known,)
        Weight of labelled rows by class.
    is_weighted : bool
    has_whole_weights : bool
        Whether all weights are integers, which doubles add without rounding.
    """

    n_labeled: int
    n_unlabeled: int
    n_known: int
    n_features: int
    labeled_total: float
    labeled_size: float
    class_totals: NDArray[np.float64]
    is_weighted: bool
    has_whole_weights: bool

    @property
    def labeled_rows(self) -> float:
        """Weight of labelled rows as a number of rows, which caps of trees are multiples of."""
        return self.labeled_total / self.weight_unit

    @property
    def weight_unit(self) -> float:
        """What counts as one row in ``min_samples_leaf`` and ``min_samples_split``.

        One, or the mean weight if that is smaller: otherwise no node could be split.
        """
        if not self.is_weighted:
            return 1.0
        return min(1.0, self.labeled_size / self.n_labeled) * (1 - 1e-9)


@dataclass(frozen=True)
class WeightGroups:
    """Labelled rows in groups of equal class and equal weight.

    Attributes
    ----------
    classes : int array of shape (n_groups,)
    weight : float64 array of shape (n_groups,) or None
        Weight of each row of a group; None where all rows weigh 1.
    counts : int64 array of shape (n_groups,)
        Rows of a group.
    """

    classes: NDArray[np.intp]
    weight: NDArray[np.float64] | None
    counts: NDArray[np.int64]

    @classmethod
    def of(
        cls, classes: NDArray[np.uint16], weight: NDArray[np.float64] | None, n_known: int
    ) -> WeightGroups:
        """Groups of rows: one per class, or one per row where rows carry weights."""
        if weight is None:
            counts = np.bincount(classes, minlength=n_known).astype(np.int64)
            return cls(np.arange(n_known), None, counts)
        return cls(classes.astype(np.intp), weight, np.ones(len(classes), dtype=np.int64))

    def totals(
        self, n_unlabeled: int, n_known: int, n_features: int, factor: NDArray[np.float64] | None
    ) -> RowTotals:
        """Sums over all groups; `factor` is the part of each class in the weights."""
        n_labeled = int(self.counts.sum())
        if self.weight is None:
            by_class = np.zeros(n_known)
            np.add.at(by_class, self.classes, self.counts)
            total = size = float(n_labeled)
            is_whole = True
        else:
            order = np.argsort(self.classes, kind="stable")
            ends = np.cumsum(np.bincount(self.classes, minlength=n_known))[:-1]
            by_class = np.array(
                [exact_sum(self.weight[own], self.counts[own]) for own in np.split(order, ends)]
            )
            total = size = exact_sum(self.weight, self.counts)
            if factor is not None:
                size = exact_sum(self.weight / factor[self.classes], self.counts)
            is_whole = bool((self.weight == np.floor(self.weight)).all())
        return RowTotals(
            n_labeled=n_labeled,
            n_unlabeled=n_unlabeled,
            n_known=n_known,
            n_features=n_features,
            labeled_total=total,
            labeled_size=size,
            class_totals=by_class,
            is_weighted=self.weight is not None,
            has_whole_weights=is_whole,
        )


def exact_sum(values: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    """The sum of ``values * counts``, rounded once at the end; counts lie below 2**52."""
    high = (values.view(np.uint64) & ~_LOW_BITS).view(np.float64)
    low = values - high
    small = counts % _HALF_COUNT
    large = counts - small
    products = [part * times for part in (high, low) for times in (small, large) if times.any()]
    return math.fsum(np.concatenate(products).tolist()) if products else 0.0


@dataclass(frozen=True)
class TrainingRows:
    """Checked rows of a fit: labelled rows [0, n_labeled), then unlabelled ones.

    Attributes
    ----------
    table : RowStack
    classes : uint16 array of shape (n_rows,)
        Class codes; n_known marks unlabelled rows.
    weight : float64 array of shape (n_rows,) or None
        Weights of labelled rows, all positive.
    sampling_weight : float64 array of shape (n_labeled,) or None
        Weights of labelled rows without class weights: the number of rows that each represents.
    n_labeled, n_unlabeled, n_known : int
    class_factor : float64 array of shape (n_known,) or None
        Part of each class in `weight` that comes from its share in deployment: limits on the
        number of rows count without it.
    n_control : int
        How many of the labelled rows, the last ones, were given as a control from deployment.
    """

    table: RowStack
    classes: NDArray[np.uint16]
    weight: NDArray[np.float64] | None
    sampling_weight: NDArray[np.float64] | None
    n_labeled: int
    n_unlabeled: int
    n_known: int
    class_factor: NDArray[np.float64] | None = None
    n_control: int = 0

    @cached_property
    def totals(self) -> RowTotals:
        """What these rows add up to."""
        weight = None if self.weight is None else self.weight[: self.n_labeled]
        groups = WeightGroups.of(self.classes[: self.n_labeled], weight, self.n_known)
        return groups.totals(
            self.n_unlabeled, self.n_known, self.table.n_features, self.class_factor
        )

    @property
    def labeled_total(self) -> float:
        """n_l of Definition 1: the total weight of labelled rows."""
        return self.totals.labeled_total

    @property
    def labeled_shares(self) -> NDArray[np.float64]:
        """Shares of the known classes among labelled rows, by how many rows each stands for."""
        codes = self.classes[: self.n_labeled]
        totals = np.bincount(codes, self.sampling_weight, self.n_known).astype(np.float64)
        shares: NDArray[np.float64] = totals / totals.sum()
        return shares

    def with_class_factor(self, factor: NDArray[np.float64]) -> TrainingRows:
        """The same rows, each labelled one weighing the factor of its class more."""
        codes = self.classes[: self.n_labeled]
        weight = np.ones(self.table.n_rows) if self.weight is None else self.weight.copy()
        weight[: self.n_labeled] *= factor[codes]
        return replace(self, weight=weight, class_factor=factor)

    def with_control_factor(self, factor: float) -> TrainingRows:
        """The same rows, each control row counting as `factor` rows."""
        weight = np.ones(self.table.n_rows) if self.weight is None else self.weight.copy()
        sampling = (
            np.ones(self.n_labeled) if self.sampling_weight is None else self.sampling_weight.copy()
        )
        control = slice(self.n_labeled - self.n_control, self.n_labeled)
        weight[control] *= factor
        sampling[control] *= factor
        return replace(self, weight=weight, sampling_weight=sampling)

    def take(self, chosen: NDArray[np.intp], table: Any) -> TrainingRows:
        """Some rows in ascending order; `table` holds them. There must be no control rows."""
        n_labeled = int(np.searchsorted(chosen, self.n_labeled))
        sampling = self.sampling_weight
        return replace(
            self,
            table=table,
            classes=self.classes[chosen],
            weight=None if self.weight is None else self.weight[chosen],
            sampling_weight=None if sampling is None else sampling[chosen[:n_labeled]],
            n_labeled=n_labeled,
            n_unlabeled=len(chosen) - n_labeled,
        )

    def unlabeled_table(self) -> Any:
        """Features of the unlabelled rows, in the form that prediction takes."""
        return self.table.rows_from(self.n_labeled)


class RowSource(ABC):
    """Stands for X, y and X_unlabeled of a fit whose rows were checked before."""

    @abstractmethod
    def training_rows(self, estimator: Any) -> tuple[TrainingRows, Labels]:
        """The rows, weighted by the classes alone; sets the names of columns of the estimator."""


def code_categories(
    estimator: Any, X: Any, X_unlabeled: Any, control: Any
) -> tuple[TableCategories | None, tuple[Any, Any, Any]]:
    """The categories of a fit, and its tables with ranks in their place.

    Sets `_categories` of an estimator with the parameter `categorical_features`.
    """
    if not hasattr(estimator, "categorical_features"):
        return None, (X, X_unlabeled, control)
    estimator._categories = None
    given = estimator.categorical_features
    by_type = isinstance(given, str) and given == FROM_DTYPE
    if given is None or (by_type and not hasattr(X, "dtypes")):
        return None, (X, X_unlabeled, control)
    estimator._categories, coded = code_tables(given, X, X_unlabeled, control)
    return estimator._categories, coded


def check_training_rows(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    X_unlabeled: Any,
    *,
    options: dict[str, Any] = FOREST_TABLE,
    always_new: bool = False,
    control: Any = None,
) -> tuple[TrainingRows, Labels]:
    """Stack labelled above unlabelled rows and code the labels.

    Labelled rows of weight zero are dropped, but their labels still count as classes. There is a
    new class if there are unlabelled rows, or if the method needs none to find it (`always_new`).
    Control rows, a pair of table and labels, follow the labelled ones.
    """
    if isinstance(X, RowSource):
        return X.training_rows(estimator)
    names = column_names(X)
    categories, (X, X_unlabeled, control) = code_categories(estimator, X, X_unlabeled, control)
    table = check_training_table(estimator, X, options)
    labels, marked = check_training_labels(estimator, y, table.shape[0], X_unlabeled is not None)

    known, codes = np.unique(labels, return_inverse=True)
    if len(known) > _MAX_KNOWN:
        raise ValueError(f"y has {len(known)} classes; at most {_MAX_KNOWN} are supported")
    weights = labeled_weights(estimator, sample_weight, marked, known, codes)
    kept = weights.kept

    parts = [table]
    if X_unlabeled is not None:
        parts.append(check_unlabeled_table(estimator, X_unlabeled, names, options))
        warn_if_untransformed(*parts)
    n_unlabeled = int(marked.sum()) if X_unlabeled is None else parts[1].shape[0]
    order = None
    if marked.any() or not kept.all():
        below = [] if X_unlabeled is None else [table.shape[0] + np.arange(n_unlabeled)]
        order = np.concatenate([np.flatnonzero(~marked)[kept], np.flatnonzero(marked), *below])
    n_labeled = int(kept.sum())
    if n_labeled + n_unlabeled > _MAX_ROWS:
        raise ValueError(f"at most {_MAX_ROWS} rows are supported")
    row_weight = None
    if weights.weight is not None:
        row_weight = np.concatenate([weights.weight, np.ones(n_unlabeled)])
    checked = None
    if control is not None:
        if n_unlabeled == 0:
            raise ValueError(
                "control is given without unlabelled rows: it says what known classes look like "
                "among them, so pass X_unlabeled, or add the rows to X and y"
            )
        checked = check_control(estimator, control, names, known, options)
    rows = TrainingRows(
        table=RowStack(
            [by_column(part) for part in parts],
            order,
            None if categories is None else categories.n_categories,
        ),
        classes=np.concatenate(
            [codes[kept], np.full(n_unlabeled, len(known))], dtype=np.uint16, casting="unsafe"
        ),
        weight=row_weight,
        sampling_weight=weights.sampling,
        n_labeled=n_labeled,
        n_unlabeled=n_unlabeled,
        n_known=len(known),
    )
    if checked is not None:
        rows = _insert_control(rows, checked, weights.class_factors)
    return rows, make_labels(known, estimator.new_label, always_new or n_unlabeled > 0)


def _insert_control(
    rows: TrainingRows, control: ControlRows, factors: NDArray[np.float64] | None
) -> TrainingRows:
    """Control rows between labelled and unlabelled ones; those of a class of weight 0 left out."""
    codes, stack, n_labeled = control.codes, rows.table, rows.n_labeled
    added = np.ones(len(codes)) if factors is None else factors[codes]
    kept = np.flatnonzero(added)
    codes, added = codes[kept], added[kept]
    order = np.arange(stack.n_rows) if stack.order is None else stack.order
    first = sum(part.shape[0] for part in stack.parts)
    order = np.insert(order, n_labeled, first + kept)
    weight, sampling = rows.weight, rows.sampling_weight
    if weight is not None or (added != 1.0).any():
        weight = np.ones(stack.n_rows) if weight is None else weight
        weight = np.insert(weight, n_labeled, added)
    if sampling is not None:
        sampling = np.append(sampling, np.ones(len(codes)))
    return replace(
        rows,
        table=RowStack([*stack.parts, by_column(control.table)], order, stack.categories),
        classes=np.insert(rows.classes, n_labeled, codes.astype(np.uint16)),
        weight=weight,
        sampling_weight=sampling,
        n_labeled=n_labeled + len(codes),
        n_control=len(codes),
    )
