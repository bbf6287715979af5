"""The neural forest: a step of training, a few epochs, a prediction. Skipped without torch."""

from __future__ import annotations

from benchmarks import common

try:
    import torch

    from lacforest import neural
except ModuleNotFoundError:
    neural = None


def _skip_without_torch():
    if neural is None:
        raise NotImplementedError  # what asv takes for "not here"
    torch.set_num_threads(1)


class Step:
    """Forward and backward through the trees alone: 512 labelled and 512 unlabelled rows."""

    params = ([1, 3, 10], [6, 9])
    param_names = ("n_trees", "depth")

    def setup(self, n_trees, depth):
        _skip_without_torch()
        generator = torch.Generator().manual_seed(0)
        self.labeled, self.unlabeled = torch.randn(2, 512, 128, generator=generator)
        self.y = torch.randint(5, (512,), generator=generator)
        self.forest = neural.NeuralForest(128, n_trees, depth)

    def run(self):
        self.forest.zero_grad()
        masses = self.forest(self.labeled), self.y, self.forest(self.unlabeled)
        neural.augmented_gini_loss(*masses, theta=0.5, n_classes=5).backward()

    def time_step(self, n_trees, depth):
        self.run()

    def peakmem_step(self, n_trees, depth):
        self.run()


class Training:
    """A few epochs on the table of the paper's size, with the encoder that a table gets."""

    timeout = 120

    def setup(self):
        _skip_without_torch()
        self.data = common.table("paper")
        self.forest = self.fitted()

    def fitted(self):
        forest = neural.DeepLACForestClassifier(
            theta=self.data.theta, epochs=3, device="cpu", random_state=0
        )
        return forest.fit(self.data.X, self.data.y, X_unlabeled=self.data.X_unlabeled)

    def time_fit_three_epochs(self):
        self.fitted()

    def time_predict_proba(self):
        self.forest.predict_proba(self.data.X_unlabeled)
