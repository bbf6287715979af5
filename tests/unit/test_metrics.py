"""Measures of known and new classes: against naive twins, scikit-learn and by hand."""

import math

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import metrics as naive
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
    oscr_curve,
    oscr_score,
    theta_error,
)
from lacforest.model_selection import AugmentedKFold, make_augmented_scorer

NEW = -1
OF_LABELS = [accuracy_score, macro_f1_score, known_accuracy_score]
OF_LABELS += [new_class_recall, new_class_precision]
OF_SCORES = [new_class_auc, new_class_average_precision, fpr_at_tpr]


@st.composite
def answers(draw):
    """Known classes 0 to k - 1, truth with the hidden classes 7 and 8, predictions, scores."""
    n_known, n_rows = draw(st.integers(1, 4)), draw(st.integers(2, 25))
    known = list(range(n_known))

    def rows(values):
        return draw(st.lists(values, min_size=n_rows, max_size=n_rows))

    y_true = rows(st.sampled_from([*known, 7, 8, NEW]))
    assume(0 < sum(label in known for label in y_true) < n_rows)
    y_pred = rows(st.sampled_from([*known, NEW]))
    tenths = st.integers(0, 10).map(lambda tenths: tenths / 10)
    proba = rows(st.lists(tenths, min_size=n_known, max_size=n_known))
    return known, y_true, y_pred, rows(st.one_of(tenths, st.floats(-1e6, 1e6))), proba


# ---------------------------------------------------------------------------- predicted labels


@given(answers())
def test_measures_of_labels(answer):
    known, y_true, y_pred, _, _ = answer
    truth = naive.masked(y_true, known, NEW)
    is_new, called_new = (np.array(labels) == NEW for labels in (truth, y_pred))
    expected = [
        naive.accuracy(truth, y_pred),
        naive.macro_f1(truth, y_pred, [*known, NEW]),
        naive.accuracy(np.array(truth)[~is_new], np.array(y_pred)[~is_new]),
        sklearn.metrics.recall_score(is_new, called_new),
        sklearn.metrics.precision_score(is_new, called_new, zero_division=0),
    ]
    for measure, value in zip(OF_LABELS, expected, strict=True):
        assert measure(y_true, y_pred, known_classes=known) == pytest.approx(float(value))
        assert measure(truth, y_pred, new_label=NEW) == pytest.approx(
            float(value) if measure is not macro_f1_score else macro_f1_score(truth, y_pred)
        )


@given(answers())
def test_measures_of_labels_and_scikit_learn(answer):
    known, y_true, y_pred, _, _ = answer
    truth = naive.masked(y_true, known, NEW)
    assert accuracy_score(truth, y_pred) == sklearn.metrics.accuracy_score(truth, y_pred)
    f1 = sklearn.metrics.f1_score
    assert macro_f1_score(truth, y_pred) == f1(truth, y_pred, average="macro")
    occurring = sorted({*truth, *y_pred})
    assert macro_f1_score(truth, y_pred) == pytest.approx(
        float(naive.macro_f1(truth, y_pred, occurring))
    )
    listed = f1(truth, y_pred, labels=[NEW, *known], average="macro", zero_division=0)
    assert macro_f1_score(y_true, y_pred, known_classes=known) == listed


def test_a_listed_class_that_does_not_occur_counts_as_zero():
    assert macro_f1_score([0, 1, -1], [0, 1, -1]) == 1.0
    assert macro_f1_score([0, 1, -1], [0, 1, -1], known_classes=[0, 1, 2]) == 0.75
    assert macro_f1_score([0, 1], [0, 1], known_classes=[0, 1]) == pytest.approx(2 / 3)


def test_text_and_tables():
    y_true = pd.Series(["cat", "dog", "owl", "<new>"])
    y_pred = np.array(["cat", "<new>", "<new>", "dog"], dtype=object)
    options = {"known_classes": ["dog", "cat"]}
    assert accuracy_score(y_true, y_pred, **options) == 0.5
    assert known_accuracy_score(y_true, y_pred, **options) == 0.5
    assert new_class_recall(y_true, y_pred, **options) == 0.5
    assert new_class_precision(y_true, y_pred, **options) == 0.5
    assert new_class_auc(y_true, pd.Series([0.1, 0.2, 0.3, 0.4]), **options) == 1.0
    assert theta_error(y_true, 0.5, **options) == 0.0
    # -1 is a known class here, so that the forest would call the new one -2.
    assert accuracy_score([-1, 1, 5], [-1, 1, -2], known_classes=[-1, 1]) == 1.0
    assert accuracy_score([0, 1, 5], [0, 1, 9], known_classes=[0, 1], new_label=9) == 1.0


