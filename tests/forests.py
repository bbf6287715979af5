"""Looking into fitted forests: when two are the same, where a row goes, what Step I left."""

from dataclasses import fields
from typing import NamedTuple

import numpy as np
from numpy.testing import assert_array_equal

from lacforest import AugmentedGiniCriterion
from lacforest._grow_lacforest import LACForestGrower
from lacforest._validation import check_training_rows


def assert_same_forest(one, other):
    """Same bits in every array of the frozen forests and in all that fit found out."""
    for field in fields(one._forest):
        assert_array_equal(
            getattr(one._forest, field.name), getattr(other._forest, field.name), field.name
        )
    assert_array_equal(one.unlabeled_score_, other.unlabeled_score_)
    assert_array_equal(one.pseudo_labels_, other.pseudo_labels_)
    assert_array_equal(one.feature_importances_, other.feature_importances_)


def path(tree, values, n_nodes=None):
    """Nodes of a TreeView that a row passes; children from n_nodes on do not count."""
    nodes = [0]
    while 0 <= tree.children_left[nodes[-1]] < (n_nodes or tree.node_count):
        here = nodes[-1]
        value = values[tree.feature[here]]
        left = tree.missing_go_to_left[here] if np.isnan(value) else value <= tree.threshold[here]
        nodes.append(int(tree.children_left[here] if left else tree.children_right[here]))
    return nodes


def n_explored(tree):
    return int((tree.phase == 1).sum())


def border_is_tied(forest):
    """Whether a row without a pseudo-label scores as high as one with it, up to rounding."""
    chosen = forest.pseudo_labels_
    if chosen.all() or not chosen.any():
        return False
    scores = forest.unlabeled_score_
    return scores[chosen].min() - scores[~chosen].max() <= 1e-12


class Exploration(NamedTuple):
    """Trees of Step I one after the other, their cuts in codes and as thresholds."""

    nodes: np.ndarray
    tree_start: np.ndarray
    thresholds: np.ndarray  # one a node, NaN at leaves


def explore(forest, problem):
    """Step I alone, as the estimator runs it, and the grower that ran it."""
    rows, _ = check_training_rows(forest, problem.X, problem.y, None, problem.X_unlabeled)
    grower = LACForestGrower(rows, forest._growth_options(rows))
    criterion = AugmentedGiniCriterion(problem.theta, rows.labeled_total, rows.n_unlabeled)
    explored = grower._explore(criterion)
    nodes = explored.trees.nodes
    thresholds = np.full(len(nodes), np.nan)
    thresholds[nodes["left"] >= 0] = explored.thresholds
    return grower, Exploration(nodes, explored.trees.tree_start, thresholds)
