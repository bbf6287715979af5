"""Sweeps over theta and over numbers of rows: points, table and figure."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacforest.experiments._comparison import TITLES, Cell
from lacforest.experiments._figures import make_panels, save_figure
from lacforest.experiments._learning import N_UNLABELED, PERCENT, Setting
from lacforest.experiments._tables import PrintedColumn


@dataclass(frozen=True)
class Sweep:
    """The varied quantity and its name.

    Attributes
    ----------
    name : str
        Name of the experiment.
    title : str
        Label of the axis.
    points : tuple of Setting
    value : callable
        The varied number of a setting.
    thetas : tuple of int
        Theta times 100, where each has panels of its own; empty where theta is that of the paper
        or varied itself. Such a sweep covers orders of magnitude: its axis is logarithmic, and it
        leaves out points for which a dataset has too few rows.
    """

    name: str
    title: str
    points: tuple[Setting, ...]
    value: Callable[[Setting], float]
    thetas: tuple[int, ...] = ()

    @property
    def panels(self) -> tuple[int | None, ...]:
        """Theta of the panels of a dataset; None for one panel with all points."""
        return self.thetas or (None,)


# The range of the paper's figure, and sizes around the paper's 1,000 rows.
THETA = Sweep(
    "theta-sweep",
    "theta, the share of new rows",
    tuple(Setting(percent, N_UNLABELED) for percent in range(30, 90, 10)),
    lambda setting: setting.percent / 100,
)
UNLABELED = Sweep(
    "unlabeled-sweep",
    "number of unlabelled rows",
    tuple(Setting(PERCENT, n) for n in (200, 400, 600, 800, 1000, 1200, 1400)),
    lambda setting: float(setting.n_unlabeled),
)


_THETAS = (20, 50, 80)
# Test rows where few rows are labelled: a hundred would be too few to see a trend.
MANY_TEST_ROWS = 500
MANY_UNLABELED = Sweep(
    "unlabeled-curves",
    "number of unlabelled rows",
    tuple(Setting(theta, n, 150) for theta in _THETAS for n in (300, 1000, 3000, 10_000, 30_000)),
    lambda setting: float(setting.n_unlabeled),
    _THETAS,
)
LABELED = Sweep(
    "labeled-curves",
    "number of labelled rows",
    tuple(Setting(theta, 2000, n) for theta in _THETAS for n in (30, 100, 300, 1000, 3000)),
    lambda setting: float(setting.n_labeled),
    _THETAS,
)


def sweep_rows(
    cells: Sequence[Cell], sweep: Sweep
) -> tuple[list[PrintedColumn], list[dict[str, Any]]]:
    """One row per dataset, method and point, for `render`."""
    columns = [
        PrintedColumn("dataset", "dataset"),
        PrintedColumn("method", "method"),
        *([PrintedColumn("theta", "theta", ".2f")] if sweep.thetas else []),
        PrintedColumn(sweep.title, "value", "g"),
        *(PrintedColumn(title, measure, ".4f") for measure, title in TITLES.items()),
        PrintedColumn("deviation of accuracy", "deviation", ".4f"),
    ]
    rows: dict[tuple[str, str, Setting], dict[str, Any]] = {}
    for cell in cells:
        row = rows.setdefault(
            (cell.dataset, cell.method, cell.setting),
            {
                "dataset": cell.dataset,
                "method": cell.method,
                "theta": cell.setting.percent / 100,
                "value": sweep.value(cell.setting),
            },
        )
        row[cell.measure] = cell.mean
        if cell.measure == "accuracy":
            row["deviation"] = cell.deviation
    order = ("dataset", "method", *(["theta"] if sweep.thetas else []), "value")
    return columns, sorted(rows.values(), key=lambda row: [row[key] for key in order])


def draw_sweep(cells: Sequence[Cell], sweep: Sweep, path: str | os.PathLike[str]) -> None:
    """Accuracy against what is varied: a panel per dataset and theta, one line per method.

    Bands reach one standard error to either side. Where a dataset has several panels they share
    their axis.

    Parameters
    ----------
    cells : list of Cell
    sweep : Sweep
    path : path
        The picture to write; its suffix is the format.
    """
    names = list(dict.fromkeys(cell.dataset for cell in cells))
    methods = list(dict.fromkeys(cell.method for cell in cells))
    places = [(name, theta) for name in names for theta in sweep.panels]
    n_columns = len(sweep.thetas) or min(3, len(names))
    figure, panels = make_panels(
        len(places), n_columns, (2.1, 1.9), sharex=True, sharey="row" if sweep.thetas else False
    )
    for panel, (name, theta) in zip(panels.flat, places, strict=False):
        for number, method in enumerate(methods):
            own = [
                (sweep.value(cell.setting), cell.mean, cell.deviation / cell.n_splits**0.5)
                for cell in cells
                if (cell.dataset, cell.method, cell.measure) == (name, method, "accuracy")
                and theta in (None, cell.setting.percent)
            ]
            if not own:
                continue
            x, mean, error = (np.array(values) for values in zip(*sorted(own), strict=True))
            colour = f"C{number}"
            panel.fill_between(x, mean - error, mean + error, color=colour, alpha=0.25, lw=0)
            # Above the frame, where accuracy is close to 1.
            line = {"color": colour, "label": method, "clip_on": False, "zorder": 3}
            panel.plot(x, mean, "o-", ms=4, **line)
        panel.set_title(name if theta is None else f"{name}, θ = {theta / 100:g}", fontsize=10)
        if sweep.thetas:
            panel.set_xscale("log")
        panel.grid(alpha=0.3)
    # Bands may reach above 1, accuracy does not. Limits are set last, because they end scaling.
    for panel in panels.flat[: len(places)]:
        panel.set_ylim(top=min(1, panel.get_ylim()[1]))
    for panel in panels[:, 0]:
        panel.set_ylabel("accuracy")
    figure.supxlabel(f"{sweep.title}; bands: one standard error", fontsize=11)
    handles, labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(methods), frameon=False)
    save_figure(figure, path)
