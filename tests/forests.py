"""Helpers for fitted forests: equality, paths of rows, and the trees of Step I."""

from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np
from numpy.testing import assert_array_equal

from lacforest import AugmentedGiniCriterion
from lacforest._coding.coded_table import code_table
from lacforest._growing.plan import ForestSeeds, TreePlan, TreeShape, draw_entropy
from lacforest._growing.run import Grower
from lacforest._growing.steps import explore as explore_rows
from lacforest._input.training_data import check_training_rows
from lacforest._tree.coded_columns import CodedColumns


def assert_same_forest(one, other):
    """Assert that all arrays and fitted attributes of two forests are bit-identical."""
    for field in fields(one._forest):
        if field.name == "sets" and one._forest.sets is not None:
            for name in ("is_categorical", "words", "tree_start"):
                own, others = (getattr(forest._forest.sets, name) for forest in (one, other))
                assert_array_equal(own, others, name)
            continue
        assert_array_equal(
            getattr(one._forest, field.name), getattr(other._forest, field.name), field.name
        )
    assert_array_equal(one.unlabeled_score_, other.unlabeled_score_)
    assert_array_equal(one.pseudo_labels_, other.pseudo_labels_)
    assert_array_equal(one.feature_importances_, other.feature_importances_)


def path(tree, values, n_nodes=None):
    """Return the nodes of a TreeView that a row passes, ignoring nodes from n_nodes on."""
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
    """Whether rows with and without a pseudo-label have equal scores, up to rounding."""
    chosen = forest.pseudo_labels_
    if chosen.all() or not chosen.any():
        return False
    scores = forest.unlabeled_score_
    return scores[chosen].min() - scores[~chosen].max() <= 1e-12


class Exploration(NamedTuple):
    """Trees of Step I one after the other, with what they were grown on."""

    nodes: np.ndarray
    tree_start: np.ndarray
    thresholds: np.ndarray  # one per node, NaN at leaves
    columns: CodedColumns
    sample_seeds: np.ndarray | None


def prepare(forest, rows, coded=None):
    """The grower of a LACForestClassifier and the seeds of its trees."""
    coded = code_table(rows.table, 1) if coded is None else coded
    entropy = draw_entropy(forest.random_state)
    seeds = ForestSeeds.of_deepened_trees(entropy, forest.n_estimators, forest.bootstrap)
    return Grower(rows, coded, forest.n_jobs), seeds


def explore(forest, problem):
    """Step I alone, as the estimator runs it."""
    rows, _ = check_training_rows(forest, problem.X, problem.y, None, problem.X_unlabeled)
    grower, seeds = prepare(forest, rows)
    plan = TreePlan(
        AugmentedGiniCriterion(problem.theta, rows.labeled_total, rows.n_unlabeled),
        replace(TreeShape.of(forest, rows.table.n_features), gamma=forest.gamma, draws_on=False),
        seeds.explore,
        sample_seeds=seeds.sample,
    )
    explored = explore_rows(grower, plan)
    nodes = explored.trees.nodes
    thresholds = np.where(nodes["left"] >= 0, explored.thresholds, np.nan)
    return Exploration(
        nodes, explored.trees.tree_start, thresholds, grower.coded.columns, seeds.sample
    )
