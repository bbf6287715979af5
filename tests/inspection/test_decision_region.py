"""Decision regions show the predictions."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from display_helpers import FRESH, HIDDEN, TOY, in_pipeline, legend_of
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from lacforest import LACForestClassifier
from lacforest._utils.plotting import KNOWN_COLOR, NEW_COLOR
from lacforest.inspection import DecisionRegionDisplay


def test_regions_are_predictions(forest):
    display = DecisionRegionDisplay.from_estimator(
        forest, TOY.X_labeled, TOY.y_labeled, X_unlabeled=TOY.X_unlabeled, grid_resolution=30
    )
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    assert_array_equal(display.regions.ravel(), forest.predict(grid))
    everyone = np.vstack([TOY.X_labeled, TOY.X_unlabeled])
    span = everyone.max(axis=0) - everyone.min(axis=0)
    assert_allclose(grid.min(axis=0), everyone.min(axis=0) - 0.05 * span)
    assert_allclose(grid.max(axis=0), everyone.max(axis=0) + 0.05 * span)
    # The numbers of the surface are the indices of known classes, then of the new one.
    numbers = display.surface_.get_array()
    assert_array_equal(numbers == 2, display.regions == -1)
    assert_array_equal(numbers == 0, display.regions == 0)
    assert to_hex(display.surface_.cmap(display.surface_.norm(2))) == NEW_COLOR.lower()
    assert to_hex(display.surface_.cmap(display.surface_.norm(0))) == KNOWN_COLOR.lower()
    assert legend_of(display) == ["unlabelled", "class 0", "class 1", "called new"]
    drawn = [points.get_offsets() for points in display.ax_.collections[-3:]]
    assert_array_equal(drawn[0], TOY.X_unlabeled)
    assert_array_equal(drawn[1], TOY.X_labeled[TOY.y_labeled == 0])


def test_the_augmented_region_is_hatched(forest, plain):
    given = (TOY.X_labeled, TOY.y_labeled)
    found = DecisionRegionDisplay.from_estimator(forest, *given, X_unlabeled=TOY.X_unlabeled)
    assert any(getattr(part, "hatches", None) == ["///"] for part in found.ax_.collections)
    without = DecisionRegionDisplay.from_estimator(plain, *given)
    assert not any(hasattr(part, "hatches") for part in without.ax_.collections)
    assert without.new_label is None
    assert legend_of(without) == ["class 0", "class 1"]


def test_regions_that_are_all_new():
    display = DecisionRegionDisplay(
        xx0=np.array([[0.0, 1.0], [0.0, 1.0]]),
        xx1=np.array([[0.0, 0.0], [1.0, 1.0]]),
        regions=np.full((2, 2), -1),
        known_classes=np.array([0]),
        new_label=-1,
    )
    display.plot().figure_.canvas.draw()


def test_rows_of_hidden_classes_are_new(forest):
    display = DecisionRegionDisplay.from_estimator(forest, FRESH.X_unlabeled, HIDDEN)
    assert legend_of(display) == ["class 0", "class 1", "new", "called new"]
    new = display.ax_.collections[-1]
    assert_array_equal(new.get_offsets(), FRESH.X_unlabeled[FRESH.y_unlabeled == -1])
    assert to_hex(new.get_facecolor()[0]) == NEW_COLOR.lower()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_regions_of_frames(frame):
    names = ["width", "length"]
    if frame is pd.DataFrame:
        X, U = (frame(rows, columns=names) for rows in (TOY.X_labeled, TOY.X_unlabeled))
    else:
        X, U = (frame(rows, schema=names) for rows in (TOY.X_labeled, TOY.X_unlabeled))
    labels = np.array(["cat", "dog"])[TOY.y_labeled]
    forest = LACForestClassifier(5, theta=0.5).fit(X, labels, X_unlabeled=U)
    display = DecisionRegionDisplay.from_estimator(
        forest, X, labels, X_unlabeled=U, grid_resolution=10
    )
    assert display.ax_.get_xlabel() == "width"
    assert display.ax_.get_ylabel() == "length"
    assert set(display.regions.ravel()) == {"cat", "dog", "<new>"}


def test_regions_of_pipelines_searches_and_others(forest):
    given = (TOY.X_labeled, TOY.y_labeled)
    display = DecisionRegionDisplay.from_estimator(in_pipeline(forest), *given, grid_resolution=5)
    assert display.new_label == -1
    search = GridSearchCV(LACForestClassifier(3), {"max_depth": [2]}, cv=2).fit(*given)
    assert DecisionRegionDisplay.from_estimator(search, *given).new_label is None
    other = RandomForestClassifier(3).fit(*given)
    assert legend_of(DecisionRegionDisplay.from_estimator(other, *given)) == ["class 0", "class 1"]


def test_missing_values_and_constant_features():
    X = TOY.X_labeled.copy()
    X[:, 1], X[0, 0] = 3.0, np.nan
    forest = LACForestClassifier(3).fit(X, TOY.y_labeled)
    display = DecisionRegionDisplay.from_estimator(forest, X, TOY.y_labeled, grid_resolution=5)
    assert_allclose([display.xx1.min(), display.xx1.max()], [2.95, 3.05])


def test_regions_need_two_features(forest):
    message = "over two features, but {} has 3: fit a classifier on two of them"
    wide = np.zeros((2, 3))
    with pytest.raises(ValueError, match=message.format("X")):
        DecisionRegionDisplay.from_estimator(forest, wide, [0, 1])
    with pytest.raises(ValueError, match=message.format("X_unlabeled")):
        DecisionRegionDisplay.from_estimator(forest, TOY.X_labeled, TOY.y_labeled, X_unlabeled=wide)
    with pytest.raises(ValueError, match="grid_resolution must be at least 2"):
        DecisionRegionDisplay.from_estimator(
            forest, TOY.X_labeled, TOY.y_labeled, grid_resolution=1
        )
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        DecisionRegionDisplay.from_estimator(forest, TOY.X_labeled, [0])
    with pytest.raises(NotFittedError):
        DecisionRegionDisplay.from_estimator(LACForestClassifier(), TOY.X_labeled, TOY.y_labeled)