def test_nothing_called_new_has_precision_zero():
    assert new_class_precision([0, -1], [0, 0], new_label=-1) == 0.0


@given(answers(), st.floats(0, 1))
def test_theta_error(answer, theta):
    known, y_true, _, _, _ = answer
    share = naive.share(label not in known for label in y_true)
    assert theta_error(y_true, theta, known_classes=known) == pytest.approx(
        abs(float(share) - theta), abs=1e-15
    )


# ---------------------------------------------------------------------------- novelty scores


@given(answers())
def test_measures_of_scores(answer):
    known, y_true, _, scores, _ = answer
    truth = naive.masked(y_true, known, NEW)
    is_new = np.array(truth) == NEW
    options = {"known_classes": known}
    auc = new_class_auc(y_true, scores, **options)
    assert auc == pytest.approx(float(naive.auc(truth, scores, NEW, naive.Fraction(1, 2))))
    assert auc == pytest.approx(sklearn.metrics.roc_auc_score(is_new, scores))
    strict = float(naive.auc(truth, scores, NEW, 0))
    assert new_class_auc(y_true, scores, **options, ties="lose") == pytest.approx(strict)
    aupr = new_class_average_precision(y_true, scores, **options)
    assert aupr == pytest.approx(float(naive.average_precision(truth, scores, NEW)))
    assert aupr == pytest.approx(sklearn.metrics.average_precision_score(is_new, scores))
    for measure in OF_SCORES:
        assert measure(truth, scores, new_label=NEW) == measure(y_true, scores, **options)


@given(answers(), st.sampled_from([0.05, 0.5, 0.8, 0.95, 1.0]))
def test_false_positive_rate(answer, tpr):
    known, y_true, _, scores, _ = answer
    truth = naive.masked(y_true, known, NEW)
    # The share that was meant, not the float next to it.
    meant = naive.Fraction(str(tpr))
    assert fpr_at_tpr(y_true, scores, tpr, known_classes=known) == pytest.approx(
        float(naive.fpr_at_tpr(truth, scores, NEW, meant))
    )
    fprs, tprs, _ = sklearn.metrics.roc_curve(
        np.array(truth) == NEW, scores, drop_intermediate=False
    )
    assert fpr_at_tpr(y_true, scores, tpr, known_classes=known) == fprs[tprs >= tpr].min()


@pytest.mark.parametrize("n_new", [20, 40, 60, 100, 1000])
def test_a_share_that_is_met_exactly_is_enough(n_new):
    # One known row stands above the last twentieth of the new ones.
    scores = np.arange(n_new + 1, dtype=float)
    y_true = np.full(n_new + 1, NEW)
    y_true[n_new // 20] = 0
    assert fpr_at_tpr(y_true, scores, 0.95, new_label=NEW) == 0.0
    assert fpr_at_tpr(y_true, scores, 0.951, new_label=NEW) == 1.0


def test_constant_scores():
    y_true, scores, options = [0, 1, 1, NEW], np.full(4, 0.3), {"new_label": NEW}
    assert new_class_auc(y_true, scores, **options) == 0.5
    assert new_class_auc(y_true, scores, **options, ties="lose") == 0.0
    assert new_class_average_precision(y_true, scores, **options) == 0.25
    assert fpr_at_tpr(y_true, scores, **options) == 1.0
    proba = np.tile([0.2, 0.8], (4, 1))
    assert oscr_score(y_true, proba, scores, known_classes=[0, 1]) == pytest.approx(1 / 3)


def test_probabilities_of_all_classes():
    proba = np.array([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3], [0.4, 0.3, 0.3]])
    y_true = [0, 5, 1]
    for measure in OF_SCORES:
        by_column = measure(y_true, proba[:, 0], known_classes=[0, 1])
        assert measure(y_true, proba, known_classes=[0, 1]) == by_column
        by_column = measure(y_true, proba[:, 2], known_classes=[0, 1])
        assert measure(y_true, proba, known_classes=[0, 1], new_label=3) == by_column


# ---------------------------------------------------------------------------- open-set rate


