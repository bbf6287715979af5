"""Evaluation of methods by the paper's protocol, for Table 1 and the sweeps.

Half of the classes are hidden, in 10 random choices. For each choice, labelled, unlabelled and test
rows are drawn 10 times. Every method sees the same rows.
"""

from __future__ import annotations

import os
import time
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lacforest import datasets
from lacforest._utils.version import __version__
from lacforest.experiments import _methods
from lacforest.experiments._evaluation import evaluate
from lacforest.experiments._methods import make_method
from lacforest.experiments._oracle import OracleForest
from lacforest.experiments._runner import ResultsFile, run_jobs
from lacforest.mixture import ThetaWarning
from lacforest.model_selection import AugmentedSplit, make_augmented_split

N_LABELED = 500
N_UNLABELED = 1000
N_TEST = 100
PERCENT = 50
# Number of choices of hidden classes to try before giving up on a dataset.
_MOST_CHOICES = 100


@dataclass(frozen=True)
class Setting:
    """The varied quantities of an experiment.

    Attributes
    ----------
    percent : int
        Theta times 100.
    n_unlabeled, n_labeled : int
    """

    percent: int = PERCENT
    n_unlabeled: int = N_UNLABELED
    n_labeled: int = N_LABELED

    @property
    def key(self) -> str:
        """The part of a job's key that names its setting.

        The paper's number of labelled rows is left out, as in results files from before it could
        be chosen.
        """
        key = f"{self.percent}/{self.n_unlabeled}"
        return key if self.n_labeled == N_LABELED else f"{key}/{self.n_labeled}"


