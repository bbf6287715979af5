"""Splits of the paper's protocol: which classes are hidden, which rows go where."""

import doctest

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from lacforest import LACForestClassifier
from lacforest.model_selection import (
    AugmentedClassSplit,
    _split,
    make_augmented_split,
    mask_hidden,
)

SMALL = {"n_labeled": 40, "n_unlabeled": 60, "n_test": 20}


def make_table(n_classes=7, n_each=33):
    y = np.repeat(np.arange(n_classes), n_each)
    X = np.column_stack([np.arange(len(y)), y]).astype(float)
    return X, y


def parts(split):
    return [split.labeled, split.unlabeled, split.test]


def test_parts_are_disjoint_and_hold_what_they_should(global_random_seed):
    X, y = make_table()
    split = make_augmented_split(X, y, **SMALL, theta=0.3, random_state=global_random_seed)
    assert [len(part) for part in parts(split)] == [40, 60, 20]
    assert len(np.unique(np.concatenate(parts(split)))) == 120
    assert set(y[split.labeled]) <= set(split.known)
    assert np.isin(y[split.unlabeled], split.hidden).sum() == 18
    assert np.isin(y[split.test], split.hidden).sum() == 6
    assert split.theta == 0.3
    assert_array_equal(np.sort(np.concatenate([split.hidden, split.known])), np.arange(7))


def test_tables_and_labels_of_each_part():
    X, y = make_table()
    split = make_augmented_split(X, y, **SMALL, random_state=0)
    assert split.new_label == -1
    assert_array_equal(split.truth, np.where(np.isin(y, split.hidden), -1, y))
    assert_array_equal(split.X_labeled, X[split.labeled])
    assert_array_equal(split.X_unlabeled, X[split.unlabeled])
    assert_array_equal(split.X_test, X[split.test])
    assert_array_equal(split.y_labeled, y[split.labeled])
    assert_array_equal(split.y_unlabeled, split.truth[split.unlabeled])
    assert_array_equal(split.y_test, split.truth[split.test])


def test_order_of_rows_does_not_tell_new_from_known():
    X, y = make_table(n_each=200)
    split = make_augmented_split(X, y, n_labeled=100, n_unlabeled=400, n_test=200, random_state=0)
    for labels in (split.y_unlabeled, split.y_test):
        is_new = labels == split.new_label
        half = len(labels) // 2
        assert 0.3 < is_new[:half].sum() / is_new.sum() < 0.7


@pytest.mark.parametrize(
    ("hidden", "n_classes", "expected"),
    [(0.5, 7, 3), (0.5, 2, 1), (0.1, 5, 1), (0.99, 4, 3), (0.29, 100, 29), (4, 7, 4), (1, 2, 1)],
)
def test_number_of_hidden_classes(hidden, n_classes, expected):
    X, y = make_table(n_classes)
    split = make_augmented_split(
        X, y, hidden=hidden, n_labeled=5, n_unlabeled=4, n_test=0, random_state=0
    )
    assert len(split.hidden) == expected


def test_named_classes_are_hidden():
    X, y = make_table()
    for hidden in ([5, 2], (5, 2), {5, 2}, np.array([5, 2])):
        split = make_augmented_split(X, y, hidden=hidden, **SMALL)
        assert_array_equal(split.hidden, [2, 5])


def test_random_state_decides_all():
    X, y = make_table()
    one, other, third = (
        make_augmented_split(X, y, **SMALL, random_state=seed) for seed in (1, 1, 2)
    )
    for part, same, different in zip(parts(one), parts(other), parts(third), strict=True):
        assert_array_equal(part, same)
        assert not np.array_equal(part, different)
    a_state = np.random.RandomState(1)
    assert_array_equal(make_augmented_split(X, y, **SMALL, random_state=a_state).test, one.test)


@pytest.mark.parametrize("theta", [0.0, 1.0])
def test_nothing_new_and_all_new(theta):
    X, y = make_table()
    split = make_augmented_split(X, y, **SMALL, theta=theta, random_state=0)
    assert split.theta == theta
    assert (split.y_test == -1).mean() == theta


def test_test_rows_fill_what_is_left():
    X, y = make_table()  # 132 known and 99 new rows
    options = {"n_labeled": 40, "n_unlabeled": 60, "random_state": 0}
    split = make_augmented_split(X, y, **options, theta=0.5)
    assert len(split.test) == 124  # all 62 known rows that are left, and 62 of 69 new ones
    assert (split.y_test == -1).sum() == 62
    X, y = make_table(n_each=1000)
    assert len(make_augmented_split(X, y, **options).test) == 1000


def test_no_rows_left_for_a_test():
    X, y = make_table()
    with pytest.raises(ValueError, match=r"no rows remain .* use 132 of 132 known and 60 of 99"):
        make_augmented_split(X, y, n_labeled=72, n_unlabeled=120)
    split = make_augmented_split(X, y, n_labeled=72, n_unlabeled=120, n_test=0)
    assert len(split.test) == 0


