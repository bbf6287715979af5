"""Two builds of lacforest on the same splits of the suite: accuracy and macro-F1, paired, by table.

The methods of the other build run under its interpreter; nothing is built here:

    python asv_benchmarks/compare_accuracy.py old/.venv/bin/python --regime "few new" --seed 7301

Every method has the name it has in `lacforest experiments`; after "before:" it is that of the other
build, and after "again:" that of the other build with another random_state, which shows by how much
two forests differ that differ by chance alone. The first method is held against each other one.
"""

from __future__ import annotations

import argparse
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest, chi2, t

FORESTS = {"lacforest": "LACForestClassifier", "lacextratrees": "LACExtraTreesClassifier"}
MEASURES = {"accuracy": "accuracy", "macro_f1": "macro-F1"}
# Two forests with equal values of all of these on a split are taken for alike there.
ALL_MEASURES = (*MEASURES, "auc")
# By table and measure, one value per split, in points.
Scores = dict[str, dict[str, np.ndarray]]


class Build:
    """A process that fits forests under another interpreter."""

    def __init__(self, interpreter: str) -> None:
        self._process = subprocess.Popen(
            [interpreter, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def call(self, *task: Any) -> Any:
        """Send a task to the process and wait for its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pickle.dump(task, self._process.stdin)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


class OtherForest:
    """A forest of another build, as far as the suite needs it."""

    def __init__(self, build: Build, name: str, random_state: int) -> None:
        self._build = build
        self._options = {"name": FORESTS[name], "random_state": random_state}

    def fit(self, X: Any, y: Any, X_unlabeled: Any) -> OtherForest:
        task = (self._options, X, y, X_unlabeled)
        self.classes_, self.new_class_index_, self.theta_ = self._build.call("fit", *task)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        found: np.ndarray = self._build.call("predict", X)
        return found


def serve() -> None:
    """Fit and predict as told until the other side closes."""
    import warnings

    import lacforest

    warnings.simplefilter("ignore")
    forest: Any = None
    while True:
        try:
            work, *task = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        if work == "fit":
            options, X, y, X_unlabeled = task
            kind = getattr(lacforest, options["name"])
            forest = kind(random_state=options["random_state"], n_jobs=1)
            forest.fit(X, y, X_unlabeled=X_unlabeled)
            answer: Any = forest.classes_, forest.new_class_index_, forest.theta_
        else:
            answer = forest.predict_proba(task[0])
        pickle.dump(answer, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def other_methods(build: Build) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The forests of the other build, each with the seed of the split and with another one."""

    def make(name: str, shift: int, theta: float, random_state: int, n_jobs: int | None) -> Any:
        return OtherForest(build, name, random_state ^ shift)

    for name in FORESTS:
        yield f"before:{name}", partial(make, name, 0)
        yield f"again:{name}", partial(make, name, 1)


class Comparison:
    """Paired differences of one measure between two methods, in points, by table."""

    def __init__(self, differences: list[np.ndarray]) -> None:
        self.means = np.array([values.mean() for values in differences])
        self.n_splits = np.array([len(values) for values in differences])
        deviations = np.array([values.std(ddof=1) for values in differences])
        self.errors = deviations / np.sqrt(self.n_splits)
        # Methods that never differ have neither an error nor a difference.
        self.t = np.divide(
            self.means, self.errors, out=np.zeros_like(self.means), where=self.errors > 0
        )

    def describe(self) -> str:
        """What holds for all tables together."""
        n = len(self.means)
        freedom = self.n_splits - 1
        # Squares of normal variables that are as improbable as each t, so that their sum is a
        # chi-square variable whatever the number of splits.
        square = float(chi2.isf(2 * t.sf(np.abs(self.t), freedom), 1).sum())
        chance = float(t.sf(1, freedom).mean())
        below = int((self.t < -1).sum())
        by_splits = np.sqrt(np.square(self.errors).sum()) / n
        return (
            f"mean {self.means.mean():+.3f}, s.e. {self.means.std(ddof=1) / n**0.5:.3f} over "
            f"tables, {by_splits:.3f} over splits of these tables; sum of squares of t "
            f"{square:.1f} for {n} tables (p = {chi2.sf(square, n):.4f}); below -1 s.e. {below}, "
            f"by chance {n * chance:.1f} (p = "
            f"{binomtest(below, n, chance, alternative='greater').pvalue:.3f}); "
            f"above +1 s.e. {int((self.t > 1).sum())}"
        )


def print_comparison(tables: list[str], first: Scores, other: Scores) -> None:
    """One line per table, then what holds for all."""
    by_measure = {
        title: Comparison([first[name][key] - other[name][key] for name in tables])
        for key, title in MEASURES.items()
    }
    heads = "".join(f"{title:>10}    s.e.      t" for title in MEASURES.values())
    print(f"table        splits  alike  {'first':>6}  {'other':>6}{heads}")
    for i, name in enumerate(tables):
        alike = np.all([first[name][key] == other[name][key] for key in ALL_MEASURES], axis=0)
        line = f"{name:<12} {len(alike):6} {alike.sum():6}"
        for scores in (first, other):
            line += f"  {scores[name]['accuracy'].mean():6.2f}"
        for found in by_measure.values():
            line += f"{found.means[i]:+10.2f} {found.errors[i]:7.2f} {found.t[i]:+6.1f}"
        print(line)
    for title, found in by_measure.items():
        if len(tables) > 1:
            print(f"{title}: {found.describe()}")


def measure(given: argparse.Namespace) -> Any:
    """All results of the wanted splits, from this run or an earlier one."""
    from lacforest.experiments import _suite
    from lacforest.experiments._learning import LearningExperiment, LearningOptions
    from lacforest.experiments._methods import register_method
    from lacforest.experiments._runner import ResultsFile

    build = Build(given.interpreter)
    for name, factory in other_methods(build):
        register_method(name, factory)
    options = LearningOptions(
        name="suite",
        datasets=given.tables or (*_suite.DEVELOPMENT, *_suite.CHECKING),
        methods=given.methods,
        settings=(_suite.REGIMES[given.regime],),
        n_choices=given.choices,
        n_samples=1,
        n_test=_suite.N_TEST,
        drops_small=True,
        seed=given.seed,
        folder=given.data,
    )
    with ResultsFile(given.results, options.configuration) as file:
        results = LearningExperiment(options).run(file)
    build.close()
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("interpreter", nargs="?", metavar="python", help="of the other build")
    parser.add_argument("--tables", nargs="+", help="default: all of the suite with enough rows")
    parser.add_argument("--methods", nargs="+", default=["lacextratrees", "before:lacextratrees"])
    parser.add_argument("--regime", default="few new", help="of the suite")
    parser.add_argument("--choices", type=int, default=20, help="splits, each of its own classes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, help="folder of NPZ files with X and y")
    parser.add_argument("--results", type=Path, default=Path("accuracy.jsonl"))
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
        return
    if given.interpreter is None:
        parser.error("name the interpreter of the other build")
    lists: dict[str, dict[str, dict[str, list[float]]]] = {}
    for job, result in measure(given):
        own = lists.setdefault(job.method, {}).setdefault(job.dataset, {})
        for key in ALL_MEASURES:
            own.setdefault(key, []).append(100 * result[key])
    scores = {
        method: {
            name: {key: np.array(values) for key, values in own.items()}
            for name, own in tables.items()
        }
        for method, tables in lists.items()
    }
    first = given.methods[0]
    for other in given.methods[1:]:
        print(f"{first} less {other}, in points")
        print_comparison(list(scores[first]), scores[first], scores[other])
        print()


if __name__ == "__main__":
    main()
