"""Probabilities of labelled rows by the trees whose samples left them out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._growing.plan import TreePlan
from lacforest._model.arrays import ForestArrays


def out_of_bag_probabilities(
    forest: ForestArrays, plan: TreePlan, X: Any, n_jobs: int | None
) -> NDArray[np.float64]:
    """Mean class distribution of each labelled row over the trees that did not see it.

    Parameters
    ----------
    forest : ForestArrays
    plan : TreePlan
        Of the trees of the forest, with seeds of samples.
    X : dense or sparse table of shape (n_labeled, n_features)
        The labelled rows in the order of the fit.
    n_jobs : int or None

    Returns
    -------
    float64 array of shape (n_labeled, n_classes)
        NaN in rows that every tree has seen.
    """
    n_labeled = X.shape[0]
    sums = np.zeros((n_labeled, forest.n_classes))
    for tree in range(forest.n_trees):
        left_out = np.ones(n_labeled, dtype=bool)
        left_out[plan.labeled_rows(tree, n_labeled)] = False
        if left_out.any():
            sums[left_out] += forest.take_tree(tree).probabilities(X[left_out], n_jobs)
    with np.errstate(invalid="ignore"):
        shares: NDArray[np.float64] = sums / sums.sum(axis=1, keepdims=True)
    return shares
