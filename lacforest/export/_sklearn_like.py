"""Trees as dictionaries of arrays, the format of SHAP's TreeExplainer."""

from __future__ import annotations

from typing import Any

import numpy as np

from lacforest._model.tree_view import TreeView, find_all_of_forest


def to_sklearn_like(forest: Any) -> dict[str, Any]:
    """Convert the trees to dictionaries of arrays, the input of ``shap.TreeExplainer``.

    The SHAP values of a row sum to its prediction: for each class k, the new one included,
    ``explainer.expected_value[k]`` plus the sum of the row's values is its probability of class k.

    Parameters
    ----------
    forest : LACForestClassifier or LACExtraTreesClassifier
        Fitted. For a pipeline, pass its forest, and explain transformed rows.

    Returns
    -------
    dict
        "trees" is a list of dictionaries with these arrays, one entry per node:

        - "children_left", "children_right": children, -1 at leaves;
        - "children_default": the child that missing values (NaN) go to;
        - "features", "thresholds": values at or below the threshold go left;
        - "values": class distribution of the node, columns as in ``classes_``, divided by the
          number of trees, so that values of leaves add up to ``predict_proba``;
        - "node_sample_weight": total weight of labelled and pseudo-labelled rows of the node.

        "internal_dtype" and "input_dtype" are float64, the type in which the forest compares
        values, and "tree_output" is "probability".

    See Also
    --------
    lacforest.inspection.new_versus_known_importances : Importances for the whole forest.

    Notes
    -----
    *Missing values* are explained like other values: a missing value takes the branch that the
    split has learnt.

    *Without background rows* TreeExplainer weights branches by "node_sample_weight". These are the
    rows of Step II, so the expected value of the new class is its share among labelled and
    pseudo-labelled rows, not theta. Pass unlabelled rows as ``data`` to explain predictions
    relative to the rows of deployment. A forest with ``gamma=0`` may have leaves that none of
    these rows reach, in which case TreeExplainer requires background rows.

    Leaves store shares as float32, so sums agree with ``predict_proba`` to about 1e-7.

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
    trees = find_all_of_forest(forest)
    if trees.arrays.sets is not None:
        raise ValueError(
            "the trees of this forest split categories by sets, which arrays of thresholds cannot "
            "express: explain it by lacforest.inspection.shap_values"
        )
    return {
        "trees": [_arrays(tree, len(trees)) for tree in trees],
        "internal_dtype": np.float64,
        "input_dtype": np.float64,
        "tree_output": "probability",
    }


def _arrays(tree: TreeView, n_trees: int) -> dict[str, Any]:
    # Copies, because the views are read-only and callers may modify the dictionary.
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
