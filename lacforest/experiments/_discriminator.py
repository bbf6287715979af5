"""A recipe of scikit-learn's forests that any user could write, as a mark to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from lacforest._contract.deployment import theta_seed
from lacforest._growing.plan import draw_entropy, pseudo_labels
from lacforest._input.labels import make_labels
from lacforest.mixture import RankMixture


class DiscriminatorForest:
    """Tell labelled from unlabelled rows, call the most unlabelled ones new, train once more.

    A random forest separates labelled rows from unlabelled ones. The ``floor(theta * n_unlabeled)``
    unlabelled rows with the highest out-of-bag scores get the new label, and extremely randomised
    trees are trained on them together with the labelled rows. Theta is estimated as in the forests
    of this library, with the same seed.
    """

    classes_: NDArray[Any]
    new_class_index_: int
    theta_: float

    def __init__(self, random_state: int, n_jobs: int | None) -> None:
        self._random_state = random_state
        self._n_jobs = n_jobs

    def fit(self, X: Any, y: Any, X_unlabeled: Any) -> DiscriminatorForest:
        """Train both forests of scikit-learn."""
        options = {"random_state": self._random_state, "n_jobs": self._n_jobs}
        seed = theta_seed(draw_entropy(self._random_state))
        estimator = RankMixture(random_state=seed, n_jobs=self._n_jobs)
        self.theta_ = estimator.fit(X, X_unlabeled).theta_
        is_unlabeled = np.repeat([0, 1], [len(X), len(X_unlabeled)])
        discriminator = RandomForestClassifier(oob_score=True, **options)
        discriminator.fit(np.concatenate([X, X_unlabeled]), is_unlabeled)
        scores = discriminator.oob_decision_function_[len(X) :, 1]
        new_rows = X_unlabeled[pseudo_labels(scores, self.theta_)]
        labels = make_labels(np.unique(y), "auto", has_unlabeled=True)
        new_labels = np.full(len(new_rows), labels.new_label)
        self._forest = ExtraTreesClassifier(150, **options)
        self._forest.fit(np.concatenate([X, new_rows]), np.concatenate([y, new_labels]))
        self.classes_ = labels.classes
        self.new_class_index_ = int(np.searchsorted(self.classes_, labels.new_label))
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of `classes_`; zero for "new" where no row was called new."""
        found = np.isin(self.classes_, self._forest.classes_)
        probabilities = np.zeros((len(X), len(self.classes_)))
        probabilities[:, found] = self._forest.predict_proba(X)
        return probabilities
