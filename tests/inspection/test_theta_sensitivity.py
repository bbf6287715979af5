"""Rows called new as theta varies: refits, and valid values of theta."""

import numpy as np
import pytest
from display_helpers import FRESH, TOY, in_pipeline, legend_of
from numpy.testing import assert_allclose, assert_array_equal

from lacforest import LACForestClassifier
from lacforest.inspection import ThetaSensitivityDisplay


@pytest.fixture(scope="module")
def estimated():
    forest = LACForestClassifier(5, random_state=0)
    return forest.fit(TOY.X_labeled, TOY.y_labeled, X_unlabeled=TOY.X_unlabeled)


def test_theta_sensitivity_refits(estimated, capsys):
    before = estimated.predict_proba(FRESH.X_unlabeled)
    display = ThetaSensitivityDisplay.from_estimator(
        estimated,
        TOY.X_labeled,
        TOY.y_labeled,
        TOY.X_unlabeled,
        X_test=FRESH.X_unlabeled,
        thetas=3,
        verbose=1,
    )
    low, high = estimated.theta_interval_
    assert_allclose(display.thetas, [low, (low + high) / 2, high])
    for theta, share in zip(display.thetas, display.flagged, strict=True):
        forest = LACForestClassifier(5, theta=theta, random_state=0)
        forest.fit(TOY.X_labeled, TOY.y_labeled, X_unlabeled=TOY.X_unlabeled)
        assert share == np.mean(forest.predict(FRESH.X_unlabeled) == -1)
    assert display.theta == estimated.theta_
    assert display.flagged_at_theta == np.mean(estimated.predict(FRESH.X_unlabeled) == -1)
    assert_array_equal(estimated.predict_proba(FRESH.X_unlabeled), before)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(f"theta={low:.3f}, fit 1 of 3: {display.flagged[0]:.1%} of rows")
    _, curve, point = display.ax_.lines
    assert_array_equal(curve.get_ydata(), display.flagged)
    assert point.get_xdata()[0] == display.theta
    assert legend_of(display)[0] == f"interval of θ: {low:.3f} to {high:.3f}"


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.05, 0.95]], ids=["as labelled", "moved"])
def test_copies_take_the_shares_that_the_forest_found(shares):
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [6.0, 0.0], [3.0, 9.0]])
    y = np.repeat(["a", "b"], 150)
    X = centers[np.repeat([0, 1], 150)] + rng.normal(size=(300, 2))
    kinds = np.append(rng.choice(2, 300, p=shares), np.full(200, 2))
    U = centers[kinds] + rng.normal(size=(500, 2))
    forest = LACForestClassifier(5, random_state=0).fit(X, y, X_unlabeled=U)
    assert (forest.known_shares_interval_ is None) == (shares[0] == 0.5)
    display = ThetaSensitivityDisplay.from_estimator(forest, X, y, U, thetas=[0.2, 0.6])
    for theta, share in zip(display.thetas, display.flagged, strict=True):
        again = LACForestClassifier(5, theta=theta, random_state=0).fit(X, y, X_unlabeled=U)
        assert share == np.mean(again.predict(U) == "<new>")


def test_given_thetas_on_unlabelled_rows(forest, capsys):
    display = ThetaSensitivityDisplay.from_estimator(
        forest, TOY.X_labeled, TOY.y_labeled, TOY.X_unlabeled, thetas=[0.7, 0.3, 0.7]
    )
    assert_array_equal(display.thetas, [0.3, 0.7])
    assert_allclose(display.flagged_at_theta, np.mean(forest.predict(TOY.X_unlabeled) == -1))
    assert display.interval is None
    assert len(legend_of(display)) == 3
    assert capsys.readouterr().out == ""


def test_rows_that_are_marked_inside_the_table():
    X = np.vstack([TOY.X_labeled, TOY.X_unlabeled])
    y = np.append(TOY.y_labeled, np.full(len(TOY.X_unlabeled), -9))
    forest = LACForestClassifier(5, theta=0.5, unlabeled_label=-9, random_state=0).fit(X, y)
    display = ThetaSensitivityDisplay.from_estimator(
        forest, X, y, X_test=TOY.X_unlabeled, thetas=[0.5]
    )
    assert display.flagged[0] == display.flagged_at_theta
    with pytest.raises(ValueError, match="there are no rows to count"):
        ThetaSensitivityDisplay.from_estimator(forest, X, y, thetas=[0.5])


