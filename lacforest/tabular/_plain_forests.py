"""Forests that were saved by themselves: a coder for the columns that they were fitted on."""

from __future__ import annotations

import numpy as np

from lacforest._input.categories import TableCategories
from lacforest._model.frozen import FrozenTrees
from lacforest.tabular._coder import TableCoder


def coder_of(forest: FrozenTrees) -> TableCoder:
    """A coder for a forest that was fitted without one.

    The forest takes coded arrays from now on: texts become ranks, and the coder has the names.
    """
    names, texts = _names_of(forest), {}
    columns = [] if forest._categories is None else list(forest._categories.columns)
    for place, categories in enumerate(columns):
        if categories is not None and categories.dtype == object:
            texts[names[place]] = [str(text) for text in categories]
            columns[place] = np.arange(len(categories), dtype=np.float64)
    if texts:
        forest._categories = TableCategories(tuple(columns))
    if hasattr(forest, "feature_names_in_"):
        del forest.feature_names_in_
    return TableCoder.of_numbers(names, texts)


def _names_of(forest: FrozenTrees) -> list[str]:
    """Feature names; X0, X1 and so on, as in an NPZ file, if the forest has none."""
    names = getattr(forest, "feature_names_in_", None)
    if names is None:
        return [f"X{i}" for i in range(forest.n_features_in_)]
    return [str(name) for name in names]