@given(answers())
def test_open_set_rate(answer):
    known, y_true, _, novelty, proba = answer
    truth = naive.masked(y_true, known, NEW)
    points = naive.oscr_points(truth, proba, novelty, known, NEW)
    fpr, ccr, thresholds = oscr_curve(y_true, proba, novelty, known_classes=known)
    assert_allclose(np.column_stack([fpr, ccr]), np.array(points, dtype=float))
    assert_array_equal(thresholds, [-np.inf, *sorted(set(novelty))])
    score = oscr_score(y_true, proba, novelty, known_classes=known)
    assert score == pytest.approx(float(naive.area(points)))
    assert score == pytest.approx(sklearn.metrics.auc(fpr, ccr))
    assert score <= new_class_auc(y_true, novelty, known_classes=known) + 1e-12


@given(answers())
def test_open_set_rate_without_errors_is_the_auc(answer):
    known, y_true, _, novelty, _ = answer
    proba = np.array(y_true)[:, np.newaxis] == np.array(known)
    score = oscr_score(y_true, proba, novelty, known_classes=known)
    assert score == new_class_auc(y_true, novelty, known_classes=known)


@given(answers(), st.sampled_from([-1, 5]))
def test_open_set_rate_of_all_probabilities(answer, new_label):
    known, y_true, _, novelty, proba = answer
    y_true = np.where(np.array(y_true) == NEW, 7, y_true)
    position = 0 if new_label == -1 else len(known)
    every = np.insert(np.array(proba, dtype=float), position, novelty, axis=1)
    options = {"known_classes": known, "new_label": new_label}
    expected = oscr_score(y_true, proba, novelty, **options)
    assert oscr_score(y_true, every, **options) == expected
    # Another score beside the column of the new class.
    opposite = -np.array(novelty)
    assert oscr_score(y_true, every, opposite, **options) == oscr_score(
        y_true, proba, opposite, **options
    )


# ---------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("measure", [*OF_LABELS[2:], *OF_SCORES])
def test_what_is_new_must_be_said(measure):
    with pytest.raises(ValueError, match=r"which rows of y_true are new\? Pass known_classes, or"):
        measure([0, -1], [0, -1])


def test_the_new_class_of_theta_must_be_said():
    with pytest.raises(ValueError, match="which rows of y_true are new"):
        theta_error([0, -1], 0.5)


@pytest.mark.parametrize("options", [{"known_classes": [0, 1]}, {"new_label": -1}])
def test_no_new_row(options):
    message = "is not defined: y_true holds no new row, that is none with the label .*-1"
    for measure in (new_class_recall, *OF_SCORES):
        with pytest.raises(ValueError, match=message):
            measure([0, 1], [0, 1], **options)
    assert known_accuracy_score([0, 1], [0, 1], **options) == 1.0
    assert new_class_precision([0, 1], [0, 1], **options) == 0.0
    assert theta_error([0, 1], 0.25, **options) == 0.25


@pytest.mark.parametrize("options", [{"known_classes": [0, 1]}, {"new_label": -1}])
def test_no_known_row(options):
    for measure in (known_accuracy_score, *OF_SCORES):
        with pytest.raises(ValueError, match="not defined: y_true holds no row of a known class"):
            measure([-1, -1], [-1, -1], **options)
    assert new_class_recall([-1, -1], [-1, -1], **options) == 1.0


def test_open_set_rate_needs_both_kinds_of_rows():
    for curve in (oscr_curve, oscr_score):
        with pytest.raises(ValueError, match=r"open-set classification rate .* no new row"):
            curve([0, 1], np.eye(2), [0, 1], known_classes=[0, 1])
        with pytest.raises(ValueError, match=r"open-set .* no row of a known class"):
            curve([7, 8], np.eye(2), [0, 1], known_classes=[0, 1])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers(bad):
    for measure in OF_SCORES:
        with pytest.raises(ValueError, match=f"y_score must hold finite .* row 2 holds {bad}"):
            measure([0, 1, -1], [0.1, 0.2, bad], new_label=-1)
    with pytest.raises(ValueError, match=f"novelty must hold finite .* row 2 holds {bad}"):
        oscr_score([0, 1, 7], np.eye(3, 2), [0.1, 0.2, bad], known_classes=[0, 1])
    with pytest.raises(ValueError, match=f"y_proba must hold finite .* row 1 holds {bad}"):
        oscr_score([0, 7], [[0, 1], [0, bad]], [0.1, 0.2], known_classes=[0, 1])


