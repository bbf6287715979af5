"""Theta and shares of known classes over time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lacforest._utils.plotting import plain

_MOST_CLASSES = 8
_SHARE = "share_"


def draw_history(history: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]) -> None:
    """Draw the share of new rows and the shares of known classes, table by table, into a file.

    Parameters
    ----------
    history : list of dict
        With the keys ``table``, ``theta``, ``theta_low``, ``theta_high``, ``theta_before``,
        ``alarms`` and ``share_...`` per known class, as ``lacforest watch`` writes them.
    path : path
        A png, svg or pdf file.
    """
    from matplotlib.figure import Figure

    places = np.arange(len(history))
    figure = Figure(figsize=(max(5.0, 2.0 + 0.5 * len(history)), 5.2), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    theta = np.array([entry["theta"] for entry in history], dtype=float)
    low, high = (np.array([e[f"theta_{end}"] for e in history], float) for end in ("low", "high"))
    upper.fill_between(places, low, high, color="tab:orange", alpha=0.25, linewidth=0)
    upper.plot(places, theta, color="tab:orange", marker="o", label="share of new rows")
    upper.plot(places, [entry["theta_before"] for entry in history], "k:", lw=1, label="in the fit")
    alarmed = np.array([bool(entry["alarms"]) for entry in history])
    if alarmed.any():
        upper.plot(
            places[alarmed], theta[alarmed], "o", ms=11, mfc="none", mec="tab:red", label="alarm"
        )
    upper.set_ylim(0, 1)
    upper.set_ylabel("theta")
    upper.legend(loc="best", fontsize=8)
    classes = list(dict.fromkeys(k for e in history for k in e if k.startswith(_SHARE)))
    for name in classes[:_MOST_CLASSES]:
        shares = [float(entry.get(name, np.nan)) for entry in history]
        lower.plot(places, shares, marker=".", label=plain(name.removeprefix(_SHARE)))
    lower.set_ylim(0, 1)
    lower.set_ylabel("share of known rows")
    lower.legend(loc="best", fontsize=8, ncols=2)
    stems = [plain(Path(str(entry["table"])).stem) for entry in history]
    lower.set_xticks(places, stems, rotation=45)
    for label in lower.get_xticklabels():
        label.set_ha("right")
    for axes in (upper, lower):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
