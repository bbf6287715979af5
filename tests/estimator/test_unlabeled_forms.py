"""The two ways to pass unlabelled rows, and the resulting labels."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from forests import assert_same_forest
from numpy.testing import assert_allclose, assert_array_equal
from two_blobs import U, X, fitted_forest, small_forest, y

WORDS = np.array(["cat", "dog"])

# A random interleaving that preserves the order of labelled and of unlabelled rows.
n_rows = len(X) + len(U)
is_unlabeled = np.isin(np.arange(n_rows), np.random.default_rng(0).permutation(n_rows)[: len(U)])
X_mixed = np.empty((n_rows, 3))
X_mixed[~is_unlabeled], X_mixed[is_unlabeled] = X, U


def mixed_y(labels, mark, dtype):
    mixed = np.empty(n_rows, dtype=dtype)
    mixed[~is_unlabeled], mixed[is_unlabeled] = labels, mark
    return mixed


FORMS = {
    "minus one": (mixed_y(y, -1, np.int64), -1),
    "minus one of numpy": (mixed_y(y, -1, np.int8), np.int64(-1)),
    "minus one in floats": (mixed_y(y, -1.0, np.float64), -1),
    "NaN": (mixed_y(y, np.nan, np.float64), np.nan),
    "NaN of float32": (mixed_y(y, np.nan, np.float32), np.float32("nan")),
    "NaN beside objects": (mixed_y(y, np.nan, object), np.nan),
    "None beside numbers": (mixed_y(y, None, object), np.nan),
    "text beside numbers": (mixed_y(y, "unknown", object), "unknown"),
    "number in a list": (mixed_y(y, 99, np.int64).tolist(), 99),
    "number in pandas": (pd.Series(mixed_y(y, -1, np.int64), index=np.arange(n_rows)[::-1]), -1),
    "NaN in pandas": (pd.Series(mixed_y(y, np.nan, np.float64)), np.nan),
    "NA in pandas": (pd.Series(mixed_y(y, None, object), dtype="Int64"), np.nan),
    "number in polars": (pl.Series(mixed_y(y, -1, np.int64)), -1),
    "NA by its name": (pd.Series(mixed_y(y, None, object), dtype="Int64"), pd.NA),
    "NA beside text by its name": (mixed_y(WORDS[y], pd.NA, object), pd.NA),
    "null in polars": (pl.Series(mixed_y(y, None, object).tolist(), dtype=pl.Int64), np.nan),
    "unknown": (mixed_y(WORDS[y], "unknown", "<U7"), "unknown"),
    "unknown beside objects": (mixed_y(WORDS[y], "unknown", object), "unknown"),
    "empty text": (mixed_y(WORDS[y], "", "<U3"), ""),
    "number beside text": (mixed_y(WORDS[y], -1, object), -1),
    "NaN beside text": (mixed_y(WORDS[y], np.nan, object), np.nan),
    "NaN beside text in a list": (mixed_y(WORDS[y], np.nan, object).tolist(), np.nan),
    "None beside text": (mixed_y(WORDS[y], None, object), np.nan),
    "text in pandas": (pd.Series(mixed_y(WORDS[y], "?", object)), "?"),
    "category in pandas": (pd.Series(mixed_y(WORDS[y], "?", object), dtype="category"), "?"),
    "text in polars": (pl.Series(mixed_y(WORDS[y], "?", object).tolist()), "?"),
}


@pytest.mark.parametrize("form", FORMS)
def test_marked_rows_are_the_rows_of_x_unlabeled(form):
    labels, mark = FORMS[form]
    marked = small_forest(unlabeled_label=mark).fit(X_mixed, labels)
    apart = fitted_forest()
    assert_same_forest(marked, apart)
    assert_array_equal(marked.predict_proba(U), apart.predict_proba(U))
    is_text = isinstance(marked.known_classes_[0], str)
    assert marked.known_classes_.tolist() == (WORDS.tolist() if is_text else [0, 1])
    assert marked.new_label_ == ("<new>" if is_text else -1)


@pytest.mark.parametrize(("labels", "mark"), [(y, "unknown"), (y, np.nan), (WORDS[y], -1), (y, 5)])
def test_a_mark_that_no_row_bears_leaves_a_plain_forest(labels, mark):
    forest = small_forest(unlabeled_label=mark).fit(X, labels)
    assert_same_forest(forest, small_forest().fit(X, labels))
    assert forest.new_label_ is None


def test_marks_are_compared_by_value_not_by_text():
    # The text "-1" in y is an ordinary class when the mark is the number.
    labels = np.where(y, "-1", "a")
    forest = small_forest(unlabeled_label=-1).fit(X, labels)
    assert forest.classes_.tolist() == ["-1", "a"]


def test_column_names_are_taken_from_marked_tables():
    frame = pd.DataFrame(X_mixed, columns=list("abc"))
    forest = small_forest(unlabeled_label=-1).fit(frame, mixed_y(y, -1, int))
    assert forest.feature_names_in_.tolist() == list("abc")
    assert_same_forest(forest, fitted_forest())


# ---------------------------------------------------------------------------- new_label


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([0, 1], -1),
        ([5, 9], -1),
        ([-1, 1], -2),  # -1 is taken: the smallest label minus one
        ([-1, -7], -8),
        ([0.0, 1.0], -1.0),
        ([-1.0, 3.0], -2.0),
        (["a", "b"], "<new>"),
        (["<new>", "b"], "<new_>"),
        (["<new>", "<new_>"], "<new__>"),
        (["auto", "b"], "<new>"),
        (np.array([0, 255], dtype=np.uint8), -1),
        (np.array([2**63, 2**63 + 1], dtype=np.uint64), 2**64 - 1),
        (np.array([2**64 - 2, 2**64 - 1], dtype=np.uint64), 2**64 - 3),
    ],
)
def test_automatic_new_label(known, expected):
    forest = small_forest().fit(X, np.array(known)[y], X_unlabeled=U)
    assert forest.new_label_ == expected
    assert type(forest.new_label_) is type(forest.classes_[0])
    assert forest.classes_.tolist() == sorted([*known, expected])
    assert forest.classes_[forest.new_class_index_] == expected


@pytest.mark.parametrize(
    ("dtype", "known"),
    [
        (np.uint8, [0, 255]),
        (np.int8, [-128, -1]),
        (np.int64, [np.iinfo(np.int64).min + 1, -1]),
        (np.float32, [0, 1]),
    ],
)
def test_automatic_new_label_fits_a_narrow_type(dtype, known):
    labels = np.array(known, dtype=dtype)[y]
    forest = small_forest().fit(X, labels, X_unlabeled=U)
    assert set(known) < set(forest.classes_.tolist())
    assert len(set(forest.classes_.tolist())) == 3
    assert_array_equal(forest.classes_, np.sort(forest.classes_))
    assert forest.predict(U).dtype == forest.classes_.dtype


@pytest.mark.parametrize(
    "known",
    [
        np.array([2**63, 2**63 + 1], dtype=np.uint64),
        np.array([2**60, 2**60 + 1]),
        np.array([2**63 - 2, 2**63 - 1]),
    ],
    ids=["uint64", "int64", "largest int64"],
)
def test_large_labels_stay_apart(known):
    forest = small_forest().fit(X, known[y], X_unlabeled=U)
    assert forest.classes_.dtype == known.dtype
    assert_array_equal(forest.known_classes_, known)
    reference = fitted_forest()
    expected = np.append(known, forest.new_label_)[reference.predict(U)]  # -1 is the last
    assert_array_equal(forest.predict(U), expected)


@pytest.mark.parametrize(
    ("labels", "new_label", "index"),
    [
        (y, -5, 0),
        (y, 0.5, 1),
        (y, 300, 2),
        (y.astype(np.uint8), 300, 2),
        (np.where(y, 10, 5), np.int16(7), 1),
        (WORDS[y], "a new animal", 0),
        (WORDS[y], "cow", 1),
        (WORDS[y], "something longer than its neighbours", 2),
        (WORDS[y].astype(object), "cow", 1),
    ],
)
def test_classes_are_sorted_and_columns_follow_them(labels, new_label, index):
    forest = small_forest(new_label=new_label).fit(X, labels, X_unlabeled=U)
    assert forest.new_label_ == new_label
    assert forest.new_class_index_ == index
    assert forest.classes_.tolist() == sorted([*np.unique(labels).tolist(), new_label])
    # The trees are the same for any order of columns; classes_ gives the position of the new class.
    probabilities, reference = forest.predict_proba(U), fitted_forest().predict_proba(U)
    assert_array_equal(np.delete(probabilities, index, axis=1), reference[:, 1:])
    assert_array_equal(probabilities[:, index], reference[:, 0])
    assert_array_equal(forest.novelty_score(U), reference[:, 0])
    assert_array_equal(forest.predict(U), forest.classes_[probabilities.argmax(axis=1)])
    assert_allclose(
        forest.estimators_[0].value[:, index], fitted_forest().estimators_[0].value[:, 0]
    )


def test_the_mark_may_be_the_new_label():
    # The same label may mean "unlabelled" in training and "new" in prediction.
    forest = small_forest(unlabeled_label=-1, new_label=-1).fit(X_mixed, mixed_y(y, -1, int))
    assert forest.new_label_ == -1
    assert_same_forest(forest, fitted_forest())


# ---------------------------------------------------------------------------- no unlabelled rows


@pytest.mark.parametrize("theta", [0.5, "auto"])
def test_without_unlabelled_rows_it_is_a_plain_forest(theta):
    forest = small_forest(theta=theta).fit(X, y)
    assert_array_equal(forest.classes_, [0, 1])
    assert_array_equal(forest.known_classes_, [0, 1])
    assert forest.new_label_ is None
    assert forest.new_class_index_ is None
    assert forest.theta_ is forest.theta_interval_ is forest.theta_estimator_ is None
    assert forest.pseudo_labels_.shape == forest.unlabeled_score_.shape == (0,)
    assert forest.predict_proba(U).shape == (len(U), 2)
    assert_array_equal(forest.predict(X), y)
    assert {phase for tree in forest.estimators_ for phase in tree.phase.tolist()} == {2}


def test_a_new_label_is_not_looked_at_in_a_plain_forest():
    # The parameter sets the label of new rows, but there are none.
    forest = small_forest(new_label=0).fit(X, y)
    assert_array_equal(forest.classes_, [0, 1])
