"""Plots as embedded images; each is drawn twice, for light and for dark pages."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_DARK_INK = "#e6eaf0"
_INK_PARAMETERS = (
    "text.color",
    "axes.labelcolor",
    "axes.edgecolor",
    "axes.titlecolor",
    "xtick.color",
    "ytick.color",
)


@dataclass(frozen=True)
class Picture:
    """A plot for light and one for dark pages, as data URLs.

    Attributes
    ----------
    light, dark : str
    alt : str
        Text for readers who cannot see the plot.
    caption : str
    """

    light: str
    dark: str
    alt: str
    caption: str


def draw(
    plot: Callable[[Any], Any], *, alt: str, caption: str, size: tuple[float, float] = (6.0, 4.0)
) -> Picture:
    """Draw on a transparent background, with dark and with light text.

    Parameters
    ----------
    plot : callable
        Draws into the given axes.
    alt, caption : str
    size : tuple of float, default=(6.0, 4.0)
        In inches.

    Returns
    -------
    Picture
    """
    import matplotlib as mpl

    dark: Any = dict.fromkeys(_INK_PARAMETERS, _DARK_INK)
    images = []
    light: Any = {}
    for style in (light, dark):
        with mpl.rc_context({**style, "figure.facecolor": "none", "axes.facecolor": "none"}):
            images.append(_encode(plot, size))
    return Picture(images[0], images[1], alt, caption)


def _encode(plot: Callable[[Any], Any], size: tuple[float, float]) -> str:
    import matplotlib.figure

    figure = matplotlib.figure.Figure(figsize=size, layout="constrained")
    plot(figure.subplots())
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=144, transparent=True)
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"
