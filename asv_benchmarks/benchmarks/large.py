"""Large tables: bins, samples of rows, and files that are read in chunks."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks import common
from benchmarks.tables import gaussian_table
from lacforest import LACForestClassifier
from lacforest._coding.coded_table import code_table
from lacforest._input.tables import RowStack
from lacforest.tabular import TabularModel


class Bins:
    """A fit of 10 trees on continuous columns, by exact codes and by 255 bins."""

    params = ([None, 255],)
    param_names = ("max_bins",)
    timeout = 300

    def setup(self, max_bins):
        self.data = common.table("tall")
        self.table = RowStack([self.data.X, self.data.X_unlabeled])

    def run(self, max_bins):
        forest = common.forest(self.data, n_estimators=10, max_bins=max_bins)
        return forest.fit(self.data.X, self.data.y, X_unlabeled=self.data.X_unlabeled)

    def time_code(self, max_bins):
        code_table(self.table, 1, max_bins)

    def time_fit(self, max_bins):
        self.run(max_bins)

    def peakmem_fit(self, max_bins):
        self.run(max_bins)

    def track_n_nodes(self, max_bins):
        return len(self.run(max_bins)._forest.nodes)


class Samples:
    """A fit of 10 trees, each on a share of the rows."""

    params = ([1.0, 0.3, 0.1], [False, True])
    param_names = ("max_samples", "bootstrap")
    timeout = 300

    def setup(self, max_samples, bootstrap):
        self.data = common.table("tall")
        self.forest = common.forest(
            self.data, n_estimators=10, max_samples=max_samples, bootstrap=bootstrap
        )

    def time_fit(self, max_samples, bootstrap):
        self.forest.fit(self.data.X, self.data.y, X_unlabeled=self.data.X_unlabeled)


class Files:
    """A fit of 10 trees on two Parquet files that are read in chunks."""

    timeout = 300

    def setup(self):
        import pandas

        data = gaussian_table(50_000, 10, 3)
        names = [f"x{i}" for i in range(10)]
        self.folder = tempfile.TemporaryDirectory()
        self.paths = [Path(self.folder.name) / f"{name}.parquet" for name in ("known", "deployed")]
        labelled = pandas.DataFrame(data.X, columns=names).assign(label=data.y.astype(np.int64))
        labelled.to_parquet(self.paths[0], row_group_size=10_000)
        deployed = pandas.DataFrame(data.X_unlabeled, columns=names)
        deployed.to_parquet(self.paths[1], row_group_size=10_000)

    def teardown(self):
        self.folder.cleanup()

    def run(self):
        model = TabularModel(LACForestClassifier(10, theta=0.5, random_state=0))
        model.fit_files(self.paths[0], "label", self.paths[1], max_memory=2**30)

    def time_fit(self):
        self.run()

    def peakmem_fit(self):
        self.run()
