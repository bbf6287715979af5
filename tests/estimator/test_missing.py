"""Missing values: used in splits where they occur, otherwise sent to the larger child."""

import numpy as np
import pytest
from forests import assert_same_forest
from numpy.testing import assert_allclose, assert_array_equal
from two_blobs import U, X, small_forest, y

NAN = np.nan


def with_holes(table, share, seed=0):
    holed = table.copy()
    holed[np.random.default_rng(seed).random(table.shape) < share] = NAN
    return holed


# ---------------------------------------------------------------------------- informative holes


@pytest.mark.parametrize("class_of_missing", [0, 1])
def test_missing_rows_go_to_the_side_of_their_class(class_of_missing):
    # Class 0 is low and class 1 is high; all missing rows are of one class, so one cut suffices
    # if they go to its side.
    values = np.concatenate([np.arange(0.0, 10), np.arange(20.0, 30), np.full(10, NAN)])
    labels = np.repeat([0, 1, class_of_missing], 10)
    forest = small_forest(n_estimators=1).fit(values[:, None], labels)
    tree = forest.estimators_[0]
    assert tree.node_count == 3
    assert 9 <= tree.threshold[0] < 20
    assert tree.missing_go_to_left[0] == (class_of_missing == 0)
    assert_array_equal(forest.predict([[NAN], [0], [25]]), [class_of_missing, 0, 1])


def test_a_cut_between_present_and_missing():
    # Only whether a value is missing is informative here, not the value.
    values = np.concatenate([np.tile([1.0, 2.0, 3.0], 10), np.full(30, NAN)])
    forest = small_forest(n_estimators=1).fit(values[:, None], np.repeat([0, 1], 30))
    tree = forest.estimators_[0]
    assert tree.node_count == 3
    assert np.isinf(tree.threshold[0])
    assert_array_equal(forest.predict([[NAN], [-1e300], [2.5], [1e300]]), [1, 0, 0, 0])


def test_a_single_value_beside_missing_ones_can_be_cut():
    values = np.concatenate([np.full(30, 4.0), np.full(30, NAN)])
    forest = small_forest(n_estimators=1).fit(values[:, None], np.repeat([0, 1], 30))
    assert_array_equal(forest.predict([[NAN], [4.0]]), [1, 0])


def test_step_one_finds_new_rows_that_miss_a_value():
    # A tenth of the labelled rows and more than half of the unlabelled ones have a missing value,
    # far more than the labelled rows explain. All present values are equal.
    table, unlabeled = np.ones((60, 1)), np.ones((80, 1))
    table[::10], unlabeled[36:] = NAN, NAN
    forest = small_forest(gamma=0.1).fit(table, y, X_unlabeled=unlabeled)
    assert_array_equal(forest.pseudo_labels_[:36], False)
    assert forest.pseudo_labels_[36:].sum() == 40
    assert_array_equal(forest.predict([[NAN]]), -1)
    # (1 - theta) n_u / n_l = 2/3 unlabelled known rows per labelled row: 4 of the 44 missing rows.
    scores = forest.novelty_score([[NAN], [1.0]], stage="exploration")
    assert_allclose(scores, [1 - 4 / 44, 0.0])


# ---------------------------------------------------------------------------- holes never seen


@pytest.mark.parametrize(("n_low", "n_high"), [(30, 10), (10, 30)])
def test_missing_only_in_prediction_goes_to_the_larger_child(n_low, n_high):
    values = np.repeat([[0.0], [1.0]], [n_low, n_high], axis=0)
    labels = np.repeat([0, 1], [n_low, n_high])
    forest = small_forest(n_estimators=1).fit(values, labels)
    assert forest.estimators_[0].missing_go_to_left[0] == (n_low > n_high)
    assert_array_equal(forest.predict([[NAN]]), int(n_high > n_low))


