"""Unlabelled rows in Pipeline, GridSearchCV and cross_validate, and a pitfall."""

import numpy as np
import pytest
from forests import assert_same_forest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from two_blobs import U, X, small_forest, y

from lacforest import LACForestClassifier

X_marked = np.vstack([X, U])
y_marked = np.append(y, np.full(len(U), -1))
FOLDS = KFold(3, shuffle=True, random_state=0)


class Recorder(LACForestClassifier):
    """A forest that records the number of unlabelled rows of each fit."""

    seen: list = []  # noqa: RUF012  (shared by clones, which is the point)

    def fit(self, X, y, *, X_unlabeled=None, sample_weight=None):
        super().fit(X, y, sample_weight=sample_weight, X_unlabeled=X_unlabeled)
        Recorder.seen.append(len(self.unlabeled_score_))
        return self


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def seen():
    Recorder.seen.clear()
    return Recorder.seen


# ---------------------------------------------------------------------------- marked rows


def test_marked_rows_pass_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), small_forest(unlabeled_label=-1))
    pipeline.fit(X_marked, y_marked)
    scaler = StandardScaler().fit(X_marked)
    by_hand = small_forest().fit(scaler.transform(X), y, X_unlabeled=scaler.transform(U))
    assert_same_forest(pipeline[-1], by_hand)
    assert_array_equal(pipeline.predict(U), by_hand.predict(scaler.transform(U)))


def test_marked_rows_in_cross_validation(seen):
    # Scorers would compare predictions with the sentinel, as if all unlabelled rows were new, which
    # is wrong for the known half of them. Accuracy is therefore computed on labelled rows here.
    def accuracy(forest, table, labels):
        return forest.score(table[labels != -1], labels[labels != -1])

    forest = Recorder(5, theta=0.5, unlabeled_label=-1, random_state=0)
    result = cross_validate(forest, X_marked, y_marked, cv=FOLDS, scoring=accuracy)
    assert (result["test_score"] > 0.6).all()
    expected = [int((y_marked[train] == -1).sum()) for train, _ in FOLDS.split(X_marked)]
    assert seen == expected


def test_marked_rows_in_a_grid_search():
    pipeline = Pipeline([("scale", StandardScaler()), ("forest", small_forest(unlabeled_label=-1))])
    grid = {"forest__theta": [0.3, 0.5], "forest__gamma": [0.01, 0.1]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X_marked, y_marked)
    assert len(search.cv_results_["params"]) == 4
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = search.best_estimator_["forest"]
    assert best.theta_ == search.best_params_["forest__theta"]
    assert len(best.unlabeled_score_) == len(U)


# ---------------------------------------------------------------------------- rows passed apart


def test_x_unlabeled_as_long_as_x_is_cut_along_with_it(routing, seen):
    # A pitfall of scikit-learn (_check_method_params), documented in the Notes of the class: an
    # array as long as X is treated as one entry per row, and each fold receives a slice of it.
    forest = Recorder(3, theta=0.5, random_state=0).set_fit_request(X_unlabeled=True)
    cross_val_score(forest, X, y, cv=FOLDS, params={"X_unlabeled": U[: len(X)]})
    assert seen == [len(X) * 2 // 3] * 3


@pytest.mark.parametrize("n_unlabeled", [len(X) - 1, len(X) + 1, len(U)])
def test_x_unlabeled_of_another_length_reaches_every_fold(routing, seen, n_unlabeled):
    forest = Recorder(3, theta=0.5, random_state=0).set_fit_request(X_unlabeled=True)
    cross_val_score(forest, X, y, cv=FOLDS, params={"X_unlabeled": U[:n_unlabeled]})
    assert seen == [n_unlabeled] * 3


def test_x_unlabeled_reaches_a_grid_search(routing, seen):
    forest = Recorder(3, theta=0.5, random_state=0).set_fit_request(X_unlabeled=True)
    search = GridSearchCV(forest, {"theta": [0.4, 0.5]}, cv=FOLDS)
    search.fit(X, y, X_unlabeled=U)
    assert seen == [len(U)] * 7  # two candidates, three folds, one refit
    assert_array_equal(search.classes_, [-1, 0, 1])


def test_without_routing_the_name_goes_to_a_step_of_the_pipeline():
    pipeline = Pipeline([("scale", StandardScaler()), ("forest", small_forest())])
    pipeline.fit(X, y, forest__X_unlabeled=U)
    # These rows reach the forest without passing through the scaler.
    by_hand = small_forest().fit(StandardScaler().fit_transform(X), y, X_unlabeled=U)
    assert_same_forest(pipeline[-1], by_hand)


def test_a_pipeline_transforms_x_unlabeled_if_told_so(routing):
    forest = small_forest().set_fit_request(X_unlabeled=True)
    pipeline = Pipeline(
        [("scale", StandardScaler()), ("forest", forest)], transform_input=["X_unlabeled"]
    )
    pipeline.fit(X, y, X_unlabeled=U)
    scaler = StandardScaler().fit(X)
    by_hand = small_forest().fit(scaler.transform(X), y, X_unlabeled=scaler.transform(U))
    assert_same_forest(pipeline[-1], by_hand)


# ---------------------------------------------------------------------------- clones


@pytest.mark.parametrize("mark", [None, -1, np.nan, "unknown"])
def test_clones_have_the_parameters_and_no_fit(mark):
    forest = small_forest(unlabeled_label=mark, new_label=7, class_weight={0: 2.0})
    copied = clone(forest)
    assert str(copied.get_params()) == str(forest.get_params())  # NaN is not equal to itself
    assert not hasattr(clone(forest.fit(X, y)), "classes_")
