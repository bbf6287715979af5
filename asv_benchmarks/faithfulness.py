"""Accuracy under the paper's protocol, beside the figures of its Table 1.

Half of the classes hidden, 500 labelled, 1,000 unlabelled and 100 test rows, theta = 0.5 given.

    python asv_benchmarks/faithfulness.py --splits 30
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score, roc_auc_score

from benchmarks import keel
from lacforest import LACForestClassifier

# Table 1 of the paper (accuracy), where theta is estimated.
PAPER = {
    "segment": 0.9436,
    "texture": 0.9151,
    "optdigits": 0.9260,
    "satimage": 0.8791,
    "pendigits": 0.9281,
    "letter": 0.7402,
}
NEW = -1


def split(
    y: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], dict[str, NDArray[np.intp]]]:
    """Labels with hidden classes as NEW, and the rows of each part."""
    n_classes = y.max() + 1
    hidden = rng.choice(n_classes, size=n_classes // 2, replace=False)
    truth = np.where(np.isin(y, hidden), NEW, y)
    known = rng.permutation(np.flatnonzero(truth != NEW))
    new = rng.permutation(np.flatnonzero(truth == NEW))
    rows = {
        "labeled": known[:500],
        "unlabeled": np.concatenate([known[500:1000], new[:500]]),
        "test": np.concatenate([known[1000:1050], new[500:550]]),
    }
    return truth, rows


def run(name: str, n_splits: int, seed: int, n_jobs: int) -> NDArray[np.float64]:
    """Accuracy, macro-F1 and AUC of each split."""
    X, y = keel.load(name)
    results = []
    for i in range(n_splits):
        rng = np.random.default_rng([seed, i])
        truth, rows = split(y, rng)
        forest = LACForestClassifier(theta=0.5, random_state=i, n_jobs=n_jobs)
        forest.fit(X[rows["labeled"]], truth[rows["labeled"]], X_unlabeled=X[rows["unlabeled"]])
        test, expected = X[rows["test"]], truth[rows["test"]]
        predicted = forest.predict(test)
        results.append(
            (
                (predicted == expected).mean(),
                f1_score(expected, predicted, average="macro"),
                roc_auc_score(expected == NEW, forest.novelty_score(test)),
            )
        )
    return np.array(results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--n-jobs", type=int, default=2)
    options = parser.parse_args()
    print(f"{'dataset':<10} {'accuracy':>16} {'paper':>7} {'macro-F1':>9} {'AUC':>7}")
    for name, figure in PAPER.items():
        results = run(name, options.splits, options.seed, options.n_jobs)
        accuracy, f1, auc = results.mean(axis=0)
        mark = "" if accuracy >= figure else "  below the paper"
        print(
            f"{name:<10} {accuracy:>8.4f} ± {results[:, 0].std():.4f} {figure:>7.4f} "
            f"{f1:>9.4f} {auc:>7.4f}{mark}",
            flush=True,
        )


if __name__ == "__main__":
    main()
