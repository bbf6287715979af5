"""Estimators of theta, the share of new rows among the unlabelled ones."""

from __future__ import annotations

from benchmarks.tables import gaussian_table
from lacforest.mixture import BestBin, KernelMeanEmbedding, RankMixture

ESTIMATORS = {
    "rank mixture": RankMixture,
    "best bin": BestBin,
    "km2": KernelMeanEmbedding,
    "km2 on forest scores": lambda **options: KernelMeanEmbedding(scorer="forest", **options),
}


class AtPaperSize:
    """Estimates from 500 labelled and 1,000 unlabelled rows, the paper's size."""

    params = tuple(ESTIMATORS)
    param_names = ("method",)
    timeout = 120

    def setup(self, method):
        self.table = gaussian_table(1_500, 20, 5)

    def time_estimate(self, method):
        estimator = ESTIMATORS[method](n_bootstrap=0, random_state=0)
        estimator.fit(self.table.X, self.table.X_unlabeled)

    def time_estimate_with_interval(self, method):
        ESTIMATORS[method](random_state=0).fit(self.table.X, self.table.X_unlabeled)

    def track_error(self, method):
        estimator = ESTIMATORS[method](n_bootstrap=0, random_state=0)
        estimator.fit(self.table.X, self.table.X_unlabeled)
        return abs(estimator.theta_ - self.table.theta)


class ByRows:
    """Growth of time and memory of the default estimator with the number of rows."""

    params = (1_500, 15_000, 150_000)
    param_names = ("n_rows",)
    timeout = 300

    def setup(self, n_rows):
        self.table = gaussian_table(n_rows, 20, 5)

    def time_rank_mixture(self, n_rows):
        RankMixture(random_state=0, n_jobs=2).fit(self.table.X, self.table.X_unlabeled)

    def peakmem_rank_mixture(self, n_rows):
        RankMixture(random_state=0, n_jobs=2).fit(self.table.X, self.table.X_unlabeled)
