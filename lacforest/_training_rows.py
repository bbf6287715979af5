"""What a forest is grown on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._coding import RowStack


@dataclass(frozen=True)
class TrainingRows:
    """What a forest is grown on: labelled rows [0, n_labeled), then unlabelled ones.

    Attributes
    ----------
    table : RowStack
    classes : uint16 array of shape (n_rows,)
        Class codes; n_known marks unlabelled rows.
    weight : float64 array of shape (n_rows,) or None
        Weights of labelled rows, all positive.
    sampling_weight : float64 array of shape (n_labeled,) or None
        Weights of labelled rows without those of their classes: how many rows each stands for.
    n_labeled, n_unlabeled, n_known : int
    """

    table: RowStack
    classes: NDArray[np.uint16]
    weight: NDArray[np.float64] | None
    sampling_weight: NDArray[np.float64] | None
    n_labeled: int
    n_unlabeled: int
    n_known: int

    @property
    def labeled_total(self) -> float:
        """n_l of Definition 1: labelled rows, by weight."""
        if self.weight is None:
            return float(self.n_labeled)
        return float(self.weight[: self.n_labeled].sum())

    @property
    def has_whole_weights(self) -> bool:
        """Whether all counts are whole numbers, which doubles add without rounding."""
        return self.weight is None or bool((self.weight == np.floor(self.weight)).all())

    @property
    def weight_unit(self) -> float:
        """What counts as one row in ``min_samples_leaf`` and ``min_samples_split``.

        One, unless weights are small throughout: then their mean, or no node could be split.
        """
        if self.weight is None:
            return 1.0
        return min(1.0, self.labeled_total / self.n_labeled) * (1 - 1e-9)

    def unlabeled_table(self) -> Any:
        """Features of the unlabelled rows, as prediction takes them."""
        return self.table.rows_from(self.n_labeled)
