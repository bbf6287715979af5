"""Digits with hidden classes: labelled rows, and unlabelled rows that carry a mark as label."""

import numpy as np
from sklearn.datasets import load_digits

from lacforest import LACForestClassifier
from lacforest.model_selection import (
    make_augmented_split,
)

DIGITS = load_digits(return_X_y=True)


def marked_digits(seed=0, theta=0.4, mark=-1):
    """Labelled rows above marked unlabelled ones, and the split they come from."""
    split = make_augmented_split(
        *DIGITS, n_labeled=300, n_unlabeled=500, n_test=300, theta=theta, random_state=seed
    )
    table = np.vstack([split.X_labeled, split.X_unlabeled])
    return table, np.append(split.y_labeled, np.full(500, mark)), split


def small_forest(**parameters):
    options = {"theta": 0.4, "unlabeled_label": -1, "random_state": 0}
    return LACForestClassifier(10, **options | parameters)
