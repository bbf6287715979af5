"""What tests of pictures share: toy rows, forests fitted on them once, and how to read a legend."""

from functools import cache

import matplotlib
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lacforest import LACForestClassifier
from lacforest.datasets import make_figure1

matplotlib.use("Agg")

TOY = make_figure1(random_state=0)
FRESH = make_figure1(2, 300, random_state=1)
# What fresh rows are, with two hidden classes in place of the new one.
HIDDEN = FRESH.y_unlabeled.copy()
HIDDEN[np.flatnonzero(HIDDEN == -1)[::2]] = 8


@cache
def fitted_forest():
    forest = LACForestClassifier(20, theta=0.5, random_state=0)
    return forest.fit(TOY.X_labeled, TOY.y_labeled, X_unlabeled=TOY.X_unlabeled)


@cache
def plain_forest():
    return LACForestClassifier(5, random_state=0).fit(TOY.X_labeled, TOY.y_labeled)


def in_pipeline(forest):
    """The same predictions, by a pipeline."""
    return make_pipeline(StandardScaler().fit([[-1.0, -1.0], [1.0, 1.0]]), forest)


def legend_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]
