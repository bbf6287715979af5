"""Growth routes rows by codes, prediction by floats: both must reach the same leaf."""

import numpy as np
from forests import explore, n_explored, path
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from reference.random import bootstrap_sample
from strategies import problems, seeds

from lacforest._tree.predict import add_coded_values

several = settings(max_examples=100)


@several
@given(problem=problems(), seed=seeds, bootstrap=st.booleans())
def test_scores_by_codes_are_scores_by_floats(problem, seed, bootstrap):
    forest = problem.fit(random_state=seed, bootstrap=bootstrap)
    by_floats = forest.novelty_score(problem.X_unlabeled, stage="exploration")
    assert_array_equal(forest.unlabeled_score_, by_floats)


@several
@given(problem=problems(), seed=seeds, bootstrap=st.booleans())
def test_every_row_reaches_the_same_leaf_of_step_one(problem, seed, bootstrap):
    # With bootstrap=True a row may lie between the two values that a cut was made from.
    forest = problem.fit(random_state=seed, bootstrap=bootstrap)
    exploration = explore(forest, problem)
    for index, tree in enumerate(forest.estimators_):
        tree_start = exploration.tree_start[index : index + 2]
        own_id = np.arange(len(exploration.nodes)) - float(tree_start[0])
        by_codes = np.zeros(len(problem.everyone))
        add_coded_values(
            exploration.columns, exploration.nodes.view(np.uint8), tree_start, own_id, 0, by_codes
        )
        by_floats = [path(tree, row, n_explored(tree))[-1] for row in problem.everyone]
        assert_array_equal(by_codes, by_floats)


@several
@given(problem=problems(), seed=seeds, bootstrap=st.booleans())
def test_leaves_hold_the_rows_that_walk_to_them(problem, seed, bootstrap):
    """Compare counts by codes, from Step II, with counts by floats, from apply."""
    forest = problem.fit(random_state=seed, bootstrap=bootstrap)
    exploration = explore(forest, problem)
    n_labeled = len(problem.X)
    labels = np.concatenate([problem.codes, np.full(problem.n_unlabeled, problem.n_known)])
    part = np.concatenate([np.ones(n_labeled, dtype=bool), forest.pseudo_labels_])
    leaves = forest.apply(problem.everyone)
    order = forest._column_order()
    for index, tree in enumerate(forest.estimators_):
        rows = np.arange(len(labels))
        if bootstrap:
            sample_seed = exploration.sample_seeds[index]
            rows = np.array(bootstrap_sample(n_labeled, problem.n_unlabeled, sample_seed))
        rows = rows[part[rows]]
        counts = np.zeros((tree.node_count, problem.n_known + 1))
        np.add.at(counts, (leaves[rows, index], labels[rows]), 1)
        is_leaf = tree.children_left < 0
        totals = counts.sum(axis=1)
        assert_array_equal(totals[~is_leaf], 0)
        filled = is_leaf & (totals > 0)
        assert_array_equal(tree.value[filled], (counts / totals.clip(1)[:, None])[filled][:, order])
        assert_array_equal(tree.n_labeled[is_leaf], counts[is_leaf, :-1].sum(axis=1))


@several
@given(problem=problems(), seed=seeds)
def test_apply_and_decision_path_walk_thresholds(problem, seed):
    forest = problem.fit(random_state=seed)
    table = problem.everyone
    leaves = forest.apply(table)
    indicator, starts = forest.decision_path(table)
    passed = indicator.toarray().astype(bool)
    for index, tree in enumerate(forest.estimators_):
        for row, values in enumerate(table):
            nodes = path(tree, values)
            assert leaves[row, index] == nodes[-1]
            found = np.flatnonzero(passed[row, starts[index] : starts[index + 1]])
            assert found.tolist() == sorted(nodes)


@several
@given(problem=problems(), seed=seeds, data=st.data())
def test_a_row_does_not_depend_on_the_rows_beside_it(problem, seed, data):
    forest = problem.fit(random_state=seed)
    table = problem.everyone
    chosen = data.draw(st.lists(st.integers(0, len(table) - 1), min_size=1, max_size=200))
    assert_array_equal(forest.predict_proba(table[chosen]), forest.predict_proba(table)[chosen])
