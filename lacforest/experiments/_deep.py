"""The neural forest on images, by the paper's protocol and variations of it.

Six of ten classes are known. Labelled images are drawn from each known class, unlabelled and test
images from each class, without overlap. Jobs save checkpoints beside the results file, so that a
run that is stopped within a job continues from the last epoch.
"""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest import datasets
from lacforest._utils.version import __version__
from lacforest.experiments._allocator import keep_freed_memory
from lacforest.experiments._deep_paper import SIZES, SMALL_CLASSES, USUAL_SIZES
from lacforest.experiments._evaluation import evaluate
from lacforest.experiments._runner import ResultsFile, run_jobs
from lacforest.mixture import KernelMeanEmbedding, ThetaWarning

N_HIDDEN = 4
# The paper's estimator of theta for its neural forest: ten subsamples of 1,000 + 1,000 rows.
_PAPER_THETA = KernelMeanEmbedding(subsample=1000, n_subsamples=10, n_bootstrap=0)
# Tables of other names that are read as images.
_GREY_COLUMNS, _GREY = 784, (1, 28, 28)


@dataclass(frozen=True)
class Point:
    """Parameters of the forest that the paper varies."""

    lambda_ce: float = 1.0
    depth: int = 6


@dataclass(frozen=True)
class DeepSweep:
    """The varied parameter and its name."""

    name: str
    title: str
    points: tuple[Point, ...]
    value: Callable[[Point], float]

    def at(self, values: Sequence[float]) -> DeepSweep:
        """The sweep at some of its values only."""
        by_value = {self.value(point): point for point in self.points}
        for value in values:
            if value not in by_value:
                known = ", ".join(f"{one:g}" for one in by_value)
                raise ValueError(f"{self.name} has no value {value:g}: its values are {known}")
        return replace(self, points=tuple(by_value[value] for value in sorted(set(values))))


LAMBDA = DeepSweep(
    "deep-lambda",
    "lambda_ce, the weight of the cross entropy",
    tuple(Point(lambda_ce=value) for value in (0.2, 0.5, 1.0, 1.5, 2.0)),
    lambda point: point.lambda_ce,
)
DEPTH = DeepSweep(
    "deep-depth",
    "l, the number of layers per tree",
    tuple(Point(depth=value) for value in range(2, 9)),
    lambda point: float(point.depth),
)


@dataclass(frozen=True)
class DeepOptions:
    """Options of the experiment.

    Parameters
    ----------
    datasets : list of str
    points : list of Point
    n_choices : int
        Number of random choices of known classes.
    sizes : tuple of int or None
        Numbers of labelled, unlabelled and test images per class; None uses those that the paper
        has for each dataset.
    fast : bool
        Use the settings of `DeepLACForestClassifier.fast`.
    epochs : int or None
    learning_rate : float or None
        None are those of the settings.
    estimate_theta : bool
        Let the forest estimate theta; otherwise it is given the true one.
    device : str
    n_jobs : int
        Number of threads of torch.
    seed : int
    folder : path or None
    """

    datasets: Sequence[str]
    points: Sequence[Point] = (Point(),)
    n_choices: int = 5
    sizes: tuple[int, int, int] | None = None
    fast: bool = False
    epochs: int | None = None
    learning_rate: float | None = None
    estimate_theta: bool = True
    device: str = "auto"
    n_jobs: int = 1
    seed: int = 0
    folder: Any = None

    def sizes_of(self, dataset: str) -> tuple[int, int, int]:
        """Labelled, unlabelled and test images per class of a dataset."""
        whole = dataset.removesuffix("-subset")
        return SIZES.get(whole, USUAL_SIZES) if self.sizes is None else self.sizes

    @property
    def configuration(self) -> dict[str, Any]:
        """Settings that results depend on, apart from the key of the job.

        The table and the sweeps train the same forests, so they can share one results file.
        """
        return {
            "experiment": "deep",
            "lacforest": __version__,
            "seed": self.seed,
            "sizes": None if self.sizes is None else list(self.sizes),
            "fast": self.fast,
            "epochs": self.epochs,
            "learning_rate": self.learning_rate,
            "theta": "estimated" if self.estimate_theta else "true",
        }


@dataclass(frozen=True)
class DeepJob:
    """One training run."""

    dataset: str
    choice: int
    point: Point

    @property
    def key(self) -> str:
        """Key of its result."""
        return f"{self.dataset}/{self.choice}/{self.point.lambda_ce:g}/{self.point.depth}"


Results = Sequence[tuple[DeepJob, dict[str, Any]]]


@dataclass(frozen=True, eq=False)
class ImageSplit:
    """Images of one job, as bytes or floats; hidden classes have the label -1 in `y_test`."""

    labeled: NDArray[Any]
    y_labeled: NDArray[np.intp]
    unlabeled: NDArray[Any]
    test: NDArray[Any]
    y_test: NDArray[np.intp]
    theta: float

    def flattened(self) -> ImageSplit:
        """The same rows as tables of pixels."""
        labeled, unlabeled, test = (
            images.reshape(len(images), -1) for images in (self.labeled, self.unlabeled, self.test)
        )
        return replace(self, labeled=labeled, unlabeled=unlabeled, test=test)


