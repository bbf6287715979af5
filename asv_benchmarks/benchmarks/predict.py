"""Prediction, model files and export."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import common
from lacforest import LACForestClassifier

try:
    from lacforest.export import to_onnx, to_sklearn_like
except ModuleNotFoundError:  # older commits have no export
    to_onnx = to_sklearn_like = None


class Predict:
    """Prediction of one row and of many by 100 trees."""

    params = ([1, 100, 10_000], ["paper", "many classes"])
    param_names = ("n_rows", "table")

    def setup(self, n_rows, name):
        self.forest = common.fitted(name)
        X = common.table(name).X_unlabeled
        self.X = X[np.random.default_rng(0).integers(len(X), size=n_rows)]

    def time_predict_proba(self, n_rows, name):
        self.forest.predict_proba(self.X)

    def time_novelty_score_of_step_one(self, n_rows, name):
        self.forest.novelty_score(self.X, stage="exploration")


class Files:
    """Compressed and memory-mapped model files."""

    def setup(self):
        self.forest = common.fitted("paper")
        self.folder = tempfile.TemporaryDirectory()
        self.small = Path(self.folder.name) / "small"
        self.mapped = Path(self.folder.name) / "mapped"
        self.forest.save(self.small)
        self.forest.save(self.mapped, compress=False)

    def teardown(self):
        self.folder.cleanup()

    def time_save(self):
        self.forest.save(self.small)

    def time_load(self):
        LACForestClassifier.load(self.small)

    def time_load_mapped(self):
        LACForestClassifier.load(self.mapped, mmap=True)

    def track_bytes(self):
        return self.small.stat().st_size


class Export:
    """Conversion of a forest for SHAP and ONNX."""

    def setup(self):
        if to_onnx is None or importlib.util.find_spec("onnx") is None:
            raise NotImplementedError  # makes asv skip the benchmark
        self.forest = common.fitted("paper")

    def time_to_sklearn_like(self):
        to_sklearn_like(self.forest)

    def time_to_onnx(self):
        to_onnx(self.forest)

    def track_bytes_of_onnx(self):
        return len(to_onnx(self.forest).SerializeToString())
