"""Measures of known and new classes: input that they refuse."""

import numpy as np
import pytest
from measures import OF_LABELS, OF_SCORES

from lacforest.metrics import (
    fpr_at_tpr,
    known_accuracy_score,
    new_class_auc,
    new_class_precision,
    new_class_recall,
    oscr_curve,
    oscr_score,
    theta_error,
)


@pytest.mark.parametrize("measure", [*OF_LABELS[2:], *OF_SCORES])
def test_what_is_new_must_be_said(measure):
    with pytest.raises(ValueError, match=r"which rows of y_true are new: pass known_classes, or"):
        measure([0, -1], [0, -1])


@pytest.mark.parametrize("measure", [*OF_LABELS, *OF_SCORES])
def test_masked_predictions_and_scores_are_refused(measure):
    masked = np.ma.masked_array([0, 1, -1, -1], mask=[False, True, False, False])
    for arguments in ((masked, [0, 1, -1, -1]), ([0, 1, -1, -1], masked)):
        with pytest.raises(ValueError, match="is a masked array, and entry 1 is masked"):
            measure(*arguments, new_label=-1, known_classes=[0, 1])


def test_the_new_class_of_theta_must_be_said():
    with pytest.raises(ValueError, match="which rows of y_true are new"):
        theta_error([0, -1], 0.5)


@pytest.mark.parametrize("options", [{"known_classes": [0, 1]}, {"new_label": -1}])
def test_no_new_row(options):
    message = "is undefined: y_true has no new row, that is, no row with the label .*-1"
    for measure in (new_class_recall, *OF_SCORES):
        with pytest.raises(ValueError, match=message):
            measure([0, 1], [0, 1], **options)
    assert known_accuracy_score([0, 1], [0, 1], **options) == 1.0
    assert new_class_precision([0, 1], [0, 1], **options) == 0.0
    assert theta_error([0, 1], 0.25, **options) == 0.25


@pytest.mark.parametrize("options", [{"known_classes": [0, 1]}, {"new_label": -1}])
def test_no_known_row(options):
    for measure in (known_accuracy_score, *OF_SCORES):
        with pytest.raises(ValueError, match="undefined: y_true has no row of a known class"):
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
        with pytest.raises(ValueError, match=f"must contain finite .* row 2 contains {bad}"):
            measure([0, 1, -1], [0.1, 0.2, bad], new_label=-1)
    with pytest.raises(ValueError, match=f"novelty must contain finite .* row 2 contains {bad}"):
        oscr_score([0, 1, 7], np.eye(3, 2), [0.1, 0.2, bad], known_classes=[0, 1])
    with pytest.raises(ValueError, match=f"y_proba must contain finite .* row 1 contains {bad}"):
        oscr_score([0, 7], [[0, 1], [0, bad]], [0.1, 0.2], known_classes=[0, 1])


def test_scores_of_the_wrong_shape():
    proba = np.full((2, 3), 0.3)
    for measure in OF_SCORES:
        with pytest.raises(ValueError, match="y_score has 3 columns: pass only the column"):
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
        ([], ValueError, "known_classes is empty"),
        (["0"], TypeError, "known_classes contains '0' and y contains -1, which differ in type"),
        ([0, np.nan], ValueError, "contains NaN"),
    ],
)
def test_bad_known_classes(known, error, message):
    for measure in (*OF_LABELS, *OF_SCORES):
        with pytest.raises(error, match=message):
            measure([0, -1], [0, -1], known_classes=known)


def test_predictions_that_no_class_explains():
    message = r"y_pred contains 2, 3, but the known classes and the new label are -1, 0, 1: is"
    for measure in OF_LABELS:
        with pytest.raises(ValueError, match=message):
            measure([0, 1, 7, 7], [0, 2, 3, 3], known_classes=[0, 1])
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            measure([0, 7], [0], known_classes=[0, 1])
        with pytest.raises(ValueError, match=r"y_pred contains 5, 'a', but the known classes"):
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
    with pytest.raises(ValueError, match="error of theta is undefined: y_true has no rows"):
        theta_error([], 0.5, new_label=-1)
    with pytest.raises(ValueError, match="contains NaN"):
        new_class_auc([0, np.nan], [0, 1], new_label=-1)
