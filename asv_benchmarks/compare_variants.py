"""Accuracy, time and size of settings for large tables, paired on the same splits.

Each split hides half of the classes, labels up to a third of the training rows and tests on a fifth
of all rows. Differences are to the first setting; "se" is the standard error of a mean difference.

    python asv_benchmarks/compare_variants.py bins --splits 4 --data folder-of-npz-files
    python asv_benchmarks/compare_variants.py trees --splits 4 --rows 20000
    python asv_benchmarks/compare_variants.py grown --splits 2 --rows 20000 --grow 200000

With --grow, training rows are copied until there are so many. A copy lies on the way from its row
to another row of the same class, so that copies differ; test rows are rows of the table.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from lacforest import LACExtraTreesClassifier, LACForestClassifier, datasets

FORESTS = {"lacforest": LACForestClassifier, "lacextratrees": LACExtraTreesClassifier}
BY_TREES = {f"{n} trees": ("lacextratrees", {"n_estimators": n}) for n in (300, 200, 150, 100)}
# Settings by topic; the first one of a topic is what the others are held against.
TOPICS: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "bins": {
        "forest, exact": ("lacforest", {"max_bins": None}),
        "forest, 255 bins": ("lacforest", {"max_bins": 255}),
        "extra trees, exact": ("lacextratrees", {"max_bins": None}),
        "extra trees, 255 bins": ("lacextratrees", {"max_bins": 255}),
    },
    "trees": {
        **BY_TREES,
        "150 trees, 50 explorers": ("lacextratrees", {"n_estimators": 150, "n_explorers": 50}),
        "forest": ("lacforest", {}),
    },
    "grown": {name: BY_TREES[name] for name in ("300 trees", "150 trees")},
    "samples": {
        "all rows": ("lacforest", {}),
        "half": ("lacforest", {"max_samples": 0.5}),
        "a quarter": ("lacforest", {"max_samples": 0.25}),
        "a tenth": ("lacforest", {"max_samples": 0.1}),
    },
}
PAIRS = {"forest, 255 bins": "forest, exact", "extra trees, 255 bins": "extra trees, exact"}


class Split(NamedTuple):
    """Rows of a fit and of its test."""

    X: np.ndarray
    y: np.ndarray
    X_unlabeled: np.ndarray
    y_unlabeled: np.ndarray  # which class a row has, hidden or not
    theta: float
    X_test: np.ndarray
    truth: np.ndarray  # -1 = new

    def grown(self, n_rows: int, seed: int) -> Split:
        """The same test rows, and copies of training rows so that there are n_rows in all."""
        rng = np.random.default_rng(seed)
        n_labeled = n_rows * len(self.X) // (len(self.X) + len(self.X_unlabeled))
        n_unlabeled = n_rows - n_labeled
        return self._replace(
            X=grow(self.X, self.y, n_labeled, rng),
            y=np.resize(self.y, n_labeled),
            X_unlabeled=grow(self.X_unlabeled, self.y_unlabeled, n_unlabeled, rng),
            y_unlabeled=np.resize(self.y_unlabeled, n_unlabeled),
        )


def grow(X: np.ndarray, y: np.ndarray, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Rows, then copies of them up to a third of the way to another row of their class."""
    rows = np.arange(n_rows) % len(X)
    by_class = np.argsort(y, kind="stable")
    first = np.searchsorted(y[by_class], y[rows])
    others = by_class[first + rng.integers(np.bincount(y)[y[rows]])]
    way = rng.uniform(0, 1 / 3, size=(n_rows, 1)).astype(np.float32)
    way[: len(X)] = 0
    copies = X[rows] + way * (X[others] - X[rows])
    is_whole = (np.rint(X) == X).all(axis=0)
    copies[:, is_whole] = np.rint(copies[:, is_whole])
    return copies


def load_tables(
    folder: Path | None, wanted: list[str] | None
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """The paper's datasets, three of scikit-learn, and the NPZ files (X, y) of a folder."""

    def load_keel(name: str) -> tuple[np.ndarray, np.ndarray]:
        found = datasets.load(name)
        return found.data, found.target

    def load_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
        with np.load(path) as arrays:
            return arrays["X"], arrays["y"]

    loaders: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
        name: partial(load_keel, name)
        for name in ("segment", "texture", "optdigits", "satimage", "pendigits", "letter")
    }
    loaders["digits"] = partial(load_digits, return_X_y=True)
    loaders["wine"] = partial(load_wine, return_X_y=True)
    loaders["cancer"] = partial(load_breast_cancer, return_X_y=True)
    for path in sorted(folder.glob("*.npz")) if folder else ():
        loaders[path.stem] = partial(load_npz, path)
    for name, load in loaders.items():
        if wanted is None or name in wanted:
            yield name, *load()


