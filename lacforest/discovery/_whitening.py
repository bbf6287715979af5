"""The space in which rows are grouped: known classes have about the same spread everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from lacforest._input.fingerprints import fingerprints
from lacforest._input.tables import reject_text
from lacforest._utils.frames import fill_masked

# Added to the covariance, in units of its mean variance, so that directions in which known rows
# hardly vary do not drown the others; and the power of the covariance that is divided by (full
# whitening: 1). Chosen together with the steps of columns, among some ninety settings; see
# docs/guide/after.rst.
_RIDGE = 0.5
_POWER = 0.85
# Most values of a column between which its ranks are interpolated.
_MOST_STEPS = 32
_LEAST_VARIANCE = 1e-12
# Squares of larger numbers overflow in distances and variances. A column of a smaller range is a
# constant, so that factors of columns are bounded too.
_MOST_NUMBER = 1e150
_LEAST_RANGE = 1e-100
_MOST_FACTOR = 1e120


def as_dense(X: Any, name: str) -> NDArray[np.float64]:
    """A table of numbers, in which NaN is missing."""
    reject_text(X, name)
    table = check_array(
        fill_masked(X),
        accept_sparse="csr",
        dtype=np.float64,
        ensure_all_finite="allow-nan",
        input_name=name,
    )
    dense: NDArray[np.float64] = table.toarray() if sparse.issparse(table) else table
    return dense


def as_rows(X: Any, name: str) -> NDArray[np.float64]:
    """The same, of numbers that distances can be found of."""
    dense = as_dense(X, name)
    check_distances(dense, name)
    return dense


def check_distances(table: NDArray[np.float64], name: str) -> None:
    """Raise ValueError if squares of numbers in a table would overflow."""
    largest = np.fmax.reduce(np.abs(table), axis=None, initial=0.0)
    if not largest <= _MOST_NUMBER:
        raise ValueError(
            f"{name} holds numbers of up to {largest:.3g}, too large for distances between rows: "
            "replace them, or use another unit"
        )


@dataclass(frozen=True)
class ColumnSteps:
    """What is added to each column: its ranks, so that crowded values are spread out.

    Attributes
    ----------
    values : ndarray of shape (n_features, n_steps)
        Ascending values of each column; shorter lists repeat their last value.
    heights : ndarray of shape (n_features, n_steps)
        Shares of rows below these values, in units of the range of the column.
    """

    values: NDArray[np.float64]
    heights: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[np.float64], ranges: NDArray[np.float64]) -> ColumnSteps:
        """The ranks of rows without missing values; constants have range 0 and no steps."""
        steps = [_thinned_ranks(column) for column in rows.T]
        n_steps = max(len(values) for values, _ in steps)
        values, ranks = (
            np.array([np.pad(step[side], (0, n_steps - len(step[side])), "edge") for step in steps])
            for side in (0, 1)
        )
        return cls(values, ranks * ranges[:, None])

    def add_to(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Each column plus its heights, which go on beyond the steps as they rise on average."""
        added = [np.interp(*column) for column in zip(X.T, self.values, self.heights, strict=True)]
        beyond = X - np.clip(X, self.values[:, 0], self.values[:, -1])
        has_steps = self.heights[:, -1] > self.heights[:, 0]
        spread: NDArray[np.float64] = X + np.column_stack(added) + np.where(has_steps, beyond, 0.0)
        return spread


def _thinned_ranks(column: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Some values of a column, and the share of rows below each, equal ones counted half."""
    values, counts = np.unique(column, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2) / len(column)
    if len(values) <= _MOST_STEPS:
        return values, ranks
    kept = np.unique(np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], _MOST_STEPS)))
    return values[kept], ranks[kept]


@dataclass(frozen=True)
class Whitening:
    """A map of rows, found from labelled ones: steps in each column, then a linear map.

    Attributes
    ----------
    fill : ndarray of shape (n_features,)
        Values that replace missing ones: medians of labelled rows.
    matrix : ndarray of shape (n_features, n_features)
        Rows times this matrix have about the same variance in all directions within known classes.
    class_means : ndarray of shape (n_known_classes, n_features)
        Means of the known classes, mapped.
    steps : ColumnSteps or None
        None in files of older versions.
    """

    fill: NDArray[np.float64]
    matrix: NDArray[np.float64]
    class_means: NDArray[np.float64]
    steps: ColumnSteps | None

    def apply(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows with missing values filled, mapped; infinite where numbers are too large."""
        filled = np.where(np.isnan(X), self.fill, X)
        with np.errstate(over="ignore", invalid="ignore"):
            mapped = (filled if self.steps is None else self.steps.add_to(filled)) @ self.matrix
        mapped[np.isnan(mapped)] = np.inf
        return mapped

    def is_bounded(self) -> bool:
        """Whether rows of usual numbers are mapped to numbers that distances can be found of."""
        if not np.abs(self.matrix).max(initial=0.0) <= _MOST_FACTOR:
            return False
        rows = self.fill[None]
        with np.errstate(over="ignore"):
            if self.steps is not None:
                ends = [np.abs(self.steps.values).max(), np.abs(self.steps.heights).max()]
                if not max(ends) <= _MOST_NUMBER:
                    return False
                rows = np.concatenate([rows, self.steps.add_to(rows), self.steps.heights.T])
            parts = np.abs(rows).max(axis=0)[:, None] * np.abs(self.matrix)
        return bool(max(parts.max(initial=0.0), np.abs(self.class_means).max()) <= _MOST_NUMBER)


def find_whitening(
    X: NDArray[np.float64], codes: NDArray[np.intp], flagged: NDArray[np.float64]
) -> Whitening:
    """The map that whitens the rows of labelled classes around their means.

    Columns are first divided by their ranges, so that units do not matter, and their ranks among
    all rows are added: most of a class may lie where values are crowded. Missing values are
    replaced by the median of labelled rows, which leaves a row without an opinion in that column.
    """
    from sklearn.covariance import LedoitWolf  # slow to import

    with_value = ~np.isnan(X).all(axis=0)
    fill = np.zeros(X.shape[1])
    fill[with_value] = np.nanmedian(X[:, with_value], axis=0)
    X, flagged = np.where(np.isnan(X), fill, X), np.where(np.isnan(flagged), fill, flagged)
    rows = np.concatenate([X, flagged])
    ranges = np.ptp(rows, axis=0)
    ranges = np.where(ranges > _LEAST_RANGE, ranges, 0.0)
    scale = np.where(ranges > 0, ranges, 1.0)
    steps = ColumnSteps.of(rows, ranges)
    X = steps.add_to(X)
    means = np.array([X[codes == code].mean(axis=0) for code in range(codes.max() + 1)])
    spread = (X - means[codes]) / scale
    covariance = LedoitWolf(assume_centered=True).fit(spread).covariance_
    ridge = _RIDGE * max(float(np.trace(covariance)) / len(covariance), _LEAST_VARIANCE)
    covariance = covariance + ridge * np.eye(len(covariance))
    variances, directions = np.linalg.eigh(covariance)
    matrix = directions / variances ** (_POWER / 2) / scale[:, None]
    return Whitening(fill, matrix, means @ matrix, steps)


def canonical_order(rows: NDArray[np.float64]) -> NDArray[np.intp]:
    """An order that depends on the values of rows alone, and is random otherwise."""
    order: NDArray[np.intp] = np.argsort(fingerprints(rows), kind="stable")
    return order


def distances_to(rows: NDArray[np.float64], centroids: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance of each row to each centroid, without a table of three dimensions."""
    with np.errstate(over="ignore"):  # too far is far
        columns = [np.linalg.norm(rows - centroid, axis=1) for centroid in centroids]
    return np.column_stack(columns) if columns else np.empty((len(rows), 0))
