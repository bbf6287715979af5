"""Properties of the nodes of both steps of Algorithm 1, checked on the finished forest."""

import numpy as np
import pytest
from forests import explore, n_explored, path
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from reference.forest import n_pseudo_labels
from strategies import problems, seeds

from lacforest import LACForestClassifier
from lacforest._tree.workspace import CODED_NODE

# A fit takes 3 ms; traversing its trees in Python takes longer.
several = settings(max_examples=100)


def rows_of_nodes(forest, tree_index, table):
    """Rows of the table that pass each node, found by walking thresholds in Python."""
    tree = forest.estimators_[tree_index]
    passing = [[] for _ in range(tree.node_count)]
    for row, values in enumerate(table):
        for node in path(tree, values):
            passing[node].append(row)
    return tree, passing


@several
@given(problem=problems(), seed=seeds)
def test_both_constraints_hold_in_every_node_of_step_one(problem, seed):
    forest = problem.fit(random_state=seed)
    n_labeled, n_unlabeled = len(problem.X), problem.n_unlabeled
    for index in range(len(forest.estimators_)):
        tree, labeled = rows_of_nodes(forest, index, problem.X)
        _, unlabeled = rows_of_nodes(forest, index, problem.X_unlabeled)
        for node in range(1, n_explored(tree)):
            assert len(labeled[node]) >= problem.gamma * n_labeled - 1e-6  # Eqn 5
            assert len(unlabeled[node]) >= problem.gamma * n_unlabeled - 1e-6  # Eqn 6
            assert tree.n_labeled[node] == len(labeled[node])
            assert tree.n_unlabeled[node] == len(unlabeled[node])


@several
@given(problem=problems(with_weight=True), seed=seeds)
def test_constraints_count_weights(problem, seed):
    forest = problem.fit(random_state=seed)
    for index in range(len(forest.estimators_)):
        tree, labeled = rows_of_nodes(forest, index, problem.X)
        for node in range(1, n_explored(tree)):
            n_labeled = problem.weight[labeled[node]].sum()
            assert n_labeled >= problem.gamma * problem.weight.sum() - 1e-6
            assert_allclose(tree.n_labeled[node], n_labeled, rtol=1e-6)


@several
@given(problem=problems(), seed=seeds)
def test_children_conserve_the_rows_of_their_parent(problem, seed):
    for tree in problem.fit(random_state=seed).estimators_:
        inner = np.flatnonzero(tree.children_left >= 0)
        left, right = tree.children_left[inner], tree.children_right[inner]
        assert_array_equal(tree.n_labeled[inner], tree.n_labeled[left] + tree.n_labeled[right])
        # Between the steps, unlabelled rows are replaced by pseudo-labelled ones, so counts differ.
        same_step = tree.phase[inner] == tree.phase[left]
        assert_array_equal(
            tree.n_unlabeled[inner][same_step],
            (tree.n_unlabeled[left] + tree.n_unlabeled[right])[same_step],
        )


@several
@given(problem=problems(), seed=seeds)
def test_step_two_changes_no_inner_node_of_step_one(problem, seed):
    forest = problem.fit(random_state=seed)
    exploration = explore(forest, problem)
    for index, tree in enumerate(forest.estimators_):
        first, end = exploration.tree_start[index : index + 2]
        nodes = exploration.nodes[first:end]
        assert n_explored(tree) == len(nodes)
        inner = np.flatnonzero(nodes["left"] >= 0)
        assert_array_equal(tree.children_left[inner], nodes["left"][inner])
        assert_array_equal(tree.threshold[inner], exploration.thresholds[first:end][inner])
        feature = nodes["feature"][inner]
        assert_array_equal(tree.feature[inner], np.where(feature >= 0, feature, ~feature))
        assert_array_equal(tree.missing_go_to_left[inner], feature >= 0)
        # A leaf of Step I has either no children or children of Step II.
        was_leaf = np.flatnonzero(nodes["left"] < 0)
        children = tree.children_left[was_leaf]
        assert ((children == -1) | (children >= len(nodes))).all()


@several
@given(problem=problems(), seed=seeds)
def test_leaves_are_pure_or_their_rows_cannot_be_told_apart(problem, seed):
    forest = problem.fit(random_state=seed)
    table = np.vstack([problem.X, problem.X_unlabeled[forest.pseudo_labels_]])
    labels = np.concatenate([problem.codes, np.full(forest.pseudo_labels_.sum(), -1)])
    for leaves in forest.apply(table).T:
        for leaf in np.unique(leaves):
            here = leaves == leaf
            if len(np.unique(labels[here])) > 1:
                rows = table[here]
                assert_array_equal(rows, np.broadcast_to(rows[0], rows.shape))


@several
@given(problem=problems(with_weight=True), seed=seeds)
def test_probabilities_are_a_distribution(problem, seed):
    forest = problem.fit(random_state=seed)
    probabilities = forest.predict_proba(problem.everyone)
    assert probabilities.shape[1] == problem.n_known + 1
    assert (probabilities >= 0).all()
    assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    for tree in forest.estimators_:
        leaves = tree.children_left < 0
        assert_allclose(tree.value[leaves].sum(axis=1), 1.0, rtol=1e-6)


@several
@given(problem=problems(), seed=seeds)
def test_the_rows_of_highest_score_get_pseudo_labels(problem, seed):
    forest = problem.fit(random_state=seed)
    scores, chosen = forest.unlabeled_score_, forest.pseudo_labels_
    assert ((scores >= 0) & (scores <= 1)).all()
    assert chosen.sum() == n_pseudo_labels(problem.theta, problem.n_unlabeled)
    for row in np.flatnonzero(chosen):
        for other in np.flatnonzero(~chosen):
            assert (scores[row], -row) > (scores[other], -other)


@several
@given(problem=problems(), seed=seeds)
def test_a_tree_does_not_depend_on_the_trees_after_it_in_step_one(problem, seed):
    # Every tree has its own random streams. (Step II depends on the scores of all trees.)
    few, many = problem.fit(2, seed), problem.fit(5, seed)
    one = explore(few, problem)
    other = explore(many, problem)
    assert_array_equal(one.tree_start, other.tree_start[:3])
    nodes = one.nodes.view(CODED_NODE)
    others = other.nodes.view(CODED_NODE)[: len(nodes)]
    assert_array_equal(nodes["left"], others["left"])
    inner = nodes["left"] >= 0  # a leaf of Step I has no cut to compare
    assert_array_equal(nodes[inner], others[inner])


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_gamma_at_its_ends(gamma):
    table = np.arange(8.0)[:, None]
    forest = LACForestClassifier(2, theta=0.5, gamma=gamma, random_state=0)
    forest.fit(table, [0, 0, 0, 0, 1, 1, 1, 1], X_unlabeled=table + 0.25)
    for tree in forest.estimators_:
        explored = n_explored(tree)
        # Each side must contain half of all rows, so exactly one cut is feasible.
        assert explored == 3 if gamma == 0.5 else explored > 3
