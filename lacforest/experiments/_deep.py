"""The neural forest on images, under the paper's protocol and around it.

Six of ten classes are known; every known class gives labelled images, every class unlabelled and
test images, all different ones. Jobs are trained with checkpoints beside the results file, so that
even a run that was stopped inside a job goes on from the last epoch.
"""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest import __version__, datasets
from lacforest.experiments._comparison import TITLES
from lacforest.experiments._runner import ResultsFile, run_jobs
from lacforest.experiments._tables import Column
from lacforest.metrics import accuracy_score, macro_f1_score, new_class_auc
from lacforest.mixture import ThetaWarning

N_HIDDEN = 4
# Shapes of images by the number of their values.
_SHAPES = {784: (1, 28, 28), 3072: (3, 32, 32)}
# Mean and deviation over 5 choices after 500 epochs: accuracy, macro-F1, AUC.
PAPER = {
    "mnist": ((0.9844, 0.0021), (0.9833, 0.0027), (0.9983, 0.0019)),
    "fmnist": ((0.9024, 0.0114), (0.8986, 0.0141), (0.9784, 0.0061)),
    "kuzushiji": ((0.9636, 0.0044), (0.9629, 0.0064), (0.9939, 0.0026)),
    "svhn": ((0.9238, 0.0134), (0.9237, 0.0140), (0.9795, 0.0020)),
    "cifar10": ((0.8008, 0.0331), (0.7936, 0.0299), (0.9292, 0.0095)),
}


@dataclass(frozen=True)
class Point:
    """Parameters of the forest that the paper varies."""

    lambda_ce: float = 1.0
    depth: int = 6


@dataclass(frozen=True)
class DeepSweep:
    """What is varied, and how it is called."""

    name: str
    title: str
    points: tuple[Point, ...]
    value: Callable[[Point], float]


LAMBDA = DeepSweep(
    "deep-lambda",
    "lambda_ce, the weight of the cross entropy",
    tuple(Point(lambda_ce=value) for value in (0.2, 0.5, 1.0, 1.5, 2.0)),
    lambda point: point.lambda_ce,
)
DEPTH = DeepSweep(
    "deep-depth",
    "l, the layers of a tree",
    tuple(Point(depth=value) for value in range(2, 9)),
    lambda point: float(point.depth),
)


@dataclass(frozen=True)
class DeepOptions:
    """What to run.

    Parameters
    ----------
    name : str
        The experiment; kept in the results file.
    datasets : list of str
    points : list of Point
    n_choices : int
        Random choices of known classes.
    sizes : tuple of int
        Labelled, unlabelled and test images of a class.
    epochs : int
    learning_rate : float
    estimate_theta : bool
        Let the forest estimate theta; else it is told.
    device : str
    n_jobs : int
        Threads of torch.
    seed : int
    folder : path or None
    """

    name: str
    datasets: Sequence[str]
    points: Sequence[Point] = (Point(),)
    n_choices: int = 5
    sizes: tuple[int, int, int] = (4000, 1000, 100)
    epochs: int = 500
    learning_rate: float = 1e-2
    estimate_theta: bool = True
    device: str = "auto"
    n_jobs: int = 1
    seed: int = 0
    folder: Any = None

    @property
    def configuration(self) -> dict[str, Any]:
        """What results depend on apart from the key of their job."""
        return {
            "experiment": self.name,
            "lacforest": __version__,
            "seed": self.seed,
            "sizes": list(self.sizes),
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
        """What its result is kept under."""
        return f"{self.dataset}/{self.choice}/{self.point.lambda_ce:g}/{self.point.depth}"


Results = Sequence[tuple[DeepJob, dict[str, Any]]]


@dataclass(frozen=True, eq=False)
class ImageSplit:
    """Images of one job; hidden classes have the label -1 in `y_test`."""

    labeled: NDArray[np.float32]
    y_labeled: NDArray[np.intp]
    unlabeled: NDArray[np.float32]
    test: NDArray[np.float32]
    y_test: NDArray[np.intp]
    theta: float


class DeepExperiment:
    """Loads the images, so that mistakes show at once.

    Parameters
    ----------
    options : DeepOptions
    """

    def __init__(self, options: DeepOptions) -> None:
        # Late, because only this experiment needs torch.
        import lacforest.neural  # noqa: F401

        self.options = options
        self._images = {name: self._load(name) for name in options.datasets}

    def _load(self, name: str) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
        table = datasets.load(name, self.options.folder, scale=False)
        shape = _SHAPES.get(table.data.shape[1])
        if shape is None:
            raise ValueError(
                f"{name} has {table.data.shape[1]} features, which are no images of 28 x 28 grey "
                "or 32 x 32 colour pixels"
            )
        needed = sum(self.options.sizes)
        classes, counts = np.unique(table.target, return_counts=True)
        if len(classes) <= N_HIDDEN or counts.min() < needed:
            raise ValueError(
                f"{name} has {len(classes)} classes with at least {counts.min()} images; "
                f"{N_HIDDEN} hidden classes and {needed} images of each are needed"
            )
        pixels = (table.data / table.data.max()).astype(np.float32)
        return pixels.reshape(-1, *shape), table.target

    def draw(self, job: DeepJob) -> tuple[ImageSplit, int]:
        """The split of a job and the seed of its forest: the same for every point."""
        images, target = self._images[job.dataset]
        name = zlib.crc32(job.dataset.encode())
        rng = np.random.default_rng([self.options.seed, name, job.choice])
        n_classes = int(target.max()) + 1
        hidden = rng.choice(n_classes, N_HIDDEN, replace=False)
        n_labeled, n_unlabeled, n_test = self.options.sizes
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
        """Train one forest and measure it; seconds are those of the last uninterrupted stretch."""
        from lacforest.neural import DeepLACForestClassifier

        split, seed = self.draw(job)
        options = self.options
        forest = DeepLACForestClassifier(
            depth=job.point.depth,
            lambda_ce=job.point.lambda_ce,
            theta="auto" if options.estimate_theta else split.theta,
            epochs=options.epochs,
            learning_rate=options.learning_rate,
            device=options.device,
            checkpoint=checkpoint,
            checkpoint_every=1,
            resume=True,
            random_state=seed,
            verbose=1,
        )
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ThetaWarning)
            forest.fit(split.labeled, split.y_labeled, X_unlabeled=split.unlabeled)
        seconds = time.perf_counter() - started
        predicted = forest.predict(split.test)
        score = forest.novelty_score(split.test)
        return {
            "accuracy": float(accuracy_score(split.y_test, predicted)),
            "macro_f1": float(macro_f1_score(split.y_test, predicted)),
            "auc": float(new_class_auc(split.y_test, score, new_label=-1)),
            "theta": split.theta,
            "theta_used": forest.theta_,
            "loss": forest.history_["loss"][-1],
            "seconds": seconds,
        }

    def run(self, results: ResultsFile) -> Results:
        """Every job with its result, of this run or of an earlier one."""
        import torch

        threads = torch.get_num_threads()
        if self.options.n_jobs > 0:
            torch.set_num_threads(self.options.n_jobs)
        jobs = {
            job.key: job
            for dataset in self.options.datasets
            for choice in range(self.options.n_choices)
            for job in (DeepJob(dataset, choice, point) for point in self.options.points)
        }

        def run(job: DeepJob) -> dict[str, Any]:
            name = f"{results.path.stem}.{job.key.replace('/', '-')}.safetensors"
            return self.run_job(job, results.path.with_name(name))

        try:
            found = run_jobs(jobs, run, results)
        finally:
            torch.set_num_threads(threads)
        for left_over in results.path.parent.glob(f"{results.path.stem}.*.safetensors"):
            left_over.unlink()
        return [(job, found[key]) for key, job in jobs.items()]


