"""Plots as embedded images; each is drawn twice, for light and for dark pages."""

from __future__ import annotations

import base64
import io
import warnings
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
# Families with the letters of Chinese, Japanese and Korean, which the standard font lacks.
_WIDE_FONTS = ("Noto Sans CJK JP", "WenQuanYi Zen Hei", "Arial Unicode MS", "Microsoft YaHei")
# Narrow, so that the smallest letters are 11 pixels high on a phone of 390 pixels.
_INCHES = (3.9, 2.9)
_DPI = 200


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
    plot: Callable[[Any], Any], *, alt: str, caption: str, size: tuple[float, float] = _INCHES
) -> Picture:
    """Draw on a transparent background, with dark and with light text.

    Parameters
    ----------
    plot : callable
        Draws into the given axes.
    alt, caption : str
    size : tuple of float
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
        with mpl.rc_context({**style, **_shared_style()}):
            images.append(_encode(plot, size))
    return Picture(images[0], images[1], alt, caption)


def _shared_style() -> Any:
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    return {
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "font.family": ["DejaVu Sans", *(name for name in _WIDE_FONTS if name in installed)],
        "font.size": 10,
        "axes.titlesize": 10,
        "legend.fontsize": 9.5,
        "xtick.labelsize": 9.5,
        "ytick.labelsize": 9.5,
    }


def _encode(plot: Callable[[Any], Any], size: tuple[float, float]) -> str:
    import matplotlib.figure

    figure = matplotlib.figure.Figure(figsize=size, layout="constrained")
    plot(figure.subplots())
    content = io.BytesIO()
    with warnings.catch_warnings():
        # Letters that no installed font has become boxes; the text beside the plot has them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(content, format="png", dpi=_DPI, transparent=True)
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"
