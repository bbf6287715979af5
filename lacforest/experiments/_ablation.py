"""From the paper's forest to LACExtraTreesClassifier, one change at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest.experiments._learning import Results
from lacforest.experiments._tables import PrintedColumn, render

PAPER = "lacforest"
ORACLE = "oracle"
# The methods in order, each with its change from the method before.
CHANGES = {
    PAPER: "the paper's forest",
    "lacextratrees:fresh": "fresh random trees in Step II",
    "lacextratrees:leaves": "leaves of 3 rows in Step I, no gamma",
    "lacextratrees:cuts": "random cuts in Step I",
    "lacextratrees:hard": "four times as many features",
    "lacextratrees:sampled": "drawn labels instead",
    "lacextratrees:half": "hard and drawn labels, half of the trees each",
    "lacextratrees": "three times as many trees (the default)",
    "lacextratrees:deepen": "deepened instead of fresh trees",
    ORACLE: "trained on the hidden labels",
}
METHODS = tuple(CHANGES)


def render_ablation(results: Results, form: str) -> str:
    """Mean accuracy per method and dataset, and the share of the gap that each method closes."""
    names = list(dict.fromkeys(job.dataset for job, _ in results))
    methods = list(dict.fromkeys(job.method for job, _ in results))
    means = {
        method: np.array([_mean(results, method, name) for name in names]) for method in methods
    }
    columns = [PrintedColumn("method", "method"), PrintedColumn("change", "change")]
    columns += [PrintedColumn(name, name, ".4f") for name in names]
    columns += [
        PrintedColumn("average", "average", ".4f"),
        PrintedColumn("+-", "step", "+.4f"),
        PrintedColumn("s.e.", "error", ".4f"),
        PrintedColumn("gap closed", "closed", ".0%"),
        PrintedColumn("by dataset", "closed_by_dataset", ".0%"),
    ]
    rows: list[dict[str, Any]] = []
    for i, method in enumerate(methods):
        row: dict[str, Any] = {"method": method, "change": CHANGES.get(method, "")}
        row |= dict(zip(names, means[method].tolist(), strict=True))
        row["average"] = float(means[method].mean())
        row["step"], row["error"] = None, None
        if i > 0:
            step = means[method] - means[methods[i - 1]]
            row["step"] = float(step.mean())
            if len(step) > 1:
                row["error"] = float(step.std(ddof=1) / len(step) ** 0.5)
        row["closed"], row["closed_by_dataset"] = gap_closed(means, method)
        rows.append(row)
    return render(columns, rows, {"notes": _notes(results, names, methods)}, form)


def gap_closed(
    means: dict[str, NDArray[np.float64]], method: str
) -> tuple[float | None, float | None]:
    """Share of the way from the paper's forest to the oracle: of averages, and mean of shares.

    None if there is no gap.
    """
    if not {PAPER, ORACLE} <= means.keys():
        return None, None
    gap, gain = means[ORACLE] - means[PAPER], means[method] - means[PAPER]
    if (gap <= 0).any():
        return None, None
    return float(gain.mean() / gap.mean()), float((gain / gap).mean())


def _mean(results: Results, method: str, dataset: str) -> float:
    values = [r["accuracy"] for job, r in results if (job.method, job.dataset) == (method, dataset)]
    return float(np.mean(values))


def _notes(results: Results, names: Sequence[str], methods: Sequence[str]) -> list[str]:
    n_splits = len(results) // (len(names) * len(methods))
    return [
        f"{n_splits} splits per dataset, the same for every method.",
        "+-: difference from the line above; s.e.: its standard error over datasets.",
        "gap closed: share of the gap in average accuracy between the paper's forest and the "
        "forest that is trained on the hidden labels; by dataset: mean over datasets.",
    ]
