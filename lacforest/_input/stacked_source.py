"""Rows of a fit that were read from files and coded before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._input.categories import TableCategories
from lacforest._input.labels import labeled_weights, make_labels
from lacforest._input.training_data import RowSource, TrainingRows
from lacforest._utils.classes import Labels


@dataclass(frozen=True)
class StackedSource(RowSource):
    """Labelled rows above unlabelled ones in a table that was coded before the fit.

    Attributes
    ----------
    table : object
        With the interface of a RowStack.
    known : array of shape (n_known,)
        The labels, sorted.
    codes : int array of shape (n_labeled,)
        Which of them each labelled row has.
    names : list of str
        Names of the columns.
    """

    table: Any
    known: NDArray[Any]
    codes: NDArray[np.intp]
    names: list[str]

    def training_rows(self, estimator: Any) -> tuple[TrainingRows, Labels]:
        """The rows, weighted by the classes alone."""
        n_labeled = len(self.codes)
        n_unlabeled = self.table.n_rows - n_labeled
        none_marked = np.zeros(n_labeled, dtype=bool)
        weights = labeled_weights(estimator, None, none_marked, self.known, self.codes)
        if not weights.kept.all():
            raise ValueError("class_weight must not be 0 where rows are read from files")
        estimator.n_features_in_ = self.table.n_features
        estimator.feature_names_in_ = np.array(self.names, dtype=object)
        estimator._categories = TableCategories.of_ranks(self.table.n_categories)
        weight = weights.weight
        rows = TrainingRows(
            table=self.table,
            classes=np.concatenate(
                [self.codes, np.full(n_unlabeled, len(self.known))],
                dtype=np.uint16,
                casting="unsafe",
            ),
            weight=None if weight is None else np.concatenate([weight, np.ones(n_unlabeled)]),
            sampling_weight=weights.sampling,
            n_labeled=n_labeled,
            n_unlabeled=n_unlabeled,
            n_known=len(self.known),
        )
        return rows, make_labels(self.known, estimator.new_label, n_unlabeled > 0)