def make_split(X: np.ndarray, y: np.ndarray, n_rows: int, seed: int) -> Split | None:
    rng = np.random.default_rng(seed)
    y = np.unique(y, return_inverse=True)[1]
    order = rng.permutation(len(X))[:n_rows]
    X, y = np.asarray(X[order], dtype=np.float32), y[order]
    hidden = rng.permutation(y.max() + 1)[: max(1, (y.max() + 1) // 2)]
    is_new = np.isin(y, hidden)
    n_test = len(X) // 5
    train = np.arange(n_test, len(X))
    known = train[~is_new[train]]
    labeled = known[: min(len(train) // 3, int(0.6 * len(known)))]
    unlabeled = np.setdiff1d(train, labeled)
    theta = is_new[unlabeled].mean()
    if not 0.02 < theta < 0.98 or len(labeled) < 20:
        return None
    truth = np.where(is_new, -1, y)
    return Split(
        X[labeled], y[labeled], X[unlabeled], y[unlabeled], theta, X[:n_test], truth[:n_test]
    )


def measure(topic: str, name: str, split: Split, seed: int) -> Iterator[dict[str, Any]]:
    for label, (kind, options) in TOPICS[topic].items():
        forest = FORESTS[kind](
            theta=split.theta, known_shares="labeled", random_state=seed, **options
        )
        cpu = time.process_time()
        forest.fit(split.X, split.y, X_unlabeled=split.X_unlabeled)
        cpu = time.process_time() - cpu
        yield {
            "topic": topic,
            "data": name,
            "rows": len(split.X) + len(split.X_unlabeled),
            "seed": seed,
            "setting": label,
            "accuracy": float((forest.predict(split.X_test) == split.truth).mean()),
            "cpu": round(cpu, 3),
            "nodes": len(forest._forest.nodes),
        }


def print_summary(results: list[dict[str, Any]]) -> None:
    """Mean differences by dataset and over all, each with its standard error."""
    by_key = {(row["data"], row["seed"], row["setting"]): row for row in results}
    settings = list(dict.fromkeys(row["setting"] for row in results))
    names = list(dict.fromkeys(row["data"] for row in results))
    for setting in settings[1:]:
        base = PAIRS.get(setting, settings[0])
        if setting in PAIRS.values():
            continue
        print(f"\n{setting} - {base}: accuracy (se), CPU time and nodes as shares")
        every = []
        for name in names:
            pairs = [
                (row, by_key[name, row["seed"], base])
                for row in results
                if row["data"] == name and row["setting"] == setting
            ]
            differences = [own["accuracy"] - other["accuracy"] for own, other in pairs]
            every += differences
            print(f"  {name:<10} " + _line(differences, pairs))
        print(f"  {'all':<10} {np.mean(every):+.4f} ({_error(every):.4f})")


def _error(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def _line(differences: list[float], pairs: list[tuple[Any, Any]]) -> str:
    cpu, nodes = (
        np.mean([own[key] / other[key] for own, other in pairs]) for key in ("cpu", "nodes")
    )
    accuracy = np.mean([other["accuracy"] for _, other in pairs])
    mean = np.mean(differences)
    return (
        f"{accuracy:.4f} {mean:+.4f} ({_error(differences):.4f}) cpu {cpu:.2f} nodes {nodes:.2f}, "
        f"{len(pairs)} splits of {pairs[0][0]['rows']} rows"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("topic", choices=list(TOPICS))
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--first-split", type=int, default=0, help="number of the first split")
    parser.add_argument("--tables", nargs="+", help="names of tables (default: all)")
    parser.add_argument("--rows", type=int, default=5_000, help="most rows of a table")
    parser.add_argument("--grow", type=int, metavar="N", help="copy training rows up to so many")
    parser.add_argument("--data", type=Path, help="folder of NPZ files with X and y")
    parser.add_argument("--results", type=Path, help="append one JSON line per fit")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = []
    for seed in range(options.first_split, options.first_split + options.splits):
        for name, X, y in load_tables(options.data, options.tables):
            split = make_split(X, y, options.rows, seed)
            if split and options.grow:
                split = split.grown(options.grow, seed)
            for row in measure(options.topic, name, split, seed) if split else ():
                results.append(row)
                if options.results:
                    with options.results.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
    print_summary(results)


if __name__ == "__main__":
    main()
