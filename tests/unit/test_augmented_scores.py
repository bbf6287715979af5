"""All measures of a fitted classifier at once, and measures as scorers of scikit-learn."""

import math

import numpy as np
import pytest
import sklearn.metrics
from measures import OF_LABELS, OF_SCORES
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lacforest import LACForestClassifier
from lacforest.metrics import (
    accuracy_score,
    augmented_scores,
    fpr_at_tpr,
    known_accuracy_score,
    macro_f1_score,
    new_class_auc,
    new_class_average_precision,
    new_class_precision,
    new_class_recall,
    oscr_score,
)
from lacforest.model_selection import AugmentedKFold, make_augmented_scorer


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs([60] * 4, centers=np.eye(4) * 6, random_state=0)
    return X, y


def fitted(X, y, known, **parameters):
    is_known = np.isin(y, known)
    forest = LACForestClassifier(10, **({"theta": 0.5, "random_state": 0} | parameters))
    return forest.fit(X[is_known], y[is_known], X_unlabeled=X)


def test_make_scorer(blobs):
    X, y = blobs
    make_scorer = sklearn.metrics.make_scorer
    forest = fitted(X, y, [0, 1])
    options = {"known_classes": [0, 1]}
    for measure in OF_LABELS:
        scorer = make_scorer(measure, **options)
        assert scorer(forest, X, y) == measure(y, forest.predict(X), **options)
    for measure in OF_SCORES:
        scorer = make_scorer(measure, response_method="predict_proba", **options)
        assert scorer(forest, X, y) == measure(y, forest.novelty_score(X), **options)
    scorer = make_scorer(oscr_score, response_method="predict_proba", **options)
    assert scorer(forest, X, y) == oscr_score(y, forest.predict_proba(X), **options)


def test_make_scorer_and_one_known_class(blobs):
    # scikit-learn passes on the column of classes_[1], here the known class; see Notes.
    X, y = blobs
    forest = fitted(X, y, [0])
    scorer = sklearn.metrics.make_scorer(
        new_class_auc, response_method="predict_proba", known_classes=[0]
    )
    right = new_class_auc(y, forest.novelty_score(X), known_classes=[0])
    assert right > 0.9
    assert scorer(forest, X, y) == pytest.approx(1 - right)


def test_report_is_the_single_measures(blobs):
    X, y = blobs
    forest = fitted(X, y, [0, 1])
    options = {"known_classes": [0, 1]}
    predicted, novelty = forest.predict(X), forest.novelty_score(X)
    assert augmented_scores(forest, X, y) == {
        "accuracy": accuracy_score(y, predicted, **options),
        "macro_f1": macro_f1_score(y, predicted, **options),
        "known_accuracy": known_accuracy_score(y, predicted, **options),
        "new_recall": new_class_recall(y, predicted, **options),
        "new_precision": new_class_precision(y, predicted, **options),
        "new_auc": new_class_auc(y, novelty, **options),
        "new_average_precision": new_class_average_precision(y, novelty, **options),
        "new_fpr_at_95_tpr": fpr_at_tpr(y, novelty, **options),
        "oscr": oscr_score(y, forest.predict_proba(X), **options),
        "theta": 0.5,
        "theta_error": 0.0,
    }
    masked = np.where(y < 2, y, -1)
    assert augmented_scores(forest, X, masked) == augmented_scores(forest, X, y)


def test_report_of_text_and_of_one_known_class(blobs):
    X, y = blobs
    names = np.array(["ant", "bee", "cat", "dog"])[y]
    scores = augmented_scores(fitted(X, names, ["bee"], new_label="zebra"), X, names)
    assert scores == augmented_scores(fitted(X, names, ["bee"]), X, names)
    assert scores["new_auc"] > 0.9


def test_report_where_rows_are_missing(blobs):
    X, y = blobs
    forest = fitted(X, y, [0, 1])
    by_pair = {"new_auc", "new_average_precision", "new_fpr_at_95_tpr", "oscr"}
    of_known = augmented_scores(forest, X[y < 2], y[y < 2])
    assert {name for name, value in of_known.items() if math.isnan(value)} == by_pair | {
        "new_recall"
    }
    of_new = augmented_scores(forest, X[y >= 2], y[y >= 2])
    assert {name for name, value in of_new.items() if math.isnan(value)} == by_pair | {
        "known_accuracy"
    }


def test_report_of_pipelines_and_searches(blobs):
    X, y = blobs
    labels = np.append(y[y < 2], np.full(len(y), -9))
    table = np.vstack([X[y < 2], X])
    forest = LACForestClassifier(5, theta=0.5, unlabeled_label=-9, random_state=0)
    pipeline = make_pipeline(StandardScaler(), forest).fit(table, labels)
    assert augmented_scores(pipeline, X, y)["accuracy"] > 0.8
    # One fold: fitted on the marked rows, tested on rows with all their labels.
    folds = [(np.arange(len(table)), len(table) + np.arange(len(X)))]
    rows, answers = np.vstack([table, X]), np.append(labels, y)
    result = cross_validate(forest, rows, answers, cv=folds, scoring=augmented_scores)
    assert result["test_new_auc"][0] > 0.9
    folds = AugmentedKFold(2, unlabeled_label=-9, random_state=0)
    search = GridSearchCV(pipeline, {}, cv=folds, scoring=make_augmented_scorer(0.5))
    search.fit(table, labels)
    assert augmented_scores(search, X, y) == augmented_scores(pipeline, X, y)


def test_report_of_what_has_no_new_class(blobs):
    X, y = blobs
    with pytest.raises(TypeError, match="LogisticRegression has no new_label_: a classifier is"):
        augmented_scores(LogisticRegression().fit(X, y), X, y)
    plain = LACForestClassifier(2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="fitted without unlabelled rows and has no new class"):
        augmented_scores(plain, X, y)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        augmented_scores(LACForestClassifier(), X, y)


def test_report_without_theta(blobs):
    class Constant(sklearn.base.ClassifierMixin, sklearn.base.BaseEstimator):
        """Predicts "new" for every row, and has no theta."""

        def fit(self, X, y):
            self.known_classes_ = np.unique(y)
            self.classes_ = np.insert(self.known_classes_, 0, -1)
            self.new_label_ = -1
            return self

        def predict(self, X):
            return np.full(len(X), -1)

        def predict_proba(self, X):
            return np.tile(self.classes_ == -1, (len(X), 1)).astype(float)

    X, y = blobs
    scores = augmented_scores(Constant().fit(X, y % 2), X, y)
    assert "theta" not in scores
    assert scores["accuracy"] == scores["new_precision"] == scores["new_auc"] == 0.5
