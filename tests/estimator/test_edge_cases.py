"""Extreme but valid data."""

import warnings

import numpy as np
import pytest
from forests import assert_same_forest, n_explored
from numpy.testing import assert_allclose, assert_array_equal
from two_blobs import U, X, fitted_forest, small_forest, y

UNEXPLORED = "Step I found no feasible split.*gamma=.*lower it.*or all features are constant"


def assert_predicts(forest, table):
    probabilities = forest.predict_proba(table)
    assert probabilities.shape == (len(table), len(forest.classes_))
    assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert np.isin(forest.predict(table), forest.classes_).all()


# ---------------------------------------------------------------------------- nothing to explore


def assert_rooted(forest):
    """Assert that Step I did not split the root, so that all unlabelled rows have equal scores."""
    assert [n_explored(tree) for tree in forest.estimators_] == [1] * len(forest.estimators_)
    assert len(np.unique(forest.unlabeled_score_)) == 1
    n_pseudo = len(forest.pseudo_labels_) // 2  # theta is 0.5
    assert_array_equal(np.flatnonzero(forest.pseudo_labels_), np.arange(n_pseudo))


def test_gamma_that_no_split_can_keep():
    with pytest.warns(UserWarning, match=UNEXPLORED):
        forest = fitted_forest(gamma=0.5)
    assert_rooted(forest)
    assert_predicts(forest, U)
    assert max(tree.node_count for tree in forest.estimators_) > 1  # gamma applies to Step I only


def test_gamma_of_a_half_is_fine_where_a_cut_halves_both():
    halves = np.repeat([[0.0], [1.0]], 10, axis=0)
    forest = small_forest(gamma=0.5, n_estimators=1).fit(
        halves, np.repeat([0, 1], 10), X_unlabeled=halves
    )
    assert n_explored(forest.estimators_[0]) == 3


def test_the_warning_points_at_the_caller():
    with pytest.warns(UserWarning, match=UNEXPLORED) as caught:
        small_forest(gamma=0.5).fit(X, y, X_unlabeled=U)
    assert [warning.filename for warning in caught] == [__file__]


def test_a_single_feasible_tree_silences_the_warning():
    # One feature is constant: trees that draw it at the root may stop there, others do not.
    table, unlabeled = X * [1, 0, 0], U * [1, 0, 0]
    forest = small_forest(max_features=1, max_depth=1, n_estimators=20).fit(
        table, y, X_unlabeled=unlabeled
    )
    assert {n_explored(tree) for tree in forest.estimators_} == {1, 3}


def test_features_that_are_all_constant():
    with pytest.warns(UserWarning, match=UNEXPLORED):
        forest = small_forest().fit(np.ones((60, 3)), y, X_unlabeled=np.ones((40, 3)))
    assert_rooted(forest)
    assert [tree.node_count for tree in forest.estimators_] == [1] * 5
    # 30 rows of each known class, and floor(40 / 2) pseudo-labelled ones.
    assert_allclose(forest.predict_proba(U), np.tile([20, 30, 30], (len(U), 1)) / 80, rtol=1e-6)
    assert_array_equal(forest.feature_importances_, 0)


def test_constant_features_in_a_plain_forest():
    # No Step I, so no warning: one leaf with the shares of the classes.
    forest = small_forest().fit(np.ones((60, 3)), y)
    assert_allclose(forest.predict_proba(X), 0.5)
    assert_array_equal(forest.predict(X), 0)  # the first of equally likely classes


# ---------------------------------------------------------------------------- very few rows


def test_one_labelled_row():
    # gamma > 0 requires a labelled row in both children, and there is only one.
    with pytest.warns(UserWarning, match=UNEXPLORED):
        forest = small_forest().fit(X[:1], y[:1], X_unlabeled=U)
    assert_predicts(forest, U)
    assert_predicts(small_forest(gamma=0).fit(X[:1], y[:1], X_unlabeled=U), U)


def test_one_labelled_row_and_nothing_else():
    forest = small_forest().fit(X[:1], y[:1])
    assert_array_equal(forest.predict(U), y[0])
    assert_array_equal(forest.predict_proba(U), 1.0)


def test_one_unlabelled_row():
    with pytest.warns(UserWarning, match=UNEXPLORED):
        forest = small_forest().fit(X, y, X_unlabeled=U[:1])
    # floor(0.5 * 1) = 0 rows are new, but the new class exists nevertheless.
    assert_array_equal(forest.pseudo_labels_, [False])
    assert_array_equal(forest.classes_, [-1, 0, 1])
    assert_array_equal(forest.predict_proba(U)[:, 0], 0.0)


def test_one_known_class():
    forest = small_forest(n_estimators=20).fit(X[:30], np.zeros(30, dtype=int), X_unlabeled=U)
    assert_array_equal(forest.classes_, [-1, 0])
    assert_array_equal(forest.predict([[0, 0, 0], [2, 6, 0]]), [0, -1])


