"""The suite's results as a table and as a picture."""

from __future__ import annotations

import os
from collections.abc import Sequence
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
    """Accuracy of every other method less that of the first, in points.

    One panel per regime, one line per table; bars reach one standard error over the splits. Tables
    for checking stand above the dividing line, those of development below.

    Parameters
    ----------
    results : list of (LearningJob, dict)
    regimes : dict of str to Setting
    path : path
        The picture to write; its suffix is the format.
    """
    places, border = _places(list(dict.fromkeys(job.dataset for job, _ in results)))
    # Tall rather than wide, because pages scale a picture to the width of a screen.
    size = (2.8, max(2.6, 0.8 + 0.2 * (1 + max(places.values()))))
    figure, panels = make_panels(
        len(regimes), min(2, len(regimes)), size, sharex="row", sharey=True
    )
    # Panels that stay empty are invisible and come last.
    for panel, (regime, setting) in zip(panels.flat, regimes.items(), strict=False):
        scores = MethodScores.of(results, setting, "accuracy")
        _draw_regime(panel, scores, places)
        sizes = f"{setting.n_labeled:,} labelled + {setting.n_unlabeled:,} unlabelled"
        panel.set_title(f"{regime}: θ = {setting.percent / 100:g}\n{sizes}", fontsize=10)
        if border is not None:
            panel.axhline(border, color="0.4", lw=1)
            for name, side in (("checking", "bottom"), ("development", "top")):
                panel.annotate(
                    name,
                    (1, border),
                    xytext=(-3, 1 if side == "bottom" else -1),
                    xycoords=("axes fraction", "data"),
                    textcoords="offset points",
                    ha="right",
                    va=side,
                    color="0.4",
                )
    for panel in panels[:, 0]:
        panel.set_yticks(list(places.values()), list(places))
    figure.supxlabel("points of accuracy; bars: one standard error", fontsize=11)
    first, *others = dict.fromkeys(job.method for job, _ in results)
    handles, names = panels.flat[0].get_legend_handles_labels()
    figure.legend(
        handles,
        names,
        loc="outside upper center",
        ncols=max(len(others), 1),
        title=f"accuracy of a method less that of {first}",
        frameon=False,
    )
    save_figure(figure, path)


def _places(tables: Sequence[str]) -> tuple[dict[str, int], float | None]:
    """Heights of tables, those of development lowest, and of the line between both groups."""
    lower = [name for name in tables if name not in CHECKING]
    upper = [name for name in tables if name in CHECKING]
    if not lower or not upper:
        return {name: place for place, name in enumerate(tables)}, None
    # The two missing lines have room for the names of the groups.
    places = {name: place for place, name in enumerate(lower)}
    places |= {name: len(lower) + 2 + place for place, name in enumerate(upper)}
    return places, len(lower) + 0.5


def _draw_regime(panel: Any, scores: MethodScores, places: dict[str, int]) -> None:
    n_splits = scores.values.shape[2]
    # Dots of different methods are drawn below one another, where they would hide one another.
    steps = np.linspace(0.25, -0.25, max(2, len(scores.methods) - 1))
    lines = np.array([places[table] for table in scores.tables])
    panel.hlines(lines, 0, 1, transform=panel.get_yaxis_transform(), color="0.92", lw=11, zorder=0)
    panel.axvline(0, color="0.4", lw=1)
    for number, method in enumerate(scores.methods[1:], start=1):
        by_split = 100 * (scores.values[:, number] - scores.values[:, 0])
        errors = by_split.std(axis=1, ddof=1) / n_splits**0.5 if n_splits > 1 else None
        panel.errorbar(
            by_split.mean(axis=1),
            lines + steps[number - 1],
            xerr=errors,
            fmt="osD^v"[(number - 1) % 5],
            ms=4,
            lw=1.2,
            color=f"C{number}",
            label=method,
        )
    panel.set_ylim(-0.8, max(places.values()) + 0.8)
