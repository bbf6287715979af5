"""Plots show the computed values; messages if they cannot be drawn."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from display_helpers import FRESH, HIDDEN, TOY, in_pipeline, legend_of
from matplotlib.colors import to_hex
from numpy.testing import assert_array_equal
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError

from lacforest import LACForestClassifier
from lacforest._utils.plotting import KNOWN_COLOR, NEW_COLOR, class_colors
from lacforest.inspection import (
    ConfusionDisplay,
    DecisionRegionDisplay,
    NoveltyHistogramDisplay,
    OSCRDisplay,
    ThetaSensitivityDisplay,
)
from lacforest.metrics import oscr_curve, oscr_score
from lacforest.mixture import RatioCurveDisplay

# ---------------------------------------------------------------------------- all of them


def draw_each(forest, ax=None):
    rows, labels = FRESH.X_unlabeled, FRESH.y_unlabeled
    yield DecisionRegionDisplay.from_estimator(forest, rows, labels, grid_resolution=20, ax=ax)
    yield NoveltyHistogramDisplay.from_estimator(forest, rows, labels, ax=ax)
    yield ConfusionDisplay.from_estimator(forest, rows, labels, ax=ax)
    yield OSCRDisplay.from_estimator(forest, rows, labels, ax=ax)
    fitted_on = (TOY.X_labeled, TOY.y_labeled, TOY.X_unlabeled)
    yield ThetaSensitivityDisplay.from_estimator(forest, *fitted_on, thetas=[0.4, 0.6], ax=ax)


def test_axes_are_given_or_made(forest):
    figure, ax = plt.subplots()
    for display in draw_each(forest, ax):
        assert display.ax_ is ax
        assert display.figure_ is figure
    assert len(plt.get_fignums()) == 1
    made = [display.figure_.number for display in draw_each(forest)]
    assert len(set(made)) == 5


def test_displays_can_be_drawn_again(forest):
    for display in draw_each(forest):
        _, ax = plt.subplots()
        assert display.plot(ax) is display
        assert display.ax_ is ax


def test_axes_are_labelled_and_drawing_warns_of_nothing(forest):
    for display in draw_each(forest):
        display.figure_.canvas.draw()
        assert display.ax_.get_xlabel()
        assert display.ax_.get_ylabel()


def test_matplotlib_is_missing(forest, monkeypatch):
    displays = list(draw_each(forest))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    message = r"^this needs matplotlib, which is not installed: pip install 'lacforest\[plot\]'"
    for display in displays:
        with pytest.raises(ModuleNotFoundError, match=message):
            display.plot()


@pytest.mark.parametrize("display", [NoveltyHistogramDisplay, ConfusionDisplay, OSCRDisplay])
def test_a_fitted_classifier_with_a_new_class_is_needed(display, plain):
    given = (FRESH.X_unlabeled, FRESH.y_unlabeled)
    with pytest.raises(NotFittedError):
        display.from_estimator(LACForestClassifier(), *given)
    with pytest.raises(ValueError, match="has no new class"):
        display.from_estimator(plain, *given)
    other = RandomForestClassifier(2).fit(*given)
    with pytest.raises(TypeError, match="RandomForestClassifier has no new_label_"):
        display.from_estimator(other, *given)
    assert not plt.get_fignums()


@pytest.mark.parametrize("n_known", [1, 2, 6, 7, 30])
def test_the_new_class_has_a_colour_to_itself(n_known):
    colors = [to_hex(color) for color in class_colors(n_known)]
    assert len({*colors, NEW_COLOR.lower()}) == n_known + 1


# ---------------------------------------------------------------------------- novelty histogram


def heights(polygon):
    """Heights of the bins of a step-filled histogram, from its outline."""
    return polygon.get_xy()[1:-1:2, 1]


def test_histogram_is_of_the_scores(forest):
    display = NoveltyHistogramDisplay.from_estimator(forest, FRESH.X_unlabeled, bins=10)
    scores = forest.novelty_score(FRESH.X_unlabeled)
    assert_array_equal(display.scores, scores)
    (polygon,) = display.ax_.patches
    counts = np.histogram(scores, 10, range=(0, 1))[0]
    assert_array_equal(heights(polygon)[:10], counts)
    (line,) = display.ax_.lines
    assert (scores > line.get_xdata()[0]).sum() < 150 <= (scores >= line.get_xdata()[0]).sum()
    assert legend_of(display)[0] == "unlabelled rows"
    assert legend_of(display)[1].startswith("θ = 0.500: ")


def test_histogram_by_truth(forest):
    display = NoveltyHistogramDisplay.from_estimator(forest, FRESH.X_unlabeled, HIDDEN, bins=4)
    is_new = FRESH.y_unlabeled == -1
    assert_array_equal(display.is_new, is_new)
    known, new = display.ax_.patches
    for polygon, rows, color in ((known, ~is_new, KNOWN_COLOR), (new, is_new, NEW_COLOR)):
        counts = np.histogram(display.scores[rows], 4, range=(0, 1))[0]
        assert_array_equal(heights(polygon)[:4], counts)
        assert to_hex(polygon.get_edgecolor()) == color.lower()
    assert legend_of(display)[:2] == ["150 known rows", "150 new rows"]


def test_histogram_from_predictions_is_the_same(forest):
    one = NoveltyHistogramDisplay.from_estimator(forest, FRESH.X_unlabeled, HIDDEN)
    other = NoveltyHistogramDisplay.from_predictions(
        forest.novelty_score(FRESH.X_unlabeled), HIDDEN, theta=0.5, known_classes=[0, 1]
    )
    assert_array_equal(one.scores, other.scores)
    assert_array_equal(one.is_new, other.is_new)
    assert one.threshold == other.threshold
    assert legend_of(one) == legend_of(other)


def test_histogram_of_a_pipeline(forest):
    display = NoveltyHistogramDisplay.from_estimator(in_pipeline(forest), FRESH.X_unlabeled)
    assert_array_equal(display.scores, forest.novelty_score(FRESH.X_unlabeled))


@pytest.mark.parametrize(
    ("theta", "threshold"), [(0, None), (0.24, None), (0.25, 9), (0.5, 7), (0.7, 7), (1, -2)]
)
def test_threshold(theta, threshold):
    # Scores beyond [0, 1] are drawn over their own range.
    display = NoveltyHistogramDisplay.from_predictions([3, -2, 7, 9], theta=theta, bins=11)
    assert display.threshold == threshold
    assert len(display.ax_.lines) == (threshold is not None)
    assert display.ax_.patches[0].get_xy()[:, 0].max() == 9


def test_pseudo_labels_lie_above_the_threshold(forest):
    display = NoveltyHistogramDisplay.from_predictions(forest.unlabeled_score_, theta=0.5)
    assert (forest.unlabeled_score_[forest.pseudo_labels_] >= display.threshold).all()


def test_histograms_of_bad_scores():
    for scores in ([], [0.5, np.nan]):
        with pytest.raises(ValueError, match="one finite number per row, for at least one row"):
            NoveltyHistogramDisplay.from_predictions(scores, theta=0.5)
    with pytest.raises(ValueError, match=r"theta must lie in \[0, 1\], got 2"):
        NoveltyHistogramDisplay.from_predictions([0.5], theta=2)
    with pytest.raises(ValueError, match="which rows of y_true are new"):
        NoveltyHistogramDisplay.from_predictions([0.5], [1], theta=0.5)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        NoveltyHistogramDisplay.from_predictions([0.5], [1, 2], theta=0.5, new_label=2)
    with pytest.raises(ValueError, match="bins must be at least 1"):
        NoveltyHistogramDisplay.from_predictions([0.5], theta=0.5, bins=0)


# ---------------------------------------------------------------------------- confusion


def test_confusion_counts_pairs(forest):
    display = ConfusionDisplay.from_estimator(forest, FRESH.X_unlabeled, HIDDEN)
    predicted = forest.predict(FRESH.X_unlabeled)
    order = [0, 1, -1]
    expected = [
        [np.sum((FRESH.y_unlabeled == true) & (predicted == called)) for called in order]
        for true in order
    ]
    assert_array_equal(display.confusion_matrix, expected)
    assert_array_equal(display.im_.get_array(), expected)
    assert [text.get_text() for text in display.text_.ravel()] == [
        str(count) for row in expected for count in row
    ]
    for labels in (display.ax_.get_xticklabels(), display.ax_.get_yticklabels()):
        assert [label.get_text() for label in labels] == ["0", "1", "new"]
        assert to_hex(labels[-1].get_color()) == NEW_COLOR.lower()
    assert display.ax_.get_xlabel() == "predicted"


def test_confusion_from_predictions_is_the_same(forest):
    one = ConfusionDisplay.from_estimator(in_pipeline(forest), FRESH.X_unlabeled, HIDDEN)
    other = ConfusionDisplay.from_predictions(
        HIDDEN, forest.predict(FRESH.X_unlabeled), known_classes=[0, 1]
    )
    assert_array_equal(one.confusion_matrix, other.confusion_matrix)
    assert_array_equal(one.display_labels, other.display_labels)


def test_confusion_in_shares():
    y_true, y_pred = ["a", "a", "b", "x"], ["a", "<new>", "b", "<new>"]
    display = ConfusionDisplay.from_predictions(
        y_true, y_pred, known_classes=["a", "b"], normalize="true"
    )
    assert_array_equal(display.confusion_matrix, [[0.5, 0, 0.5], [0, 1, 0], [0, 0, 1]])
    assert display.text_[0, 0].get_text() == "0.50"


def test_numbers_in_many_small_cells_are_left_out():
    known = list(range(20))
    display = ConfusionDisplay.from_predictions(known, known, known_classes=known)
    assert display.text_ is None
    assert display.plot(include_values=True).text_.shape == (21, 21)


def test_confusion_with_a_foreign_label():
    with pytest.raises(ValueError, match="y_pred contains 7, but the known classes and the new"):
        ConfusionDisplay.from_predictions([0, 1], [0, 7], known_classes=[0, 1])


# ---------------------------------------------------------------------------- OSCR


def test_oscr_is_drawn(forest):
    display = OSCRDisplay.from_estimator(forest, FRESH.X_unlabeled, HIDDEN)
    proba = forest.predict_proba(FRESH.X_unlabeled)
    fpr, ccr, _ = oscr_curve(HIDDEN, proba, known_classes=[0, 1])
    assert_array_equal(display.line_.get_xdata(), fpr)
    assert_array_equal(display.line_.get_ydata(), ccr)
    assert display.oscr == oscr_score(HIDDEN, proba, known_classes=[0, 1])
    assert legend_of(display) == [f"LACForestClassifier (OSCR = {display.oscr:.3f})"]


def test_oscr_from_predictions_is_the_same(forest):
    one = OSCRDisplay.from_estimator(in_pipeline(forest), FRESH.X_unlabeled, HIDDEN)
    other = OSCRDisplay.from_predictions(
        HIDDEN, forest.predict_proba(FRESH.X_unlabeled), known_classes=[0, 1]
    )
    assert_array_equal(one.fpr, other.fpr)
    assert_array_equal(one.ccr, other.ccr)
    assert one.oscr == other.oscr
    assert legend_of(other) == [f"OSCR = {one.oscr:.3f}"]


def test_several_curves_on_the_same_axes(forest):
    first = OSCRDisplay.from_estimator(forest, FRESH.X_unlabeled, HIDDEN, name="one")
    proba = forest.predict_proba(FRESH.X_unlabeled)[:, 1:]
    second = OSCRDisplay.from_predictions(
        HIDDEN, proba, 1 - proba.max(axis=1), known_classes=[0, 1], name="two", ax=first.ax_
    )
    assert len(first.ax_.lines) == 2
    assert [text.split()[0] for text in legend_of(second)] == ["one", "two"]
    assert first.line_.get_color() != second.line_.get_color()
    assert second.plot(first.ax_, color="black").line_.get_color() == "black"


@pytest.mark.parametrize("size", [(6.4, 4.8), (3.9, 2.9)], ids=["usual", "small"])
@pytest.mark.parametrize("kind", ["scores", "theta", "curve"])
def test_no_line_runs_through_a_legend(kind, size):
    rng = np.random.default_rng(0)
    figure = plt.figure(figsize=size, layout="constrained")
    ax = figure.subplots()
    if kind == "scores":
        NoveltyHistogramDisplay.from_predictions(rng.random(500), theta=0.3, ax=ax)
    elif kind == "theta":
        labels = [np.where(np.arange(10) < n, -1, 0) for n in (2, 5, 9)]
        ThetaSensitivityDisplay.from_predictions(
            [0.2, 0.5, 0.6], labels, theta=0.5, interval=(0.1, 0.7), ax=ax
        )
    else:
        x = np.linspace(0.2, 1, 50)
        RatioCurveDisplay(
            x=x, ratio=0.4 + 0.9 * (1 - x), theta=0.6, interval=(0.5, 0.7), fitted=0.4 + 0.6 * x
        ).plot(ax)
    figure.canvas.draw()
    texts = [text.get_window_extent() for text in ax.get_legend().get_texts()]
    for line in ax.lines:
        points = ax.transData.transform(line.get_xydata())
        between = np.linspace(points[:-1], points[1:], 200).reshape(-1, 2)
        points = between if len(points) > 1 else points
        assert not any(box.count_contains(points) for box in texts), line.get_label()
