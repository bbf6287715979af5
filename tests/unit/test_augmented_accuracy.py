"""Accuracy estimated without a label of the new class, and the scorer that returns it."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from marked_digits import marked_digits, small_forest
from reference import metrics as naive
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lacforest.metrics import accuracy_score, augmented_accuracy_score
from lacforest.model_selection import (
    make_augmented_scorer,
)


def estimated(y_true, y_pred, theta):
    return augmented_accuracy_score(y_true, y_pred, theta=theta, new_label=-1, unlabeled_label=99)


# ---------------------------------------------------------------------------- the estimate


labels_and_answers = st.lists(
    st.tuples(st.sampled_from([0, 1, 2, 99]), st.sampled_from([0, 1, 2, -1])), min_size=2
)
shares = st.one_of(st.sampled_from([0.0, 0.25, 0.3, 1.0]), st.floats(0, 1))


@given(labels_and_answers, shares)
def test_estimate_and_its_naive_twin(rows, theta):
    y_true, y_pred = zip(*rows, strict=True)
    assume(0 < sum(label == 99 for label in y_true) < len(rows))
    expected = float(naive.augmented_accuracy(y_true, y_pred, theta, -1, 99))
    assert estimated(y_true, y_pred, theta) == pytest.approx(expected, abs=1e-12)


quarters = st.permutations([0.25, 0.5, 0.25]).map(lambda given: dict(enumerate(given)))


@given(labels_and_answers, shares, quarters)
def test_known_classes_in_other_shares(rows, theta, known_shares):
    y_true, y_pred = zip(*rows, strict=True)
    assume(0 < sum(label == 99 for label in y_true) < len(rows))
    expected = naive.augmented_accuracy_by_shares(y_true, y_pred, theta, -1, 99, known_shares)
    found = augmented_accuracy_score(
        y_true, y_pred, theta=theta, new_label=-1, unlabeled_label=99, known_shares=known_shares
    )
    assert found == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize(
    ("known_shares", "error", "message"),
    [
        ({0: 1.0}, ValueError, r"known_shares lacks the classes \[1\]: give each a share"),
        ({0: 0.5, 1: 0.4}, ValueError, "known_shares must sum to 1, but their sum is 0.9"),
        ({0: 1.5, 1: -0.5}, ValueError, "known_shares must be finite and not negative, got -0.5"),
        ({0: 0.0, 1: 0.0, 2: 1.0}, ValueError, "known_shares is zero for every class that has"),
        ([0.5, 0.5], TypeError, "known_shares must be a dict of shares by label"),
    ],
)
def test_bad_shares(known_shares, error, message):
    options = {"theta": 0.5, "new_label": -1, "unlabeled_label": 99, "known_shares": known_shares}
    with pytest.raises(error, match=message):
        augmented_accuracy_score([0, 1, 99], [0, 1, -1], **options)


@given(labels_and_answers, shares, st.data())
def test_a_weight_is_a_number_of_rows(rows, theta, data):
    assume(0 < sum(label == 99 for label, _ in rows) < len(rows))
    weight = data.draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    repeated = [row for row, times in zip(rows, weight, strict=True) for _ in range(times)]
    weighted = augmented_accuracy_score(
        *zip(*rows, strict=True),
        theta=theta,
        new_label=-1,
        unlabeled_label=99,
        sample_weight=weight,
    )
    expected = estimated(*zip(*repeated, strict=True), theta)
    assert weighted == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([0, 0, 1], "sample_weight is zero for every labelled row"),
        ([1, 0, 0], "sample_weight is zero for every unlabelled row"),
        ([1, 1], "sample_weight has 2 entries, but X has 3 rows"),
    ],
)
def test_weights_that_leave_nothing(weight, message):
    with pytest.raises(ValueError, match=message):
        augmented_accuracy_score(
            [0, 1, 99],
            [0, 1, -1],
            theta=0.5,
            new_label=-1,
            unlabeled_label=99,
            sample_weight=weight,
        )


@given(st.lists(st.sampled_from([0, 1, 99]), min_size=2), shares)
def test_all_new_scores_theta(y_true, theta):
    assume(0 < y_true.count(99) < len(y_true))
    assert estimated(y_true, [-1] * len(y_true), theta) == 1 - (1 - theta)


@given(labels_and_answers, shares)
def test_never_new_scores_the_accuracy_on_labelled_rows(rows, theta):
    rows = [(label, predicted) for label, predicted in rows if predicted != -1]
    labeled = [(label, predicted) for label, predicted in rows if label != 99]
    assume(0 < len(labeled) < len(rows))
    accuracy = accuracy_score(*zip(*labeled, strict=True))
    assert estimated(*zip(*rows, strict=True), theta) == (1 - theta) * accuracy


@given(
    st.lists(st.tuples(st.sampled_from([0, 1, -1]), st.sampled_from([0, 1, -1])), min_size=1),
    st.integers(1, 3),
)
def test_estimate_is_the_accuracy_where_samples_are_perfect(rows, times):
    # Labelled rows are the known ones among the unlabelled rows, and theta is their share.
    known = [(label, predicted) for label, predicted in rows if label != -1] * times
    assume(known)
    unlabeled = [(99, predicted) for _, predicted in rows]
    theta = float(naive.share(label == -1 for label, _ in rows))
    truth = float(naive.accuracy(*zip(*rows, strict=True)))
    y_true, y_pred = zip(*known, *unlabeled, strict=True)
    assert estimated(y_true, y_pred, theta) == pytest.approx(truth, abs=1e-12)


def test_estimate_is_unbiased(global_random_seed):
    # Ten kinds of rows, each of class 0, class 1 or new with its own probability, and a fixed
    # classifier that is right on some kinds only: its true accuracy is known exactly.
    rng = np.random.default_rng(global_random_seed)
    theta, n_labeled, n_unlabeled, n_draws = 0.35, 40, 60, 2000
    joint = rng.dirichlet(np.ones(20), size=1).reshape(2, 10) * (1 - theta)
    joint = np.vstack([joint, rng.dirichlet(np.ones(10)) * theta])
    classes, says = np.array([0, 1, -1]), rng.choice([0, 1, -1], size=10)
    says[:3] = [0, 1, -1]
    accuracy = joint[classes[:, np.newaxis] == says].sum()
    estimates = []
    for _ in range(n_draws):
        among_known = joint[:2].ravel() / joint[:2].sum()
        cell = rng.choice(20, size=n_labeled, p=among_known)
        kind = rng.choice(10, size=n_unlabeled, p=joint.sum(axis=0))
        y_true = np.append(classes[cell // 10], np.full(n_unlabeled, 99))
        y_pred = np.append(says[cell % 10], says[kind])
        estimates.append(estimated(y_true, y_pred, theta))
    error = np.std(estimates) / np.sqrt(n_draws)
    assert abs(np.mean(estimates) - accuracy) < 4 * error
    assert error < 0.005


@given(labels_and_answers, st.floats(0, 1), st.floats(0, 1))
def test_a_wrong_theta_shifts_the_estimate_as_documented(rows, theta, other):
    y_true, y_pred = map(np.array, zip(*rows, strict=True))
    labeled = y_true != 99
    assume(0 < labeled.sum() < len(rows))
    r = np.mean((y_pred == y_true)[labeled]) - np.mean(y_pred[labeled] == -1)
    shift = estimated(y_true, y_pred, other) - estimated(y_true, y_pred, theta)
    assert shift == pytest.approx(-(other - theta) * r, abs=1e-12)


def test_mark_and_new_label_may_be_the_same():
    options = {"theta": 0.5, "new_label": -1, "unlabeled_label": -1}
    assert augmented_accuracy_score([0, 1, -1, -1], [0, 1, -1, 0], **options) == 1.0


def test_estimate_of_other_labels():
    options = {"theta": 0.5, "new_label": "<new>", "unlabeled_label": np.nan}
    y_true = pd.Series(["a", "b", None, None])
    assert augmented_accuracy_score(y_true, ["a", "b", "<new>", "a"], **options) == 1.0
    options = {"theta": 0.5, "new_label": -1, "unlabeled_label": np.nan}
    assert augmented_accuracy_score([0, 1, np.nan, np.nan], [0, 1, -1, 0], **options) == 1.0


@pytest.mark.parametrize(
    ("y_true", "options", "error", "message"),
    [
        ([0, 1, 2], {}, ValueError, "no row of y_true is marked as unlabelled by 99: the"),
        ([99, 99, 99], {}, ValueError, "every row of y_true is marked as unlabelled by 99"),
        ([0, -1, 99], {}, ValueError, "y_true contains new_label -1: labelled rows"),
        ([0, 99], {}, ValueError, "inconsistent numbers of samples"),
        ([0, np.nan, 99], {}, ValueError, "contains NaN"),
        ([0, 1, 99], {"theta": "auto"}, TypeError, r"theta must be a number in \[0, 1\]"),
        ([0, 1, 99], {"theta": -0.1}, ValueError, r"theta must lie in \[0, 1\], got -0.1"),
    ],
)
def test_bad_estimate(y_true, options, error, message):
    options = {"theta": 0.5, "new_label": -1, "unlabeled_label": 99} | options
    with pytest.raises(error, match=message):
        augmented_accuracy_score(y_true, [0, 1, -1], **options)


# ---------------------------------------------------------------------------- the scorer


def test_scorer_is_the_estimate():
    X, y, split = marked_digits()
    forest = small_forest().fit(X, y)
    expected = augmented_accuracy_score(
        y, forest.predict(X), theta=0.3, new_label=-1, unlabeled_label=-1
    )
    assert make_augmented_scorer(0.3)(forest, X, y) == expected
    pipeline = make_pipeline(StandardScaler(), small_forest()).fit(X, y)
    by_hand = augmented_accuracy_score(
        y, pipeline.predict(X), theta=0.3, new_label=-1, unlabeled_label=-1
    )
    assert make_augmented_scorer(0.3)(pipeline, X, y) == by_hand
    # A forest fitted with X_unlabeled has no mark for unlabelled rows.
    apart = small_forest(unlabeled_label=None)
    apart.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)
    assert make_augmented_scorer(0.3, unlabeled_label=-1)(apart, X, y) == expected


def test_scorer_by_shares():
    X, y, split = marked_digits()
    forest = small_forest().fit(X, y)
    labels = np.unique(split.y_labeled).tolist()
    known_shares = {label: 1 / len(labels) for label in labels}
    options = {"theta": 0.3, "known_shares": known_shares}
    expected = augmented_accuracy_score(
        y, forest.predict(X), new_label=-1, unlabeled_label=-1, **options
    )
    assert make_augmented_scorer(**options)(forest, X, y) == expected
    # The shares of a fit belong to its theta.
    skewed = {label: (0.6 if label == labels[0] else 0.4 / (len(labels) - 1)) for label in labels}
    moved = small_forest(theta="auto", known_shares=skewed).fit(X, y)
    by_hand = make_augmented_scorer(moved.theta_, known_shares=skewed)(moved, X, y)
    assert make_augmented_scorer("fitted")(moved, X, y) == pytest.approx(by_hand, abs=1e-12)
    with pytest.raises(TypeError, match="known_shares must be a dict of shares by label"):
        make_augmented_scorer(0.3, known_shares=[0.5, 0.5])


def test_fitted_theta():
    X, y, _ = marked_digits()
    forest = small_forest(theta="auto").fit(X, y)
    scorer, by_number = make_augmented_scorer("fitted"), make_augmented_scorer(forest.theta_)
    assert scorer(forest, X, y) == by_number(forest, X, y)
    # Parameters of the forest do not affect the estimate: all candidates of a fold share one theta.
    others = [{"max_depth": 2}, {"gamma": 0.2}, {"min_samples_leaf": 30}, {"bootstrap": True}]
    for parameters in others:
        assert small_forest(theta="auto", **parameters).fit(X, y).theta_ == forest.theta_


def test_given_thetas_are_not_compared_by_themselves():
    X, y, _ = marked_digits()
    message = r"needs a theta that the classifier estimated, but LACForestClassifier was given one"
    with pytest.raises(ValueError, match=message):
        make_augmented_scorer("fitted")(small_forest().fit(X, y), X, y)


def test_scorer_of_what_it_cannot_score():
    X, y, _ = marked_digits()
    scorer = make_augmented_scorer(0.3)
    apart = small_forest(unlabeled_label=None).fit(X[:300], y[:300], X_unlabeled=X[300:])
    with pytest.raises(ValueError, match=r"which rows of y are unlabelled: set unlabeled_label"):
        scorer(apart, X, y)
    with pytest.raises(TypeError, match="DummyClassifier has no new_label_"):
        scorer(DummyClassifier().fit(X, y), X, y)
    with pytest.raises(ValueError, match="has no new class: pass X_unlabeled to fit"):
        scorer(small_forest().fit(X[:300], y[:300]), X, y)
    with pytest.raises(ValueError, match="no row of y_true is marked as unlabelled"):
        scorer(small_forest().fit(X, y), X[:300], y[:300])


@pytest.mark.parametrize(
    ("theta", "error", "message"),
    [
        ("auto", ValueError, r"theta must be a number in \[0, 1\] or \"fitted\", got 'auto'"),
        (None, TypeError, r"theta must be a number in \[0, 1\], got None"),
        (1.1, ValueError, r"theta must lie in \[0, 1\], got 1.1"),
    ],
)
def test_bad_scorer(theta, error, message):
    with pytest.raises(error, match=message):
        make_augmented_scorer(theta)


def test_scorer_can_be_sent_to_a_process():
    scorer = make_augmented_scorer(0.3, unlabeled_label="?")
    assert pickle.loads(pickle.dumps(scorer)) == clone(scorer, safe=False) == scorer
    assert "theta=0.3" in repr(scorer)
