"""A fitted forest without its estimator: what its trees predict and tell, by numpy alone.

The command scores small tables with it, because importing scikit-learn takes longer than all else
that it does.
"""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lacforest._input.categories import TableCategories
from lacforest._model.arrays import ForestArrays
from lacforest._model.forest_files import read_forest
from lacforest._model.tree_view import TreeViews
from lacforest._model.values import decode_value
from lacforest._tree.criterion import AugmentedGiniCriterion
from lacforest._utils.classes import WithClasses


class FrozenTrees(WithClasses):
    """Trees and classes of a fitted forest; estimators add checks of what they are given."""

    n_jobs: int | None

    theta_: float | None
    n_features_in_: int
    n_labeled_: float
    unlabeled_score_: NDArray[np.float64]

    _forest: ForestArrays
    # Trees of Step I, where they are not the first part of the ones that predict.
    _explored: ForestArrays | None = None
    # None where all columns hold numbers.
    _categories: TableCategories | None = None
    # Of a forest that `adapt` returned: factors of the votes by class code, and shares of all
    # classes in the fit.
    _class_factors: NDArray[np.float64] | None = None
    _fitted_shares: NDArray[np.float64] | None = None

    def _adapted(self, votes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities by class code, from those of the trees alone."""
        # Dividing by a sum of one would round.
        if self._class_factors is None or (self._class_factors == 1.0).all():
            return votes
        adapted = votes * self._class_factors
        adapted /= adapted.sum(axis=1, keepdims=True)
        return adapted

    def _tree_views(self) -> TreeViews:
        criterion = None
        if self.theta_ is not None:
            fitted = self.theta_ if self._fitted_shares is None else float(self._fitted_shares[-1])
            criterion = AugmentedGiniCriterion(
                fitted, self.n_labeled_, float(len(self.unlabeled_score_))
            )
        return TreeViews(self._forest, criterion, self._column_order())


class FrozenForest(FrozenTrees):
    """A forest as its file holds it.

    It predicts tables of float64 without infinite values, as a `TableCoder` makes them, and does
    not check them again.

    Parameters
    ----------
    header : dict
        Of the file. Parameters that only a fit uses are not read.
    """

    def __init__(self, header: dict[str, Any]) -> None:
        self.n_jobs = decode_value(header["parameters"].get("n_jobs"))

    @classmethod
    def load(cls, path: str | os.PathLike[str], estimator: str) -> Self:
        """Read a file that must hold an estimator of the given class."""
        loaded: Self = read_forest(path, estimator, cls, mmap=False)
        return loaded

    def get_params(self, deep: bool = False) -> dict[str, Any]:
        """The parameters that a reader of files asks for; `deep` changes nothing."""
        return {"n_jobs": self.n_jobs, "theta": None}

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of `classes_`."""
        table = X if self._categories is None else self._categories.encode(X, "X")
        return self._in_class_order(self._adapted(self._forest.probabilities(table, self.n_jobs)))

    @property
    def estimators_(self) -> TreeViews:
        """The trees, read-only, with arrays named as in scikit-learn."""
        return self._tree_views()
