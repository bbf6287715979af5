"""Invalid labels, new labels and weights; estimators remain unchanged."""

import re
from datetime import date
from decimal import Decimal

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
    # The user probably means unlabelled rows; the message must explain how to mark them.
    labels = with_entry(known, missing, dtype=object)
    assert_refused(ValueError, r"\by\b.*(missing|NaN|None).*unlabeled_label", y=labels)


@pytest.mark.parametrize("mark", [[-1], np.array([-1, 5]), (0,)], ids=str)
def test_a_mark_that_is_no_label(mark):
    message = "the mark of unlabelled rows must be a single label, got"
    assert_refused(TypeError, message, {"unlabeled_label": mark}, X_unlabeled=None)


def test_text_and_numbers_in_one_y():
    message = r"\by\b.*(mix|text|str).*"
    assert_refused(ValueError, message, y=with_entry(y, "a", dtype=object))


@pytest.mark.parametrize(
    "labels", [[1, "1"] * 30, ("a", 1.0) * 30, ["a", np.nan] * 30, [None, "a"] * 30]
)
def test_a_list_of_several_types_is_not_taken_for_text(labels):
    # NumPy writes 1 and "1" as one text, and NaN as the text "nan".
    assert_refused(ValueError, "y contains labels of several types|y contains NaN", y=labels)


def test_texts_of_a_list_stay_apart():
    # NumPy drops zeros at the end of a text.
    forest = small_forest().fit(X, ["a\0" if label else "a" for label in y], X_unlabeled=U)
    assert forest.known_classes_.tolist() == ["a", "a\0"]


@pytest.mark.parametrize(
    "labels",
    [(date(2024, 1, 1), date(2024, 1, 2)), (Decimal(1), Decimal(2)), (2**70, 2**70 + 1)],
    ids=["dates", "decimals", "large"],
)
def test_labels_of_other_types_are_named(labels):
    given = np.empty(len(y), dtype=object)
    given[:] = [labels[label] for label in y]
    message = re.escape(f"labels such as {given[0]!r}: convert y to integers or to strings")
    assert_refused(ValueError, message, y=given)


def test_dates_leave_no_value_for_the_new_class():
    labels = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")
    assert_refused(ValueError, r"y contains datetime64\[D\] labels, which leaves no", y=labels[y])


def test_a_date_that_is_missing_is_no_class():
    labels = np.array(["2024-01-01", "NaT"], dtype="datetime64[D]")
    assert_refused(ValueError, "y contains NaN: np.datetime64", y=labels[y], X_unlabeled=None)


def test_y_of_bytes():
    assert_refused(TypeError, "bytes is not supported. Convert", y=np.where(y, b"b", b"a"))


@pytest.mark.parametrize("dtype", [bool, object], ids=["bool", "object"])
def test_boolean_labels_leave_no_value_for_the_new_class(dtype):
    labels = y.astype(bool).astype(dtype)
    message = "y contains boolean labels, which leaves no value for the new class: convert y"
    assert_refused(ValueError, message, y=labels)


def test_boolean_labels_serve_a_plain_forest():
    forest = small_forest().fit(X, y.astype(bool))
    assert forest.classes_.tolist() == [False, True]
    assert_array_equal(forest.predict(X), y.astype(bool))


# ---------------------------------------------------------------------------- marks


def test_unlabelled_rows_given_twice():
    assert_refused(
        ValueError,
        "given twice, in X_unlabeled and by unlabeled_label: use one",
        {"unlabeled_label": -1},
        y=with_entry(y, -1),
    )


@pytest.mark.parametrize("mark", [-1, np.nan])
def test_every_row_is_marked(mark):
    assert_refused(
        ValueError,
        "y contains no label: every row is marked by unlabeled_label",
        {"unlabeled_label": mark},
        y=np.full(len(X), mark),
        X_unlabeled=None,
    )


# ---------------------------------------------------------------------------- new_label


@pytest.mark.parametrize(("labels", "new_label"), [(y, 1), (y, 0.0), (np.where(y, "b", "a"), "b")])
def test_new_label_that_is_known(labels, new_label):
    assert_refused(
        ValueError,
        rf"new_label {new_label!r} is already a label in y: choose another one",
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
    # y rejects these as well: NaN equals nothing, and model files hold finite labels only.
    assert_refused(ValueError, "new_label must be finite, got", {"new_label": new_label})


@pytest.mark.parametrize(
    ("known", "new_label"),
    [
        (np.array([2**63, 2**63 + 1], dtype=np.uint64), -1),
        (np.array([2**63, 2**63 + 1], dtype=np.uint64), 0.5),
        (np.array([2**60, 2**60 + 1]), 0.5),
        (np.array([2**60 + 1, 3]), 0.5),
    ],
)
def test_new_label_that_would_merge_labels(known, new_label):
    assert_refused(
        ValueError,
        f"new_label {new_label!r} and the labels in y, such as .*, have no type in common",
        {"new_label": new_label},
        y=known[y],
    )


def test_new_label_that_becomes_a_label():
    labels = np.array([0, 2**24], dtype=np.float32)[y]
    message = r"new_label .*16777217\.0.* becomes the label 16777216\.0 in y when it is converted"
    assert_refused(ValueError, message, {"new_label": np.float64(2**24 + 1)}, y=labels)


@pytest.mark.parametrize(
    "known",
    [np.array([-(2**63), -1]), np.array([-1.0, -(2.0**60)])],
)
def test_no_value_is_left_for_an_automatic_new_label(known):
    message = 'leaves no value for new_label="auto": set new_label to a number that is not a label'
    assert_refused(ValueError, f"y contains labels from .*{message}", y=known[y])


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_labels_that_no_type_holds_exactly(kind):
    labels = [-1 if label else 2**63 + number for number, label in enumerate(y.tolist())]
    given = np.array(labels, dtype=object) if kind is np.array else kind(labels)
    message = "y contains the label 9223372036854775809, which float64 cannot hold exactly"
    assert_refused(ValueError, message, y=given)


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
        (1e307, "sample_weight is too large: its sum is inf, and the limit is 1e.100. Scale it"),
        (1e160, r"sample_weight is too large: its sum is 6e\+161, and .* Scale it down"),
        (1e-160, "sample_weight is too small: its sum is 6e-159, and the limit is 1e-100. Scale"),
        (5e-324, "sample_weight is too small: .* Scale it up"),
    ],
)
def test_weights_whose_squares_are_no_numbers(weight, message):
    # The forest would find no split, as if the features were uninformative.
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
    # Weights of marked rows are ignored, so no labelled row has a positive weight.
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
