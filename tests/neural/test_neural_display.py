"""Training curves."""

import matplotlib.pyplot as plt
import pytest
from neural_toys import fitted_forest
from numpy.testing import assert_array_equal

from lacforest.neural import DeepLACForestClassifier, TrainingCurveDisplay


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_curves_of_a_forest():
    forest = fitted_forest(early_stopping=True)
    display = TrainingCurveDisplay.from_estimator(forest)
    lines = {line.get_label(): line for line in display.ax_.lines}
    assert set(lines) == {"loss", "augmented Gini", "cross entropy"}
    assert_array_equal(lines["loss"].get_xdata(), [1, 2, 3, 4])
    assert_array_equal(lines["augmented Gini"].get_ydata(), forest.history_["gini"])
    accuracy, best = display.accuracy_ax_.lines
    assert_array_equal(accuracy.get_ydata(), forest.history_["accuracy"])
    assert_array_equal(best.get_xdata(), [forest.best_epoch_])
    assert display.figure_ is display.ax_.figure


def test_curves_of_a_history_on_given_axes():
    _, ax = plt.subplots()
    display = TrainingCurveDisplay.from_history(fitted_forest(epochs=1).history_, ax=ax)
    assert display.ax_ is ax
    assert display.accuracy_ax_ is None


def test_not_fitted():
    with pytest.raises(Exception, match="not fitted"):
        TrainingCurveDisplay.from_estimator(DeepLACForestClassifier())
