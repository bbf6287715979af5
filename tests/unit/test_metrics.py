"""Metrics of known and new classes: comparison with naive twins, scikit-learn and by hand."""

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics
from hypothesis import assume, given
from hypothesis import strategies as st
from measures import OF_LABELS, OF_SCORES
from numpy.testing import assert_allclose, assert_array_equal
from reference import metrics as naive

from lacforest.metrics import (
    accuracy_score,
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

NEW = -1


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
    # -1 is a known class here, so the forest labels the new class -2.
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
    # The intended share, not the rounded float.
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
    # One known row scores higher than the last twentieth of the new ones.
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
    # A score other than the column of the new class.
    opposite = -np.array(novelty)
    assert oscr_score(y_true, every, opposite, **options) == oscr_score(
        y_true, proba, opposite, **options
    )
