"""What all pictures share: how matplotlib is found, and which colour means what."""

from __future__ import annotations

from typing import Any

# Colours of Okabe and Ito, which colour-blind people can tell apart. The new class has one to
# itself in every picture.
NEW_COLOR = "#D55E00"
KNOWN_COLOR = "#0072B2"
NEUTRAL_COLOR = "#707070"
_CLASS_COLORS = (KNOWN_COLOR, "#009E73", "#CC79A7", "#56B4E9", "#F0E442", "#999999")


def make_axes(ax: Any = None) -> Any:
    """The given axes, or those of a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "pictures need matplotlib, which is not installed: pip install matplotlib, or "
            "install lacforest with its extra [plot]"
        ) from error
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    return ax


def ink() -> Any:
    """The colour of text, for lines that must be seen on light and on dark ground."""
    import matplotlib as mpl

    return mpl.rcParams["text.color"]


def class_colors(n_known: int) -> list[Any]:
    """A colour for each known class; shades of one scale where there are many."""
    if n_known <= len(_CLASS_COLORS):
        return list(_CLASS_COLORS[:n_known])
    from matplotlib import colormaps

    return [colormaps["viridis"](i / (n_known - 1)) for i in range(n_known)]
