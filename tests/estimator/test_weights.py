"""A labelled row of weight w counts as w rows."""

import numpy as np
import pytest
from forests import assert_same_forest
from numpy.testing import assert_allclose, assert_array_equal
from two_blobs import U, X, fitted_forest, small_forest, y

from lacforest._input.training_data import WeightGroups

# Columns with few distinct values have ties between rows, features and cuts.
X_coarse, U_coarse = np.round(X), np.round(U)
counts = np.random.default_rng(0).integers(1, 5, size=len(X))
UNLABELED = pytest.mark.parametrize(
    "unlabeled", [None, U_coarse], ids=["plain", "with unlabelled rows"]
)
OPTIONS = pytest.mark.parametrize(
    "options",
    [{}, {"min_samples_leaf": 3}, {"min_samples_split": 7}, {"max_depth": 3}, {"gamma": 0.1}],
    ids=str,
)


def assert_same_trees(one, other, table):
    """Assert the same nodes with the same counts, independent of how counts are stored."""
    assert_same_forest(one, other)
    assert_array_equal(one.predict_proba(table), other.predict_proba(table))
    for tree, other_tree in zip(one.estimators_, other.estimators_, strict=True):
        assert_array_equal(tree.children_left, other_tree.children_left)
        assert_array_equal(tree.feature, other_tree.feature)
        assert_array_equal(tree.threshold, other_tree.threshold)
        # Views compute counts from float32 shares: these may differ in rounding.
        assert_allclose(tree.n_labeled, other_tree.n_labeled, rtol=1e-5, atol=1e-5)
        assert_allclose(tree.n_unlabeled, other_tree.n_unlabeled, rtol=1e-5, atol=1e-5)


# ---------------------------------------------------------------------------- whole numbers


@UNLABELED
@OPTIONS
def test_an_integer_weight_is_a_repeated_row(unlabeled, options):
    forest = small_forest(**options)
    weighted = forest.fit(X_coarse, y, sample_weight=counts, X_unlabeled=unlabeled)
    repeated = small_forest(**options).fit(
        np.repeat(X_coarse, counts, axis=0), np.repeat(y, counts), X_unlabeled=unlabeled
    )
    assert_same_trees(weighted, repeated, U_coarse)
    assert weighted.n_labeled_ == counts.sum()


@UNLABELED
@OPTIONS
def test_weight_zero_is_an_absent_row(unlabeled, options):
    weight = np.where(np.arange(len(X)) % 3, counts, 0)
    weighted = small_forest(**options).fit(X_coarse, y, sample_weight=weight, X_unlabeled=unlabeled)
    kept = weight > 0
    absent = small_forest(**options).fit(
        X_coarse[kept], y[kept], sample_weight=weight[kept], X_unlabeled=unlabeled
    )
    assert_same_trees(weighted, absent, U_coarse)


@UNLABELED
@pytest.mark.parametrize("bootstrap", [False, True])
def test_weights_of_one_are_no_weights(unlabeled, bootstrap):
    forest, other = small_forest(bootstrap=bootstrap), small_forest(bootstrap=bootstrap)
    weighted = forest.fit(X_coarse, y, sample_weight=np.ones(len(X)), X_unlabeled=unlabeled)
    assert_same_trees(weighted, other.fit(X_coarse, y, X_unlabeled=unlabeled), U_coarse)


def test_a_class_whose_rows_weigh_nothing_stays_a_class():
    forest = small_forest().fit(X, y, sample_weight=(y == 0).astype(float), X_unlabeled=U)
    assert_array_equal(forest.classes_, [-1, 0, 1])
    probabilities = forest.predict_proba(X)
    assert_array_equal(probabilities[:, 2], 0.0)
    # The trees equal those of a forest fitted without the class.
    alone = small_forest().fit(X[y == 0], y[y == 0], X_unlabeled=U)
    assert_array_equal(probabilities[:, :2], alone.predict_proba(X))


def test_one_number_is_the_weight_of_every_row():
    one_number = small_forest().fit(X, y, sample_weight=3, X_unlabeled=U)
    assert_same_trees(
        one_number, small_forest().fit(X, y, sample_weight=np.full(60, 3), X_unlabeled=U), U
    )


