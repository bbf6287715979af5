"""Accuracy and speed of the estimators of theta, on the paper's datasets."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacforest import datasets
from lacforest._utils.version import __version__
from lacforest.ensemble import LACForestClassifier
from lacforest.experiments._dense_qp import dense_theta, svc_scores
from lacforest.experiments._runner import ResultsFile, run_jobs
from lacforest.mixture import (
    KernelMeanEmbedding,
    RankMixture,
    ThetaEstimator,
    diagnose,
    make_estimator,
)
from lacforest.model_selection import AugmentedSplit, make_augmented_split

DATASETS = ("segment", "texture", "optdigits", "satimage", "pendigits", "letter")
METHODS = ("auto", "km1", "km2")
INTERVALS = ("auto", "rank_mixture", "best_bin")
PERCENTS = (0, 5, 10, 20, 50, 80)
DENSE = "dense_qp"
# The job that times the default estimator and a fit of the forest on a large synthetic table.
LARGE = "large"
LEVEL = 0.9
N_LABELED = 500
N_UNLABELED = 1000


@dataclass(frozen=True)
class ThetaOptions:
    """Options of the experiment. Theta is in percent, because keys and seeds need exact numbers.

    Parameters
    ----------
    datasets, methods : list of str
        Names as in `lacforest.datasets.load` and `lacforest.mixture.make_estimator`.
    percents : list of int
        Values of theta times 100.
    n_splits : int, default=10
        Number of splits per dataset and theta.
    intervals : list of str
        Methods with an interval. For others it would take about a hundred times the estimate.
    n_dense : int, default=0
        Number of splits per dataset, at the middle theta, on which the dense QP is timed.
    n_large : int or None, default=None
        Number of labelled and of unlabelled rows of a synthetic table on which the default and a
        fit of the forest are timed.
    n_jobs : int, default=1
        Number of threads of an estimator.
    seed : int, default=0
        Seed of all splits.
    folder : path or None, default=None
        Folder with datasets.
    """

    datasets: Sequence[str] = DATASETS
    methods: Sequence[str] = METHODS
    percents: Sequence[int] = PERCENTS
    n_splits: int = 10
    intervals: Sequence[str] = INTERVALS
    n_dense: int = 0
    n_large: int | None = None
    n_jobs: int = 1
    seed: int = 0
    folder: str | os.PathLike[str] | None = None

    @property
    def configuration(self) -> dict[str, Any]:
        """Settings that results depend on, apart from the key of the job."""
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
    """One method on one split; for the large table, `split` is the number of rows."""

    dataset: str
    percent: int
    split: int
    method: str

    @property
    def key(self) -> str:
        """Key of its result."""
        return f"{self.dataset}/{self.percent}/{self.split}/{self.method}"


def make_jobs(options: ThetaOptions) -> dict[str, ThetaJob]:
    """Every method on every split, the dense QP on a few, and a large table."""
    middle = sorted(options.percents)[len(options.percents) // 2]
    jobs = []
    for dataset in options.datasets:
        for percent in options.percents:
            for split in range(options.n_splits):
                n_dense = options.n_dense if percent == middle else 0
                methods = [*options.methods, *([DENSE] if split < n_dense else [])]
                jobs += [ThetaJob(dataset, percent, split, method) for method in methods]
    if options.n_large is not None:
        jobs.append(ThetaJob("blobs", middle, options.n_large, LARGE))
    return {job.key: job for job in jobs}


class ThetaExperiment:
    """The experiment; mistakes in names of datasets and methods are found at once.

    Parameters
    ----------
    options : ThetaOptions
        The options.
    """

    def __init__(self, options: ThetaOptions) -> None:
        self.options = options
        self._tables = {name: datasets.load(name, options.folder) for name in options.datasets}
        for method in options.methods:
            make_estimator(method)

    def draw(self, job: ThetaJob) -> tuple[AugmentedSplit, int]:
        """The split of a job and the seed of its method; they are the same for every method."""
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
        if job.method == LARGE:
            return _run_large(job, self.options.n_jobs)
        split, seed = self.draw(job)
        X, X_unlabeled = split.X_labeled, split.X_unlabeled
        if job.method == DENSE:
            return _run_dense(split)
        started = time.perf_counter()
        estimator = make_estimator(
            job.method, level=LEVEL, random_state=seed, n_jobs=self.options.n_jobs
        )
        if job.method not in self.options.intervals:
            estimator.set_params(n_bootstrap=0)
        estimator.fit(X, X_unlabeled)
        seconds = time.perf_counter() - started
        interval = estimator.interval_
        return {
            "theta": split.theta,
            "estimate": float(estimator.theta_),
            "interval": None if interval is None else [float(end) for end in interval],
            "seconds": seconds,
            "n_labeled": len(X),
            "n_unlabeled": len(X_unlabeled),
            **_findings(estimator, split, seed),
        }

    def run(self, results: ResultsFile) -> list[tuple[ThetaJob, dict[str, Any]]]:
        """Every job with its result, from this run or an earlier one."""
        jobs = make_jobs(self.options)
        found = run_jobs(jobs, self.run_job, results)
        return [(job, found[key]) for key, job in jobs.items()]


def _findings(estimator: ThetaEstimator, split: AugmentedSplit, seed: int) -> dict[str, Any]:
    """Whether theta is identifiable by `diagnose`, and the p-value of "nothing is new"."""
    if not isinstance(estimator, RankMixture) or estimator.interval_ is None:
        return {}
    report = diagnose(
        split.X_labeled,
        split.X_unlabeled,
        split.y_labeled,
        estimator=estimator,
        random_state=seed,
        n_jobs=1,
    )
    doubts = {found.topic for found in report.findings if found.level != "ok"}
    identified = doubts.isdisjoint({"identifiable", "look-alikes"})
    return {"identified": identified, "p_value": estimator.p_value_}


def _run_dense(split: AugmentedSplit) -> dict[str, Any]:
    """The estimate with a dense QP, and with our own solver on the same scores."""
    started = time.perf_counter()
    scores = svc_scores(split.X_labeled, split.X_unlabeled)
    scored = time.perf_counter()
    estimate = dense_theta(*scores)
    solved = time.perf_counter()
    # Ours takes some hundredths of a second: the minimum of a few runs reduces noise.
    seconds = []
    for _ in range(5):
        again = time.perf_counter()
        ours = KernelMeanEmbedding("km2", n_bootstrap=0).fit_scores(*scores)
        seconds.append(time.perf_counter() - again)
    return {
        "theta": split.theta,
        "estimate": float(estimate),
        "interval": None,
        "seconds": solved - started,
        "solver": {
            "dense_seconds": solved - scored,
            "seconds": min(seconds),
            "estimate": float(ours.theta_),
        },
        "n_labeled": len(split.X_labeled),
        "n_unlabeled": len(split.X_unlabeled),
    }


def _run_large(job: ThetaJob, n_jobs: int) -> dict[str, Any]:
    """Time the default with its interval, and a fit of the forest with the true theta."""
    toy = datasets.make_blobs_with_posterior(
        job.split,
        job.split,
        job.percent / 100,
        n_known=5,
        n_new=5,
        n_features=20,
        random_state=0,
    )
    started = time.perf_counter()
    estimator = make_estimator(level=LEVEL, random_state=0, n_jobs=n_jobs)
    estimator.fit(toy.X_labeled, toy.X_unlabeled)
    estimated = time.perf_counter()
    forest = LACForestClassifier(theta=toy.theta, random_state=0, n_jobs=n_jobs)
    forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
    return {
        "theta": toy.theta,
        "estimate": float(estimator.theta_),
        "interval": None,
        "seconds": estimated - started,
        "forest_seconds": time.perf_counter() - estimated,
        "n_labeled": job.split,
        "n_unlabeled": job.split,
    }
