"""What is known about a group of new rows, in numbers and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class GroupColumn:
    """A column in which a group differs from other rows.

    Attributes
    ----------
    name : str
    mean : float
        Of the group.
    other_mean : float
        Of the rows it is compared with.
    difference : float
        Of the two, in standard deviations of these rows.
    """

    name: str
    mean: float
    other_mean: float
    difference: float

    def __str__(self) -> str:
        return f"{self.name} {self.mean:.4g} ({self.other_mean:.4g}, {self.difference:+.1f} sd)"


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
    """Means and deviations of columns over some rows; missing values are left out."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]

    @classmethod
    def of(cls, X: NDArray[np.float64]) -> ColumnSummary:
        """Summarise rows; a column without values has mean and deviation 0."""
        present = ~np.isnan(X)
        count = np.maximum(present.sum(axis=0), 1)
        mean = np.where(present, X, 0.0).sum(axis=0) / count
        deviation = np.sqrt(np.where(present, (X - mean) ** 2, 0.0).sum(axis=0) / count)
        return cls(mean, deviation)


def columns_apart(
    group: ColumnSummary, others: ColumnSummary, names: Sequence[str], n_columns: int
) -> tuple[GroupColumn, ...]:
    """The columns whose means differ most, in deviations of the other rows."""
    # Where the other rows are constant, the deviation of the group says how far is far.
    unit = np.where(others.deviation > 0, others.deviation, group.deviation)
    change = group.mean - others.mean
    unit = np.where(unit > 0, unit, np.maximum(np.abs(change), 1e-300))
    difference = change / unit
    order = np.argsort(-np.abs(difference), kind="stable")[:n_columns]
    return tuple(
        GroupColumn(names[i], float(group.mean[i]), float(others.mean[i]), float(difference[i]))
        for i in order
        if difference[i] != 0
    )
