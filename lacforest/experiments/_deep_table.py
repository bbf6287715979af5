"""All deep methods on images: the paper's Tables 2, 6 and 7, or a reduced protocol for CPUs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacforest._utils.version import __version__
from lacforest.ensemble import LACExtraTreesClassifier
from lacforest.experiments._allocator import keep_freed_memory
from lacforest.experiments._comparison import TITLES
from lacforest.experiments._deep import (
    DeepExperiment,
    DeepJob,
    DeepOptions,
    ImageSplit,
    Point,
)
from lacforest.experiments._deep_paper import METHODS, paper_figure
from lacforest.experiments._evaluation import evaluate
from lacforest.experiments._runner import ResultsFile, run_jobs
from lacforest.experiments._tables import PrintedColumn
from lacforest.mixture import ThetaWarning

HYBRID = "Hybrid"
# LACExtraTreesClassifier on the pixels, without a network.
PIXELS = "Pixels"
ALL_METHODS = (METHODS[0], HYBRID, PIXELS, *METHODS[1:])
# By request only: the paper has a column for one kind of ARPL.
CONFUSED = "ARPL+CS"
REDUCED_SIZES = (1000, 250, 300)
REDUCED_EPOCHS = 10
# Held-out known images for thresholds: 50 of the 1,000 per class of the reduced protocol.
_HELD_OUT = 0.05


@dataclass(frozen=True)
class TableOptions:
    """What to run.

    Attributes
    ----------
    datasets, methods : sequence of str
    name : str
        Name of the experiment, which is stored in the results file.
    n_choices : int
        Random choices of known classes.
    reduced : bool
        Few images and epochs and short recipes, in place of the paper's sizes and the settings that
        authors published.
    sizes : tuple of int or None
        Labelled, unlabelled and test images per class, if they are others.
    epochs : int or None
        Epochs of all networks, if they are others.
    estimate_theta : bool
    device : str
    n_jobs : int
        Jobs at once, each with one thread.
    seed : int
    folder : path or None
    """

    datasets: Sequence[str]
    methods: Sequence[str] = ALL_METHODS
    name: str = "deep-table"
    n_choices: int = 5
    reduced: bool = False
    sizes: tuple[int, int, int] | None = None
    epochs: int | None = None
    estimate_theta: bool = True
    device: str = "auto"
    n_jobs: int = 1
    seed: int = 0
    folder: Any = None

    @property
    def all_sizes(self) -> tuple[int, int, int] | None:
        """Images per class; None are the paper's for each dataset."""
        return REDUCED_SIZES if self.sizes is None and self.reduced else self.sizes

    @property
    def configuration(self) -> dict[str, Any]:
        """What results depend on apart from the key of their job."""
        return {
            "experiment": self.name,
            "lacforest": __version__,
            "seed": self.seed,
            "reduced": self.reduced,
            "sizes": None if self.sizes is None else list(self.sizes),
            "epochs": self.epochs,
            "theta": "estimated" if self.estimate_theta else "true",
        }


@dataclass(frozen=True)
class TableJob:
    """One method on one choice of classes."""

    dataset: str
    choice: int
    method: str

    @property
    def key(self) -> str:
        """What its result is kept under."""
        return f"{self.dataset}/{self.choice}/{self.method}"


TableResults = Sequence[tuple[TableJob, dict[str, Any]]]


def make_method(method: str, options: TableOptions, theta: Any, seed: int) -> Any:
    """An unfitted classifier for a job."""
    from lacforest.neural import DeepLACForestClassifier, HybridLACForestClassifier, baselines

    classes: dict[str, Any] = {
        "Deep-GLAC": baselines.DeepGLACClassifier,
        "Deep-EULAC": baselines.DeepEULACClassifier,
        "ARPL": baselines.ARPLClassifier,
        CONFUSED: baselines.ARPLClassifier,
        "G-OpenMax": baselines.GOpenMaxClassifier,
        "OSRCI": baselines.OSRCIClassifier,
        "OpenMax": baselines.OpenMaxClassifier,
        "Softmax-T": baselines.SoftmaxThresholdClassifier,
    }
    shared: dict[str, Any] = {"random_state": seed, "device": options.device}
    if method == PIXELS:
        return LACExtraTreesClassifier(theta=theta, random_state=seed)
    if options.reduced:
        shared |= {"epochs": REDUCED_EPOCHS, "validation_fraction": _HELD_OUT}
    if options.epochs is not None:
        shared["epochs"] = options.epochs
    if method == HYBRID:
        return HybridLACForestClassifier(theta=theta, **shared)
    if method == METHODS[0]:
        make: Any = DeepLACForestClassifier.fast if options.reduced else DeepLACForestClassifier
        return make(theta=theta, **shared)
    if method == CONFUSED:
        shared["confusing_samples"] = True
    make = classes[method] if options.reduced else classes[method].paper_table
    unfitted = make(**shared)
    return unfitted.set_params(theta=theta) if "theta" in unfitted.get_params() else unfitted