def test_too_few_rows_is_an_error_with_all_numbers():
    X, y = make_table()
    message = (
        r"n_labeled=500, n_unlabeled=1000 and n_test=10 at theta=0\.1 need 1409 known and 101 new "
        r"rows, but known classes have 132 rows and hidden classes 99\. .*on_shortage='shrink'"
    )
    with pytest.raises(ValueError, match=message):
        make_augmented_split(X, y, theta=0.1, n_test=10)


@pytest.mark.parametrize("theta", [0.1, 0.5, 0.9])
def test_shrinking_keeps_theta_and_proportions(theta):
    X, y = make_table()
    split = make_augmented_split(
        X, y, theta=theta, n_test=300, on_shortage="shrink", random_state=0
    )
    n_labeled, n_unlabeled, n_test = (len(part) for part in parts(split))
    assert abs(split.theta - theta) < 0.51 / n_unlabeled
    assert abs(n_labeled - n_unlabeled / 2) < 1
    assert abs(n_test - n_unlabeled * 0.3) < 1
    is_new = np.isin(y, split.hidden)
    drawn = np.isin(np.arange(len(y)), np.concatenate(parts(split)))
    # All rows of one kind are used, up to a remainder from rounding.
    assert min((is_new & ~drawn).sum(), (~is_new & ~drawn).sum()) <= 4


@given(
    n_known=st.integers(1, 100),
    n_new=st.integers(1, 100),
    n_labeled=st.integers(1, 100),
    n_unlabeled=st.integers(1, 100),
    theta=st.floats(0, 1),
)
def test_shrinking_is_no_smaller_than_it_must_be(n_known, n_new, n_labeled, n_unlabeled, theta):
    plan = _split._Plan(n_labeled, n_unlabeled, 0, theta)

    def scaled(k):
        return _split._Plan(n_labeled * k // n_unlabeled, k, 0, theta)

    fitting = [
        k
        for k in range(1, n_unlabeled + 1)
        if scaled(k).n_labeled and scaled(k).fits(n_known, n_new)
    ]
    if not fitting:
        with pytest.raises(ValueError, match="Shrinking would leave a part without rows"):
            _split._shrink(plan, n_known, n_new)
    else:
        assert _split._shrink(plan, n_known, n_new) == scaled(fitting[-1])


def test_enough_rows_are_not_shrunk():
    X, y = make_table()
    split = make_augmented_split(X, y, **SMALL, on_shortage="shrink", random_state=0)
    assert_array_equal(split.test, make_augmented_split(X, y, **SMALL, random_state=0).test)


def test_shrinking_to_nothing_is_an_error():
    X, y = make_table(n_classes=2, n_each=3)
    with pytest.raises(ValueError, match="Shrinking would leave a part without rows"):
        make_augmented_split(X, y, n_labeled=1, n_unlabeled=1000, on_shortage="shrink")
    with pytest.raises(ValueError, match="Shrinking would leave a part without rows"):
        make_augmented_split(X, y, n_test=1, on_shortage="shrink")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"hidden": 0}, ValueError, "hidden=0 of 7 classes"),
        ({"hidden": 7}, ValueError, "at least one must be hidden and one known"),
        ({"hidden": 1.0}, ValueError, "strictly between 0 and 1, got 1.0"),
        ({"hidden": []}, ValueError, "hidden is empty"),
        ({"hidden": [1, 9]}, ValueError, r"hidden names \[9\], but the classes in y are 0, 1, 2"),
        ({"hidden": ["1"]}, ValueError, r"hidden names \['1'\]"),
        ({"hidden": list(range(7))}, ValueError, "hidden names every class"),
        ({"hidden": True}, TypeError, "a share of the classes, a number of classes, or a list"),
        ({"hidden": "a"}, TypeError, "got 'a'"),
        ({"n_labeled": 0}, ValueError, "n_labeled must be at least 1"),
        ({"n_unlabeled": 1.5}, TypeError, "n_unlabeled must be an integer"),
        ({"n_test": -1}, ValueError, "n_test must be at least 0"),
        ({"theta": "half"}, TypeError, "theta must be a number"),
        ({"theta": 1.1}, ValueError, r"theta must lie in \[0, 1\]"),
        ({"theta": float("nan")}, ValueError, r"theta must lie in \[0, 1\]"),
        ({"on_shortage": "warn"}, ValueError, "on_shortage must be 'raise' or 'shrink'"),
    ],
)
def test_bad_parameters(options, error, message):
    X, y = make_table()
    with pytest.raises(error, match=message):
        make_augmented_split(X, y, **{**SMALL, **options})


def test_bad_labels():
    with pytest.raises(ValueError, match="y has 1 class, but at least two are needed"):
        make_augmented_split(np.zeros((5, 2)), np.zeros(5))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        make_augmented_split(np.zeros((5, 2)), [0, 1])
    with pytest.raises(ValueError, match="contains NaN"):
        make_augmented_split(np.zeros((3, 2)), [0, 1, np.nan])
    with pytest.raises(ValueError, match="Unknown label type"):
        make_augmented_split(np.zeros((3, 2)), [0.1, 0.2, 0.3])


