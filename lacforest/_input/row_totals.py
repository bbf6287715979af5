"""Totals of the rows of a fit: all that trees need to know of rows beyond their own."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Lower half of the 53 bits of a double: products of two halves are exact.
_LOW_BITS = np.uint64((1 << 27) - 1)
_HALF_COUNT = 1 << 26


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
