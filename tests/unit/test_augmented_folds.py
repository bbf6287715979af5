"""Folds of labelled and unlabelled rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from lacforest.model_selection import (
    AugmentedKFold,
    mask_hidden,
)

# ---------------------------------------------------------------------------- known classes


def test_masking_by_known_classes():
    assert mask_hidden([0, 1, 2, 1], known_classes=[0, 2]).tolist() == [0, -1, 2, -1]
    assert mask_hidden([0, -1, 5], known_classes=[0]).tolist() == [0, -1, -1]
    assert mask_hidden([0, 5], known_classes=[0, -1]).tolist() == [0, -2]
    assert mask_hidden([0, 1], known_classes={0, 1, 2}).tolist() == [0, 1]
    assert mask_hidden(["owl", "a"], known_classes=["a"]).tolist() == ["<new>", "a"]
    assert mask_hidden([3, 4], known_classes=[0], new_label=9).tolist() == [9, 9]


@pytest.mark.parametrize("options", [{}, {"hidden": [1], "known_classes": [0]}])
def test_masking_takes_one_list(options):
    with pytest.raises(TypeError, match="pass either hidden or known_classes, and not both"):
        mask_hidden([0, 1], **options)


# ---------------------------------------------------------------------------- folds


@st.composite
def marked_labels(draw):
    n_splits = draw(st.integers(2, 5))
    n_labeled = draw(st.integers(n_splits, 40))
    n_unlabeled = draw(st.integers(n_splits, 40))
    n_classes = draw(st.integers(1, max(1, n_labeled // n_splits)))
    labels = np.append(np.arange(n_labeled) % n_classes, np.full(n_unlabeled, -1))
    order = draw(st.permutations(range(len(labels))))
    return n_splits, labels[order]


@given(marked_labels(), st.sampled_from(["split", "keep"]), st.booleans(), st.integers(0, 99))
def test_folds(example, unlabeled, shuffle, seed):
    n_splits, y = example
    seed = seed if shuffle else None
    folds = AugmentedKFold(
        n_splits, unlabeled_label=-1, unlabeled=unlabeled, shuffle=shuffle, random_state=seed
    )
    assert folds.get_n_splits() == folds.get_n_splits(y, y) == n_splits
    X = np.zeros((len(y), 1))
    found = list(folds.split(X, y))
    assert len(found) == n_splits
    n_each = {label: (y == label).sum() for label in np.unique(y)}
    for train, test in found:
        assert_array_equal(np.sort(np.append(train, test)), np.arange(len(y)))
        assert (np.diff(train) > 0).all()
        assert (np.diff(test) > 0).all()
        for label, number in n_each.items():
            tested = (y[test] == label).sum()
            if label == -1 and unlabeled == "keep":
                assert tested == 0
            else:
                assert number // n_splits <= tested <= -(-number // n_splits)
    tested = np.bincount(np.concatenate([test for _, test in found]), minlength=len(y))
    assert_array_equal(tested, 1 if unlabeled == "split" else y != -1)
    for (train, test), (again, _) in zip(found, folds.split(X, y), strict=True):
        assert_array_equal(train, again)
        assert len(np.intersect1d(train, test)) == 0


def test_random_state_decides_folds():
    y = np.append(np.arange(40) % 2, np.full(40, -1))
    first, same, other = (
        next(AugmentedKFold(4, unlabeled_label=-1, random_state=seed).split(y, y))[1]
        for seed in (0, 0, 1)
    )
    assert_array_equal(first, same)
    for part in (y == -1, y != -1):
        assert set(first[part[first]]) != set(other[part[other]])
    state = np.random.RandomState(0)
    folds = AugmentedKFold(4, unlabeled_label=-1, random_state=state)
    assert_array_equal(next(folds.split(y, y))[1], first)


@pytest.mark.parametrize(
    ("labels", "mark"),
    [
        (["a", "a", "b", "b", "?", "?"], "?"),
        ([1.0, 1.0, 2.0, 2.0, np.nan, np.nan], np.nan),
        (pd.Series(["a", "a", "b", "b", None, None]), np.nan),
        (np.array([1, 1, 2, 2, "?", "?"], dtype=object), "?"),
    ],
)
def test_any_mark(labels, mark):
    for train, test in AugmentedKFold(2, unlabeled_label=mark).split(sparse.eye_array(6), labels):
        assert (train >= 4).sum() == (test >= 4).sum() == 1
        assert len(train) == len(test) == 3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_splits": 1}, ValueError, "n_splits must be at least 2, got 1"),
        ({"n_splits": 2.0}, TypeError, "n_splits must be an integer, got 2.0"),
        ({"unlabeled_label": None}, ValueError, "unlabeled_label must not be None: name the label"),
        ({"unlabeled": "drop"}, ValueError, 'unlabeled must be "split" or "keep", got \'drop\''),
        ({"shuffle": 1}, TypeError, "shuffle must be True or False"),
        ({"shuffle": False, "random_state": 0}, ValueError, "random_state has no effect"),
    ],
)
def test_bad_folds(options, error, message):
    with pytest.raises(error, match=message):
        AugmentedKFold(**{"unlabeled_label": -1} | options)


def test_labels_without_folds():
    X = np.zeros((6, 1))
    folds = AugmentedKFold(3, unlabeled_label=-1)
    with pytest.raises(ValueError, match="no row of y is marked by unlabeled_label=-1: append"):
        next(folds.split(X, [0, 0, 0, 1, 1, 1]))
    message = "n_splits=3 folds need at least 3 labelled and 3 unlabelled rows, but y has 4 and 2"
    with pytest.raises(ValueError, match=message):
        next(folds.split(X, [0, 0, 1, 1, -1, -1]))
    with pytest.raises(ValueError, match="but y has 0 and 6: lower n_splits"):
        next(folds.split(X, [-1] * 6))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        next(folds.split(X, [0, -1]))
    with pytest.raises(ValueError, match="contains NaN"):
        next(folds.split(X, [0, 0, np.nan, -1, -1, -1]))


def test_repr_of_folds():
    text = repr(AugmentedKFold(3, unlabeled_label="?", random_state=0))
    assert text == (
        "AugmentedKFold(n_splits=3, unlabeled_label='?', unlabeled='split', shuffle=True, "
        "random_state=0)"
    )
