"""Scores of both samples, counted by value: the input of the estimators of theta."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Scores:
    """How much each row looks like the unlabelled sample; higher scores look newer.

    Attributes
    ----------
    labeled : float64 array of shape (n_labeled,)
    unlabeled : float64 array of shape (n_unlabeled,)
    """

    labeled: NDArray[np.float64]
    unlabeled: NDArray[np.float64]


@dataclass(frozen=True)
class ScoreTable:
    """Number of rows of each side per score; higher scores look newer.

    Attributes
    ----------
    values : float64 array of shape (n_values,)
        Distinct scores, ascending.
    labeled, unlabeled : float64 arrays of shape (n_values,)
        Number of rows with each score. Weights of labelled rows are scaled to sum to `n_labeled`.
    n_labeled, n_unlabeled : int
        Effective sample size of each side: the number of rows, or less if weights differ.
    """

    values: NDArray[np.float64]
    labeled: NDArray[np.float64]
    unlabeled: NDArray[np.float64]
    n_labeled: int
    n_unlabeled: int

    @classmethod
    def of(
        cls,
        labeled: NDArray[np.float64],
        unlabeled: NDArray[np.float64],
        weight: NDArray[np.float64] | None = None,
    ) -> ScoreTable:
        """Count scores by value."""
        values, place = np.unique(np.concatenate([labeled, unlabeled]), return_inverse=True)
        here, there = place[: len(labeled)], place[len(labeled) :]
        n_labeled = len(labeled)
        if weight is not None:
            # Only the ratios of weights matter, so scale them to avoid overflow and underflow. A
            # power of two keeps sums of integers exact, whatever the order of rows.
            weight = np.ldexp(weight, -int(np.frexp(weight.max())[1]))
            # Kish's effective sample size: equal weights give the number of rows.
            n_labeled = max(1, round(float(weight.sum() ** 2 / (weight**2).sum())))
        counts = np.bincount(here, weight, len(values)).astype(np.float64)
        if weight is not None:
            counts *= n_labeled / counts.sum()
        return cls(
            values,
            counts,
            np.bincount(there, None, len(values)).astype(np.float64),
            n_labeled,
            len(unlabeled),
        )

    def grouped(self, n_groups: int) -> ScoreTable:
        """Count neighbouring scores together, so that about `n_groups` values remain.

        The value of a group is its highest score. Equal scores are never separated, and tables with
        few values are returned unchanged.
        """
        if len(self.values) <= n_groups:
            return self
        # Half of the groups follow the quantiles of labelled rows, half those of unlabelled ones.
        share = self.labeled.cumsum() / self.labeled.sum()
        share += self.unlabeled.cumsum() / self.unlabeled.sum()
        group = np.minimum((share * (n_groups / 2)).astype(np.int64), n_groups - 1)
        first = np.flatnonzero(np.diff(group, prepend=-1))
        last = np.append(first[1:], len(group)) - 1
        return ScoreTable(
            self.values[last],
            np.add.reduceat(self.labeled, first),
            np.add.reduceat(self.unlabeled, first),
            self.n_labeled,
            self.n_unlabeled,
        )

    def resampled(self, rng: np.random.Generator) -> ScoreTable:
        """Draw both samples with replacement."""
        total = self.labeled.sum()
        labeled = rng.multinomial(self.n_labeled, self.labeled / total)
        unlabeled = rng.multinomial(self.n_unlabeled, self.unlabeled / self.unlabeled.sum())
        return ScoreTable(
            self.values,
            labeled * (total / self.n_labeled),
            unlabeled.astype(np.float64),
            self.n_labeled,
            self.n_unlabeled,
        )

    def ratio_curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Share of labelled rows up to each score, and that of unlabelled rows divided by it."""
        labeled, unlabeled = self.labeled.cumsum(), self.unlabeled.cumsum()
        some = labeled > 0
        x = labeled[some] / labeled[-1]
        return x, unlabeled[some] / unlabeled[-1] / x
