"""Training steps of the neural forest: its trees, a loop over nodes, and a CNN."""

from __future__ import annotations

from typing import Any

try:
    import torch

    from lacforest.neural import (
        AugmentedGiniLoss,
        CNNEncoder,
        DeepForest,
        NeuralForest,
        augmented_gini_loss,
    )
except ModuleNotFoundError:
    torch = None  # type: ignore[assignment]

N_FEATURES = 390
N_CLASSES = 6
N_ROWS = 512  # labelled, and as many unlabelled
THETA = 0.4


def features() -> Any:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(2 * N_ROWS, N_FEATURES, generator=generator)
    return rows.requires_grad_(), torch.randint(N_CLASSES, (N_ROWS,), generator=generator)


def forest_step(forest: Any, rows: Any, y: Any) -> Any:
    """Compute leaf probabilities, the loss, and gradients of trees and features."""
    labeled, unlabeled = forest(rows).split(N_ROWS)
    loss = augmented_gini_loss(labeled, y, unlabeled, THETA, N_CLASSES)
    # autograd.grad instead of backward, which would also accumulate into earlier gradients.
    torch.autograd.grad(loss, [rows, *forest.parameters()])
    return loss


def loop_step(forest: Any, rows: Any, y: Any) -> Any:
    """Compute the same by a Python loop over trees, nodes, leaves and classes."""
    member = [y == k for k in range(N_CLASSES)]
    losses = []
    for tree in range(forest.n_trees):
        reach = {1: torch.ones(len(rows))}
        for node in range(1, forest.n_nodes + 1):
            place = tree * forest.n_nodes + node - 1
            left = torch.sigmoid(rows @ forest.linear.weight[place] + forest.linear.bias[place])
            reach[2 * node] = reach[node] * left
            reach[2 * node + 1] = reach[node] * (1 - left)
        loss = torch.zeros(())
        for leaf in range(forest.n_nodes + 1, 2 * forest.n_nodes + 2):
            labeled, unlabeled = reach[leaf][:N_ROWS], reach[leaf][N_ROWS:]
            new = (1 - (1 - THETA) * labeled.mean() / unlabeled.mean()).clamp(min=0)
            gini = 1 - new**2
            for of_class in member:
                gini = gini - ((1 - new) * labeled[of_class].sum() / labeled.sum()) ** 2
            loss = loss + unlabeled.mean() * gini
        losses.append(loss)
    total = torch.stack(losses).mean()
    torch.autograd.grad(total, [rows, *forest.parameters()])
    return total


class CNNStep:
    """One training step of the three-layer CNN with trees, on 512 + 512 images."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(0)
        self.module = DeepForest(CNNEncoder(), N_FEATURES, N_CLASSES)
        self.optimizer = torch.optim.SGD(self.module.parameters(), lr=0.01, momentum=0.9)
        self.loss = AugmentedGiniLoss(THETA, N_CLASSES)
        self.images = torch.rand(2 * N_ROWS, 1, 28, 28, generator=generator)
        self.y = torch.randint(N_CLASSES, (N_ROWS,), generator=generator)

    def __call__(self) -> None:
        rows = self.module.features(self.images)
        mu = self.module.forest(rows)
        logits = self.module.head(rows[:N_ROWS])
        self.optimizer.zero_grad()
        self.loss(mu[:N_ROWS], self.y, mu[N_ROWS:], logits).backward()
        self.optimizer.step()


class Trees:
    """A forward and backward pass on 1,024 rows with 390 features."""

    params = ([1, 3, 9], [4, 6, 8])
    param_names = ("n_trees", "depth")

    def setup(self, n_trees, depth):
        if torch is None:
            raise NotImplementedError("torch is not installed")
        self.rows, self.y = features()
        self.forest = NeuralForest(N_FEATURES, n_trees, depth)

    def time_step(self, n_trees, depth):
        forest_step(self.forest, self.rows, self.y)


class Steps:
    """The paper's three trees of six layers: vectorised, as a loop, and within a CNN."""

    def setup(self):
        if torch is None:
            raise NotImplementedError("torch is not installed")
        self.rows, self.y = features()
        self.forest = NeuralForest(N_FEATURES)
        self.cnn = CNNStep()

    def time_trees(self):
        forest_step(self.forest, self.rows, self.y)

    def time_loop_over_nodes(self):
        loop_step(self.forest, self.rows, self.y)

    def time_cnn_step(self):
        self.cnn()