def test_a_class_with_one_row():
    labels = y.copy()
    labels[0] = 7
    forest = small_forest().fit(X, labels, X_unlabeled=U)
    assert_array_equal(forest.classes_, [-1, 0, 1, 7])
    assert_array_equal(forest.predict(X[:1]), 7)  # trees grow until leaves are pure


def test_one_row_a_class():
    labels = np.arange(len(X))
    # From 1.8 on, scikit-learn warns that this may be a regression problem.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*unique classes is greater than 50%")
        forest = small_forest().fit(X, labels, X_unlabeled=U)
    assert_array_equal(forest.known_classes_, labels)
    assert_predicts(forest, U)


def test_duplicates_everywhere():
    # Four distinct rows; equal rows of both classes and of the unlabelled ones cannot be separated.
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    table, labels = np.tile(corners, (10, 1)), np.tile([0, 0, 0, 1, 1, 1, 0, 1], 5)
    forest = small_forest().fit(table, labels, X_unlabeled=np.tile(corners, (8, 1)))
    assert_predicts(forest, corners)
    repeated = forest.predict_proba(table)
    assert_array_equal(repeated, np.tile(repeated[:4], (10, 1)))


# ---------------------------------------------------------------------------- very many values


def test_more_values_in_a_column_than_sixteen_bits():
    # The split lies between two neighbours among 70,000 values, so it must not be binned.
    n_rows, border = 70_000, 41_234
    column = np.random.default_rng(0).permutation(n_rows).astype(float)
    labels = (column > border).astype(int)
    forest = small_forest(n_estimators=2, max_features=None, max_bins=None)
    forest.fit(column[:, None], labels)
    for tree in forest.estimators_:
        assert tree.node_count == 3
        assert border <= tree.threshold[0] < border + 1
    assert_array_equal(forest.predict([[border], [border + 1]]), [0, 1])


def test_more_values_than_sixteen_bits_with_unlabelled_rows():
    rng = np.random.default_rng(1)
    table, unlabeled = rng.random((35_000, 1)), rng.random((35_000, 1)) * 2
    labels = (table[:, 0] > 0.5).astype(int)
    forest = small_forest(n_estimators=3, n_jobs=2, max_bins=None)
    forest.fit(table, labels, X_unlabeled=unlabeled)
    assert len(np.unique(np.vstack([table, unlabeled]))) > 65_535
    # Above 1 there are only unlabelled rows, half of all unlabelled rows: theta.
    assert_array_equal(forest.predict([[0.25], [0.75], [1.25], [1.75]]), [0, 1, -1, -1])
    assert_array_equal(forest.predict(table), labels)


@pytest.mark.parametrize("n_classes", [256, 257, 1000])
def test_more_classes_than_a_byte_holds(n_classes):
    labels = np.repeat(np.arange(n_classes), 3)
    table = np.column_stack([labels, -labels]).astype(float)
    unlabeled = np.vstack([table, np.array([0.0, 2.0 * n_classes]) + table])
    # gamma=0 allows Step I to separate all labelled rows from the new ones.
    forest = small_forest(max_features=None, gamma=0).fit(table, labels, X_unlabeled=unlabeled)
    assert forest.predict_proba(table).shape == (len(table), n_classes + 1)
    assert_array_equal(forest.predict(table), labels)
    assert_array_equal(forest.predict(unlabeled[-3:]), [-1, -1, -1])


def test_values_at_the_ends_of_floating_point():
    # Midpoints must not overflow, and neighbouring values must remain distinct.
    big, tiny = np.finfo(float).max, np.nextafter(0.0, 1.0)
    values = np.array([-big, -tiny, 0.0, tiny, np.nextafter(1.0, 0.0), 1.0, big])
    labels = np.arange(len(values)) % 2
    forest = small_forest(n_estimators=3).fit(values[:, None], labels)
    assert_array_equal(forest.predict(values[:, None]), labels)
    assert np.isfinite(forest.estimators_[0].threshold).all()


def test_the_two_zeros_are_one_value():
    table = np.array([[0.0], [-0.0]] * 10)
    forest = small_forest().fit(table, np.tile([0, 1], 10))
    assert [tree.node_count for tree in forest.estimators_] == [1] * 5


def test_a_single_column():
    forest = small_forest().fit(X[:, :1], y, X_unlabeled=U[:, :1])
    assert_predicts(forest, U[:, :1])


def test_fitting_twice_forgets_the_first_fit():
    forest = fitted_forest()
    forest.fit(X[:, :2], np.where(y, "b", "a"))
    assert_same_forest(forest, small_forest().fit(X[:, :2], np.where(y, "b", "a")))
    assert forest.new_label_ is None
    assert forest.n_features_in_ == 2


@pytest.mark.parametrize("limit", [2**31, 2**40, 10**400])
def test_limits_beyond_the_integers_of_c(limit):
    assert_same_forest(fitted_forest(max_depth=limit), fitted_forest())
    for name in ("min_samples_split", "min_samples_leaf"):
        forest = small_forest(**{name: limit}).fit(X, y)
        assert [tree.node_count for tree in forest.estimators_] == [1] * 5