def deep_rows(results: Results) -> tuple[list[Column], list[dict[str, Any]]]:
    """One row for each dataset and choice, then their mean beside the paper's, for `render`."""
    columns = [
        Column("dataset", "dataset"),
        Column("classes", "choice"),
        *(Column(title, measure, ".4f") for measure, title in TITLES.items()),
        Column("theta", "theta", ".3f"),
        Column("minutes", "minutes", ".1f"),
    ]
    rows = []
    for name in dict.fromkeys(job.dataset for job, _ in results):
        own = [(job, result) for job, result in results if job.dataset == name]
        for job, result in own:
            row = {measure: result[measure] for measure in TITLES}
            row |= {"dataset": name, "choice": f"choice {job.choice + 1}"}
            row |= {"theta": result["theta_used"], "minutes": result["seconds"] / 60}
            rows.append(row)
        for label, function in (("mean", np.mean), ("deviation", np.std)):
            row = {m: float(function([result[m] for _, result in own])) for m in TITLES}
            rows.append(row | {"dataset": name, "choice": label, "theta": None, "minutes": None})
        if name in PAPER:
            for place, label in enumerate(("paper, 500 epochs", "its deviation")):
                row = {m: PAPER[name][i][place] for i, m in enumerate(TITLES)}
                rows.append(
                    row | {"dataset": name, "choice": label, "theta": None, "minutes": None}
                )
    return columns, rows


def deep_sweep_rows(
    results: Results, sweep: DeepSweep
) -> tuple[list[Column], list[dict[str, Any]]]:
    """One row for each dataset and point, for `render`."""
    columns = [
        Column("dataset", "dataset"),
        Column(sweep.title, "value", "g"),
        *(Column(title, measure, ".4f") for measure, title in TITLES.items()),
        Column("deviation of accuracy", "deviation", ".4f"),
    ]
    rows = []
    for name in dict.fromkeys(job.dataset for job, _ in results):
        for point in sweep.points:
            own = [r for job, r in results if (job.dataset, job.point) == (name, point)]
            row: dict[str, Any] = {m: float(np.mean([r[m] for r in own])) for m in TITLES}
            row |= {"dataset": name, "value": sweep.value(point)}
            row["deviation"] = float(np.std([r["accuracy"] for r in own]))
            rows.append(row)
    return columns, rows


def draw_deep_sweep(results: Results, sweep: DeepSweep, path: Any) -> None:
    """Accuracy and AUC against what is varied: a panel a dataset, a dot a training run.

    Parameters
    ----------
    results : list of (DeepJob, dict)
    sweep : DeepSweep
    path : path
        Picture to write; its suffix says of which kind.
    """
    import matplotlib.figure

    from lacforest._plotting import KNOWN_COLOR, NEW_COLOR

    names = list(dict.fromkeys(job.dataset for job, _ in results))
    figure = matplotlib.figure.Figure(figsize=(4.2 * len(names), 3.2), layout="constrained")
    panels = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    for panel, name in zip(panels, names, strict=True):
        own = [(sweep.value(job.point), result) for job, result in results if job.dataset == name]
        for measure, color, label in (
            ("accuracy", KNOWN_COLOR, "accuracy"),
            ("auc", NEW_COLOR, "AUC of the new class"),
        ):
            values = sorted({value for value, _ in own})
            means = [np.mean([r[measure] for v, r in own if v == value]) for value in values]
            panel.plot(values, means, "-", color=color, label=label)
            panel.plot(
                [v for v, _ in own], [r[measure] for _, r in own], "o", color=color, ms=3, alpha=0.6
            )
        panel.set(title=name, xlabel=sweep.title)
        panel.grid(alpha=0.3)
    panels[0].legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=110)
