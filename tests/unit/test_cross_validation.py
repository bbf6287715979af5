"""Folds with unlabelled rows, and accuracy estimated without a label of the new class."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from reference import metrics as naive
from scipy import sparse
from scipy.stats import spearmanr
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lacforest import LACForestClassifier
from lacforest.metrics import accuracy_score, augmented_accuracy_score
from lacforest.mixture import estimate_theta
from lacforest.model_selection import (
    AugmentedKFold,
    make_augmented_scorer,
    make_augmented_split,
    mask_hidden,
)

DIGITS = load_digits(return_X_y=True)


def marked_digits(seed=0, theta=0.4, mark=-1):
    """Labelled rows above marked unlabelled ones, and the split they come from."""
    split = make_augmented_split(
        *DIGITS, n_labeled=300, n_unlabeled=500, n_test=300, theta=theta, random_state=seed
    )
    table = np.vstack([split.X_labeled, split.X_unlabeled])
    return table, np.append(split.y_labeled, np.full(500, mark)), split


def small_forest(**parameters):
    options = {"theta": 0.4, "unlabeled_label": -1, "random_state": 0}
    return LACForestClassifier(10, **options | parameters)


def estimated(y_true, y_pred, theta):
    return augmented_accuracy_score(y_true, y_pred, theta=theta, new_label=-1, unlabeled_label=99)


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
    with pytest.raises(TypeError, match="pass either hidden or known_classes: one of them decides"):
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
    with pytest.raises(ValueError, match="no row of y is marked by unlabeled_label=-1: stack"):
        next(folds.split(X, [0, 0, 0, 1, 1, 1]))
    message = "n_splits=3 folds need at least 3 labelled and 3 unlabelled rows, but y has 4 and 2"
    with pytest.raises(ValueError, match=message):
        next(folds.split(X, [0, 0, 1, 1, -1, -1]))
    with pytest.raises(ValueError, match="but y has 0 and 6: ask for fewer folds"):
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
        ([0, 1, 2], {}, ValueError, "no row of y_true is unlabelled, that is marked by 99: the"),
        ([99, 99, 99], {}, ValueError, "every row of y_true is marked by 99 as unlabelled"),
        ([0, -1, 99], {}, ValueError, "y_true holds new_label -1 among its labels: labelled rows"),
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
    # A forest of rows passed apart has no mark of its own.
    apart = small_forest(unlabeled_label=None)
    apart.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)
    assert make_augmented_scorer(0.3, unlabeled_label=-1)(apart, X, y) == expected


def test_fitted_theta():
    X, y, _ = marked_digits()
    forest = small_forest(theta="auto").fit(X, y)
    scorer, by_number = make_augmented_scorer("fitted"), make_augmented_scorer(forest.theta_)
    assert scorer(forest, X, y) == by_number(forest, X, y)
    # Parameters of the forest leave the estimate alone: within a fold all share one theta.
    others = [{"max_depth": 2}, {"gamma": 0.2}, {"min_samples_leaf": 30}, {"bootstrap": True}]
    for parameters in others:
        assert small_forest(theta="auto", **parameters).fit(X, y).theta_ == forest.theta_


def test_given_thetas_are_not_compared_by_themselves():
    X, y, _ = marked_digits()
    message = r"takes a theta that the classifier estimated, but LACForestClassifier was given one"
    with pytest.raises(ValueError, match=message):
        make_augmented_scorer("fitted")(small_forest().fit(X, y), X, y)


def test_scorer_of_what_it_cannot_score():
    X, y, _ = marked_digits()
    scorer = make_augmented_scorer(0.3)
    apart = small_forest(unlabeled_label=None).fit(X[:300], y[:300], X_unlabeled=X[300:])
    with pytest.raises(ValueError, match=r"what marks unlabelled rows in y\? Set unlabeled_label"):
        scorer(apart, X, y)
    with pytest.raises(TypeError, match="DummyClassifier has no new_label_"):
        scorer(DummyClassifier().fit(X, y), X, y)
    with pytest.raises(ValueError, match="knows no new class: pass X_unlabeled to fit"):
        scorer(small_forest().fit(X[:300], y[:300]), X, y)
    with pytest.raises(ValueError, match="no row of y_true is unlabelled"):
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


# ---------------------------------------------------------------------------- searches


CANDIDATES = [
    {"max_depth": [1, 2, 3, 5, None]},
    {"min_samples_leaf": [20, 60]},
    {"gamma": [0.05, 0.2]},
]


@pytest.mark.parametrize("theta", [0.3, 0.6])
def test_ranking_agrees_with_true_accuracy(theta):
    correlations, lost = [], []
    for seed in range(5):
        X, y, split = marked_digits(seed, theta)
        search = GridSearchCV(
            small_forest(theta=theta),
            CANDIDATES,
            scoring=make_augmented_scorer(theta),
            cv=AugmentedKFold(3, unlabeled_label=-1, random_state=seed),
        ).fit(X, y)
        true = [
            accuracy_score(
                split.y_test,
                small_forest(theta=theta, **candidate).fit(X, y).predict(split.X_test),
            )
            for candidate in search.cv_results_["params"]
        ]
        scores = search.cv_results_["mean_test_score"]
        correlations.append(spearmanr(scores, true).statistic)
        lost.append(max(true) - true[search.best_index_])
    # Over seeds 0 to 19 the means are 0.88 and 0.93, and 0.020 and 0.006; the same folds with all
    # labels give 0.93 and 0.94, and 0.006 and 0.005. A choice at random loses 0.1 and more.
    assert np.mean(correlations) > 0.8
    assert min(correlations) > 0.6
    assert np.mean(lost) < 0.05


def test_scores_are_near_the_true_accuracy():
    X, y, split = marked_digits()
    truth = np.append(split.y_labeled, split.y_unlabeled)
    folds = AugmentedKFold(5, unlabeled_label=-1, random_state=0)
    scores = cross_val_score(small_forest(), X, y, cv=folds, scoring=make_augmented_scorer(0.4))
    # The truth about the same held-out unlabelled rows, by the same forests.
    true = [
        accuracy_score(
            truth[test][y[test] == -1],
            small_forest().fit(X[train], y[train]).predict(X[test][y[test] == -1]),
        )
        for train, test in folds.split(X, y)
    ]
    assert abs(np.mean(scores) - np.mean(true)) < 0.03


def test_search_from_end_to_end_without_a_new_label():
    X, y, split = marked_digits(mark=-7)
    assert -1 not in y
    assert not set(y) & set(split.hidden)
    theta = estimate_theta(X[y != -7], X[y == -7], random_state=0).theta
    pipeline = make_pipeline(StandardScaler(), small_forest(theta="auto", unlabeled_label=-7))
    search = GridSearchCV(
        pipeline,
        {"lacforestclassifier__max_depth": [1, None]},
        scoring=make_augmented_scorer(theta),
        cv=AugmentedKFold(3, unlabeled_label=-7, random_state=0),
        error_score="raise",
    ).fit(X, y)
    assert search.best_params_ == {"lacforestclassifier__max_depth": None}
    assert accuracy_score(split.y_test, search.predict(split.X_test)) > 0.8


def test_grid_over_theta_is_ranked_by_one_theta():
    X, y, _ = marked_digits(theta=0.4)
    options = {
        "cv": AugmentedKFold(3, unlabeled_label=-1, random_state=0),
        "error_score": "raise",
    }
    grid = {"theta": [0.02, 0.4, 0.9]}
    search = GridSearchCV(small_forest(), grid, scoring=make_augmented_scorer(0.4), **options)
    assert search.fit(X, y).best_params_ == {"theta": 0.4}
    search = GridSearchCV(small_forest(), grid, scoring=make_augmented_scorer("fitted"), **options)
    with pytest.raises(ValueError, match="scores by their own thetas cannot be compared: pass one"):
        search.fit(X, y)

    # Why it is refused: by their own thetas the lowest would win.
    def by_its_own(forest, X, y):
        return make_augmented_scorer(forest.theta)(forest, X, y)

    search = GridSearchCV(small_forest(), grid, scoring=by_its_own, **options)
    assert search.fit(X, y).best_params_ == {"theta": 0.02}


def test_kept_rows_train_every_fold():
    X, y, _ = marked_digits(mark="?")
    folds = AugmentedKFold(3, unlabeled_label="?", unlabeled="keep", random_state=0)
    forest = small_forest(unlabeled_label="?")
    result = cross_validate(
        forest, X, y, cv=folds, scoring="accuracy", return_estimator=True, return_indices=True
    )
    for fitted, test in zip(result["estimator"], result["indices"]["test"], strict=True):
        assert len(fitted.unlabeled_score_) == 500
        assert "?" not in y[test]
    assert (result["test_score"] > 0.7).all()


def test_with_metadata_routing_and_several_scorers():
    X, y, _ = marked_digits()
    options = {
        "cv": AugmentedKFold(2, unlabeled_label=-1, random_state=0),
        "scoring": {"low": make_augmented_scorer(0.3), "high": make_augmented_scorer(0.5)},
    }
    expected = cross_validate(small_forest(), X, y, **options)
    with config_context(enable_metadata_routing=True):
        routed = cross_validate(small_forest(), X, y, **options)
        search = GridSearchCV(small_forest(), {"max_depth": [1, 3]}, refit="low", **options)
        assert search.fit(X, y).best_params_ == {"max_depth": 3}
    assert_array_equal(routed["test_low"], expected["test_low"])
    assert (expected["test_low"] > expected["test_high"]).all()
