"""What estimators tell scikit-learn of the tables they take."""

from __future__ import annotations

from typing import Any

from sklearn.utils import get_tags


class TakesGapsAndSparse:
    """An estimator whose tables may have missing values and be sparse."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


class TakesWhatEstimatorTakes:
    """An estimator that hands its tables to another one, its parameter `estimator`."""

    estimator: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags
