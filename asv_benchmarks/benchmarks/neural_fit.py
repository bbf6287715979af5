"""Training and prediction of the whole neural forest; skipped if torch is not installed."""

from __future__ import annotations

from benchmarks import common

try:
    import torch

    from lacforest.neural import DeepLACForestClassifier
except ModuleNotFoundError:
    torch = None


class Training:
    """A few epochs on a table of the paper's size, with the default encoder for tables."""

    timeout = 120

    def setup(self):
        if torch is None:
            raise NotImplementedError  # makes asv skip the benchmark
        torch.set_num_threads(1)
        self.data = common.table("paper")
        self.forest = self.fitted()

    def fitted(self):
        forest = DeepLACForestClassifier(
            theta=self.data.theta, epochs=3, device="cpu", random_state=0
        )
        return forest.fit(self.data.X, self.data.y, X_unlabeled=self.data.X_unlabeled)

    def time_fit_three_epochs(self):
        self.fitted()

    def peakmem_fit_three_epochs(self):
        self.fitted()

    def time_predict_proba(self):
        self.forest.predict_proba(self.data.X_unlabeled)
