"""Wide tables, with more columns than rows: theta, and the rival recipe beside our forests.

Six classes of which three are new, 300 columns of which 30 tell classes apart, and 50 labelled and
100 unlabelled rows by default. `separation` is how far the classes lie apart.

    python asv_benchmarks/compare_wide.py
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from lacforest.experiments._evaluation import evaluate
from lacforest.experiments._methods import make_method
from lacforest.model_selection import AugmentedSplit, make_augmented_split

METHODS = ("lacextratrees", "lacforest", "discriminator")
SEPARATIONS = (1.0, 2.0, 4.0)


def make_split(separation: float, given: argparse.Namespace, seed: int) -> AugmentedSplit:
    X, y = make_classification(
        6 * (given.labeled + given.unlabeled + 500),
        given.columns,
        n_informative=30,
        n_redundant=0,
        n_classes=6,
        n_clusters_per_class=1,
        class_sep=separation,
        random_state=seed,
    )
    return make_augmented_split(
        X,
        y,
        n_labeled=given.labeled,
        n_unlabeled=given.unlabeled,
        n_test=500,
        theta=0.5,
        random_state=seed,
    )


def measure(method: str, split: AugmentedSplit, seed: int) -> tuple[float, float, bool]:
    """Accuracy, estimated theta, and whether its interval holds the true one."""
    model: Any = make_method(method, split.theta, seed, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)
    low, high = getattr(model, "theta_interval_", None) or (np.nan, np.nan)
    accuracy = evaluate(model, split.X_test, split.y_test, split.new_label)["accuracy"]
    return accuracy, model.theta_, bool(low <= split.theta <= high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labeled", type=int, default=50)
    parser.add_argument("--unlabeled", type=int, default=100)
    parser.add_argument("--columns", type=int, default=300)
    parser.add_argument("--splits", type=int, default=5)
    given = parser.parse_args()
    print("separation  method         accuracy  theta   bias  error  interval holds theta")
    for separation in SEPARATIONS:
        splits = [make_split(separation, given, seed) for seed in range(given.splits)]
        for method in METHODS:
            found = [measure(method, split, seed) for seed, split in enumerate(splits)]
            accuracy, theta, holds = np.array(found, dtype=float).T
            covered = "-" if method == "discriminator" else f"{holds.mean():.0%}"
            print(
                f"{separation:<11} {method:<14} {accuracy.mean():8.3f} {theta.mean():6.3f}"
                f" {(theta - 0.5).mean():+6.3f} {np.abs(theta - 0.5).mean():6.3f}  {covered}",
                flush=True,
            )


if __name__ == "__main__":
    main()
