"""Neighbouring libraries on one table: what each can say about rows of a class nobody labelled.

Handwritten digits with half of the classes hidden, 350 labelled rows, 500 unlabelled ones of which
40% are new, and 350 test rows. A library that only scores rows is completed by a random forest of
scikit-learn for the known classes, and calls new what its own default threshold flags. Libraries
that are not installed are left out.

    python -m pip install pulearn pyod alibi-detect river ydf cleanlab
    python asv_benchmarks/compare_neighbours.py
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.metrics import roc_auc_score

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest.experiments._discriminator import DiscriminatorForest
from lacforest.model_selection import AugmentedSplit, make_augmented_split


class Answer(NamedTuple):
    """Novelty of the test rows, which of them are called new, and theta, where there is one."""

    novelty: Any
    is_new: Any = None
    theta: float | None = None
    labels: Any = None


def lacforest(forest: Any) -> Callable[[AugmentedSplit], Answer]:
    def run(split: AugmentedSplit) -> Answer:
        forest.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)
        labels = forest.predict(split.X_test)
        novelty = forest.novelty_score(split.X_test)
        return Answer(novelty, labels == forest.new_label_, forest.theta_, labels)

    return run


def discriminator(split: AugmentedSplit) -> Answer:
    model = DiscriminatorForest(0, 1).fit(split.X_labeled, split.y_labeled, split.X_unlabeled)
    found = model.predict_proba(split.X_test)
    labels = model.classes_[found.argmax(axis=1)]
    novelty = found[:, model.new_class_index_]
    return Answer(novelty, labels == model.classes_[model.new_class_index_], model.theta_, labels)


def isolation_forest(split: AugmentedSplit) -> Answer:
    model = IsolationForest(random_state=0).fit(split.X_labeled)
    return Answer(-model.score_samples(split.X_test), model.predict(split.X_test) == -1)


def pulearn(split: AugmentedSplit) -> Answer:
    from pulearn import ElkanotoPuClassifier

    forest = RandomForestClassifier(random_state=0)
    model = ElkanotoPuClassifier(forest, hold_out_ratio=0.2, random_state=0)
    X = np.vstack([split.X_labeled, split.X_unlabeled])
    s = np.repeat([1, 0], [len(split.X_labeled), len(split.X_unlabeled)])
    model.fit(X, s)
    known = np.clip(np.asarray(model.predict_proba(split.X_test))[:, 1], 0, None)
    return Answer(-known, known < 0.5)


def pyod(split: AugmentedSplit) -> Answer:
    from pyod.models.knn import KNN

    model = KNN().fit(split.X_labeled)
    return Answer(model.decision_function(split.X_test), model.predict(split.X_test) == 1)


def alibi_detect(split: AugmentedSplit) -> Answer:
    from alibi_detect.od import IForest

    model = IForest(threshold=None)
    model.fit(split.X_labeled)
    model.infer_threshold(split.X_labeled, threshold_perc=95)
    found = model.predict(split.X_test, return_instance_score=True)["data"]
    return Answer(found["instance_score"], np.asarray(found["is_outlier"]) == 1)


def river(split: AugmentedSplit) -> Answer:
    from river.anomaly import HalfSpaceTrees

    model = HalfSpaceTrees(n_trees=50, height=10, window_size=100, seed=0)
    high = split.X_labeled.max(axis=0) + 1.0
    rows = [dict(enumerate(row)) for row in split.X_labeled / high]
    for row in rows * 3:
        model.learn_one(row)
    return Answer([model.score_one(dict(enumerate(row))) for row in split.X_test / high])


def ydf(split: AugmentedSplit) -> Answer:
    import ydf as package

    package.verbose(0)
    names = [f"x{i}" for i in range(split.X_labeled.shape[1])]
    learner = package.IsolationForestLearner(features=names)
    model = learner.train(dict(zip(names, split.X_labeled.T, strict=True)))
    return Answer(model.predict(dict(zip(names, split.X_test.T, strict=True))))


def cleanlab(split: AugmentedSplit) -> Answer:
    from cleanlab.outlier import OutOfDistribution

    model = OutOfDistribution()
    model.fit_score(features=split.X_labeled, verbose=False)
    return Answer(-model.score(features=split.X_test))


METHODS: dict[str, tuple[str, Callable[[AugmentedSplit], Answer]]] = {
    "LACForestClassifier": ("lacforest", lacforest(LACForestClassifier(random_state=0))),
    "LACExtraTreesClassifier": ("lacforest", lacforest(LACExtraTreesClassifier(random_state=0))),
    "discriminator (two forests)": ("scikit-learn", discriminator),
    "IsolationForest": ("scikit-learn", isolation_forest),
    "ElkanotoPuClassifier": ("pulearn", pulearn),
    "KNN": ("pyod", pyod),
    "IForest": ("alibi-detect", alibi_detect),
    "HalfSpaceTrees": ("river", river),
    "IsolationForestLearner": ("ydf", ydf),
    "OutOfDistribution": ("cleanlab", cleanlab),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    given = parser.parse_args()
    X, y = load_digits(return_X_y=True)
    splits = [
        make_augmented_split(
            X, y, n_labeled=350, n_unlabeled=500, n_test=350, theta=0.4, random_state=seed
        )
        for seed in range(5)
    ]
    print(f"{'method':<28} {'library':<20} {'AUC':>6} {'accuracy':>9} {'theta':>6} {'seconds':>8}")
    for name in given.methods:
        package, run = METHODS[name]
        scores = []
        try:
            library = f"{package} {version(package)}"
            for split in splits:
                before = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    answer = run(split)
                scores.append((*measure(split, answer), time.process_time() - before))
        except (ImportError, PackageNotFoundError) as error:
            print(f"{name:<28} {package:<20} not run: {error}")
            continue
        auc, accuracy, theta, seconds = np.mean(np.array(scores, dtype=float), axis=0)
        cells = [f"{value:.3f}" if np.isfinite(value) else "-" for value in (auc, accuracy, theta)]
        print(
            f"{name:<28} {library:<20} {cells[0]:>6} {cells[1]:>9} {cells[2]:>6} {seconds:8.2f}",
            flush=True,
        )


def measure(split: AugmentedSplit, answer: Answer) -> tuple[float, float, float]:
    """AUC of the new class, accuracy over known classes and new, theta; NaN where there is none."""
    is_new = ~np.isin(split.y_test, split.known)
    auc = roc_auc_score(is_new, answer.novelty)
    accuracy = np.nan
    if answer.is_new is not None:
        labels = answer.labels
        if labels is None:
            forest = RandomForestClassifier(random_state=0).fit(split.X_labeled, split.y_labeled)
            labels = forest.predict(split.X_test)
        right = np.where(is_new, answer.is_new, ~answer.is_new & (labels == split.y_test))
        accuracy = right.mean()
    return float(auc), float(accuracy), np.nan if answer.theta is None else answer.theta


if __name__ == "__main__":
    main()
