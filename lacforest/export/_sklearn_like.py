"""Trees as dictionaries of arrays, the form that SHAP's TreeExplainer reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from lacforest._tree_view import TreeView, find_trees


def to_sklearn_like(forest: Any) -> dict[str, Any]:
    """The trees as dictionaries of arrays, as ``shap.TreeExplainer`` takes them.

    Values that explain one prediction add up to it: for each class, the new one included,
    ``explainer.expected_value[k]`` plus the sum of a row's values is its probability of class k.

    Parameters
    ----------
    forest : LACForestClassifier or LACExtraTreesClassifier
        Fitted. Not a pipeline: explain the forest in it, on rows as the forest sees them.

    Returns
    -------
    dict
        "trees" is a list of dictionaries with these arrays, one entry a node:

        - "children_left", "children_right": children, -1 at leaves;
        - "children_default": where a missing value (NaN) goes, the left or the right child;
        - "features", "thresholds": values at or below the threshold go left;
        - "values": class distribution of the node, columns as in ``classes_``, divided by the
          number of trees, so that values of leaves add up to ``predict_proba``;
        - "node_sample_weight": labelled and pseudo-labelled rows of the node, by weight.

        "internal_dtype" and "input_dtype" are float64, the type that the forest compares in, and
        "tree_output" is "probability".

    See Also
    --------
    lacforest.inspection.new_versus_known_importances : Of the forest as a whole.

    Notes
    -----
    *Missing values* are explained like others: "this value is missing" is what the row has, and
    it takes the way that the split has learnt.

    *Without background rows* TreeExplainer weighs branches by "node_sample_weight". These are the
    rows that Step II saw, so the expected value of the new class is its share among labelled and
    pseudo-labelled rows, not theta. Pass unlabelled rows as ``data`` to explain against what
    deployment looks like. A forest with ``gamma=0`` may have leaves that none of these rows reach;
    for it TreeExplainer asks for background rows.

    Leaves hold shares as float32, so sums agree with ``predict_proba`` to about 1e-7.

    Examples
    --------
    >>> from lacforest import LACForestClassifier
    >>> from lacforest.datasets import make_figure1
    >>> from lacforest.export import to_sklearn_like
    >>> toy = make_figure1(random_state=0)
    >>> forest = LACForestClassifier(10, theta=0.5, random_state=0)
    >>> forest = forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
    >>> model = to_sklearn_like(forest)
    >>> len(model["trees"])
    10

    With shap installed:

    >>> import shap  # doctest: +SKIP
    >>> explainer = shap.TreeExplainer(model)  # doctest: +SKIP
    >>> explanation = explainer(toy.X_unlabeled)  # doctest: +SKIP
    >>> why_new = explanation[..., forest.new_class_index_]  # doctest: +SKIP
    """
    trees = find_trees(forest)
    return {
        "trees": [_arrays(tree, len(trees)) for tree in trees],
        "internal_dtype": np.float64,
        "input_dtype": np.float64,
        "tree_output": "probability",
    }


def _arrays(tree: TreeView, n_trees: int) -> dict[str, Any]:
    # Copies: the views are read-only, and what a caller does to a dictionary is his own.
    return {
        "children_left": tree.children_left.copy(),
        "children_right": tree.children_right.copy(),
        "children_default": np.where(
            tree.missing_go_to_left, tree.children_left, tree.children_right
        ),
        "features": tree.feature.copy(),
        "thresholds": tree.threshold.copy(),
        "values": tree.value / n_trees,
        "node_sample_weight": tree.weighted_n_node_samples.copy(),
    }
