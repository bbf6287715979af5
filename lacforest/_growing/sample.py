"""Samples of rows by hash: what max_samples gives to every tree."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lacforest._input.parameters import is_int
from lacforest._tree.row_hash import sample_rows


@dataclass(frozen=True)
class RowSample:
    """How many times a tree takes each row, by a hash of the row number and the tree's seed.

    Labelled and unlabelled rows are numbered and drawn apart. Whether a row is taken depends on
    its number, the seed and the chances alone; `lacforest/_tree/sampling.pxd` defines the hash.

    Attributes
    ----------
    rate : float
        Rows of a tree per row of the table, on average.
    chances : float64 array
        Chance to take a row at most 0, 1, ... times.
    """

    rate: float
    chances: NDArray[np.float64]

    @classmethod
    def of(
        cls, max_samples: float | None, n_rows: int, bootstrap: bool = False
    ) -> RowSample | None:
        """The sample that parameters of a forest ask for; None takes every row, or bootstraps.

        Without bootstrap a row is taken once or not at all. With it, the number of times follows
        the Poisson distribution, which sampling with replacement tends to.
        """
        if max_samples is None:
            return None
        rate = min(1.0, max_samples / n_rows) if is_int(max_samples) else float(max_samples)
        return cls(rate, _poisson_chances(rate) if bootstrap else np.array([1.0 - rate]))

    def unlabeled_rows(self, n_unlabeled: int, seed: int) -> NDArray[np.int64]:
        """Numbers of the unlabelled rows that the tree of this seed takes, each of them once."""
        complement = seed ^ (2**64 - 1)
        return np.unique(sample_rows(0, n_unlabeled, complement, self.chances))


def _poisson_chances(mean: float) -> NDArray[np.float64]:
    chances = []
    term = total = math.exp(-mean)
    while total < 1.0 - 2.0**-53 and term > 0.0:
        chances.append(total)
        term *= mean / len(chances)
        total += term
    return np.array(chances)