def test_a_row_of_nothing_but_missing_values_is_predicted():
    forest = small_forest().fit(X, y, X_unlabeled=U)
    probabilities = forest.predict_proba(np.full((1, 3), NAN))
    assert np.isfinite(probabilities).all()
    assert forest.predict(np.full((1, 3), NAN))[0] in forest.classes_


# ---------------------------------------------------------------------------- where holes are


def test_missing_values_in_unlabelled_rows_alone():
    forest = small_forest().fit(X, y, X_unlabeled=with_holes(U, 0.3))
    assert np.isfinite(forest.unlabeled_score_).all()
    assert_array_equal(
        forest.novelty_score(with_holes(U, 0.3), stage="exploration"), forest.unlabeled_score_
    )


def test_missing_values_in_labelled_rows_alone():
    forest = small_forest().fit(with_holes(X, 0.3), y, X_unlabeled=U)
    assert_array_equal(forest.predict(with_holes(X, 0.3)) >= -1, True)
    assert_array_equal(forest.novelty_score(U, stage="exploration"), forest.unlabeled_score_)


@pytest.mark.parametrize("max_features", [1, None])
def test_a_column_without_values_is_never_split(max_features):
    table, unlabeled = X.copy(), U.copy()
    table[:, 1] = unlabeled[:, 1] = NAN
    forest = small_forest(max_features=max_features).fit(table, y, X_unlabeled=unlabeled)
    for tree in forest.estimators_:
        assert 1 not in tree.feature
    assert forest.feature_importances_[1] == 0.0
    # Its values in prediction have no effect.
    assert_array_equal(forest.predict_proba(unlabeled), forest.predict_proba(U))


def test_a_table_without_values():
    nothing = np.full((60, 3), NAN)
    with pytest.warns(UserWarning, match="Step I found no feasible split"):
        forest = small_forest().fit(nothing, y, X_unlabeled=nothing)
    assert [tree.node_count for tree in forest.estimators_] == [1] * 5


def test_a_column_that_only_unlabelled_rows_miss_entirely():
    unlabeled = U.copy()
    unlabeled[:, 1] = NAN
    forest = small_forest().fit(X, y, X_unlabeled=unlabeled)
    assert np.isfinite(forest.predict_proba(unlabeled)).all()


# ---------------------------------------------------------------------------- kinds of NaN


def test_nan_of_any_sign_or_payload_is_missing():
    holes = with_holes(X, 0.2)
    strange = holes.copy()
    bits = strange.view(np.uint64)
    is_missing = np.isnan(holes)
    payloads = np.random.default_rng(1).integers(1, 2**51, size=is_missing.sum(), dtype=np.uint64)
    signs = np.uint64(1 << 63) * (payloads % 2)
    bits[is_missing] = np.uint64(0x7FF8 << 48) | payloads | signs
    assert_array_equal(np.isnan(strange), is_missing)
    one, other = small_forest().fit(holes, y), small_forest().fit(strange, y)
    assert_same_forest(one, other)
    assert_array_equal(one.predict_proba(holes), one.predict_proba(strange))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_values_of_both_widths(dtype):
    X_holed, U_holed = with_holes(X, 0.2).astype(dtype), with_holes(U, 0.2).astype(dtype)
    forest = small_forest().fit(X_holed, y, X_unlabeled=U_holed)
    wide = small_forest().fit(X_holed.astype(np.float64), y, X_unlabeled=U_holed.astype(np.float64))
    assert_same_forest(forest, wide)


def test_none_and_na_are_missing():
    import pandas as pd

    holed = with_holes(X, 0.2)
    expected = small_forest().fit(holed, y)
    objects = holed.astype(object)
    objects[np.isnan(holed)] = None
    assert_same_forest(small_forest().fit(objects, y), expected)
    frame = pd.DataFrame(holed, columns=list("abc")).astype("Float64")
    assert frame.isna().to_numpy().any()
    assert_same_forest(small_forest().fit(frame, y), expected)
