"""Results of the experiment on shifted shares: a table, and a figure by kind of shift."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest.experiments._figures import make_panels, save_figure
from lacforest.experiments._shift import Results
from lacforest.experiments._tables import PrintedColumn

_UNSHIFTED = "none"
COLUMNS = (
    PrintedColumn("method", "method"),
    PrintedColumn("accuracy, shifted", "accuracy", ".4f"),
    PrintedColumn("gain", "gain", "+.4f"),
    PrintedColumn("+-", "gain_error", ".4f"),
    PrintedColumn("macro-F1, shifted", "macro_f1", ".4f"),
    PrintedColumn("error of theta", "theta_error", ".4f"),
    PrintedColumn("L1 of shares", "share_error", ".4f"),
    PrintedColumn("accuracy, unshifted", "unshifted", ".4f"),
    PrintedColumn("seconds", "seconds", ".2f"),
)


def _mean_by_dataset(
    results: Results, method: str, measure: str, *, shifted: bool
) -> NDArray[np.float64]:
    """Mean of a measure on each dataset, datasets in the order of the results."""
    names = list(dict.fromkeys(job.dataset for job, _ in results))
    means = []
    for name in names:
        values = [
            result[measure]
            for job, result in results
            if (job.dataset, job.method) == (name, method)
            and (job.shift != _UNSHIFTED) == shifted
            and result[measure] is not None
        ]
        means.append(np.mean(values) if values else np.nan)
    return np.array(means)


def _with_theta_error(results: Results) -> list[Any]:
    found = []
    for job, result in results:
        estimate = result["theta_estimate"]
        error = None if estimate is None else abs(estimate - result["theta"])
        found.append((job, result | {"theta_error": error}))
    return found


def _mean(values: NDArray[np.float64]) -> float | None:
    return None if np.isnan(values).all() else float(np.nanmean(values))


def make_rows(results: Results) -> list[dict[str, Any]]:
    """One row per method: means over datasets, and the gain over labelled shares.

    The gain is paired by dataset, and its error is the standard error over datasets.
    """
    results = _with_theta_error(results)
    methods = list(dict.fromkeys(job.method for job, _ in results))
    rows = []
    for method in methods:
        row: dict[str, Any] = {"method": method, "gain": None, "gain_error": None}
        for measure in ("accuracy", "macro_f1", "theta_error", "share_error", "seconds"):
            row[measure] = _mean(_mean_by_dataset(results, method, measure, shifted=True))
        row["unshifted"] = _mean(_mean_by_dataset(results, method, "accuracy", shifted=False))
        today = f"{method.partition(':')[0]}:labeled"
        if today in methods and method != today:
            difference = _mean_by_dataset(results, method, "accuracy", shifted=True)
            difference = difference - _mean_by_dataset(results, today, "accuracy", shifted=True)
            row["gain"] = _mean(difference)
            if len(difference) > 1:
                row["gain_error"] = float(difference.std(ddof=1) / np.sqrt(len(difference)))
        rows.append(row)
    return rows


def make_notes(results: Results) -> list[str]:
    """Accuracy by dataset, where the methods have one."""
    methods = list(dict.fromkeys(job.method for job, _ in results))
    names = list(dict.fromkeys(job.dataset for job, _ in results))
    lines = []
    for method in methods:
        values = _mean_by_dataset(results, method, "accuracy", shifted=True)
        figures = ", ".join(
            f"{name} {value:.3f}" for name, value in zip(names, values, strict=True)
        )
        if not np.isnan(values).all():
            lines.append(f"{method}, shifted: {figures}")
    return lines


def make_tests(results: Results) -> list[str]:
    """How often methods found a shift, and how often their intervals hold the truth."""
    lines = []
    for method in dict.fromkeys(job.method for job, _ in results):
        told = []
        for shifted, kind in ((True, "shifted"), (False, "unshifted")):
            chosen = [
                (job, result)
                for job, result in results
                if job.method == method and (job.shift != _UNSHIFTED) == shifted
            ]
            moved = [(job, found) for job, found in chosen if found["moved"] is not None]
            if not moved:
                continue
            n_found = sum(found["moved"] for _, found in moved)
            told.append(f"shift found in {n_found} of {len(moved)} {kind} draws")
            if not shifted and n_found:
                alarms = Counter(job.dataset for job, found in moved if found["moved"])
                told[-1] += f" ({', '.join(f'{name} {n}' for name, n in alarms.items())})"
            for key, what in (("covers_theta", "theta"), ("covers_shares", "shares")):
                covers = [found[key] for _, found in chosen if found[key] is not None]
                if covers:
                    told.append(f"interval holds {what} in {np.mean(covers):.0%} of {kind} draws")
        if told:
            lines.append(f"{method}: {'; '.join(told)}")
    return lines


def draw_figure(results: Results, path: str | os.PathLike[str]) -> None:
    """Accuracy by theta, one panel per kind of shift."""
    shifts = list(dict.fromkeys(job.shift for job, _ in results))
    results = [(job, result) for job, result in results if result["accuracy"] is not None]
    methods: Sequence[str] = list(dict.fromkeys(job.method for job, _ in results))
    percents = sorted({job.percent for job, _ in results})
    figure, panels = make_panels(len(shifts), 3, (3.4, 2.8), sharex=True, sharey=True)
    for shift, panel in zip(shifts, panels.flat, strict=False):
        for method in methods:
            means = [
                np.mean(
                    [
                        result["accuracy"]
                        for job, result in results
                        if (job.shift, job.method, job.percent) == (shift, method, percent)
                    ]
                )
                for percent in percents
            ]
            panel.plot([p / 100 for p in percents], means, marker="o", ms=3, label=method)
        panel.set_title("no shift" if shift == _UNSHIFTED else shift)
        panel.grid(alpha=0.3)
    for panel in panels[-1]:
        panel.set_xlabel("theta")
    for panel in panels[:, 0]:
        panel.set_ylabel("accuracy")
    handles, labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    save_figure(figure, path)