def fit_method(
    draw: Callable[[DeepJob], tuple[ImageSplit, int]], options: TableOptions, job: TableJob
) -> tuple[ImageSplit, Any, float]:
    """The images of a job, the classifier that was trained on them, and its CPU seconds."""
    import torch

    torch.set_num_threads(1)
    keep_freed_memory()
    split, seed = draw(DeepJob(job.dataset, job.choice, Point()))
    model = make_method(
        job.method, options, "auto" if options.estimate_theta else split.theta, seed
    )
    if job.method == PIXELS:
        split = split.flattened()
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ThetaWarning)
        model.fit(split.labeled, split.y_labeled, X_unlabeled=split.unlabeled)
    return split, model, time.process_time() - started


class TableExperiment:
    """All jobs of a table.

    Parameters
    ----------
    options : TableOptions
    """

    def __init__(self, options: TableOptions) -> None:
        known = (*ALL_METHODS, CONFUSED)
        unknown = [method for method in options.methods if method not in known]
        if unknown:
            raise ValueError(f"there is no method {unknown[0]!r}: methods are {', '.join(known)}")
        self._options = options
        self._images = DeepExperiment(
            DeepOptions(
                options.datasets,
                sizes=options.all_sizes,
                seed=options.seed,
                folder=options.folder,
            )
        )

    def _run_job(self, job: TableJob) -> dict[str, Any]:
        """Train one method and measure it."""
        split, model, seconds = fit_method(self._images.draw, self._options, job)
        measures = evaluate(model, split.test, split.y_test, new_label=-1)
        return {**measures, "cpu_seconds": seconds}

    def run(self, results: ResultsFile) -> TableResults:
        """Every job with its result, of this run or of an earlier one."""
        options = self._options
        jobs = {
            job.key: job
            for choice in range(options.n_choices)
            for dataset in options.datasets
            for job in (TableJob(dataset, choice, method) for method in options.methods)
        }
        found = run_jobs(jobs, self._run_job, results, options.n_jobs)
        return [(job, found[key]) for key, job in jobs.items()]


def table_rows(results: TableResults) -> tuple[list[PrintedColumn], list[dict[str, Any]]]:
    """One row per measure and dataset, and averages, for `render`."""
    methods = list(dict.fromkeys(job.method for job, _ in results))
    names = list(dict.fromkeys(job.dataset for job, _ in results))
    columns = [PrintedColumn("measure", "measure"), PrintedColumn("dataset", "dataset")]
    columns += [PrintedColumn(method, method) for method in methods]
    rows = []
    for measure, title in TITLES.items():
        means: dict[str, list[float]] = {method: [] for method in methods}
        for name in names:
            row: dict[str, Any] = {"measure": title, "dataset": name}
            for method in methods:
                values = [
                    result[measure]
                    for job, result in results
                    if (job.dataset, job.method) == (name, method)
                ]
                means[method].append(float(np.mean(values)))
                row[method] = _show(values, paper_figure(measure, name, method))
            rows.append(row)
        if len(names) > 1:
            averages = {method: f"{np.mean(found):.4f}" for method, found in means.items()}
            rows.append({"measure": title, "dataset": "average", **averages})
    seconds = {
        method: f"{np.mean([r['cpu_seconds'] for job, r in results if job.method == method]):.0f}"
        for method in methods
    }
    rows.append({"measure": "CPU seconds per fit", "dataset": "average", **seconds})
    return columns, rows


def _show(values: list[float], paper: tuple[float, float] | None) -> str:
    text = f"{np.mean(values):.4f}"
    if len(values) > 1:
        text += f"±{np.std(values):.4f}"
    return text if paper is None else f"{text} ({paper[0]:.4f})"
