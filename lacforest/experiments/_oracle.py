"""An upper bound: a forest that is trained on the true labels of the unlabelled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier


class OracleForest:
    """scikit-learn's ExtraTreesClassifier on all rows with their true labels.

    Not a method but an upper bound: the gap between the paper's forest and this one is what
    remains to be gained.
    """

    classes_: NDArray[Any]
    new_class_index_: int

    def __init__(self, random_state: int, n_jobs: int | None) -> None:
        self._forest = ExtraTreesClassifier(100, random_state=random_state, n_jobs=n_jobs)

    def fit(self, X: Any, y: Any, X_unlabeled: Any, y_unlabeled: Any) -> OracleForest:
        """Grow on labelled and unlabelled rows; all hidden classes share one label."""
        self._forest.fit(np.concatenate([X, X_unlabeled]), np.concatenate([y, y_unlabeled]))
        self.classes_ = self._forest.classes_
        self.new_class_index_ = int(np.flatnonzero(~np.isin(self.classes_, y))[0])
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of `classes_`."""
        probabilities: NDArray[np.float64] = self._forest.predict_proba(X)
        return probabilities
