"""What is known about a group of new rows, in numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._input.categories import MOST_CATEGORIES


@dataclass(frozen=True)
class GroupColumn:
    """A column in which a group differs from other rows.

    Attributes
    ----------
    name : str
    mean : float
        Of the group. In a column of categories, the share of its rows in `category`.
    other_mean : float
        Of the rows it is compared with.
    difference : float
        Of the two, in standard deviations of these rows.
    category : str or None
        The category whose share in the group exceeds its share in the other rows most; None in a
        column of numbers.
    """

    name: str
    mean: float
    other_mean: float
    difference: float
    category: str | None = None

    @property
    def told(self) -> tuple[str, str]:
        """What the group has, and what the other rows have."""
        if self.category is None:
            return f"{self.name} {self.mean:.4g}", f"{self.other_mean:.4g}"
        return f"{self.name} = {self.category} in {self.mean:.0%}", f"{self.other_mean:.0%}"

    def __str__(self) -> str:
        own, others = self.told
        sds = f", {self.difference:+.1f} sd" if self.category is None else ""
        return f"{own} ({others}{sds})"


@dataclass(frozen=True)
class Group:
    """A group of rows that look new.

    Attributes
    ----------
    name : str
    size : int
    medoid : int
        Position of the row that is nearest to the centre of the group.
    rows : tuple of int
        Positions of the rows nearest to the centre, at most five, the medoid first.
    nearest_class : object
        The known class whose mean is nearest.
    class_distance : float
        Distance to it, in standard deviations within known classes.
    from_known, from_groups : tuple of GroupColumn
        Columns that set the group apart from labelled rows, and from the other groups.
    """

    name: str
    size: int
    medoid: int
    rows: tuple[int, ...]
    nearest_class: Any
    class_distance: float
    from_known: tuple[GroupColumn, ...]
    from_groups: tuple[GroupColumn, ...]

    def __str__(self) -> str:
        apart = ", ".join(map(str, self.from_known))
        return (
            f"{self.name}: {self.size} rows, nearest known class {self.nearest_class} "
            f"(distance {self.class_distance:.1f}); apart from known rows by {apart}"
        )


@dataclass(frozen=True)
class ColumnSummary:
    """Means and deviations of columns over some rows; missing values are left out.

    Attributes
    ----------
    mean, deviation : ndarray of shape (n_features,)
    n_rows : int
        0 where the rows are not known any more.
    counts : tuple of int arrays or None
        Rows with the codes 0, 1, 2 and so on in columns that may hold codes of categories; empty
        where the rows are not known any more.
    """

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    n_rows: int = 0
    counts: tuple[NDArray[np.intp] | None, ...] = ()

    @classmethod
    def of(cls, X: NDArray[np.float64]) -> ColumnSummary:
        """Summarise rows; a column without values has mean and deviation 0."""
        present = ~np.isnan(X)
        count = np.maximum(present.sum(axis=0), 1)
        mean = np.where(present, X, 0.0).sum(axis=0) / count
        deviation = np.sqrt(np.where(present, (X - mean) ** 2, 0.0).sum(axis=0) / count)
        return cls(mean, deviation, len(X), tuple(map(_count_codes, X.T)))


def _count_codes(column: NDArray[np.float64]) -> NDArray[np.intp] | None:
    """How often each code occurs; None where values are no codes of categories."""
    values = column[~np.isnan(column)]
    if not ((values >= 0) & (values < MOST_CATEGORIES) & (values % 1 == 0)).all():
        return None
    return np.bincount(values.astype(np.intp))


def columns_apart(
    group: ColumnSummary,
    others: ColumnSummary,
    names: Sequence[str],
    n_columns: int,
    categories: Mapping[str, Sequence[str]] | None = None,
) -> tuple[GroupColumn, ...]:
    """The columns whose means or shares of categories differ most, in deviations of the others.

    Columns of categories are left out where the other rows are not known any more.
    """
    texts = {} if categories is None else categories
    found = _means_apart(group, others, names)
    if others.n_rows:
        found = [
            _categories_apart(column, group, others, j, texts[column.name])
            if column.name in texts
            else column
            for j, column in enumerate(found)
        ]
    else:
        found = [column for column in found if column.name not in texts]
    order = np.argsort([-abs(column.difference) for column in found], kind="stable")[:n_columns]
    return tuple(found[i] for i in order if found[i].difference != 0)


def _categories_apart(
    column: GroupColumn,
    group: ColumnSummary,
    others: ColumnSummary,
    place: int,
    texts: Sequence[str],
) -> GroupColumn:
    """The same column by shares of its categories; as it is where its values are not codes."""
    own_counts, other_counts = group.counts[place], others.counts[place]
    if own_counts is None or other_counts is None:
        return column
    if max(len(own_counts), len(other_counts)) > len(texts):
        return column
    own, known = np.zeros(len(texts)), np.zeros(len(texts))
    own[: len(own_counts)] = own_counts / group.n_rows
    known[: len(other_counts)] = other_counts / others.n_rows
    most = int((own - known).argmax())
    change = max(float(own[most] - known[most]), 0.0)  # below 0 where only missing values are more
    # One more row of either kind: a category that no other row has is far away, but not infinitely.
    share = (others.n_rows * known[most] + 1.0) / (others.n_rows + 2.0)
    return GroupColumn(
        column.name,
        float(own[most]),
        float(known[most]),
        change / float(np.sqrt(share * (1.0 - share))),
        texts[most],
    )


def _means_apart(
    group: ColumnSummary, others: ColumnSummary, names: Sequence[str]
) -> list[GroupColumn]:
    """All columns with their means."""
    # Where the other rows are constant, the deviation of the group says how far is far.
    unit = np.where(others.deviation > 0, others.deviation, group.deviation)
    change = group.mean - others.mean
    unit = np.where(unit > 0, unit, np.maximum(np.abs(change), 1e-300))
    difference = change / unit
    return [
        GroupColumn(name, float(own), float(other), float(apart))
        for name, own, other, apart in zip(names, group.mean, others.mean, difference, strict=True)
    ]
