"""Importances: naive twins, synthetic data with known results, and messages."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import inspection
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lacforest import LACForestClassifier
from lacforest.datasets import make_figure1
from lacforest.inspection import new_versus_known_importances, permutation_importance
from lacforest.inspection._permutation import _LabelFreeAUC, _make_scorer
from lacforest.metrics import augmented_accuracy_score, new_class_auc

UNLABELED = -9


def with_noise(X, rng):
    return np.hstack([X, rng.normal(size=(len(X), 2))])


@pytest.fixture(scope="module")
def toy():
    return make_figure1(400, 800, 0.4, random_state=0)


@pytest.fixture(scope="module")
def forest(toy):
    """One feature separates the known classes, one the new class; two are noise."""
    rng = np.random.default_rng(0)
    forest = LACForestClassifier(theta=0.4, random_state=0)
    return forest.fit(
        with_noise(toy.X_labeled, rng), toy.y_labeled, X_unlabeled=with_noise(toy.X_unlabeled, rng)
    )


@pytest.fixture(scope="module")
def fresh():
    """Rows that were not used in the fit, with their labels."""
    fresh = make_figure1(400, 800, 0.4, random_state=1)
    rng = np.random.default_rng(1)
    return (
        np.vstack([with_noise(fresh.X_labeled, rng), with_noise(fresh.X_unlabeled, rng)]),
        np.append(fresh.y_labeled, np.full(800, UNLABELED)),
        fresh.y_unlabeled,
    )


# ---------------------------------------------------------------------------- new versus known


def naive_importances(forest):
    """The definition, computed node by node from the public tree views."""
    ratio = (1 - forest.theta_) * len(forest.unlabeled_score_) / forest.n_labeled_

    def impurity(tree, node):
        labeled, unlabeled = tree.n_labeled[node], tree.n_unlabeled[node]
        new = max(0.0, 1 - ratio * labeled / unlabeled) if unlabeled > 0 else 0.0
        return unlabeled * 2 * new * (1 - new)

    rows = []
    for tree in forest.estimators_:
        decrease = np.zeros(forest.n_features_in_)
        for node in range(tree.node_count):
            left, right = tree.children_left[node], tree.children_right[node]
            if left >= 0 and tree.phase[left] == 1:
                decrease[tree.feature[node]] += (
                    impurity(tree, node) - impurity(tree, left) - impurity(tree, right)
                )
        decrease = np.maximum(decrease, 0)
        rows.append(decrease / decrease.sum() if decrease.sum() > 0 else decrease)
    mean = np.mean(rows, axis=0)
    return mean / mean.sum()


@pytest.mark.parametrize("options", [{}, {"gamma": 0.0}, {"max_features": None}, {"max_depth": 3}])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_naive_definition(options, weighted, missing, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    toy = make_figure1(80, 150, 0.4, random_state=global_random_seed)
    X, X_unlabeled = with_noise(toy.X_labeled, rng), with_noise(toy.X_unlabeled, rng)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
        X_unlabeled[rng.random(X_unlabeled.shape) < 0.2] = np.nan
    weight = rng.integers(1, 4, size=len(X)) if weighted else None
    forest = LACForestClassifier(5, theta=0.4, random_state=0, **options)
    forest.fit(X, toy.y_labeled, sample_weight=weight, X_unlabeled=X_unlabeled)
    # Views of weighted trees compute counts from float32 distributions.
    assert_allclose(new_versus_known_importances(forest), naive_importances(forest), atol=1e-6)


def test_what_says_new(forest):
    importances = new_versus_known_importances(forest)
    assert_allclose(importances.sum(), 1)
    assert importances.min() >= 0
    # The first feature separates known classes only, which does not count here.
    assert forest.feature_importances_[0] > 0.3
    assert importances[1] > 0.75
    assert importances[0] < 0.2
    assert importances[2:].max() < 0.1


def test_importances_of_a_loaded_forest(forest, tmp_path):
    forest.save(tmp_path / "model.lac")
    loaded = LACForestClassifier.load(tmp_path / "model.lac")
    assert_array_equal(new_versus_known_importances(loaded), new_versus_known_importances(forest))


def test_no_split_in_step_one():
    X = np.arange(8.0).reshape(8, 1)
    forest = LACForestClassifier(3, theta=0.4, gamma=0.5, random_state=0)
    with pytest.warns(UserWarning, match="Step I found no feasible split"):
        forest.fit(X[:3], [0, 0, 1], X_unlabeled=X[3:])
    assert_array_equal(new_versus_known_importances(forest), [0.0])


def test_importances_need_a_fitted_forest_with_a_new_class():
    with pytest.raises(NotFittedError):
        new_versus_known_importances(LACForestClassifier())
    plain = LACForestClassifier(2).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="fitted without unlabelled rows and has no new class"):
        new_versus_known_importances(plain)
    with pytest.raises(TypeError, match="or a LACExtraTreesClassifier, got RandomForestClassifie"):
        new_versus_known_importances(RandomForestClassifier())


# ---------------------------------------------------------------------------- permutation


def test_delegates_to_scikit_learn(forest, fresh):
    X, _, truth = fresh
    X = X[-len(truth) :]
    ours = permutation_importance(forest, X, truth, n_repeats=2, random_state=0)
    theirs = inspection.permutation_importance(forest, X, truth, n_repeats=2, random_state=0)
    # With new rows labelled as the forest does, accuracy is scikit-learn's.
    assert_array_equal(ours.importances, theirs.importances)
    assert ours.importances.shape == (4, 2)


def test_hidden_labels_count_as_new(forest, fresh):
    X, _, truth = fresh
    X, several = X[-len(truth) :], truth.copy()
    several[np.flatnonzero(truth == -1)[::2]] = 17
    for scoring in ("accuracy", "new_class_auc"):
        one, other = (
            permutation_importance(forest, X, y, scoring=scoring, n_repeats=1, random_state=0)
            for y in (truth, several)
        )
        assert_array_equal(one.importances, other.importances)


def test_label_free_drops_agree_with_true_ones(forest, fresh):
    X, y, truth = fresh
    for scoring in ("accuracy", "new_class_auc"):
        options = {"scoring": scoring, "random_state": 0}
        free = permutation_importance(forest, X, y, unlabeled_label=UNLABELED, **options)
        true = permutation_importance(forest, X[-len(truth) :], truth, **options)
        assert_allclose(free.importances_mean, true.importances_mean, atol=0.08)
        assert true.importances_mean.argmax() == free.importances_mean.argmax() == 1
        assert abs(free.importances_mean[2:]).max() < 0.03


class Scores(ClassifierMixin, BaseEstimator):
    """A classifier whose probability of the new class is the first feature."""

    known_classes_ = np.array([0])
    classes_ = np.array([-1, 0])
    new_label_ = -1

    def fit(self, X, y):
        raise NotImplementedError

    def __sklearn_is_fitted__(self):
        return True

    def predict_proba(self, X):
        return np.column_stack([X[:, 0], 1 - X[:, 0]])


def test_label_free_auc_is_exact_where_known_rows_are_the_same(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    known, new = rng.random(30), rng.random(20) ** 0.3
    X = np.concatenate([known, known, new])[:, None]
    y = np.repeat([0, UNLABELED], [30, 50])
    estimated = _LabelFreeAUC(20 / 50, UNLABELED)(Scores(), X, y)
    true = new_class_auc(np.repeat([0, -1], [30, 20]), X[30:, 0], new_label=-1)
    assert_allclose(estimated, true)


def test_accuracy_without_labels_is_the_augmented_one(forest, fresh):
    X, y, _ = fresh
    scorer = _make_scorer(forest, y, "accuracy", UNLABELED)
    expected = augmented_accuracy_score(
        y, forest.predict(X), theta=0.4, new_label=-1, unlabeled_label=UNLABELED
    )
    assert scorer(forest, X, y) == expected


def test_the_mark_of_the_forest_is_understood(fresh):
    X, y, _ = fresh
    forest = LACForestClassifier(10, theta=0.4, unlabeled_label=UNLABELED, random_state=0)
    forest.fit(X, y)
    options = {"n_repeats": 1, "random_state": 0}
    implicit = permutation_importance(forest, X, y, **options)
    explicit = permutation_importance(forest, X, y, unlabeled_label=UNLABELED, **options)
    assert_array_equal(implicit.importances, explicit.importances)
    # Without a marked row, y has the labels of all rows.
    assert "Augmented" not in type(_make_scorer(forest, y[:400], "accuracy", None)).__name__


def test_pipeline(toy, fresh):
    X, y, _ = fresh
    pipeline = make_pipeline(
        StandardScaler(), LACForestClassifier(10, theta=0.4, unlabeled_label=UNLABELED)
    )
    pipeline.fit(X, y)
    for scoring in ("accuracy", "new_class_auc"):
        drop = permutation_importance(pipeline, X, y, scoring=scoring, n_repeats=1)
        assert drop.importances_mean.argmax() == 1


def test_scorers_can_be_sent_to_processes(forest, fresh):
    X, y, truth = fresh
    for scoring in ("accuracy", "new_class_auc"):
        for labels, rows in ((truth, X[-len(truth) :]), (y, X)):
            scorer = _make_scorer(forest, labels, scoring, None if labels is truth else UNLABELED)
            copy = pickle.loads(pickle.dumps(scorer))
            assert copy(forest, rows, labels) == scorer(forest, rows, labels)


def test_bad_arguments(forest, fresh):
    X, y, _ = fresh
    with pytest.raises(ValueError, match=r"\"accuracy\" or \"new_class_auc\", got 'f1'"):
        permutation_importance(forest, X, y, scoring="f1")
    with pytest.raises(
        ValueError, match=r"no row of y is marked by unlabeled_label=5: leave it ou"
    ):
        permutation_importance(forest, X, y, unlabeled_label=5)
    with pytest.raises(ValueError, match="all rows of y are marked as unlabelled"):
        permutation_importance(forest, X[400:], y[400:], unlabeled_label=UNLABELED)
    with pytest.raises(ValueError, match="has no new class"):
        permutation_importance(LACForestClassifier(2).fit([[0.0], [1.0]], [0, 1]), X, y)


def test_no_auc_without_new_rows(fresh):
    class Nothing(Scores):
        theta_ = 0.0

    with pytest.raises(ValueError, match="theta of the forest is 0"):
        _make_scorer(Nothing(), fresh[1], "new_class_auc", UNLABELED)
