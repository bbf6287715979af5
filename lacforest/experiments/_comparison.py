"""Comparison of methods as in the paper: means, paired t-tests, win/tie/loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_rel

from lacforest.experiments._learning import Results, Setting
from lacforest.experiments._methods import NOT_COMPARED
from lacforest.experiments._paper import paper_figure

TITLES = {"accuracy": "Accuracy", "macro_f1": "Macro-F1", "auc": "AUC of the new class"}
_LEVEL = 0.05
# Tolerance for means on other splits and with other settings.
_CLOSE = 0.04
_ENOUGH = 2 / 3
# Smaller differences are rounding errors: measures are shares of a hundred rows.
_NO_NOISE = 1e-9


@dataclass(frozen=True)
class Cell:
    """A method on a dataset, in one setting and by one measure.

    Attributes
    ----------
    mean, deviation : float
        Over all splits.
    n_splits : int
    verdict : {"win", "tie", "loss"} or None
        Result of the first method against this one, by a paired t-test at 95 %; None for the first
        method itself, and if there is only one split.
    paper : tuple of float or None
        Mean and deviation in the paper.
    """

    dataset: str
    setting: Setting
    method: str
    measure: str
    mean: float
    deviation: float
    n_splits: int
    verdict: Literal["win", "tie", "loss"] | None
    paper: tuple[float, float] | None


def _values(results: Results, *wanted: Any) -> dict[tuple[int, int], dict[str, Any]]:
    return {
        (job.choice, job.sample): result
        for job, result in results
        if (job.dataset, job.setting, job.method) == wanted
    }


def _verdict(
    first: NDArray[np.float64], other: NDArray[np.float64]
) -> Literal["win", "tie", "loss"] | None:
    if len(first) < 2:
        return None
    difference = first - other
    mean = difference.mean()
    if np.ptp(difference) < _NO_NOISE:
        # The test statistic is undefined; the sign decides.
        return "tie" if abs(mean) < _NO_NOISE else "win" if mean > 0 else "loss"
    if ttest_rel(first, other).pvalue > _LEVEL:
        return "tie"
    return "win" if mean > 0 else "loss"


def compare(results: Results) -> list[Cell]:
    """All cells; the other methods are compared with the first one."""
    names = list(dict.fromkeys(job.dataset for job, _ in results))
    settings = list(dict.fromkeys(job.setting for job, _ in results))
    methods = list(dict.fromkeys(job.method for job, _ in results))
    cells = []
    for name in names:
        for setting in settings:
            found = {method: _values(results, name, setting, method) for method in methods}
            splits = sorted(found[methods[0]])
            if not splits:
                continue  # the dataset has too few rows for this setting
            for measure in TITLES:
                first, *_ = columns = [
                    np.array([found[method][split][measure] for split in splits])
                    for method in methods
                ]
                for method, values in zip(methods, columns, strict=True):
                    cells.append(
                        Cell(
                            name,
                            setting,
                            method,
                            measure,
                            float(values.mean()),
                            float(values.std(ddof=1)) if len(values) > 1 else 0.0,
                            len(values),
                            None if method == methods[0] else _verdict(first, values),
                            _paper(measure, name, method, setting),
                        )
                    )
    return cells


def _paper(measure: str, dataset: str, method: str, setting: Setting) -> tuple[float, float] | None:
    """The paper's result; its tables have the standard setting."""
    return paper_figure(measure, dataset, method) if setting == Setting() else None


def long_rows(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """One row per cell, for CSV and JSON."""
    return [
        {
            "dataset": cell.dataset,
            "theta": cell.setting.percent / 100,
            "n_unlabeled": cell.setting.n_unlabeled,
            "method": cell.method,
            "measure": cell.measure,
            "mean": cell.mean,
            "deviation": cell.deviation,
            "n_splits": cell.n_splits,
            "verdict": cell.verdict,
            "paper_mean": None if cell.paper is None else cell.paper[0],
            "paper_deviation": None if cell.paper is None else cell.paper[1],
        }
        for cell in cells
    ]


def win_tie_loss(cells: Sequence[Cell], method: str, measure: str) -> str:
    """Counts of datasets, in the format of the paper."""
    verdicts = [cell.verdict for cell in cells if (cell.method, cell.measure) == (method, measure)]
    return "/".join(str(verdicts.count(word)) for word in ("win", "tie", "loss"))


def check_against_paper(cells: Sequence[Cell]) -> list[str]:
    """Sentences on whether the accuracy of the first method reaches that of the paper."""
    method = cells[0].method
    checks = []
    for cell in cells:
        if cell.method != method or cell.measure != "accuracy" or cell.paper is None:
            continue
        word = "holds:" if cell.mean >= cell.paper[0] else "FAILS:"
        error = cell.deviation / cell.n_splits**0.5
        checks.append(
            f"{word} accuracy of {method} on {cell.dataset} is {cell.mean:.4f} ± {error:.4f} "
            f"(standard error), {cell.paper[0]:.4f} in the paper."
        )
    return checks


def check_compared(cells: Sequence[Cell]) -> list[str]:
    """Sentences on whether compared methods reproduce the paper's accuracies, and which is best.

    Our own methods, which are not in the paper, are left out.
    """
    own = [cell for cell in cells if cell.measure == "accuracy" and cell.setting == Setting()]
    first, *others = dict.fromkeys(cell.method for cell in own)
    others = [method for method in others if method.split(":")[0] not in NOT_COMPARED]
    checks = []
    for method in others:
        differences = {
            cell.dataset: cell.mean - cell.paper[0]
            for cell in own
            if cell.method == method and cell.paper is not None
        }
        if not differences:
            continue
        far = [f"{name} {d:+.3f}" for name, d in differences.items() if abs(d) > _CLOSE + _NO_NOISE]
        n_close = len(differences) - len(far)
        word = "holds:" if n_close >= _ENOUGH * len(differences) else "FAILS:"
        checks.append(
            f"{word} accuracy of {method} is within {_CLOSE} of the paper's on {n_close} of "
            f"{len(differences)} datasets" + (f"; not on {', '.join(far)}." if far else ".")
        )
    if others:
        means = {
            method: float(np.mean([cell.mean for cell in own if cell.method == method]))
            for method in (first, *others)
        }
        best = max(others, key=lambda method: means[method])
        word = "holds:" if means[first] >= means[best] - _NO_NOISE else "FAILS:"
        checks.append(
            f"{word} the average accuracy of {first} is {means[first]:.4f}, that of the best other "
            f"method, {best}, {means[best]:.4f}."
        )
    return checks
