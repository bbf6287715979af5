import pytest
from display_helpers import TOY

from lacforest import LACForestClassifier


@pytest.fixture(autouse=True)
def _every_figure_is_closed(close_figures):
    """Plots of one test are not open in the next one."""


@pytest.fixture(scope="session")
def forest():
    """Fitted on `TOY`; tests must not change it."""
    forest = LACForestClassifier(20, theta=0.5, random_state=0)
    return forest.fit(TOY.X_labeled, TOY.y_labeled, X_unlabeled=TOY.X_unlabeled)


@pytest.fixture(scope="session")
def plain():
    """Fitted without unlabelled rows."""
    return LACForestClassifier(5, random_state=0).fit(TOY.X_labeled, TOY.y_labeled)
