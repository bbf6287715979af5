"""Names of classes, columns and tables are drawn as they are, not as formulas between dollars."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from lacforest import LACForestClassifier
from lacforest.inspection import (
    ConfusionDisplay,
    DecisionRegionDisplay,
    draw_history,
    plot_tree,
)
from lacforest.report import write_report

NAME = "$x^$"  # a formula that cannot be read


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], 30)
    table = pd.DataFrame(rng.normal(size=(90, 2)) + 5 * codes[:, None], columns=[NAME, "$_$"])
    truth = np.array([NAME, "$$", "<new>"])[codes]
    known = codes < 2
    forest = LACForestClassifier(3, theta=0.3, random_state=0)
    return forest.fit(table[known], truth[known], X_unlabeled=table), table, truth


def _texts(ax):
    figure = ax.get_figure()
    figure.draw_without_rendering()
    return {text.get_text() for text in figure.findobj(mpl.text.Text)}


def test_displays(fitted):
    forest, table, truth = fitted
    shown = _texts(
        ConfusionDisplay.from_estimator(forest, table, truth, ax=Figure().subplots()).ax_
    )
    assert r"\$x^\$" in shown
    region = DecisionRegionDisplay.from_estimator(forest, table, truth, ax=Figure().subplots())
    assert {r"\$x^\$", r"\$_\$", r"class \$x^\$"} <= _texts(region.ax_)
    boxes = plot_tree(forest, ax=Figure().subplots())
    assert any(r"\$x^\$" in text for text in _texts(boxes[0].axes))


def test_report(fitted, tmp_path):
    write_report(tmp_path / "report.html", *fitted)


def test_history(tmp_path):
    entry = {"theta": 0.5, "theta_low": 0.4, "theta_high": 0.6, "theta_before": 0.5, "alarms": ""}
    draw_history([{"table": f"{NAME}.csv", f"share_{NAME}": 1.0} | entry], tmp_path / "h.png")
