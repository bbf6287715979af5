"""How well and how fast theta is estimated, on the paper's datasets."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacforest import __version__, datasets
from lacforest.experiments._dense_qp import dense_theta
from lacforest.experiments._runner import ResultsFile, run_jobs
from lacforest.mixture import make_estimator
from lacforest.model_selection import AugmentedSplit, make_augmented_split

DATASETS = ("segment", "texture", "optdigits", "satimage", "pendigits", "letter")
METHODS = ("auto", "km1", "km2")
INTERVALS = ("auto", "rank_mixture", "best_bin")
PERCENTS = (10, 30, 50, 70, 90)
DENSE = "dense_qp"
LEVEL = 0.9
N_LABELED = 500
N_UNLABELED = 1000


@dataclass(frozen=True)
class ThetaOptions:
    """What to run. Theta is in percent: keys and seeds need exact numbers.

    Parameters
    ----------
    datasets, methods : list of str
        By name, see `lacforest.datasets.load` and `lacforest.mixture.make_estimator`.
    percents : list of int
        Values of theta times 100.
    n_splits : int, default=10
        Splits for each dataset and theta.
    intervals : list of str
        Methods that give an interval too. It takes the others some hundred times their estimate.
    n_dense : int, default=0
        Splits of each dataset, at the middle theta, on which the dense-QP route is timed.
    n_jobs : int, default=1
        Threads of an estimator.
    seed : int, default=0
        Chooses all splits.
    folder : path or None, default=None
        Folder with datasets.
    """

    datasets: Sequence[str] = DATASETS
    methods: Sequence[str] = METHODS
    percents: Sequence[int] = PERCENTS
    n_splits: int = 10
    intervals: Sequence[str] = INTERVALS
    n_dense: int = 0
    n_jobs: int = 1
    seed: int = 0
    folder: str | os.PathLike[str] | None = None

    @property
    def configuration(self) -> dict[str, Any]:
        """What results depend on apart from the key of their job."""
        return {
            "experiment": "theta",
            "lacforest": __version__,
            "seed": self.seed,
            "n_jobs": self.n_jobs,
            "n_labeled": N_LABELED,
            "n_unlabeled": N_UNLABELED,
            "level": LEVEL,
            "intervals": sorted(self.intervals),
        }


@dataclass(frozen=True)
class ThetaJob:
    """One method on one split."""

    dataset: str
    percent: int
    split: int
    method: str

    @property
    def key(self) -> str:
        """What its result is kept under."""
        return f"{self.dataset}/{self.percent}/{self.split}/{self.method}"


def make_jobs(options: ThetaOptions) -> dict[str, ThetaJob]:
    """Every method on every split, and the dense-QP route on a few."""
    middle = sorted(options.percents)[len(options.percents) // 2]
    jobs = []
    for dataset in options.datasets:
        for percent in options.percents:
            for split in range(options.n_splits):
                n_dense = options.n_dense if percent == middle else 0
                methods = [*options.methods, *([DENSE] if split < n_dense else [])]
                jobs += [ThetaJob(dataset, percent, split, method) for method in methods]
    return {job.key: job for job in jobs}


class ThetaExperiment:
    """Loads the datasets and tries the method names, so that mistakes show at once.

    Parameters
    ----------
    options : ThetaOptions
        What to run.
    """

    def __init__(self, options: ThetaOptions) -> None:
        self.options = options
        self._tables = {name: datasets.load(name, options.folder) for name in options.datasets}
        for method in options.methods:
            make_estimator(method)

    def draw(self, job: ThetaJob) -> tuple[AugmentedSplit, int]:
        """The split of a job and the seed of its method: the same ones for every method."""
        name = zlib.crc32(job.dataset.encode())
        seeds = np.random.SeedSequence([self.options.seed, name, job.percent, job.split])
        of_split, of_method = (int(word) for word in seeds.generate_state(2))
        table = self._tables[job.dataset]
        split = make_augmented_split(
            table.data,
            table.target,
            n_labeled=N_LABELED,
            n_unlabeled=N_UNLABELED,
            n_test=0,
            theta=job.percent / 100,
            on_shortage="shrink",
            random_state=of_split,
        )
        return split, of_method

    def run_job(self, job: ThetaJob) -> dict[str, Any]:
        """Estimate theta once; seconds include scores and interval."""
        split, seed = self.draw(job)
        X, X_unlabeled = split.X_labeled, split.X_unlabeled
        interval: Sequence[float] | None = None
        started = time.perf_counter()
        if job.method == DENSE:
            estimate = dense_theta(X, X_unlabeled)
        else:
            estimator = make_estimator(
                job.method, level=LEVEL, random_state=seed, n_jobs=self.options.n_jobs
            )
            if job.method not in self.options.intervals:
                estimator.set_params(n_bootstrap=0)
            estimator.fit(X, X_unlabeled)
            estimate, interval = estimator.theta_, estimator.interval_
        seconds = time.perf_counter() - started
        return {
            "theta": split.theta,
            "estimate": float(estimate),
            "interval": None if interval is None else [float(end) for end in interval],
            "seconds": seconds,
            "n_labeled": len(X),
            "n_unlabeled": len(X_unlabeled),
        }

    def run(self, results: ResultsFile) -> list[tuple[ThetaJob, dict[str, Any]]]:
        """Every job with its result, of this run or of an earlier one."""
        jobs = make_jobs(self.options)
        found = run_jobs(jobs, self.run_job, results)
        return [(job, found[key]) for key, job in jobs.items()]
