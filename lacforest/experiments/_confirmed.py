"""A confirmed class: a few rows of a new class get their labels, and the forest is fitted again.

The class is then labelled far more rarely than it is deployed. With the labelled shares most of its
rows would still be called new. Methods that end with ":promoted" follow the guide: they group the
rows that a first fit calls new, and hand theta and all shares over to the next fit.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from lacforest._utils.arguments import at_least, names
from lacforest._utils.version import __version__
from lacforest.discovery import NewClassGroups
from lacforest.ensemble.registry import FORESTS
from lacforest.experiments._experiment import Experiment, add_common, measure
from lacforest.experiments._runner import ResultsFile, run_jobs
from lacforest.experiments._tables import PrintedColumn, render
from lacforest.model_selection import AugmentedSplit, make_augmented_split

# Digits have 1,797 rows. Three classes are new, so that each has about 90 unlabelled rows.
_SPLIT: dict[str, Any] = {"hidden": 3, "n_labeled": 400, "n_unlabeled": 700, "theta": 0.4}
# Shares estimated, handed over by `next_fit`, as labelled, and true with the true theta: what an
# estimate cannot surpass.
METHODS = tuple(
    f"{name}{shares}"
    for name in ("lacextratrees", "lacforest")
    for shares in ("", ":promoted", ":labeled", ":true")
)
_COLUMNS = (
    PrintedColumn("method", "method"),
    PrintedColumn("confirmed rows", "n_rows", "d"),
    PrintedColumn("still called new", "called_new", ".3f"),
    PrintedColumn("+-", "called_new_error", ".3f"),
    PrintedColumn("recognised", "recognised", ".3f"),
    PrintedColumn("accuracy", "accuracy", ".3f"),
    PrintedColumn("error of theta", "theta_error", ".3f"),
)


@dataclass(frozen=True)
class ConfirmedOptions:
    """What to run.

    Parameters
    ----------
    methods : list of str
    n_rows : list of int
        Numbers of confirmed rows.
    n_seeds : int
    n_jobs : int, default=1
    seed : int, default=0
    """

    methods: Sequence[str]
    n_rows: Sequence[int]
    n_seeds: int
    n_jobs: int = 1
    seed: int = 0

    @property
    def configuration(self) -> dict[str, Any]:
        """What results depend on apart from the key of their job."""
        return {"experiment": "confirmed", "lacforest": __version__, "seed": self.seed}


class ConfirmedExperiment:
    """One fit per method, number of confirmed rows and seed.

    Parameters
    ----------
    options : ConfirmedOptions
    """

    def __init__(self, options: ConfirmedOptions) -> None:
        unknown = [method for method in options.methods if method not in METHODS]
        if unknown:
            raise ValueError(f"unknown method {unknown[0]!r}: choose among {', '.join(METHODS)}")
        self.options = options

    def run_job(self, job: tuple[str, int, int]) -> dict[str, float]:
        """Confirm rows of a new class, fit, and see what becomes of the others of that class."""
        method, n_rows, number = job
        name, _, shares = method.partition(":")
        X, y = load_digits(return_X_y=True)
        seed = 1000 * self.options.seed + number
        split = make_augmented_split(X, y, **_SPLIT, random_state=seed)
        rng = np.random.default_rng(seed)
        y_unlabeled, y_test = y[split.unlabeled], y[split.test]
        confirmed = rng.choice(np.setdiff1d(y, split.y_labeled))
        forest = FORESTS[name](random_state=seed)
        if shares == "promoted":
            chosen, parameters = _promote_groups(forest, split, y_unlabeled, confirmed, n_rows, rng)
            forest.set_params(**parameters)
        else:
            chosen = rng.choice(np.flatnonzero(y_unlabeled == confirmed), n_rows, replace=False)
        left = np.setdiff1d(np.arange(len(y_unlabeled)), chosen)
        y_left = y_unlabeled[left]
        known = np.append(np.unique(split.y_labeled), confirmed)
        is_known = np.isin(y_left, known)
        theta = float(1.0 - is_known.mean())
        if shares == "labeled":
            forest.set_params(known_shares="labeled")
        elif shares == "true":
            true = {label: float((y_left[is_known] == label).mean()) for label in known.tolist()}
            forest.set_params(theta=theta, known_shares=true)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            forest.fit(
                np.concatenate([split.X_labeled, split.X_unlabeled[chosen]]),
                np.append(split.y_labeled, np.full(len(chosen), confirmed)),
                X_unlabeled=split.X_unlabeled[left],
            )
        found = 0.0 if forest.theta_ is None else forest.theta_
        predicted = forest.predict(split.X_test)
        is_new = ~np.isin(y_test, forest.known_classes_)
        truth = np.where(is_new, forest.new_label_, y_test)
        theirs = y_test == confirmed
        return {
            "called_new": float((predicted[theirs] == forest.new_label_).mean()),
            "recognised": float((predicted[theirs] == confirmed).mean()),
            "accuracy": float((predicted == truth).mean()),
            "theta_error": abs(found - theta),
        }

    def run(self, results: ResultsFile) -> list[dict[str, Any]]:
        """One row of the table per method and number of rows."""
        options = self.options
        jobs = {
            f"{method}/{n_rows}/{number}": (method, n_rows, number)
            for n_rows in options.n_rows
            for method in options.methods
            for number in range(options.n_seeds)
        }
        found = run_jobs(jobs, self.run_job, results, options.n_jobs)
        rows = []
        for n_rows in options.n_rows:
            for method in options.methods:
                runs = [found[f"{method}/{n_rows}/{k}"] for k in range(options.n_seeds)]
                row: dict[str, Any] = {"method": method, "n_rows": n_rows, "called_new_error": None}
                for measured in runs[0]:
                    row[measured] = float(np.mean([run[measured] for run in runs]))
                if len(runs) > 1:
                    spread = np.std([run["called_new"] for run in runs], ddof=1)
                    row["called_new_error"] = float(spread / np.sqrt(len(runs)))
                rows.append(row)
        return rows


def _promote_groups(
    forest: Any,
    split: AugmentedSplit,
    y_unlabeled: NDArray[np.intp],
    confirmed: int,
    n_rows: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.intp], dict[str, Any]]:
    """Fit, group the rows called new, and promote the groups that look like the confirmed class.

    A person recognises a group by the five rows nearest to its centre: three of the class are
    enough. Rows of the class in these groups are then verified at random.

    Returns
    -------
    verified : int array
        Positions among the unlabelled rows; fewer than `n_rows` where the groups have no more.
    parameters : dict
        Of the next fit.
    """
    forest.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)
    flagged = np.flatnonzero(forest.predict(split.X_unlabeled) == forest.new_label_)
    X_new, is_confirmed = split.X_unlabeled[flagged], y_unlabeled[flagged] == confirmed
    groups = NewClassGroups().fit(
        X_new,
        X_labeled=split.X_labeled,
        y_labeled=split.y_labeled,
        score=forest.novelty_score(X_new),
    )
    named = [
        group
        for group, nearest in enumerate(groups.nearest_rows_)
        if is_confirmed[nearest].mean() > 0.5
    ]
    if not named:  # the class is scattered over groups: the one with most of its rows
        named = [int(np.bincount(groups.labels_[is_confirmed]).argmax())]
    candidates = np.flatnonzero(is_confirmed & np.isin(groups.labels_, named))
    verified = rng.choice(candidates, min(n_rows, len(candidates)), replace=False)
    groups.promote({groups.group_names_[group]: confirmed for group in named}, verified)
    return flagged[verified], groups.next_fit(forest)


def _counts(text: str) -> list[int]:
    return [at_least(1)(entry) for entry in names(text)]


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--methods", type=names, default=",".join(METHODS), help="names, with commas")
    add("--rows", type=_counts, default="10,20,40", help="confirmed rows, with commas")
    add("--seeds", type=at_least(1), default=8, metavar="N", help="choices of classes and rows")
    add_common(parser, "confirmed", "jobs in parallel")


def _run(given: argparse.Namespace) -> str:
    options = ConfirmedOptions(
        given.methods, given.rows, given.seeds, n_jobs=given.jobs, seed=given.seed
    )
    return render(_COLUMNS, measure(ConfirmedExperiment, options, given), {}, given.format)


CONFIRMED = Experiment(
    name="confirmed",
    help="a few rows of a new class get labels: is the class still called new?",
    description="Digits with three new classes; some rows of one of them get their labels, and the "
    "forest is fitted again.",
    example="--rows 10 --seeds 2 --methods lacextratrees",
    add_options=_add_options,
    run=_run,
)
