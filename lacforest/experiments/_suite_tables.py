"""The suite's results as a table and as a picture."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from lacforest.experiments._figures import make_panels, save_figure
from lacforest.experiments._learning import Results, Setting
from lacforest.experiments._suite import CHECKING, DEVELOPMENT, MethodScores
from lacforest.experiments._tables import PrintedColumn, render

_COLUMNS = (
    PrintedColumn("regime", "regime"),
    PrintedColumn("tables", "group"),
    PrintedColumn("n", "n_tables", "d"),
    PrintedColumn("method", "method"),
    PrintedColumn("accuracy", "accuracy", ".4f"),
    PrintedColumn("macro-F1", "macro_f1", ".4f"),
    PrintedColumn("rank", "rank", ".2f"),
    PrintedColumn("lead of first", "lead", "+.4f"),
    PrintedColumn("s.e.", "error", ".4f"),
    PrintedColumn("ahead on", "n_ahead", "d"),
    PrintedColumn("least lead", "worst_lead", "+.4f"),
    PrintedColumn("s.e.", "worst_error", ".4f"),
    PrintedColumn("on", "worst"),
)
_GROUPS = {"development": DEVELOPMENT, "checking": CHECKING, "all": (*DEVELOPMENT, *CHECKING)}
_NOTES = [
    "lead of first: accuracy of the first method less that of this one, mean over tables of "
    "paired differences, with its standard error over tables; ahead on: tables on which the mean "
    "difference is positive.",
    "least lead: the table on which the first method does worst against this one, with the "
    "standard error over its splits.",
    "rank: mean over tables of the rank by accuracy, 1 for the best.",
    f"development tables, on which methods may be chosen: {', '.join(DEVELOPMENT)}.",
    f"checking tables, on which they may not: {', '.join(CHECKING)}.",
]


def render_suite(results: Results, regimes: dict[str, Setting], form: str) -> str:
    """One row for each regime, group of tables and method."""
    rows: list[dict[str, Any]] = []
    for regime, setting in regimes.items():
        accuracy, macro_f1 = (
            MethodScores.of(results, setting, measure) for measure in ("accuracy", "macro_f1")
        )
        for group, names in _GROUPS.items():
            own = accuracy.of_tables(names)
            if own.tables:
                f1 = macro_f1.of_tables(names).means.mean(axis=0)
                rows += [
                    {"regime": regime, "group": group, "macro_f1": float(f1[i])} | _facts(own, i)
                    for i in range(len(own.methods))
                ]
    sizes = [
        f"{regime}: {setting.n_labeled} labelled and {setting.n_unlabeled} unlabelled rows, "
        f"theta {setting.percent / 100:.2f}."
        for regime, setting in regimes.items()
    ]
    return render(_COLUMNS, rows, {"regimes": sizes, "notes": _NOTES}, form)


def _facts(scores: MethodScores, method: int) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "n_tables": len(scores.tables),
        "method": scores.methods[method],
        "accuracy": float(scores.means[:, method].mean()),
        "rank": float(scores.mean_ranks[method]),
    }
    if method == 0:
        names = ("lead", "error", "n_ahead", "worst_lead", "worst_error", "worst")
        return facts | dict.fromkeys(names)
    lead = scores.lead(method)
    return facts | {
        "lead": lead.mean,
        "error": lead.error,
        "n_ahead": lead.n_ahead,
        "worst_lead": lead.worst_mean,
        "worst_error": lead.worst_error,
        "worst": lead.worst,
    }


def draw_suite(results: Results, regimes: dict[str, Setting], path: str | os.PathLike[str]) -> None:
    """Accuracy of every method less that of the first: one panel per regime, one line per table.

    Tables for checking stand above a dashed line, those of development below.

    Parameters
    ----------
    results : list of (LearningJob, dict)
    regimes : dict of str to Setting
    path : path
        The picture to write; its suffix is the format.
    """
    figure, panels = make_panels(len(regimes), len(regimes), (3.2, 5.6), sharey=True)
    order = list(dict.fromkeys(job.dataset for job, _ in results))
    order.sort(key=lambda name: name in CHECKING)
    height = {name: place for place, name in enumerate(order)}
    for panel, (regime, setting) in zip(panels.flat, regimes.items(), strict=True):
        scores = MethodScores.of(results, setting, "accuracy")
        difference = 100 * (scores.means - scores.means[:, :1])
        places = np.array([height[table] for table in scores.tables])
        panel.hlines(places, difference.min(axis=1), difference.max(axis=1), color="0.85", lw=2)
        for number, method in enumerate(scores.methods):
            panel.plot(difference[:, number], places, "o", ms=5, color=f"C{number}", label=method)
        panel.axvline(0, color="C0", lw=0.8)
        panel.axhline(sum(name not in CHECKING for name in order) - 0.5, color="0.5", ls="--")
        panel.set_title(regime)
        panel.set_yticks(list(height.values()), list(height))
        panel.set_xlabel("points of accuracy")
        panel.grid(axis="x", alpha=0.3)
    handles, names = panels.flat[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), frameon=False)
    save_figure(figure, path)
