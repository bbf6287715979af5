"""Shapley values of the new class beside predict_proba and the shap package, in one run.

Each forest has 100 trees and explains 10,000 rows. The three take turns; each time is the shortest
of several, in seconds of the processor, one thread each. The shap package is slow: it explains
fewer rows, and its time is scaled up to all of them.

    python asv_benchmarks/compare_shap.py
    python asv_benchmarks/compare_shap.py --datasets satimage --peer-rows 500
"""

from __future__ import annotations

import argparse
import importlib.util
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import lacforest
from lacforest import datasets
from lacforest.export import to_sklearn_like
from lacforest.inspection import shap_values
from lacforest.model_selection import make_augmented_split

N_TREES = 100
N_ROWS = 10_000
FORESTS = ("LACForestClassifier", "LACExtraTreesClassifier")


def fit(name: str, forest: str) -> tuple[Any, np.ndarray]:
    """A forest under the paper's protocol, and rows to explain: the table, some rows repeated."""
    dataset = datasets.load(name)
    split = make_augmented_split(dataset.data, dataset.target, n_test=0, random_state=0)
    model = getattr(lacforest, forest)(N_TREES, theta=split.theta, n_jobs=1, random_state=0)
    model.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)
    rows = np.random.default_rng(0).permutation(np.resize(np.arange(len(split.X)), N_ROWS))
    return model, np.asarray(split.X)[rows]


def shortest(tasks: dict[str, Callable[[], Any]], repeat: int) -> dict[str, float]:
    best = dict.fromkeys(tasks, float("inf"))
    for _ in range(repeat):
        for name, task in tasks.items():
            before = time.process_time()
            task()
            best[name] = min(best[name], time.process_time() - before)
    return best


def compare(name: str, forest: str, repeat: int, n_peer: int) -> None:
    model, X = fit(name, forest)
    tasks = {"predict_proba": lambda: model.predict_proba(X), "ours": lambda: shap_values(model, X)}
    if importlib.util.find_spec("shap"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import shap

            explainer = shap.TreeExplainer(to_sklearn_like(model))
        tasks["shap"] = lambda: explainer.shap_values(X[:n_peer])
        theirs = tasks["shap"]()[..., model.new_class_index_]
        difference = np.abs(theirs - shap_values(model, X[:n_peer]).values).max()
        assert difference < 1e-6, difference
    times = shortest(tasks, repeat)
    line = (
        f"{name:<10} {forest:<24} predict_proba {1e3 * times['predict_proba']:7.1f} ms   "
        f"shap_values {1e3 * times['ours']:7.0f} ms = "
        f"{times['ours'] / times['predict_proba']:5.1f} x predict_proba"
    )
    if "shap" in times:
        scaled = times["shap"] * N_ROWS / n_peer
        line += f"   shap {scaled:7.0f} s = {scaled / times['ours']:5.0f} x shap_values"
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", default="segment,optdigits,satimage,pendigits,texture,letter")
    parser.add_argument("--forests", default=",".join(FORESTS))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--peer-rows", type=int, default=100, help="rows that shap explains")
    given = parser.parse_args()
    for forest in given.forests.split(","):
        for name in given.datasets.split(","):
            compare(name, forest, given.repeat, given.peer_rows)


if __name__ == "__main__":
    main()
