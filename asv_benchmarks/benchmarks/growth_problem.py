"""The table that functions are called on, and the list of calls; see growth.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

# Growth does not depend on the number of trees; few of them leave time for large tables.
N_TREES = 10


@dataclass(frozen=True)
class Problem:
    """Half of the rows labelled, half not; a quarter of the latter is new.

    Attributes
    ----------
    n_rows, n_columns : int
    n_classes : int
        With the new one.
    """

    n_rows: int
    n_columns: int
    n_classes: int

    @cached_property
    def codes(self) -> Any:
        """Class of every row; the last class is new. Labelled rows come first."""
        rng = np.random.default_rng(0)
        known = rng.integers(0, self.n_classes - 1, self.n_rows)
        n_labeled = self.n_rows // 2
        known[: self.n_classes - 1] = np.arange(self.n_classes - 1)
        is_new = np.zeros(self.n_rows, dtype=bool)
        is_new[n_labeled:] = rng.random(self.n_rows - n_labeled) < 0.25
        return np.where(is_new, self.n_classes - 1, known)

    @cached_property
    def table(self) -> Any:
        """Blobs around one center per class."""
        rng = np.random.default_rng(1)
        centers = 3 * rng.normal(size=(self.n_classes, self.n_columns))
        return centers[self.codes] + rng.normal(size=(self.n_rows, self.n_columns))

    @property
    def X(self) -> Any:  # noqa: N802
        """Labelled rows."""
        return self.table[: self.n_rows // 2]

    @property
    def y(self) -> Any:
        """Their labels."""
        return self.codes[: self.n_rows // 2]

    @property
    def U(self) -> Any:  # noqa: N802
        """Unlabelled rows."""
        return self.table[self.n_rows // 2 :]

    @property
    def truth(self) -> Any:
        """Labels of all rows, -1 for the new class."""
        return np.where(self.codes == self.n_classes - 1, -1, self.codes)

    @property
    def marked(self) -> Any:
        """Labels of all rows, -1 for unlabelled ones."""
        return np.append(self.y, np.full(len(self.U), -1))

    @cached_property
    def fit(self) -> dict[str, Any]:
        """What every classifier is fitted on."""
        return {"X": self.X, "y": self.y, "X_unlabeled": self.U}

    def in_categories(self, table: Any) -> Any:
        """The table with its first column in categories, ten rows in each of them."""
        n_categories = min(max(self.n_rows // 10, 2), 60_000)
        order = np.argsort(np.argsort(table[:, 0], kind="stable"), kind="stable")
        coded = table.copy()
        coded[:, 0] = order * n_categories // len(table)
        return coded

    @cached_property
    def forest(self) -> Any:
        """A fitted forest."""
        from lacforest import LACForestClassifier

        return small_forest(LACForestClassifier).fit(**self.fit)

    @cached_property
    def frame(self) -> Any:
        """The labelled rows as a frame with a column of text and a target."""
        import pandas as pd

        frame = pd.DataFrame(self.X, columns=[f"c{j}" for j in range(self.n_columns)])
        frame["word"] = np.array(["ham", "spam", "egg"])[np.arange(len(frame)) % 3]
        return frame.assign(kind=[f"k{label}" for label in self.y])


def small_forest(kind: Any, **parameters: Any) -> Any:
    """An unfitted forest of few trees, theta given."""
    return kind(**{"n_estimators": N_TREES, "theta": 0.25, "random_state": 0} | parameters)


Ready = Callable[[], Any]
CALLS: dict[str, Callable[[Problem], Ready]] = {}


def call(name: str) -> Callable[[Callable[[Problem], Ready]], Callable[[Problem], Ready]]:
    """Decorate what prepares a call, to be listed under this name."""

    def register(prepare: Callable[[Problem], Ready]) -> Callable[[Problem], Ready]:
        CALLS[name] = prepare
        return prepare

    return register