def test_scores_of_the_wrong_shape():
    proba = np.full((2, 3), 0.3)
    for measure in OF_SCORES:
        with pytest.raises(ValueError, match="y_score has 3 columns: pass the one of the new"):
            measure([0, -1], proba, new_label=-1)
        with pytest.raises(ValueError, match="has 3 columns, but 1 known classes and the new one"):
            measure([0, -1], proba, known_classes=[0])
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            measure([0, -1], [0.1], new_label=-1)
        with pytest.raises(ValueError, match="Found array with dim 3"):
            measure([0, -1], np.zeros((2, 1, 1)), new_label=-1)


@pytest.mark.parametrize(
    ("arguments", "known", "error", "message"),
    [
        ([np.eye(2), None], [0, 1], ValueError, "y_proba has no column of the new class: pass"),
        ([np.eye(2), [0, 1]], [0, 1, 2], ValueError, r"must have 3 .* or 4 .*shape is \(2, 2\)"),
        ([[0.1, 0.2], [0, 1]], [0, 1], ValueError, r"must have 2 columns.*its shape is \(2,\)"),
        ([np.eye(2), [0, 1]], [1, 0], ValueError, "known_classes must be sorted and without"),
        ([np.eye(2), [0, 1]], [0, 0, 1], ValueError, "known_classes must be sorted and without"),
        ([np.eye(2), [0, 1]], None, TypeError, "known_classes must be a list of classes, got None"),
        ([np.eye(3, 2), [0, 1]], [0, 1], ValueError, "inconsistent numbers of samples"),
        ([np.eye(2), [0, 1, 2]], [0, 1], ValueError, "inconsistent numbers of samples"),
        ([np.eye(2), np.eye(2)], [0, 1], ValueError, "should be a 1d array"),
    ],
)
def test_bad_open_set_rate(arguments, known, error, message):
    for curve in (oscr_curve, oscr_score):
        with pytest.raises(error, match=message):
            curve([0, 7], *arguments, known_classes=known)


@pytest.mark.parametrize(
    ("known", "error", "message"),
    [
        ("ab", TypeError, "known_classes must be a list of classes, got 'ab'"),
        (3, TypeError, "known_classes must be a list of classes, got 3"),
        ([], ValueError, "known_classes names no class"),
        (["0"], TypeError, "known_classes holds '0' and y holds -1, labels of different types"),
        ([0, np.nan], ValueError, "contains NaN"),
    ],
)
def test_bad_known_classes(known, error, message):
    for measure in (*OF_LABELS, *OF_SCORES):
        with pytest.raises(error, match=message):
            measure([0, -1], [0, -1], known_classes=known)


def test_predictions_that_no_class_explains():
    message = r"y_pred holds 2, 3, but the known classes and the new label are -1, 0, 1: is known"
    for measure in OF_LABELS:
        with pytest.raises(ValueError, match=message):
            measure([0, 1, 7, 7], [0, 2, 3, 3], known_classes=[0, 1])
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            measure([0, 7], [0], known_classes=[0, 1])
        with pytest.raises(ValueError, match=r"y_pred holds 5, 'a', but the known classes"):
            measure([0, 7], np.array([5, "a"], dtype=object), known_classes=[0, 1])


@pytest.mark.parametrize("tpr", [0, -0.1, 1.1, np.nan, "0.95", True])
def test_bad_tpr(tpr):
    with pytest.raises(ValueError, match=r"tpr must be a number in \(0, 1\], got"):
        fpr_at_tpr([0, -1], [0, 1], tpr, new_label=-1)


def test_other_bad_arguments():
    with pytest.raises(ValueError, match='ties must be "half" or "lose", got \'win\''):
        new_class_auc([0, -1], [0, 1], new_label=-1, ties="win")
    with pytest.raises(TypeError, match=r"theta must be a number in \[0, 1\], got 'auto'"):
        theta_error([0, -1], "auto", new_label=-1)
    with pytest.raises(ValueError, match=r"theta must lie in \[0, 1\], got 1.5"):
        theta_error([0, -1], 1.5, new_label=-1)
    with pytest.raises(ValueError, match="error of theta is not defined: y_true holds no row"):
        theta_error([], 0.5, new_label=-1)
    with pytest.raises(ValueError, match="contains NaN"):
        new_class_auc([0, np.nan], [0, 1], new_label=-1)


# ---------------------------------------------------------------------------- scorers and reports


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
    with pytest.raises(ValueError, match="fitted without unlabelled rows and knows no new class"):
        augmented_scores(plain, X, y)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        augmented_scores(LACForestClassifier(), X, y)


def test_report_without_theta(blobs):
    class Constant(sklearn.base.ClassifierMixin, sklearn.base.BaseEstimator):
        """Says "new" of every row, and has no theta."""

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
