"""Labels, new labels and weights that cannot work, and estimators that stay as they were."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from two_blobs import U, X, assert_refused, fitted_forest, small_forest, y

ONES = np.ones(len(X))


def with_entry(array, entry, dtype=None):
    changed = np.array(array, dtype=dtype)
    changed[4] = entry
    return changed


# ---------------------------------------------------------------------------- y


def test_no_labels_at_all():
    assert_refused(ValueError, "requires y to be passed, but the target y is None", y=None)


@pytest.mark.parametrize("labels", [y[:5], np.append(y, 0), y[:0]])
def test_y_of_another_length(labels):
    assert_refused(ValueError, rf"y has {len(labels)} labels, but X has 60 rows", y=labels)


def test_y_with_two_columns():
    assert_refused(ValueError, r"y should be a 1d array, got .* \(60, 2\)", y=np.c_[y, y])


def test_continuous_y():
    assert_refused(ValueError, "Unknown label type: continuous", y=X[:, 0])


@pytest.mark.parametrize(
    ("entry", "message"), [(np.nan, "Input y contains NaN"), (np.inf, "Input y contains infinity")]
)
def test_y_that_is_not_finite(entry, message):
    assert_refused(ValueError, message, y=with_entry(y, entry, dtype=float))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=["None", "NaN", "NA"])
@pytest.mark.parametrize("known", [y, np.where(y, "b", "a")], ids=["numbers", "text"])
def test_missing_labels_in_an_object_y(known, missing):
    # The reader has unlabelled rows in mind and must learn how to mark them.
    labels = with_entry(known, missing, dtype=object)
    assert_refused(ValueError, r"\by\b.*(missing|NaN|None).*unlabeled_label", y=labels)


def test_text_and_numbers_in_one_y():
    message = r"\by\b.*(mix|text|str).*"
    assert_refused(ValueError, message, y=with_entry(y, "a", dtype=object))


def test_y_of_bytes():
    assert_refused(TypeError, "bytes is not supported. Convert", y=np.where(y, b"b", b"a"))


@pytest.mark.parametrize("dtype", [bool, object], ids=["bool", "object"])
def test_boolean_labels_leave_no_value_for_the_new_class(dtype):
    labels = y.astype(bool).astype(dtype)
    message = "y holds boolean labels, which leaves no value for the new class: convert y"
    assert_refused(ValueError, message, y=labels)


def test_boolean_labels_serve_a_plain_forest():
    forest = small_forest().fit(X, y.astype(bool))
    assert forest.classes_.tolist() == [False, True]
    assert_array_equal(forest.predict(X), y.astype(bool))


# ---------------------------------------------------------------------------- marks


def test_unlabelled_rows_given_twice():
    assert_refused(
        ValueError,
        "given twice, in X_unlabeled and by unlabeled_label: choose one",
        {"unlabeled_label": -1},
        y=with_entry(y, -1),
    )


@pytest.mark.parametrize("mark", [-1, np.nan])
def test_every_row_is_marked(mark):
    assert_refused(
        ValueError,
        "y holds no label: every row is marked by unlabeled_label",
        {"unlabeled_label": mark},
        y=np.full(len(X), mark),
        X_unlabeled=None,
    )


# ---------------------------------------------------------------------------- new_label


@pytest.mark.parametrize(("labels", "new_label"), [(y, 1), (y, 0.0), (np.where(y, "b", "a"), "b")])
def test_new_label_that_is_known(labels, new_label):
    assert_refused(
        ValueError,
        rf"new_label {new_label!r} is a label in y already: choose one",
        {"new_label": new_label},
        y=labels,
    )


@pytest.mark.parametrize("new_label", ["new", None, True, [2], np.array([2]), 2j, b"new", object()])
def test_new_label_that_is_no_number_for_numbers(new_label):
    message = "new_label must be a number like the labels in y, or 'auto'; got"
    assert_refused(TypeError, message, {"new_label": new_label})


@pytest.mark.parametrize("new_label", [-1, None, True, ["new"], b"new"])
def test_new_label_that_is_no_text_for_text(new_label):
    message = "new_label must be a text like the labels in y, or 'auto'; got"
    assert_refused(TypeError, message, {"new_label": new_label}, y=np.where(y, "b", "a"))


@pytest.mark.parametrize("new_label", [np.nan, np.inf, -np.inf])
def test_new_label_is_finite_as_labels_are(new_label):
    # y itself refuses these; NaN equals nothing, and a model file holds finite labels.
    assert_refused(ValueError, "new_label must be finite, got", {"new_label": new_label})


# ---------------------------------------------------------------------------- sample_weight


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (-1.0, r"sample_weight must not be negative, but entry 4 is -1\.0"),
        (np.nan, "Input sample_weight contains NaN"),
        (np.inf, "Input sample_weight contains infinity"),
    ],
)
def test_a_weight_that_is_no_weight(entry, message):
    assert_refused(ValueError, message, sample_weight=with_entry(ONES, entry))


@pytest.mark.parametrize("n_weights", [0, 1, 59, 61])
def test_weights_of_another_length(n_weights):
    message = f"sample_weight has {n_weights} entries, but X has 60 rows"
    assert_refused(ValueError, message, sample_weight=np.ones(n_weights))


def test_weights_in_two_dimensions():
    message = r"Sample weights must be 1D, got sample_weight of shape \(60, 1\)"
    assert_refused(ValueError, message, sample_weight=ONES[:, None])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (1e307, "sample_weight is too large: its sum is inf, and 1e.100 is the most. Scale it"),
        (1e160, r"sample_weight is too large: its sum is 6e\+161, and .* Scale it down"),
        (1e-160, "sample_weight is too small: its sum is 6e-159, and 1e-100 is the least. Scale"),
        (5e-324, "sample_weight is too small: .* Scale it up"),
    ],
)
def test_weights_whose_squares_are_no_numbers(weight, message):
    # Their forest would find no split, and look as if the data had none.
    assert_refused(ValueError, message, sample_weight=weight * ONES)


@pytest.mark.parametrize("weight", [1e98, 1e-98])
def test_weights_that_can_just_be_squared(weight):
    forest = small_forest().fit(X, y, sample_weight=weight * ONES, X_unlabeled=U)
    assert (forest._forest.n_explored > 1).all()
    assert np.isfinite(forest.predict_proba(U)).all()


def test_weights_of_zero_only():
    message = "sample_weight is zero for every labelled row: nothing is left to learn"
    assert_refused(ValueError, message, sample_weight=0 * ONES)


def test_weights_of_text():
    assert_refused(ValueError, "sample_weight", sample_weight=["heavy"] * len(X))


def test_weights_whose_sum_is_not_finite():
    message = "sample_weight.* (sum|too large|overflow)"
    assert_refused(ValueError, message, sample_weight=ONES * 1e308)


def test_weights_of_unlabelled_rows_alone():
    # Entries of marked rows are not used, so these weights leave no labelled row.
    marked = np.where(np.arange(len(X)) % 2, y, -1)
    assert_refused(
        ValueError,
        "sample_weight is zero for every labelled row",
        {"unlabeled_label": -1},
        y=marked,
        sample_weight=(marked == -1).astype(float),
        X_unlabeled=None,
    )


# ---------------------------------------------------------------------------- after a refusal


def test_an_estimator_fits_after_a_refusal():
    forest = small_forest(theta=3)
    with pytest.raises(ValueError, match="theta"):
        forest.fit(X, y, X_unlabeled=U)
    forest.set_params(theta=0.5).fit(X, y, X_unlabeled=U)
    assert_array_equal(forest.predict_proba(U), fitted_forest().predict_proba(U))