@dataclass(frozen=True)
class LearningOptions:
    """Options of the experiment.

    Parameters
    ----------
    name : str
        Name of the experiment, which is stored in the results file.
    datasets, methods : list of str
    settings : list of Setting
    n_choices, n_samples : int, default=10
        Number of choices of hidden classes, and of samples of rows per choice.
    n_trials : int or None, default=None
        Number of splits per dataset, spread over the choices in turn, instead of
        n_choices * n_samples.
    n_test : int, default=100
    drops_small : bool, default=False
        Leave out the settings for which a dataset has too few rows, instead of failing.
    n_jobs : int, default=1
        Number of jobs that run in parallel, as processes; -1 for all cores. Each uses one thread.
    seed : int, default=0
    folder : path or None, default=None
        Folder with datasets.
    """

    name: str
    datasets: Sequence[str]
    methods: Sequence[str]
    settings: Sequence[Setting] = (Setting(),)
    n_choices: int = 10
    n_samples: int = 10
    n_trials: int | None = None
    n_test: int = N_TEST
    drops_small: bool = False
    n_jobs: int = 1
    seed: int = 0
    folder: str | os.PathLike[str] | None = None

    @property
    def splits(self) -> list[tuple[int, int]]:
        """Indices of the choice and the sample of each split of a dataset."""
        if self.n_trials is None:
            return [(c, s) for c in range(self.n_choices) for s in range(self.n_samples)]
        return [(i % self.n_choices, i // self.n_choices) for i in range(self.n_trials)]

    @property
    def configuration(self) -> dict[str, Any]:
        """Settings that results depend on, apart from the key of the job."""
        return {
            "experiment": self.name,
            "lacforest": __version__,
            "seed": self.seed,
            "n_labeled": N_LABELED,
            "n_test": self.n_test,
        }


@dataclass(frozen=True)
class LearningJob:
    """One method on one split."""

    dataset: str
    setting: Setting
    choice: int
    sample: int
    method: str

    @property
    def key(self) -> str:
        """Key of its result."""
        return f"{self.dataset}/{self.setting.key}/{self.choice}/{self.sample}/{self.method}"


Results = Sequence[tuple[LearningJob, dict[str, Any]]]


def make_jobs(options: LearningOptions) -> dict[str, LearningJob]:
    """Every method on every split."""
    jobs = [
        LearningJob(dataset, setting, choice, sample, method)
        for dataset in options.datasets
        for setting in options.settings
        for choice, sample in options.splits
        for method in options.methods
    ]
    return {job.key: job for job in jobs}


class LearningExperiment:
    """The experiment; mistakes in names of datasets and methods are found at once.

    Parameters
    ----------
    options : LearningOptions
    """

    def __init__(self, options: LearningOptions) -> None:
        self.options = options
        self._tables = {name: datasets.load(name, options.folder) for name in options.datasets}
        for method in options.methods:
            make_method(method, 0.5, 0, 1)
        # Stored, because other processes have only the methods that the library registers.
        self._factories = {method: _methods.METHODS[method] for method in options.methods}

    def _hidden(self, job: LearningJob) -> Any:
        """The hidden classes of a choice, the same for every setting with enough rows.

        A choice whose known or hidden classes have too few rows is drawn again.
        """
        table = self._tables[job.dataset]
        classes, counts = np.unique(table.target, return_counts=True)
        name = zlib.crc32(job.dataset.encode())
        rng = np.random.default_rng([self.options.seed, name, job.choice])
        share = job.setting.percent / 100
        n_mixed = job.setting.n_unlabeled + self.options.n_test
        for _ in range(_MOST_CHOICES):
            hidden = rng.choice(len(classes), len(classes) // 2, replace=False)
            n_new = counts[hidden].sum()
            n_known = counts.sum() - n_new - job.setting.n_labeled
            if n_new >= share * n_mixed + 1 and n_known >= (1 - share) * n_mixed + 1:
                return classes[hidden]
        raise ValueError(
            f"{job.dataset} has too few rows for {job.setting.n_labeled} labelled and "
            f"{job.setting.n_unlabeled} unlabelled rows at theta {share:.2f}, whichever classes "
            "are hidden"
        )

    def draw(self, job: LearningJob) -> tuple[AugmentedSplit, int]:
        """The split of a job and the seed of its method; they are the same for every method."""
        name = zlib.crc32(job.dataset.encode())
        seeds = np.random.SeedSequence([self.options.seed, name, job.choice, job.sample, 1])
        of_split, of_method = (int(word) for word in seeds.generate_state(2))
        table = self._tables[job.dataset]
        split = make_augmented_split(
            table.data,
            table.target,
            hidden=self._hidden(job),
            n_labeled=job.setting.n_labeled,
            n_unlabeled=job.setting.n_unlabeled,
            n_test=self.options.n_test,
            theta=job.setting.percent / 100,
            random_state=of_split,
        )
        return split, of_method

    def run_job(self, job: LearningJob) -> dict[str, Any]:
        """Fit and evaluate one method on one split; seconds are those of the fit."""
        split, seed = self.draw(job)
        model = self._factories[job.method](split.theta, seed, 1)
        started = time.perf_counter()
        with warnings.catch_warnings():
            # Some of the splits do not determine theta or do not satisfy all constraints of a
            # method; the table includes their results.
            warnings.simplefilter("ignore", ThetaWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            truth = {"y_unlabeled": split.y_unlabeled} if isinstance(model, OracleForest) else {}
            model.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled, **truth)
        seconds = time.perf_counter() - started
        theta = getattr(model, "theta_", None)
        return {
            **evaluate(model, split.X_test, split.y_test, split.new_label),
            "theta": split.theta,
            "theta_estimate": None if theta is None else float(theta),
            "seconds": seconds,
        }

    def jobs(self) -> dict[str, LearningJob]:
        """The jobs to run, by key."""
        jobs = make_jobs(self.options)
        if not self.options.drops_small:
            return jobs
        return {key: job for key, job in jobs.items() if self._has_rows(job)}

    def _has_rows(self, job: LearningJob) -> bool:
        try:
            self._hidden(job)
        except ValueError:
            return False
        return True

    def run(self, results: ResultsFile) -> Results:
        """Every job with its result, from this run or an earlier one."""
        jobs = self.jobs()
        found = run_jobs(jobs, self.run_job, results, self.options.n_jobs)
        return [(job, found[key]) for key, job in jobs.items()]