def test_an_interval_that_reaches_zero():
    # Not a single unlabelled row is new.
    forest = LACForestClassifier(5, random_state=0)
    rows = TOY.X_labeled[::2]
    with pytest.warns(match="cannot tell whether any of the"):
        forest.fit(TOY.X_labeled[1::2], TOY.y_labeled[1::2], X_unlabeled=rows)
    assert forest.theta_interval_[0] == 0
    display = ThetaSensitivityDisplay.from_estimator(
        forest, TOY.X_labeled[1::2], TOY.y_labeled[1::2], rows, thetas=2
    )
    assert display.thetas[0] == 0.5 / len(rows)


def test_bad_thetas(forest, plain):
    given = (TOY.X_labeled, TOY.y_labeled, TOY.X_unlabeled)
    draw = ThetaSensitivityDisplay.from_estimator
    with pytest.raises(ValueError, match="given and has no interval: pass a list of thetas"):
        draw(forest, *given)
    with pytest.raises(ValueError, match="thetas must be at least 2, got 1"):
        draw(forest, *given, thetas=1)
    for thetas in ([], [0.5, 1.0], 0.0):
        with pytest.raises(ValueError, match="thetas must lie strictly between 0 and 1, got"):
            draw(forest, *given, thetas=thetas)
    with pytest.raises(TypeError, match="or a LACExtraTreesClassifier, got Pipeline"):
        draw(in_pipeline(forest), *given)
    with pytest.raises(ValueError, match="has no new class"):
        draw(plain, *given)


def test_theta_sensitivity_from_predictions(estimated):
    by_hand = ThetaSensitivityDisplay.from_predictions(
        [0.5, 0.2, 0.4],
        [[-1, -1, 0, 1], [0, 0, 0, 1], [-1, 0, 0, 1]],
        theta=0.4,
        interval=(0.3, 0.5),
    )
    assert_array_equal(by_hand.thetas, [0.2, 0.4, 0.5])
    assert_array_equal(by_hand.flagged, [0.0, 0.25, 0.5])
    assert (by_hand.theta, by_hand.flagged_at_theta) == (0.4, 0.25)
    assert "interval of θ: 0.300 to 0.500" in legend_of(by_hand)
    tables = (TOY.X_labeled, TOY.y_labeled, TOY.X_unlabeled)
    fitted = ThetaSensitivityDisplay.from_estimator(
        estimated, *tables, X_test=FRESH.X_unlabeled, thetas=3
    )
    predictions = [
        LACForestClassifier(5, theta=theta, random_state=0)
        .fit(tables[0], tables[1], X_unlabeled=tables[2])
        .predict(FRESH.X_unlabeled)
        for theta in fitted.thetas
    ]
    again = ThetaSensitivityDisplay.from_predictions(
        fitted.thetas, predictions, theta=fitted.thetas[1]
    )
    assert_array_equal(again.flagged, fitted.flagged)


@pytest.mark.parametrize(
    ("thetas", "predictions", "theta", "message"),
    [
        (
            [0.5],
            [[0], [1]],
            0.5,
            r"for each of several distinct thetas, got 2 for \[0\.5\]",
        ),
        ([0.5, 0.5], [[0], [1]], 0.5, "distinct thetas"),
        ([0.5, 0.6], [[0], [1]], 0.4, "theta=0.4 must be one of thetas"),
        ([0.5, 0.6], [[0], [1, 0]], 0.5, r"the same rows, got shapes \[\(1,\), \(2,\)\]"),
        ([0.5], [[]], 0.5, "the same rows"),
        ([1.5], [[0]], 1.5, "strictly between 0 and 1"),
        ([], [], 0.5, "strictly between 0 and 1"),
    ],
)
def test_bad_predictions_by_theta(thetas, predictions, theta, message):
    with pytest.raises(ValueError, match=message):
        ThetaSensitivityDisplay.from_predictions(thetas, predictions, theta=theta)
