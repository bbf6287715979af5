"""Which features separate new rows from known ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lacforest._growing.steps import mean_importances
from lacforest._input.classifiers import find_classifier
from lacforest._model.arrays import split_features
from lacforest.ensemble.base import BaseLACForest, check_is_forest


def new_versus_known_importances(forest: BaseLACForest) -> NDArray[np.float64]:
    r"""How much each feature separates new rows from known ones, in Step I.

    ``feature_importances_`` counts the whole decrease of impurity by a split, which includes the
    separation of known classes. This function counts only what splits of Step I contribute to the
    question "new or known?". Let :math:`\vartheta` be the share of the new class in a node,
    :math:`\vartheta_{C,\kappa+1}` of Definition 1. The importance is the decrease of
    :math:`2 \vartheta (1 - \vartheta)`, the Gini impurity of that question, weighted by the share
    of unlabelled rows in the node.

    Parameters
    ----------
    forest : LACForestClassifier or LACExtraTreesClassifier
        Fitted with unlabelled rows.

    Returns
    -------
    ndarray of shape (n_features,)
        Mean over trees; non-negative with sum 1, or all zero if no split of Step I helps.

    See Also
    --------
    permutation_importance : More reliable, but needs rows that were not used in the fit.

    Notes
    -----
    Splits of Step II do not count, because they follow the pseudo-labels of Step I instead of the
    data.

    Like all impurity-based importances, these are computed from the training rows and favour
    features with many distinct values: a feature of pure noise gets a small positive share. No
    rows are needed, so the importances are also available for a forest loaded from a file.

    Examples
    --------
    The first feature separates two known classes, the second both from the new class.

    >>> from lacforest import LACForestClassifier
    >>> from lacforest.datasets import make_figure1
    >>> from lacforest.inspection import new_versus_known_importances
    >>> toy = make_figure1(500, 1000, random_state=0)
    >>> forest = LACForestClassifier(theta=0.5, random_state=0)
    >>> forest = forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
    >>> forest.feature_importances_.round(1)
    array([0.5, 0.5])
    >>> new_versus_known_importances(forest).round(1)
    array([0.2, 0.8])
    """
    check_is_forest(forest)
    arrays = find_classifier(forest)._step_one_arrays
    first = np.repeat(arrays.explored_start[:-1], arrays.n_explored)
    tree = np.repeat(np.arange(arrays.n_trees), arrays.n_explored)
    # Nodes of Step I come first in each tree, and children are numbered within the tree.
    nodes = arrays.nodes[arrays.tree_start[tree] + np.arange(len(tree)) - first]
    split = (nodes["left"] >= 0) & (nodes["left"] < arrays.n_explored[tree])
    left = first[split] + nodes["left"][split]
    new = arrays.explored_values
    impurity = 2 * new * (1 - new) * arrays.explored_counts[:, 1]
    decrease = np.zeros((arrays.n_trees, arrays.n_features))
    np.add.at(
        decrease,
        (tree[split], split_features(nodes["feature"][split])),
        impurity[split] - impurity[left] - impurity[left + 1],
    )
    return mean_importances(decrease)
