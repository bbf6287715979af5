"""Sweeps over theta and over the number of unlabelled rows: their points, table and figure."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacforest._atomic import atomic_file
from lacforest.experiments._comparison import TITLES, Cell
from lacforest.experiments._learning import N_UNLABELED, PERCENT, Setting
from lacforest.experiments._tables import Column


@dataclass(frozen=True)
class Sweep:
    """What is varied, and how it is called.

    Attributes
    ----------
    name : str
        The experiment.
    title : str
        Axis of the figure.
    points : tuple of Setting
    value : callable
        What of a setting is varied, as a number.
    """

    name: str
    title: str
    points: tuple[Setting, ...]
    value: Callable[[Setting], float]


_PICTURES = (".png", ".svg", ".pdf")

# The range of the paper's figure, and sizes around its 1,000.
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


def sweep_rows(cells: Sequence[Cell], sweep: Sweep) -> tuple[list[Column], list[dict[str, Any]]]:
    """One row for each dataset, method and point, for `render`."""
    columns = [
        Column("dataset", "dataset"),
        Column("method", "method"),
        Column(sweep.title, "value", "g"),
        *(Column(title, measure, ".4f") for measure, title in TITLES.items()),
        Column("deviation of accuracy", "deviation", ".4f"),
    ]
    rows: dict[tuple[str, str, Setting], dict[str, Any]] = {}
    for cell in cells:
        row = rows.setdefault(
            (cell.dataset, cell.method, cell.setting),
            {
                "dataset": cell.dataset,
                "method": cell.method,
                "value": sweep.value(cell.setting),
            },
        )
        row[cell.measure] = cell.mean
        if cell.measure == "accuracy":
            row["deviation"] = cell.deviation
    return columns, sorted(rows.values(), key=lambda r: (r["dataset"], r["method"], r["value"]))


def check_figure(path: Path) -> None:
    """Complain about a figure that cannot be drawn before hours of work, not after."""
    if path.suffix.lower() not in _PICTURES:
        raise ValueError(f"{path}: the name of a figure ends in {', '.join(_PICTURES)}")
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}")
    if importlib.util.find_spec("matplotlib") is None:
        raise ValueError(
            "figures need matplotlib, which is not installed: pip install 'lacforest[cli]' (in a "
            "checkout: pip install '.[cli]')"
        )


def draw_sweep(cells: Sequence[Cell], sweep: Sweep, path: str | os.PathLike[str]) -> None:
    """Accuracy against what is varied: a panel a dataset, a line a method, bands of one deviation.

    Parameters
    ----------
    cells : list of Cell
    sweep : Sweep
    path : path
        Picture to write; its suffix says of which kind.
    """
    import matplotlib.figure

    names = list(dict.fromkeys(cell.dataset for cell in cells))
    methods = list(dict.fromkeys(cell.method for cell in cells))
    n_columns = min(3, len(names))
    n_rows = -(-len(names) // n_columns)
    figure = matplotlib.figure.Figure(figsize=(3.6 * n_columns, 2.8 * n_rows), layout="constrained")
    panels = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True)
    for panel in panels.flat[len(names) :]:
        panel.set_visible(False)
    for panel, name in zip(panels.flat, names, strict=False):
        for number, method in enumerate(methods):
            own = [
                (sweep.value(cell.setting), cell.mean, cell.deviation)
                for cell in cells
                if (cell.dataset, cell.method, cell.measure) == (name, method, "accuracy")
            ]
            x, mean, deviation = zip(*sorted(own), strict=True)
            low = [m - d for m, d in zip(mean, deviation, strict=True)]
            high = [m + d for m, d in zip(mean, deviation, strict=True)]
            colour = f"C{number}"
            panel.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)
            panel.plot(x, mean, "o-", color=colour, ms=4, label=method)
        panel.set_title(name)
        panel.grid(alpha=0.3)
    for panel in panels[-1]:
        panel.set_xlabel(sweep.title)
    for panel in panels[:, 0]:
        panel.set_ylabel("accuracy")
    panels[0, 0].legend(frameon=False)
    with atomic_file(path) as file:
        figure.savefig(file, dpi=110, format=Path(path).suffix[1:].lower())
