"""Tables and figures of the experiments with the neural forest."""

from __future__ import annotations

from typing import Any

import numpy as np

from lacforest._utils.plotting import KNOWN_COLOR, NEW_COLOR
from lacforest.experiments._comparison import TITLES
from lacforest.experiments._deep import DeepSweep, Results
from lacforest.experiments._figures import make_panels, save_figure
from lacforest.experiments._tables import PrintedColumn

# Mean and deviation over 5 choices after 500 epochs: accuracy, macro-F1, AUC.
PAPER = {
    "mnist": ((0.9844, 0.0021), (0.9833, 0.0027), (0.9983, 0.0019)),
    "fmnist": ((0.9024, 0.0114), (0.8986, 0.0141), (0.9784, 0.0061)),
    "kuzushiji": ((0.9636, 0.0044), (0.9629, 0.0064), (0.9939, 0.0026)),
    "svhn": ((0.9238, 0.0134), (0.9237, 0.0140), (0.9795, 0.0020)),
    "cifar10": ((0.8008, 0.0331), (0.7936, 0.0299), (0.9292, 0.0095)),
}


def deep_rows(results: Results) -> tuple[list[PrintedColumn], list[dict[str, Any]]]:
    """One row per dataset and choice, then their mean and that of the paper, for `render`."""
    columns = [
        PrintedColumn("dataset", "dataset"),
        PrintedColumn("classes", "choice"),
        *(PrintedColumn(title, measure, ".4f") for measure, title in TITLES.items()),
        PrintedColumn("theta", "theta", ".3f"),
        PrintedColumn("CPU minutes", "minutes", ".1f"),
    ]
    rows = []
    for name in dict.fromkeys(job.dataset for job, _ in results):
        own = [(job, result) for job, result in results if job.dataset == name]
        for job, result in own:
            row = {measure: result[measure] for measure in TITLES}
            row |= {"dataset": name, "choice": f"choice {job.choice + 1}"}
            row |= {"theta": result["theta_used"], "minutes": result["cpu_seconds"] / 60}
            rows.append(row)
        for label, function in (("mean", np.mean), ("deviation", np.std)):
            row = {m: float(function([result[m] for _, result in own])) for m in TITLES}
            rows.append(row | {"dataset": name, "choice": label, "theta": None, "minutes": None})
        if name in PAPER:
            for place, label in enumerate(("paper, 500 epochs", "its deviation")):
                row = {m: PAPER[name][i][place] for i, m in enumerate(TITLES)}
                rows.append(
                    row | {"dataset": name, "choice": label, "theta": None, "minutes": None}
                )
    return columns, rows


def deep_sweep_rows(
    results: Results, sweep: DeepSweep
) -> tuple[list[PrintedColumn], list[dict[str, Any]]]:
    """One row per dataset and point, for `render`."""
    columns = [
        PrintedColumn("dataset", "dataset"),
        PrintedColumn(sweep.title, "value", "g"),
        *(PrintedColumn(title, measure, ".4f") for measure, title in TITLES.items()),
        PrintedColumn("deviation of accuracy", "deviation", ".4f"),
    ]
    rows = []
    for name in dict.fromkeys(job.dataset for job, _ in results):
        for point in sweep.points:
            own = [r for job, r in results if (job.dataset, job.point) == (name, point)]
            row: dict[str, Any] = {m: float(np.mean([r[m] for r in own])) for m in TITLES}
            row |= {"dataset": name, "value": sweep.value(point)}
            row["deviation"] = float(np.std([r["accuracy"] for r in own]))
            rows.append(row)
    return columns, rows


def draw_deep_sweep(results: Results, sweep: DeepSweep, path: Any) -> None:
    """Accuracy and AUC against what is varied: one panel per dataset, one dot per training run.

    Parameters
    ----------
    results : list of (DeepJob, dict)
    sweep : DeepSweep
    path : path
        The picture to write; its suffix is the format.
    """
    names = list(dict.fromkeys(job.dataset for job, _ in results))
    figure, grid = make_panels(len(names), len(names), (4.2, 3.2), sharey=True)
    panels = grid[0]
    for panel, name in zip(panels, names, strict=True):
        own = [(sweep.value(job.point), result) for job, result in results if job.dataset == name]
        for measure, color, label in (
            ("accuracy", KNOWN_COLOR, "accuracy"),
            ("auc", NEW_COLOR, "AUC of the new class"),
        ):
            values = sorted({value for value, _ in own})
            means = [np.mean([r[measure] for v, r in own if v == value]) for value in values]
            panel.plot(values, means, "-", color=color, label=label)
            panel.plot(
                [v for v, _ in own], [r[measure] for _, r in own], "o", color=color, ms=3, alpha=0.6
            )
        panel.set(title=name, xlabel=sweep.title)
        panel.grid(alpha=0.3)
    panels[0].legend(frameon=False, loc="lower right")
    save_figure(figure, path)
