"""Time, peak memory and number of nodes of a fit."""

from __future__ import annotations

from benchmarks import common


class Fit:
    """A complete fit of 20 trees."""

    params = (common.TABLES, [1, 2])
    param_names = ("table", "n_jobs")
    timeout = 300

    def setup(self, name, n_jobs):
        self.data = common.table(name)
        self.forest = common.forest(self.data, n_estimators=20, n_jobs=n_jobs)

    def run(self):
        return self.forest.fit(self.data.X, self.data.y, X_unlabeled=self.data.X_unlabeled)

    def time_fit(self, name, n_jobs):
        self.run()

    def peakmem_fit(self, name, n_jobs):
        self.run()

    def track_n_nodes(self, name, n_jobs):
        return len(self.run()._forest.nodes)


class Weighted:
    """A fit with weights, which uses floating-point counts."""

    def setup(self):
        self.data = common.table("paper")
        self.weight = 0.5 + (self.data.y + 1) / 5

    def time_fit(self):
        common.forest(self.data, n_estimators=20).fit(
            self.data.X, self.data.y, sample_weight=self.weight, X_unlabeled=self.data.X_unlabeled
        )
