"""A plot of one tree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._input.parameters import check_int
from lacforest._model.tree_view import TreeView, check_names, find_trees
from lacforest._utils.plotting import NEW_COLOR, class_colors, make_axes, plain

# Size of a box and its gap in a new figure, in inches.
_SLOT_WIDTH, _LEVEL_HEIGHT = 1.35, 1.1
_MOST_INCHES = 40.0
# Frames by step: thick and solid in Step I, thin and dashed in Step II.
_FRAMES: dict[int, dict[str, Any]] = {
    1: {"linewidth": 2.0, "linestyle": "-"},
    2: {"linewidth": 0.8, "linestyle": (0, (4, 2))},
}


def plot_tree(
    forest: Any,
    tree: int = 0,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    fontsize: float | None = None,
    ax: Any = None,
) -> list[Any]:
    """Draw one tree: the nodes of Step I and of Step II, and their rows.

    The colour of a box is that of its most frequent class, and it is paler if that class is less
    frequent. The new class has the same colour in all plots. Boxes of Step I have a thick frame,
    boxes of Step II a thin dashed one. Rows that satisfy the condition in a box go left. Missing
    values go left if the box contains "or missing", and otherwise right.

    Parameters
    ----------
    forest : LACForestClassifier or LACExtraTreesClassifier
        Fitted.
    tree : int, default=0
        Index of the tree.
    max_depth : int, optional
        Deepest level to draw; deeper nodes are shown as "(...)". All by default.
    feature_names : sequence of str, optional
        By default ``feature_names_in_`` of the forest.
    class_names : sequence, optional
        In the order of ``classes_``, which is the default.
    fontsize : float, optional
        By default the largest size at which boxes do not overlap.
    ax : matplotlib Axes, optional
        Axes to draw into; a new figure of suitable size by default.

    Returns
    -------
    list of matplotlib Annotation
        The boxes.

    See Also
    --------
    lacforest.LACForestClassifier.export_text : The same as text.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from lacforest import LACForestClassifier
    >>> from lacforest.datasets import make_figure1
    >>> from lacforest.inspection import plot_tree
    >>> toy = make_figure1(random_state=0)
    >>> forest = LACForestClassifier(10, theta=0.5, random_state=0)
    >>> forest = forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
    >>> boxes = plot_tree(forest, tree=3, max_depth=2)
    >>> plt.close(boxes[0].figure)
    """
    view = _one_tree(forest, tree)
    if max_depth is not None:
        check_int("max_depth", max_depth, 0)
    if feature_names is None:
        feature_names = getattr(forest, "feature_names_in_", None)
    features = check_names(feature_names, view.n_features, "feature_names", "x[{}]")
    names = forest.classes_.tolist() if class_names is None else class_names
    classes = check_names(names, len(forest.classes_), "class_names", "")
    deepest = view.max_depth if max_depth is None else min(max_depth, view.max_depth)
    shown = _shown_nodes(view, deepest)
    places = _places(view, shown)
    ax = _axes_for(ax, places)
    colors = _colors(forest)
    boxes = []
    for node in shown:
        is_cut_off = view.depth[node] > deepest
        text = "(...)" if is_cut_off else _text(view, node, features, classes, forest.categories_)
        boxes.append(_draw_box(ax, text, places[node], _shade(view, node, colors), view, node))
        if node > 0:
            _draw_edge(ax, places[_parent(view, node)], places[node], view.phase[node])
    width = max(place[0] for place in places.values()) + 1.0
    height = max(-place[1] for place in places.values()) + 1.0
    ax.set(xlim=(-0.5, width - 0.5), ylim=(0.5 - height, 0.5))
    ax.set_axis_off()
    _add_legend(ax, sorted({int(view.phase[node]) for node in shown}))
    _fit_text(ax, boxes, fontsize, [places[node] for node in shown])
    return boxes


def _one_tree(forest: Any, tree: int) -> TreeView:
    return find_trees(forest).one(tree)


def _shown_nodes(view: TreeView, deepest: int) -> list[int]:
    """Nodes down to `deepest`, and their children, which are shown as dots."""
    return [int(node) for node in np.flatnonzero(view.depth <= deepest + 1)]


def _parent(view: TreeView, node: int) -> int:
    is_parent = (view.children_left == node) | (view.children_right == node)
    return int(np.flatnonzero(is_parent)[0])


def _places(view: TreeView, shown: list[int]) -> dict[int, tuple[float, float]]:
    """Positions: leaves one slot apart from left to right, parents midway above their children."""
    n_slots = 0
    columns: dict[int, float] = {}
    is_shown = set(shown)
    stack = [0]
    while stack:
        node = stack[-1]
        left, right = int(view.children_left[node]), int(view.children_right[node])
        if left < 0 or left not in is_shown:
            columns[node] = float(n_slots)
            n_slots += 1
            stack.pop()
        elif left in columns and right in columns:
            columns[node] = (columns[left] + columns[right]) / 2
            stack.pop()
        else:
            stack.append(right if left in columns else left)
    return {node: (columns[node], -float(view.depth[node])) for node in shown}


def _axes_for(ax: Any, places: dict[int, tuple[float, float]]) -> Any:
    if ax is not None:
        return make_axes(ax)
    ax = make_axes()
    n_slots = max(x for x, _ in places.values()) + 1
    n_levels = max(-y for _, y in places.values()) + 1
    ax.figure.set_size_inches(
        min(_MOST_INCHES, max(4.0, n_slots * _SLOT_WIDTH)),
        min(_MOST_INCHES, max(2.0, n_levels * _LEVEL_HEIGHT + 0.4)),
    )
    return ax


def _colors(forest: Any) -> list[Any]:
    colors = class_colors(len(forest.known_classes_))
    if forest.new_class_index_ is not None:
        colors.insert(forest.new_class_index_, NEW_COLOR)
    return colors


def _shade(view: TreeView, node: int, colors: list[Any]) -> tuple[float, float, float]:
    """The colour of the most frequent class, mixed with white if other classes are present."""
    from matplotlib.colors import to_rgb

    shares = view.value[node]
    best = int(shares.argmax())
    n_classes = len(shares)
    purity = 1.0 if n_classes == 1 else (shares[best] * n_classes - 1) / (n_classes - 1)
    strength = 0.1 + 0.5 * max(0.0, purity)
    mixed: NDArray[np.float64] = 1 - strength * (1 - np.array(to_rgb(colors[best])))
    return float(mixed[0]), float(mixed[1]), float(mixed[2])


def _text(
    view: TreeView, node: int, features: list[str], classes: list[str], categories: Any
) -> str:
    best = int(view.value[node].argmax())
    lines = []
    if view.children_left[node] >= 0:
        name, cut = features[view.feature[node]], view.threshold[node]
        to_left = view.missing_go_to_left[node]
        if view.category_set(node) is not None:
            known = None if categories is None else categories[view.feature[node]]
            lines.append(view.conditions(node, name, known)[0])
        elif np.isinf(cut):
            lines.append(f"{name} is present")
        else:
            lines.append(f"{name} ≤ {cut:.4g}" + (" or missing" if to_left else ""))
    step = "I" if view.phase[node] == 1 else "II"
    what = "unlabelled" if view.phase[node] == 1 else "pseudo-labelled"
    lines.append(f"{step}: {view.n_labeled[node]:g} labelled")
    if view.n_unlabeled.any():
        lines.append(f"{view.n_unlabeled[node]:g} {what}")
    lines.append(f"{classes[best]} {view.value[node, best]:.0%}")
    return "\n".join(lines)


def _draw_box(
    ax: Any, text: str, place: tuple[float, float], color: Any, view: TreeView, node: int
) -> Any:
    frame = {"boxstyle": "round", "facecolor": color, "edgecolor": "#333333"}
    frame |= _FRAMES[int(view.phase[node])]
    style = {"ha": "center", "va": "center", "color": "#111111", "zorder": 3}
    return ax.annotate(plain(text), place, bbox=frame, **style)


def _draw_edge(ax: Any, above: tuple[float, float], below: tuple[float, float], step: int) -> None:
    ax.plot(*zip(above, below, strict=True), color="#777777", zorder=1, **_FRAMES[int(step)])


def _add_legend(ax: Any, shown: list[int]) -> None:
    from matplotlib.patches import Patch

    names = {1: "Step I, augmented Gini", 2: "Step II, Gini"}
    handles = [
        Patch(facecolor="white", edgecolor="#333333", label=names[step], **_FRAMES[step])
        for step in shown
    ]
    ax.legend(handles=handles, loc="upper left", fontsize="small", framealpha=0.9)


def _fit_text(
    ax: Any, boxes: list[Any], fontsize: float | None, places: list[tuple[float, float]]
) -> None:
    """Set the given font size, or the largest at which boxes do not overlap."""
    if fontsize is not None:
        for box in boxes:
            box.set_fontsize(fontsize)
        return
    figure = ax.get_figure(root=True)
    figure.draw_without_rendering()
    # Without a renderer, which a figure for files has not.
    extents = [box.get_bbox_patch().get_window_extent() for box in boxes]
    slot, level = np.abs(np.diff(ax.transData.transform([(0.0, 0.0), (1.0, 1.0)]), axis=0)[0])
    scale = min(1.0, 0.8 * level / max(extent.height for extent in extents))
    # Compare neighbours on a level; the plot ends half a slot beyond the last box.
    order = sorted(range(len(boxes)), key=lambda i: (places[i][1], places[i][0]))
    for i, j in pairwise(order):
        if places[i][1] == places[j][1]:
            room = (places[j][0] - places[i][0]) * slot
            scale = min(scale, 0.94 * room / ((extents[i].width + extents[j].width) / 2))
    for box in boxes:
        box.set_fontsize(box.get_fontsize() * scale)