def test_many_classes_are_not_all_listed():
    X, y = make_table(30)
    with pytest.raises(ValueError, match=r"18, 19 and 10 more$"):
        make_augmented_split(X, y, hidden=[99])


def test_other_tables():
    X, y = make_table()
    names = np.array(["a", "bb", "c", "d", "e", "f", "g"])[y]
    frame = pd.DataFrame(X, columns=["row", "class"])
    split = make_augmented_split(frame, pd.Series(names), **SMALL, random_state=0)
    assert split.new_label == "<new>"
    assert set(split.y_test) > {"<new>"}
    assert list(split.X_test.columns) == ["row", "class"]
    assert_array_equal(split.X_test["row"], split.test)
    split = make_augmented_split(sparse.csr_array(X), names, **SMALL, random_state=0)
    assert_array_equal(split.X_labeled.toarray(), X[split.labeled])
    split = make_augmented_split(X.tolist(), names.tolist(), **SMALL, random_state=0)
    assert_array_equal(split.X_labeled, X[split.labeled])


def test_repr_is_short():
    X, y = make_table()
    text = repr(make_augmented_split(X, y, hidden=[0], **SMALL, theta=0.1))
    assert text == (
        "AugmentedSplit(hidden=array([0]), known=array([1, 2, 3, 4, 5, 6]), new_label=np.int64(-1))"
    )


def test_masking():
    assert_array_equal(mask_hidden([0, 1, 2, 1], [1]), [0, -1, 2, -1])
    assert_array_equal(mask_hidden([0, 1, 2, 1], [1], new_label=7), [0, 7, 2, 7])
    assert_array_equal(mask_hidden([-1, 1, 2, 1], [1]), [-1, -2, 2, -2])
    assert_array_equal(mask_hidden([-1, 1, 2], [-1]), [-1, 1, 2])
    assert mask_hidden(np.array([0, 1], dtype=np.uint8), [1]).tolist() == [0, -1]
    assert mask_hidden(["a", "b"], ["b"]).tolist() == ["a", "<new>"]
    labels = np.array(["a", "b"], dtype=object)
    assert mask_hidden(labels, ["b"]).tolist() == ["a", "<new>"]
    assert labels.tolist() == ["a", "b"]


def test_masking_errors():
    with pytest.raises(TypeError, match="hidden must be a list of classes, got 'b'"):
        mask_hidden(["a", "b"], "b")
    with pytest.raises(TypeError, match="hidden must be a list of classes, got 1"):
        mask_hidden([0, 1], 1)
    with pytest.raises(ValueError, match="is already a label in y"):
        mask_hidden([0, 1, 2], [1], new_label=2)


@pytest.mark.parametrize("kind", [int, float, str])
def test_the_forest_calls_the_new_class_the_same(kind):
    X, y = make_table()
    split = make_augmented_split(X, y.astype(kind), **SMALL, random_state=0)
    forest = LACForestClassifier(n_estimators=2, theta=0.5, random_state=0)
    forest.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)
    assert forest.new_label_ == split.new_label
    assert set(split.y_test) <= set(forest.classes_)


def test_splitter_draws_fresh_classes_and_rows():
    X, y = make_table()
    splitter = AugmentedClassSplit(20, **SMALL, theta=0.4, random_state=0)
    assert splitter.get_n_splits() == splitter.get_n_splits(X, y) == 20
    splits = list(splitter.split(X, y))
    assert len(splits) == 20
    assert {split.theta for split in splits} == {0.4}
    assert len({tuple(split.hidden) for split in splits}) > 5
    assert len({tuple(split.labeled) for split in splits}) == 20


def test_splitter_repeats_itself_and_does_not_depend_on_their_number():
    X, y = make_table()
    many = list(AugmentedClassSplit(4, **SMALL, random_state=3).split(X, y))
    splitter = AugmentedClassSplit(2, **SMALL, random_state=3)
    for splits in (list(splitter.split(X, y)), list(splitter.split(X, y))):
        for one, other in zip(splits, many[:2], strict=True):
            assert_array_equal(one.unlabeled, other.unlabeled)


def test_splitter_passes_its_parameters_on():
    X, y = make_table()
    splitter = AugmentedClassSplit(1, hidden=[6], n_test=0, on_shortage="shrink", random_state=0)
    (split,) = splitter.split(X, y)
    assert split.hidden.tolist() == [6]
    assert len(split.test) == 0
    assert "hidden=[6]" in repr(splitter)


def test_splitter_checks_at_once():
    with pytest.raises(ValueError, match="n_splits must be at least 1"):
        AugmentedClassSplit(0)
    with pytest.raises(ValueError, match="theta must lie in"):
        AugmentedClassSplit(theta=2)


def test_examples_in_docstrings():
    failed, attempted = doctest.testmod(_split)
    assert attempted > 0
    assert failed == 0
