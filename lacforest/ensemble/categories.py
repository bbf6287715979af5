"""What a fitted forest tells of its categorical columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lacforest._input.categories import TableCategories


class CategorySupport:
    """Categorical columns of the fit."""

    n_features_in_: int

    _categories: TableCategories | None

    @property
    def is_categorical_(self) -> NDArray[np.bool_] | None:
        """Which columns hold categories; None where none does."""
        check_is_fitted(self)
        return None if self._categories is None else self._categories.is_categorical

    @property
    def categories_(self) -> tuple[NDArray[Any] | None, ...]:
        """The categories of each column, sorted; None for columns of numbers."""
        check_is_fitted(self)
        if self._categories is None:
            return (None,) * int(self.n_features_in_)
        return self._categories.columns