class DeepExperiment:
    """The experiment; the constructor loads the images, so that mistakes are found at once.

    Parameters
    ----------
    options : DeepOptions
    """

    def __init__(self, options: DeepOptions) -> None:
        # Imported here, because only this experiment needs torch.
        import lacforest.neural  # noqa: F401

        self.options = options
        self._images = {name: self._load(name) for name in options.datasets}

    def _load(self, name: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
        table = datasets.load(name, self.options.folder, scale=False)
        shape = table.image_shape
        if shape is None and table.data.shape[1] == _GREY_COLUMNS:
            shape = _GREY
        if shape is None:
            raise ValueError(
                f"{name} is a table of {table.data.shape[1]} features, which do not match images "
                "of 28 x 28 grey pixels: save X with the shape (n, channels, height, width)"
            )
        n_labeled, *others = self.options.sizes_of(name)
        takes_the_rest = self.options.sizes is None and name == SMALL_CLASSES
        needed = sum(others) + (1 if takes_the_rest else n_labeled)
        classes, counts = np.unique(table.target, return_counts=True)
        if len(classes) <= N_HIDDEN or counts.min() < needed:
            raise ValueError(
                f"{name} has {len(classes)} classes with at least {counts.min()} images each, but "
                f"more than {N_HIDDEN} classes with {needed} images each are needed"
            )
        pixels = table.data
        if pixels.dtype != np.uint8:
            pixels = (pixels / pixels.max()).astype(np.float32)
        return pixels.reshape(-1, *shape), table.target

    def draw(self, job: DeepJob) -> tuple[ImageSplit, int]:
        """The split of a job and the seed of its forest; they are the same for every point."""
        images, target = self._images[job.dataset]
        name = zlib.crc32(job.dataset.encode())
        rng = np.random.default_rng([self.options.seed, name, job.choice])
        n_classes = int(target.max()) + 1
        hidden = rng.choice(n_classes, N_HIDDEN, replace=False)
        n_labeled, n_unlabeled, n_test = self.options.sizes_of(job.dataset)
        labeled, unlabeled, test = [], [], []
        for label in range(n_classes):
            rows = rng.permutation(np.flatnonzero(target == label))
            unlabeled.append(rows[:n_unlabeled])
            test.append(rows[n_unlabeled : n_unlabeled + n_test])
            if label not in hidden:
                labeled.append(rows[n_unlabeled + n_test : n_unlabeled + n_test + n_labeled])
        in_labeled, in_test = np.concatenate(labeled), np.concatenate(test)
        split = ImageSplit(
            labeled=images[in_labeled],
            y_labeled=target[in_labeled],
            unlabeled=images[np.concatenate(unlabeled)],
            test=images[in_test],
            y_test=np.where(np.isin(target[in_test], hidden), -1, target[in_test]),
            theta=N_HIDDEN / n_classes,
        )
        return split, int(rng.integers(2**32))

    def run_job(self, job: DeepJob, checkpoint: Path) -> dict[str, Any]:
        """Train and evaluate one forest; CPU seconds are those since the last interruption."""
        from lacforest.neural import DeepLACForestClassifier

        split, seed = self.draw(job)
        options = self.options
        given: dict[str, Any] = {"epochs": options.epochs, "learning_rate": options.learning_rate}
        make = DeepLACForestClassifier.fast if options.fast else DeepLACForestClassifier
        forest = make(
            **{name: value for name, value in given.items() if value is not None},
            depth=job.point.depth,
            lambda_ce=job.point.lambda_ce,
            theta=_PAPER_THETA if options.estimate_theta else split.theta,
            device=options.device,
            checkpoint=checkpoint,
            checkpoint_every=1,
            resume=True,
            random_state=seed,
            verbose=1,
        )
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ThetaWarning)
            forest.fit(split.labeled, split.y_labeled, X_unlabeled=split.unlabeled)
        seconds = time.process_time() - started
        return {
            **evaluate(forest, split.test, split.y_test, new_label=-1),
            "theta": split.theta,
            "theta_used": forest.theta_,
            "loss": forest.history_["loss"][-1],
            "cpu_seconds": seconds,
        }

    def run(self, results: ResultsFile) -> Results:
        """Every job with its result, from this run or an earlier one."""
        import torch

        keep_freed_memory()
        threads = torch.get_num_threads()
        if self.options.n_jobs > 0:
            torch.set_num_threads(self.options.n_jobs)
        jobs = {
            job.key: job
            for dataset in self.options.datasets
            for choice in range(self.options.n_choices)
            for job in (DeepJob(dataset, choice, point) for point in self.options.points)
        }

        def checkpoint(job: DeepJob) -> Path:
            name = f"{results.path.stem}.{job.key.replace('/', '-')}.safetensors"
            return results.path.with_name(name)

        try:
            # A checkpoint is deleted by the run that trained from it, so no other file is.
            found = run_jobs(
                jobs,
                lambda job: self.run_job(job, checkpoint(job)),
                results,
                after_saving=lambda job: checkpoint(job).unlink(missing_ok=True),
            )
        finally:
            torch.set_num_threads(threads)
        return [(job, found[key]) for key, job in jobs.items()]
