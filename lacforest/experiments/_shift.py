"""Known classes in other shares: how methods cope when deployment is no copy of the labelled rows.

Half of the classes are hidden. Labelled rows have the known classes as the table has them;
unlabelled and test rows have them in other shares, of six kinds, and a share theta of new rows.
"""

from __future__ import annotations

import os
import time
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import ConvergenceWarning

from lacforest import datasets
from lacforest._utils.version import __version__
from lacforest.baselines import EULACClassifier, GLACClassifier
from lacforest.ensemble import LACExtraTreesClassifier, LACForestClassifier
from lacforest.experiments._runner import ResultsFile, run_jobs
from lacforest.metrics import accuracy_score, macro_f1_score
from lacforest.mixture import ShareMixture, ThetaWarning

# Labelled, unlabelled and test rows.
SIZES = (500, 1000, 500)
NEW = -1
# Classes with fewer rows are left out, and parts shrink to no less than this share of their sizes.
_FEWEST_ROWS = 40
_LEAST_SCALE = 0.15
_MOST_DRAWS = 200

SHIFTS = ("none", "dirichlet 2", "dirichlet 1", "dirichlet 0.5", "absent", "tripled")
PERCENTS = (0, 10, 30, 50, 80)


def draw_shares(
    shift: str, natural: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Shares of the known classes in deployment, for shares in the table."""
    shares = natural.copy()
    kind, _, concentration = shift.partition(" ")
    if kind == "dirichlet":
        return rng.dirichlet(np.full(len(natural), float(concentration)))
    if kind in ("absent", "tripled"):
        shares[rng.integers(len(shares))] *= 0.0 if kind == "absent" else 3.0
    normalised: NDArray[np.float64] = shares / shares.sum()
    return normalised


@dataclass(frozen=True)
class ShiftedSplit:
    """Rows of one job. Labels are class codes, NEW for new rows."""

    X: NDArray[np.float64]
    y: NDArray[np.intp]
    X_unlabeled: NDArray[np.float64]
    y_unlabeled: NDArray[np.intp]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.intp]

    @property
    def theta(self) -> float:
        """Share of new rows among the unlabelled ones."""
        return float((self.y_unlabeled == NEW).mean())

    @property
    def known_shares(self) -> NDArray[np.float64]:
        """Shares of the known classes among the known unlabelled rows."""
        known = self.y_unlabeled[self.y_unlabeled != NEW]
        counts = np.bincount(known, minlength=int(self.y.max()) + 1)
        shares: NDArray[np.float64] = counts / max(1, counts.sum())
        return shares


def _take(counts: NDArray[np.intp], pools: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    """So many rows of each pool, which lose them."""
    taken = []
    for k, count in enumerate(counts):
        taken.append(pools[k][:count])
        pools[k] = pools[k][count:]
    return np.concatenate(taken)


def make_shifted_split(
    X: Any,
    y: NDArray[Any],
    theta: float,
    shift: str,
    rng: np.random.Generator,
    sizes: tuple[int, int, int] = SIZES,
) -> ShiftedSplit:
    """Draw hidden classes, shares and rows.

    Where a class has too few rows for its share, unlabelled and test rows get fewer, but no less
    than 15 %; where that is not enough, everything is drawn again.
    """
    n_labeled, n_unlabeled, n_test = sizes
    values, counts = np.unique(y, return_counts=True)
    values = values[counts >= _FEWEST_ROWS]
    for _ in range(_MOST_DRAWS):
        order = rng.permutation(values)
        n_known = (len(values) + 1) // 2
        pools = [rng.permutation(np.flatnonzero(y == value)) for value in order]
        known, new = pools[:n_known], pools[n_known:]
        natural = np.array([len(pool) for pool in known]) / sum(map(len, known))
        labeled = rng.multinomial(min(n_labeled, sum(map(len, known)) // 3), natural)
        if (labeled < 2).any() or any(map(np.less, map(len, known), labeled)):
            continue
        rows = _take(labeled, known)
        shares = draw_shares(shift, natural, rng)
        weights = np.append((1 - theta) * shares, np.full(len(new), theta / len(new)))
        room = np.array([len(pool) for pool in (*known, *new)])
        with np.errstate(divide="ignore"):
            scale = min(1.0, float((room / ((n_unlabeled + n_test) * weights)).min()) * 0.9)
        if scale < _LEAST_SCALE:
            continue
        left = [*known, *new]
        parts = []
        for size in (n_unlabeled, n_test):
            counts = rng.multinomial(int(scale * size), weights)
            counts = np.minimum(counts, [len(pool) for pool in left])
            chosen = _take(counts, left)
            codes = np.repeat(np.append(np.arange(n_known), np.full(len(new), NEW)), counts)
            mixed = rng.permutation(len(chosen))
            parts += [X[chosen[mixed]], codes[mixed]]
        return ShiftedSplit(X[rows], np.repeat(np.arange(n_known), labeled), *parts)
    raise ValueError(f"no choice of classes has rows enough for the shift {shift!r}")


# make(theta, shares, seed) -> unfitted classifier; only methods that say so use the first two.
Factory = Callable[[float, NDArray[np.float64], int], Any]


def _with_shares(make: Callable[..., Any], **parameters: Any) -> Factory:
    return lambda theta, shares, seed: make(random_state=seed, **parameters)


def _with_truth(make: Callable[..., Any]) -> Factory:
    return lambda theta, shares, seed: make(
        random_state=seed, theta=min(max(theta, 1e-3), 1 - 1e-3), known_shares=shares
    )


METHODS: dict[str, Factory] = {
    "lacextratrees": _with_shares(LACExtraTreesClassifier),
    "lacextratrees:labeled": _with_shares(LACExtraTreesClassifier, known_shares="labeled"),
    "lacextratrees:true": _with_truth(LACExtraTreesClassifier),
    "lacforest": _with_shares(LACForestClassifier),
    "lacforest:labeled": _with_shares(LACForestClassifier, known_shares="labeled"),
    "lacforest:true": _with_truth(LACForestClassifier),
    "eulac": _with_shares(EULACClassifier.paper_table),
    "eulac:labeled": _with_shares(EULACClassifier.paper_table, known_shares="labeled"),
    "glac": _with_shares(GLACClassifier.paper_table),
    "glac:labeled": _with_shares(GLACClassifier.paper_table, known_shares="labeled"),
    # Theta and shares alone, which is fast.
    "sharemixture": _with_shares(ShareMixture),
    # Told the labels of the unlabelled rows: what no method can reach.
    "told": lambda theta, shares, seed: ExtraTreesClassifier(300, random_state=seed),
}


@dataclass(frozen=True)
class ShiftOptions:
    """What to run.

    Parameters
    ----------
    datasets, methods, shifts : list of str
    percents : list of int
        Theta times 100.
    n_draws : int
        Draws of classes, shares and rows per point.
    sizes : tuple of int
        Labelled, unlabelled and test rows.
    n_jobs : int, default=1
    seed : int, default=0
    folder : path or None, default=None
    """

    datasets: Sequence[str]
    methods: Sequence[str]
    shifts: Sequence[str] = SHIFTS
    percents: Sequence[int] = PERCENTS
    n_draws: int = 3
    sizes: tuple[int, int, int] = SIZES
    n_jobs: int = 1
    seed: int = 0
    folder: str | os.PathLike[str] | None = None

    @property
    def configuration(self) -> dict[str, Any]:
        """What results depend on apart from the key of their job."""
        return {
            "experiment": "shift",
            "lacforest": __version__,
            "seed": self.seed,
            "sizes": list(self.sizes),
        }


@dataclass(frozen=True)
class ShiftJob:
    """One method on one draw."""

    dataset: str
    percent: int
    shift: str
    draw: int
    method: str

    @property
    def key(self) -> str:
        """What its result is kept under."""
        return f"{self.dataset}/{self.percent}/{self.shift}/{self.draw}/{self.method}"


Results = Sequence[tuple[ShiftJob, dict[str, Any]]]


class ShiftExperiment:
    """Loads the datasets first, so that mistakes show at once.

    Parameters
    ----------
    options : ShiftOptions
    """

    def __init__(self, options: ShiftOptions) -> None:
        self.options = options
        for name, known in (("method", METHODS), ("shift", SHIFTS)):
            unknown = [entry for entry in getattr(options, f"{name}s") if entry not in known]
            if unknown:
                raise ValueError(f"unknown {name} {unknown[0]!r}: choose among {', '.join(known)}")
        self._tables = {name: datasets.load(name, options.folder) for name in options.datasets}

    def draw(self, job: ShiftJob) -> tuple[ShiftedSplit, int]:
        """The split of a job and the seed of its method: the same for every method."""
        entropy = [self.options.seed, zlib.crc32(job.dataset.encode()), job.percent]
        entropy += [zlib.crc32(job.shift.encode()), job.draw]
        rng = np.random.default_rng(entropy)
        table = self._tables[job.dataset]
        split = make_shifted_split(
            table.data, table.target, job.percent / 100, job.shift, rng, self.options.sizes
        )
        return split, int(rng.integers(2**31))

    def run_job(self, job: ShiftJob) -> dict[str, Any]:
        """Fit one method on one draw and measure it; seconds are those of the fit."""
        split, seed = self.draw(job)
        model = METHODS[job.method](split.theta, split.known_shares, seed)
        started = time.perf_counter()
        with warnings.catch_warnings():
            # The table shows what comes of splits that cannot tell theta.
            warnings.simplefilter("ignore", ThetaWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UserWarning)
            if isinstance(model, ExtraTreesClassifier):
                model.fit(
                    np.concatenate([split.X, split.X_unlabeled]),
                    np.concatenate([split.y, split.y_unlabeled]),
                )
            else:
                model.fit(split.X, split.y, X_unlabeled=split.X_unlabeled)
        seconds = time.perf_counter() - started
        return _judged(model, split) | {"seconds": seconds}

    def run(self, results: ResultsFile) -> Results:
        """Every job with its result, of this run or of an earlier one."""
        options = self.options
        jobs = {
            job.key: job
            for job in (
                ShiftJob(dataset, percent, shift, draw, method)
                for dataset in options.datasets
                for percent in options.percents
                for shift in options.shifts
                for draw in range(options.n_draws)
                for method in options.methods
            )
        }
        found = run_jobs(jobs, self.run_job, results, options.n_jobs)
        return [(job, found[key]) for key, job in jobs.items()]


def _judged(model: Any, split: ShiftedSplit) -> dict[str, Any]:
    """What a fitted model makes of a split; None for what it does not give."""
    found: dict[str, Any] = dict.fromkeys(
        ("accuracy", "macro_f1", "theta_estimate", "share_error", "covers_theta", "covers_shares")
    )
    found["theta"] = split.theta
    if hasattr(model, "predict"):
        predicted = model.predict(split.X_test)
        found["accuracy"] = float(accuracy_score(split.y_test, predicted))
        found["macro_f1"] = float(macro_f1_score(split.y_test, predicted))
    if hasattr(model, "theta_"):
        found["theta_estimate"] = float(model.theta_)
        found["share_error"] = float(np.abs(model.known_shares_ - split.known_shares).sum())
    interval = getattr(model, "theta_interval_", getattr(model, "interval_", None))
    if interval is not None:
        found["covers_theta"] = interval[0] <= split.theta <= interval[1]
    ends = getattr(model, "known_shares_interval_", None)
    if ends is not None:
        covered = (ends[:, 0] <= split.known_shares) & (split.known_shares <= ends[:, 1])
        found["covers_shares"] = float(covered.mean())
    found["share_shift"] = getattr(model, "share_shift_", None)
    # The forests give an interval of shares only where these have moved.
    has_shifted = getattr(model, "has_shifted_", ends is not None)
    found["moved"] = None if found["share_shift"] is None else bool(has_shifted)
    return found
