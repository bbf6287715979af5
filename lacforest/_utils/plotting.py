"""What all pictures share: matplotlib, axes and the meaning of colours."""

from __future__ import annotations

from typing import Any

from lacforest._utils.extras import load_extra

# The colours of Okabe and Ito, which colour-blind readers can tell apart. One of them is reserved
# for the new class in every picture.
NEW_COLOR = "#D55E00"
KNOWN_COLOR = "#0072B2"
NEUTRAL_COLOR = "#707070"
_CLASS_COLORS = (KNOWN_COLOR, "#009E73", "#CC79A7", "#56B4E9", "#F0E442", "#999999")


def make_axes(ax: Any = None) -> Any:
    """The given axes, or those of a new figure."""
    pyplot = load_extra("matplotlib.pyplot", "plot")
    if ax is None:
        _, ax = pyplot.subplots(layout="constrained")
    return ax


def add_legend(ax: Any, loc: str) -> None:
    """A legend in room of its own above the data: no line runs through its text.

    Parameters
    ----------
    ax : matplotlib Axes
        With all that is to be drawn; the upper end of its y axis is raised.
    loc : str
        "upper left" or "upper right".
    """
    texts = ax.legend(frameon=False, loc=loc).get_texts()
    points = sum(1.5 * text.get_fontsize() for text in texts) + 10
    share = points / (ax.get_window_extent().height / ax.figure.dpi * 72)
    low, high = ax.get_ylim()
    ax.set_ylim(low, low + (high - low) / (1 - min(share, 0.6)))


def ink() -> Any:
    """The text colour of the current style, visible on light and on dark backgrounds."""
    import matplotlib as mpl

    return mpl.rcParams["text.color"]


def plain(text: Any) -> str:
    """A name that matplotlib shows as it is: text between dollar signs would be a formula."""
    return str(text).replace("$", r"\$")


def class_colors(n_known: int) -> list[Any]:
    """One colour per known class; shades of one colour map if there are many."""
    if n_known <= len(_CLASS_COLORS):
        return list(_CLASS_COLORS[:n_known])
    from matplotlib import colormaps

    return [colormaps["viridis"](i / (n_known - 1)) for i in range(n_known)]
