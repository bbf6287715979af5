"""Compare the compiled forest with the naive one, tree by tree."""

import numpy as np
import pytest
from forests import border_is_tied, n_explored
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference.criterion import Totals, augmented_gini, gini
from reference.forest import grow_forest, n_pseudo_labels, top_rows
from strategies import Problem, problems, seeds

N_TREES = 2
# The naive forest takes about 40 ms per problem. Deliberate bugs were found within 100 problems.
slow = settings(max_examples=100)


def expected_arrays(tree):
    """children_left, feature, threshold and missing_go_to_left in the form of TreeView."""
    leaf = (-1, -2, -2.0, False)
    return [
        leaf
        if node.cut is None
        else (node.left, node.cut.feature, node.cut.threshold, node.cut.missing_left)
        for node in tree
    ]


def assert_same_splits(forest, naive):
    for view, tree, explored in zip(forest.estimators_, naive.trees, naive.n_explored, strict=True):
        found = zip(
            view.children_left.tolist(),
            view.feature.tolist(),
            view.threshold.tolist(),
            view.missing_go_to_left.tolist(),
            strict=True,
        )
        assert list(found) == expected_arrays(tree)
        assert n_explored(view) == explored


def assert_same_contents(forest, naive, problem):
    """Class distributions, counts and impurities of every node."""
    totals = Totals(problem.theta, problem.row_weights.sum(), problem.n_unlabeled)
    order = forest._column_order()
    # Leaves store float32 distributions, from which integer counts are exact, weighted ones not.
    rtol = 1e-9 if problem.weight is None else 1e-6
    for view, tree, explored in zip(
        forest.estimators_, naive.trees, naive.explored_counts, strict=True
    ):
        for i, node in enumerate(tree):
            refined = naive.refined.counts(node.members)
            assert_allclose(view.n_labeled[i], sum(refined[:-1]), rtol=rtol, atol=rtol)
            shares = np.array(naive.distribution(node))[order]
            if node.cut is None or sum(refined) > 0:
                assert_allclose(view.value[i], shares, rtol=rtol, atol=rtol)
            if i < len(explored):
                counts = explored[i]
                assert view.n_unlabeled[i] == counts[-1]
                impurity = augmented_gini(counts[:-1], counts[-1], totals)
            else:
                assert_allclose(view.n_unlabeled[i], refined[-1], rtol=rtol, atol=rtol)
                impurity = gini(refined)
            assert_allclose(view.impurity[i], impurity, rtol=rtol, atol=10 * rtol)


def check(problem, seed, bootstrap=False, cap=None):
    forest = problem.fit(N_TREES, random_state=seed, bootstrap=bootstrap, pseudo_cap=cap)
    naive = grow_forest(
        problem, N_TREES, seed, bootstrap, forest.pseudo_labels_.tolist(), multiple=cap
    )
    assert_same_splits(forest, naive)
    assert_allclose(forest.unlabeled_score_, naive.scores, rtol=0, atol=1e-12)
    n_pseudo = n_pseudo_labels(problem.theta, problem.n_unlabeled)
    assert forest.pseudo_labels_.sum() == n_pseudo
    if not border_is_tied(forest):
        assert forest.pseudo_labels_.tolist() == top_rows(naive.scores, n_pseudo)
    return forest, naive


@slow
@given(problem=problems(with_missing=False), seed=seeds)
def test_complete_rows(problem, seed):
    assert_same_contents(*check(problem, seed), problem)


@slow
@given(problem=problems(with_missing=True), seed=seeds)
def test_missing_values(problem, seed):
    assert_same_contents(*check(problem, seed), problem)


@slow
@given(problem=problems(with_weight=True), seed=seeds)
def test_integer_weights(problem, seed):
    assert_same_contents(*check(problem, seed), problem)


@slow
@given(problem=problems(), seed=seeds)
def test_bootstrap(problem, seed):
    # A bootstrap sample may lack labelled rows, but every row must reach a leaf.
    check(problem, seed, bootstrap=True)


@slow
@given(
    problem=problems(), seed=seeds, bootstrap=st.booleans(), cap=st.sampled_from([0.2, 1.0, 2.0])
)
def test_rows_of_capped_trees(problem, seed, bootstrap, cap):
    check(problem, seed, bootstrap, cap)


@slow
@given(problem=problems(), seed=seeds, bootstrap=st.booleans())
def test_known_classes_alone(problem, seed, bootstrap):
    # Without unlabelled rows there is only Step II, which starts at the root.
    plain = problem.without_unlabeled()
    forest = plain.fit(N_TREES, random_state=seed, bootstrap=bootstrap)
    naive = grow_forest(plain, N_TREES, seed, bootstrap)
    assert_same_splits(forest, naive)
    assert forest.classes_.tolist() == list(range(problem.n_known))
    for view, tree in zip(forest.estimators_, naive.trees, strict=True):
        for i, node in enumerate(tree):
            assert_allclose(view.value[i], naive.distribution(node)[:-1], atol=1e-9)
    expected = [naive.probabilities(row)[:-1] for row in problem.everyone.tolist()]
    assert_allclose(forest.predict_proba(problem.everyone), expected, rtol=0, atol=1e-6)


@slow
@given(problem=problems(max_rows=20), seed=seeds)
def test_probabilities_are_the_mean_of_leaf_distributions(problem, seed):
    forest, naive = check(problem, seed)
    expected = np.array([naive.probabilities(row) for row in problem.everyone.tolist()])
    expected = expected[:, forest._column_order()]
    found = forest.predict_proba(problem.everyone)
    assert_allclose(found, expected, rtol=0, atol=1e-6)  # float32 leaves
    # If two classes are equally probable, either may be predicted.
    margin = np.sort(expected, axis=1)[:, -2:]
    clear = margin[:, 1] - margin[:, 0] > 1e-5
    assert_array_equal(
        forest.predict(problem.everyone)[clear], forest.classes_[expected.argmax(axis=1)][clear]
    )


@pytest.mark.parametrize("n_rows", [300, 700])
def test_a_larger_problem(n_rows, global_random_seed):
    # Enough rows for radix sorts of several digits and for counted cells.
    rng = np.random.default_rng(global_random_seed)
    table = np.column_stack(
        [
            rng.normal(size=2 * n_rows),
            rng.integers(0, 8, 2 * n_rows),
            np.where(rng.random(2 * n_rows) < 0.1, np.nan, rng.normal(size=2 * n_rows).round(1)),
        ]
    )
    y = (table[:n_rows, 0] > 0).astype(int) + rng.integers(0, 2, n_rows)
    problem = Problem(table[:n_rows], y, table[n_rows:], 0.3, 0.05, 2)
    check(problem, global_random_seed)
