"""Simulations of an open set: some known classes are held out as if they were unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacforest.baselines._parameters import check_fraction

# A simulation needs two classes that stay known and one that is held out.
LEAST_CLASSES = 3
# Thresholds that tuning tries; the authors' grids are not known.
THRESHOLDS = np.arange(1, 100) / 100


def check_threshold(threshold: Any) -> None:
    """Reject anything but a share or "tuned"."""
    if not isinstance(threshold, str):
        check_fraction("threshold", threshold)
    elif threshold != "tuned":
        raise ValueError(f'threshold must be "tuned" or a number in [0, 1], got {threshold!r}')


class Simulation(NamedTuple):
    """Row numbers: rows to fit on, and rows to judge of known and of held-out classes."""

    fitting: NDArray[np.intp]
    known: NDArray[np.intp]
    unknown: NDArray[np.intp]


def simulate(
    y: NDArray[np.intp], n_simulations: int, rng: np.random.Generator
) -> Iterator[Simulation]:
    """Draw simulations: half of the classes stay known, and half of their rows are fitted on.

    Parameters
    ----------
    y : int array
        Codes of at least `LEAST_CLASSES` classes.
    n_simulations : int
    rng : Generator
    """
    classes = np.unique(y)
    n_known = max(2, len(classes) // 2)
    for _ in range(n_simulations):
        chosen = rng.permutation(classes)[:n_known]
        fitting, held_out = [], []
        for code in chosen:
            rows = rng.permutation(np.flatnonzero(y == code))
            half = (len(rows) + 1) // 2
            fitting.append(rows[:half])
            held_out.append(rows[half:])
        yield Simulation(
            np.sort(np.concatenate(fitting)),
            np.sort(np.concatenate(held_out)),
            np.flatnonzero(~np.isin(y, chosen)),
        )


def best_threshold(
    judged: list[tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]],
    grid: NDArray[np.float64],
    accepts: Callable[[NDArray[np.float64], float], NDArray[np.bool_]],
    weight: float = 0.5,
) -> tuple[float, float]:
    """Threshold of the highest normalised accuracy, and that accuracy; ties go to the first.

    Parameters
    ----------
    judged : list of (scores of known rows, whether their class was right, scores of unknown rows)
        One entry per simulation.
    grid : float64 array
        Thresholds to try.
    accepts : callable
        Takes scores and a threshold, and returns which rows count as known.
    weight : float, default=0.5
        Weight of accuracy on known rows; that on unknown rows has weight ``1 - weight``.
    """
    values = np.zeros(len(grid))
    for of_known, right, of_unknown in judged:
        for index, threshold in enumerate(grid):
            known = (accepts(of_known, threshold) & right).mean() if len(right) else 0.0
            unknown = 1.0 - accepts(of_unknown, threshold).mean()
            values[index] += weight * known + (1.0 - weight) * unknown
    best = int(values.argmax())
    return float(grid[best]), float(values[best] / len(judged))
