"""Figures of experiments, which are checked before the work starts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lacforest._utils.atomic import atomic_file
from lacforest._utils.extras import load_extra

_PICTURES = (".png", ".svg", ".pdf")


def check_figure(path: Path) -> None:
    """Raise if the figure cannot be written, before hours of work instead of after."""
    if path.suffix.lower() not in _PICTURES:
        raise ValueError(f"{path}: the name of a figure must end in {', '.join(_PICTURES)}")
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}")
    load_extra("matplotlib")


def make_panels(n_panels: int, n_columns: int, size: tuple[float, float], **options: Any) -> Any:
    """A figure and the panels of a grid, row by row; `size` is that of one panel in inches."""
    figures = load_extra("matplotlib.figure")
    n_rows = -(-n_panels // n_columns)
    figure = figures.Figure(figsize=(size[0] * n_columns, size[1] * n_rows), layout="constrained")
    panels = figure.subplots(n_rows, n_columns, squeeze=False, **options)
    for panel in panels.flat[n_panels:]:
        panel.set_visible(False)
    return figure, panels


def save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure; the suffix of the path is its format."""
    with atomic_file(path) as file:
        figure.savefig(file, dpi=110, format=Path(path).suffix[1:].lower())
