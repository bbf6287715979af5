"""Synthetic datasets for the experiments on learning, and methods whose results are known."""

import numpy as np
import pytest

from lacforest.experiments import _methods
from lacforest.experiments._learning import LearningExperiment, LearningOptions


class Reader:
    """A classifier that reads the class from the first column, and errs if the second is small."""

    def __init__(self, share_wrong, given):
        self.share_wrong = share_wrong
        self.given = given

    def fit(self, X, y, X_unlabeled=None):
        self.given.append((X, y, X_unlabeled))
        self.known = np.unique(y)
        self.theta_ = 0.4
        return self

    def predict(self, X):
        label = np.where(np.isin(X[:, 0], self.known), X[:, 0], -1).astype(int)
        return np.where(X[:, 1] < self.share_wrong, self.known[0], label)

    def novelty_score(self, X):
        return (~np.isin(X[:, 0], self.known)).astype(float)


@pytest.fixture
def given(monkeypatch):
    """What the methods "good" and "bad" were fitted on."""
    given = []
    monkeypatch.setattr(_methods, "METHODS", {})
    _methods.register_method("good", lambda *_: Reader(0.0, given))
    _methods.register_method("bad", lambda *_: Reader(0.5, given))
    return given


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        y = np.repeat(np.arange(4), 800)
        np.savez(tmp_path / f"{name}.npz", X=np.column_stack([y / 3, rng.random((3200, 2))]), y=y)
    return tmp_path


@pytest.fixture
def experiment(given, folder):
    # Reader needs class codes in the first column that survive the scaling of features.
    options = LearningOptions("table1", ["one"], ["good", "bad"], n_choices=2, n_samples=2)
    made = LearningExperiment(
        LearningOptions(**{**vars(options), "folder": folder})  # the same, with a folder
    )
    for table in made._tables.values():
        table.data[:, 0] = table.target
    return made
