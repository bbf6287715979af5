"""Results of the experiment on streams: what becomes of the returning class, and a figure."""

from __future__ import annotations

import os

import numpy as np

from lacforest.experiments._figures import make_panels, save_figure
from lacforest.experiments._life import Results, mean_of
from lacforest.experiments._stream import DAYS_OF_RETURNING, N_DAYS, STRATEGIES

_COLORS = {"frozen": "0.6", "adapt": "#E69F00", "refit": "#0072B2", "loop": "#D55E00"}
_LOOP = "loop"


def make_notes(results: Results) -> list[str]:
    """By day on which the returning class is there: called by its name, and called new."""
    lines = []
    for method in STRATEGIES:
        parts = []
        for day in DAYS_OF_RETURNING:
            named = mean_of(results, method, f"returning named, arrival {day}")
            new = mean_of(results, method, f"returning new, arrival {day}")
            if named is not None and new is not None:
                parts.append(f"day {day} {named:.0%} and {new:.0%}")
        if parts:
            lines.append(f"{method}, returning class named and called new: {', '.join(parts)}")
    return lines


def draw_figure(results: Results, path: str | os.PathLike[str]) -> None:
    """Accuracy on arrival by day and dataset; below, what the loop calls the returning class."""
    results = [(job, found) for job, found in results if _LOOP in found]
    names = list(dict.fromkeys(job.dataset for job, _ in results))
    figure, panels = make_panels(2 * len(names), len(names), (3.6, 2.6), sharex=True, sharey="row")
    days = np.arange(1, N_DAYS)
    for column, name in enumerate(names):
        chosen = [(job, found) for job, found in results if job.dataset == name]
        top, bottom = panels[0, column], panels[1, column]
        for method, color in _COLORS.items():
            means = [mean_of(chosen, method, f"accuracy, arrival {day}") for day in days]
            top.plot(days, means, marker="o", ms=3, color=color, label=method)
        top.set_title(name)
        for measure, color in (("named", "#009E73"), ("new", "#CC79A7")):
            means = [
                mean_of(chosen, _LOOP, f"returning {measure}, arrival {day}")
                for day in DAYS_OF_RETURNING
            ]
            for part in (slice(0, 3), slice(3, 6)):
                bottom.plot(
                    DAYS_OF_RETURNING[part],
                    means[part],
                    marker="o",
                    ms=3,
                    color=color,
                    label=f"called {measure}" if measure == "new" else "called by its name",
                )
        bottom.set_xlabel("day")
        for panel in (top, bottom):
            for first in (DAYS_OF_RETURNING[0], DAYS_OF_RETURNING[3]):
                panel.axvspan(first - 0.4, first + 2.4, color="0.92", zorder=0)
            panel.grid(alpha=0.3)
    panels[0, 0].set_ylabel("accuracy on arrival")
    panels[1, 0].set_ylabel("returning class, loop")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    more, names_of_more = panels[1, 0].get_legend_handles_labels()
    figure.legend(
        handles + more[::2],
        labels + names_of_more[::2],
        loc="outside lower center",
        ncols=2 * len(names),
    )
    save_figure(figure, path)
