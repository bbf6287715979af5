"""How well methods learn under the paper's protocol: Table 1, and the sweeps around it.

Half of the classes are hidden, in 10 random choices; under each, labelled, unlabelled and test rows
are drawn 10 times. Every method sees the same rows.
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

from lacforest import __version__, datasets
from lacforest.experiments import _methods
from lacforest.experiments._methods import make_method
from lacforest.experiments._runner import ResultsFile, run_jobs
from lacforest.experiments._told import ToldForest
from lacforest.metrics import accuracy_score, macro_f1_score, new_class_auc
from lacforest.mixture import ThetaWarning
from lacforest.model_selection import AugmentedSplit, make_augmented_split

N_LABELED = 500
N_UNLABELED = 1000
N_TEST = 100
PERCENT = 50
# Choices of hidden classes that are tried before a dataset is given up.
_MOST_CHOICES = 100


@dataclass(frozen=True)
class Setting:
    """A point of an experiment.

    Attributes
    ----------
    percent : int
        Theta times 100.
    n_unlabeled : int
    """

    percent: int = PERCENT
    n_unlabeled: int = N_UNLABELED


@dataclass(frozen=True)
class LearningOptions:
    """What to run.

    Parameters
    ----------
    name : str
        The experiment; kept in the results file.
    datasets, methods : list of str
    settings : list of Setting
    n_choices, n_samples : int, default=10
        Choices of hidden classes, and samples of rows under each.
    n_trials : int or None, default=None
        Splits of a dataset in place of n_choices times n_samples: the choices take turns.
    n_jobs : int, default=1
        Jobs that run at once, in processes; -1 for all cores. A method has one thread.
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
    n_jobs: int = 1
    seed: int = 0
    folder: str | os.PathLike[str] | None = None

    @property
    def splits(self) -> list[tuple[int, int]]:
        """Number of the choice and of the sample of each split of a dataset."""
        if self.n_trials is None:
            return [(c, s) for c in range(self.n_choices) for s in range(self.n_samples)]
        return [(i % self.n_choices, i // self.n_choices) for i in range(self.n_trials)]

    @property
    def configuration(self) -> dict[str, Any]:
        """What results depend on apart from the key of their job."""
        return {
            "experiment": self.name,
            "lacforest": __version__,
            "seed": self.seed,
            "n_labeled": N_LABELED,
            "n_test": N_TEST,
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
        """What its result is kept under."""
        point = f"{self.setting.percent}/{self.setting.n_unlabeled}"
        return f"{self.dataset}/{point}/{self.choice}/{self.sample}/{self.method}"


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
    """Loads the datasets and tries the method names, so that mistakes show at once.

    Parameters
    ----------
    options : LearningOptions
    """

    def __init__(self, options: LearningOptions) -> None:
        self.options = options
        self._tables = {name: datasets.load(name, options.folder) for name in options.datasets}
        for method in options.methods:
            make_method(method, 0.5, 0, 1)
        # Kept here because another process knows only the methods that the library registers.
        self._factories = {method: _methods.METHODS[method] for method in options.methods}

    def _hidden(self, job: LearningJob) -> Any:
        """The hidden classes of a choice: the same for every setting that has rows enough.

        A choice whose known or hidden classes have too few rows is drawn again.
        """
        table = self._tables[job.dataset]
        classes, counts = np.unique(table.target, return_counts=True)
        name = zlib.crc32(job.dataset.encode())
        rng = np.random.default_rng([self.options.seed, name, job.choice])
        share = job.setting.percent / 100
        n_mixed = job.setting.n_unlabeled + N_TEST
        for _ in range(_MOST_CHOICES):
            hidden = rng.choice(len(classes), len(classes) // 2, replace=False)
            n_new = counts[hidden].sum()
            n_known = counts.sum() - n_new - N_LABELED
            if n_new >= share * n_mixed + 1 and n_known >= (1 - share) * n_mixed + 1:
                return classes[hidden]
        raise ValueError(
            f"{job.dataset} has too few rows for {job.setting.n_unlabeled} unlabelled rows at "
            f"theta {share:.2f}: no choice of hidden classes would do"
        )

    def draw(self, job: LearningJob) -> tuple[AugmentedSplit, int]:
        """The split of a job and the seed of its method: the same ones for every method."""
        name = zlib.crc32(job.dataset.encode())
        seeds = np.random.SeedSequence([self.options.seed, name, job.choice, job.sample, 1])
        of_split, of_method = (int(word) for word in seeds.generate_state(2))
        table = self._tables[job.dataset]
        split = make_augmented_split(
            table.data,
            table.target,
            hidden=self._hidden(job),
            n_labeled=N_LABELED,
            n_unlabeled=job.setting.n_unlabeled,
            n_test=N_TEST,
            theta=job.setting.percent / 100,
            random_state=of_split,
        )
        return split, of_method

    def run_job(self, job: LearningJob) -> dict[str, Any]:
        """Fit one method on one split and measure it; seconds are those of the fit."""
        split, seed = self.draw(job)
        model = self._factories[job.method](split.theta, seed, 1)
        started = time.perf_counter()
        with warnings.catch_warnings():
            # Some splits of a hundred cannot tell theta, or cannot meet all constraints of a
            # method; the table shows what came of it.
            warnings.simplefilter("ignore", ThetaWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            told = {"y_unlabeled": split.y_unlabeled} if isinstance(model, ToldForest) else {}
            model.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled, **told)
        seconds = time.perf_counter() - started
        predicted = model.predict(split.X_test)
        score = model.novelty_score(split.X_test)
        theta = getattr(model, "theta_", None)
        return {
            "accuracy": float(accuracy_score(split.y_test, predicted)),
            "macro_f1": float(macro_f1_score(split.y_test, predicted)),
            "auc": float(new_class_auc(split.y_test, score, new_label=split.new_label)),
            "theta": split.theta,
            "theta_estimate": None if theta is None else float(theta),
            "seconds": seconds,
        }

    def run(self, results: ResultsFile) -> Results:
        """Every job with its result, of this run or of an earlier one."""
        jobs = make_jobs(self.options)
        found = run_jobs(jobs, self.run_job, results, self.options.n_jobs)
        return [(job, found[key]) for key, job in jobs.items()]
