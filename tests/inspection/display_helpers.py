"""Shared by tests of plots: synthetic rows, a pipeline around a forest, and legends."""

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lacforest.datasets import make_figure1

TOY = make_figure1(random_state=0)
FRESH = make_figure1(2, 300, random_state=1)
# True labels of fresh rows, with two hidden classes in place of the new class.
HIDDEN = FRESH.y_unlabeled.copy()
HIDDEN[np.flatnonzero(HIDDEN == -1)[::2]] = 8


def in_pipeline(forest):
    """The same predictions, by a pipeline."""
    return make_pipeline(StandardScaler().fit([[-1.0, -1.0], [1.0, 1.0]]), forest)


def legend_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]