# ---------------------------------------------------------------------------- scale


@pytest.mark.parametrize("options", [{}, {"min_samples_leaf": 3}, {"min_samples_split": 7}])
@pytest.mark.parametrize("weight", [2.0**-1, 2.0**-10])
def test_small_weights_count_in_units_of_their_mean(weight, options):
    # A power of two scales sums without rounding, so that even the bits must agree.
    forest = small_forest(**options).fit(X_coarse, y, sample_weight=np.full(60, weight))
    plain = small_forest(**options).fit(X_coarse, y)
    assert_array_equal(forest.apply(U_coarse), plain.apply(U_coarse))
    assert_array_equal(forest.predict_proba(U_coarse), plain.predict_proba(U_coarse))


@UNLABELED
def test_weights_that_sum_to_one_grow_real_trees(unlabeled):
    weight = np.random.default_rng(1).random(len(X))
    forest = small_forest(n_estimators=20)
    forest.fit(X_coarse, y, sample_weight=weight / weight.sum(), X_unlabeled=unlabeled)
    assert forest.n_labeled_ == pytest.approx(1.0)
    assert min(tree.node_count for tree in forest.estimators_) >= 5
    assert (forest.predict(X_coarse) == y).mean() > (0.9 if unlabeled is None else 0.4)


def test_larger_weights_reach_min_samples_leaf_sooner():
    # Four rows of weight 5 are twenty rows: a leaf of one such row is allowed.
    table, labels = np.arange(4.0)[:, None], np.array([0, 1, 0, 1])
    forest = small_forest(n_estimators=1, min_samples_leaf=5)
    light = forest.fit(table, labels).estimators_[0].node_count
    heavy = forest.fit(table, labels, sample_weight=np.full(4, 5)).estimators_[0].node_count
    assert (light, heavy) == (1, 7)


# ---------------------------------------------------------------------------- class_weight


@UNLABELED
def test_class_weights_are_weights_of_their_rows(unlabeled):
    # Rows of a class weight are no rows of that class in deployment: hold shares fixed.
    by_class = small_forest(class_weight={0: 2.5, 1: 0.5}, known_shares="labeled")
    by_class.fit(X_coarse, y, X_unlabeled=unlabeled)
    by_row = small_forest(known_shares="labeled").fit(
        X_coarse, y, sample_weight=np.where(y, 0.5, 2.5), X_unlabeled=unlabeled
    )
    assert_same_trees(by_class, by_row, U_coarse)


def test_class_weights_multiply_sample_weights():
    both = small_forest(class_weight={1: 3}, known_shares="labeled")
    both.fit(X, y, sample_weight=counts, X_unlabeled=U)
    product = counts * np.where(y, 3, 1)
    by_row = small_forest(known_shares="labeled").fit(X, y, sample_weight=product, X_unlabeled=U)
    assert_same_trees(both, by_row, U)


def test_a_class_that_is_not_named_weighs_one():
    named = small_forest(class_weight={0: 1.0, 1: 2.0}).fit(X, y, X_unlabeled=U)
    assert_same_trees(named, small_forest(class_weight={1: 2.0}).fit(X, y, X_unlabeled=U), U)
    assert_same_trees(small_forest(class_weight={}).fit(X, y, X_unlabeled=U), fitted_forest(), U)


def test_class_weights_by_text_labels():
    words = np.array(["cat", "dog"])[y]
    by_word = small_forest(class_weight={"dog": 2}).fit(X, words, X_unlabeled=U)
    by_number = small_forest(class_weight={1: 2}).fit(X, y, X_unlabeled=U)
    assert_same_trees(by_word, by_number, U)


def test_balanced_class_weights():
    # n / (n_classes * rows of the class), as everywhere in scikit-learn: 40 / (2 * 30 or 10).
    table, labels = X[:40], y[:40]
    balanced = small_forest(class_weight="balanced").fit(table, labels, X_unlabeled=U)
    by_hand = small_forest(class_weight={0: 40 / 60, 1: 40 / 20}).fit(table, labels, X_unlabeled=U)
    assert_same_trees(balanced, by_hand, U)


