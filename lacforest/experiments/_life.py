"""What the experiments about the life of a model share: points, draws, and means over draws."""

from __future__ import annotations

import os
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest import datasets
from lacforest._utils.version import __version__
from lacforest.experiments._runner import ResultsFile, run_jobs
from lacforest.mixture import ThetaWarning

NEW = -1
# Measures of each method.
Measured = dict[str, dict[str, float]]


@dataclass(frozen=True)
class LifeOptions:
    """What to run.

    Parameters
    ----------
    name : str
        The experiment.
    datasets, points : list of str
        Every point is measured on every dataset.
    n_draws : int
        Draws of classes and rows per dataset and point.
    n_jobs : int, default=1
    seed : int, default=0
    folder : path or None, default=None
    """

    name: str
    datasets: Sequence[str]
    points: Sequence[str]
    n_draws: int
    n_jobs: int = 1
    seed: int = 0
    folder: str | os.PathLike[str] | None = None

    @property
    def configuration(self) -> dict[str, Any]:
        """What results depend on apart from the key of their job."""
        return {"experiment": self.name, "lacforest": __version__, "seed": self.seed}


@dataclass(frozen=True)
class LifeJob:
    """All methods on one draw."""

    dataset: str
    point: str
    draw: int

    @property
    def key(self) -> str:
        """What its result is kept under."""
        return f"{self.dataset}/{self.point}/{self.draw}"


Results = Sequence[tuple[LifeJob, Measured]]
# measure(X, y, point, rng) -> measures of each method
Measure = Callable[[NDArray[np.float64], NDArray[Any], str, np.random.Generator], Measured]


class LifeExperiment:
    """Loads the datasets first, so that mistakes show at once.

    Parameters
    ----------
    options : LifeOptions
    measure : callable
        Draws classes and rows, and measures all methods on them.
    """

    def __init__(self, options: LifeOptions, measure: Measure) -> None:
        self.options, self._measure = options, measure
        self._tables = {name: datasets.load(name, options.folder) for name in options.datasets}

    def run_job(self, job: LifeJob) -> Measured:
        """Measure all methods on one draw."""
        entropy = [self.options.seed, zlib.crc32(job.dataset.encode()), job.draw]
        rng = np.random.default_rng([*entropy, zlib.crc32(job.point.encode())])
        table = self._tables[job.dataset]
        with warnings.catch_warnings():
            # The table shows what comes of draws that cannot tell theta.
            warnings.simplefilter("ignore", ThetaWarning)
            warnings.simplefilter("ignore", UserWarning)
            return self._measure(table.data, table.target, job.point, rng)

    def run(self, results: ResultsFile) -> Results:
        """Every job with its result, of this run or of an earlier one."""
        options = self.options
        jobs = {
            job.key: job
            for job in (
                LifeJob(dataset, point, draw)
                for draw in range(options.n_draws)
                for dataset in options.datasets
                for point in options.points
            )
        }
        found = run_jobs(jobs, self.run_job, results, options.n_jobs)
        return [(job, found[key]) for key, job in jobs.items()]


def take_by_class(
    rng: np.random.Generator, pools: dict[Any, NDArray[np.intp]], weights: dict[Any, float], n: int
) -> NDArray[np.intp]:
    """Draw about n rows in given proportions of classes; pools lose them.

    Where a class has too few rows, all classes get fewer, so that the proportions stay.
    """
    total = sum(weights.values())
    room = min(
        len(pools[value]) * total / (n * weight) for value, weight in weights.items() if weight > 0
    )
    taken = []
    for value, weight in weights.items():
        count = round(min(1.0, room) * n * weight / total)
        taken.append(pools[value][:count])
        pools[value] = pools[value][count:]
    return rng.permutation(np.concatenate(taken))


def mean_of(results: Results, method: str, measure: str) -> float | None:
    """Mean of a measure of one method over the results that have it."""
    values = [found[method][measure] for _, found in results if measure in found.get(method, {})]
    return float(np.mean(values)) if values else None


def mean_rows(
    results: Results, measures: Sequence[str], *, by: str | None = None
) -> list[dict[str, Any]]:
    """One row per method (and per value of the job's attribute `by`): means and standard errors."""
    values: dict[tuple[Any, str], list[dict[str, float]]] = {}
    for job, measured in results:
        for method, found in measured.items():
            group = None if by is None else getattr(job, by)
            values.setdefault((group, method), []).append(found)
    rows = []
    for (group, method), entries in values.items():
        row: dict[str, Any] = {"group": group, "method": method, "runs": len(entries)}
        for measure in measures:
            column = np.array([entry[measure] for entry in entries if measure in entry])
            column = column[~np.isnan(column)]
            row[measure] = float(column.mean()) if len(column) else None
            row[f"{measure} error"] = (
                float(column.std(ddof=1) / np.sqrt(len(column))) if len(column) > 1 else None
            )
        rows.append(row)
    return rows