def test_balanced_class_weights_count_weights():
    balanced = small_forest(class_weight="balanced")
    balanced.fit(X[:40], y[:40], sample_weight=counts[:40], X_unlabeled=U)
    sizes = np.bincount(y[:40], counts[:40])
    by_hand = small_forest(class_weight=dict(enumerate(sizes.sum() / (2 * sizes))))
    by_hand.fit(X[:40], y[:40], sample_weight=counts[:40], X_unlabeled=U)
    assert_same_trees(balanced, by_hand, U)


def test_balance_does_not_count_unlabelled_rows():
    table, labels = np.vstack([X[:40], U]), np.append(y[:40], np.full(len(U), -1))
    marked = small_forest(class_weight="balanced", unlabeled_label=-1).fit(table, labels)
    apart = small_forest(class_weight="balanced").fit(X[:40], y[:40], X_unlabeled=U)
    assert_same_trees(marked, apart, U)


# ---------------------------------------------------------------------------- rounding


def stairs(n_rows, n_left):
    """One column, cut best after n_left rows, with as many unlabelled rows."""
    column = np.arange(float(n_rows))[:, None]
    return column, (np.arange(n_rows) >= n_left).astype(int), column.copy()


@pytest.mark.parametrize("n_left", [3, 7])
@pytest.mark.parametrize("factor", [0.1, 0.7, 1.1, 1 / 3])
def test_a_child_with_just_enough_weight(n_left, factor):
    """Sums of weights are rounded: a child with exactly gamma n_l may come out slightly below."""
    table, labels, unlabeled = stairs(10, n_left)
    options = {"gamma": 0.3, "n_estimators": 1, "theta": 0.2, "known_shares": "labeled"}
    plain = small_forest(**options).fit(table, labels, X_unlabeled=unlabeled)
    weighted = small_forest(**options).fit(
        table, labels, sample_weight=np.full(10, factor), X_unlabeled=unlabeled
    )
    for forest in (plain, weighted):
        assert forest.estimators_[0].threshold[0] == n_left - 0.5


def test_leaves_of_just_enough_weight():
    """Ten weights of 0.1 sum to less than 1, which is ten times their mean."""
    table, labels, _ = stairs(20, 10)
    forest = small_forest(n_estimators=1, min_samples_leaf=10, bootstrap=False)
    forest.fit(table, labels, sample_weight=np.full(20, 0.1))
    assert forest.estimators_[0].threshold[0] == 9.5


def test_the_factors_of_classes_do_not_count_as_rows():
    """Rows that weigh 1 without the factor of their class count as one row each."""
    factor = np.array([0.25, 1.0])
    groups = WeightGroups.of(np.array([0, 0, 1], dtype=np.uint16), factor[[0, 0, 1]], 2)
    assert groups.totals(5, 2, 1, factor).weight_unit == pytest.approx(1.0)
    assert groups.totals(5, 2, 1, None).weight_unit == pytest.approx(0.5)


# ---------------------------------------------------------------------------- unlabelled rows


def test_weights_of_marked_rows_are_not_used():
    table, labels = np.vstack([X, U]), np.append(y, np.full(len(U), -1))
    forests = []
    for others in (0.0, 1.0, 123.0):
        weight = np.append(counts, np.full(len(U), others))
        forest = small_forest(unlabeled_label=-1).fit(table, labels, sample_weight=weight)
        forests.append(forest)
    apart = small_forest().fit(X, y, sample_weight=counts, X_unlabeled=U)
    for forest in forests:
        assert_same_trees(forest, apart, U)


def test_weights_are_those_of_the_rows_they_stand_beside():
    # Reordering rows must keep each row together with its weight.
    order = np.random.default_rng(2).permutation(len(X))
    forest = small_forest().fit(X, y, sample_weight=counts, X_unlabeled=U)
    shuffled = small_forest().fit(X[order], y[order], sample_weight=counts[order], X_unlabeled=U)
    assert_same_trees(forest, shuffled, U)


def test_weights_do_not_change_what_was_passed():
    weight, table, labels = counts.astype(float), X_coarse.copy(), y.copy()
    small_forest(class_weight="balanced").fit(table, labels, sample_weight=weight, X_unlabeled=U)
    assert_array_equal(weight, counts)
    assert_array_equal(table, X_coarse)
    assert_array_equal(labels, y)
