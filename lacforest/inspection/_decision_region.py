"""Predicted classes over a plane of two features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import column_or_1d

from lacforest._input.classifiers import unwrap
from lacforest._input.parameters import check_int
from lacforest._utils.plotting import NEUTRAL_COLOR, NEW_COLOR, class_colors, make_axes, plain

_MARGIN = 0.05


class DecisionRegionDisplay:
    """Decision regions over two features, the region of the new class hatched.

    Use `from_estimator` to make one.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (n, n)
        The grid: first and second feature.
    regions : ndarray of shape (n, n)
        Predicted labels on the grid.
    known_classes : ndarray
        Known classes, in the order of their colours.
    new_label : object
        Label of the new class in `regions`; None if the classifier has none.
    feature_names : sequence of two str
    X, y : ndarray, optional
        Rows to show and their labels; labels outside of `known_classes` count as new.
    X_unlabeled : ndarray, optional
        More rows to show, in grey.

    Attributes
    ----------
    surface_ : matplotlib QuadMesh
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(
        self,
        *,
        xx0: NDArray[np.float64],
        xx1: NDArray[np.float64],
        regions: NDArray[Any],
        known_classes: NDArray[Any],
        new_label: Any = None,
        feature_names: tuple[str, str] = ("feature 0", "feature 1"),
        X: NDArray[np.float64] | None = None,
        y: NDArray[Any] | None = None,
        X_unlabeled: NDArray[np.float64] | None = None,
    ) -> None:
        self.xx0 = xx0
        self.xx1 = xx1
        self.regions = regions
        self.known_classes = known_classes
        self.new_label = new_label
        self.feature_names = feature_names
        self.X = X
        self.y = y
        self.X_unlabeled = X_unlabeled

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        X_unlabeled: Any = None,
        grid_resolution: int = 200,
        ax: Any = None,
    ) -> DecisionRegionDisplay:
        """Predict on a grid and draw.

        Parameters
        ----------
        estimator : classifier
            Fitted on two features. Any classifier is accepted; without a new class there is no
            hatched region.
        X : array-like or frame of shape (n_rows, 2)
            Rows to show. Together with `X_unlabeled` they determine the limits of the plot.
        y : array-like of shape (n_rows,)
            Their labels; those outside of the known classes count as new.
        X_unlabeled : like X, optional
            More rows to show, in grey.
        grid_resolution : int, default=200
            Number of grid points per direction.
        ax : matplotlib Axes, optional
            Axes to draw into; a new figure by default.

        Returns
        -------
        DecisionRegionDisplay

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from lacforest import LACForestClassifier
        >>> from lacforest.datasets import make_figure1
        >>> from lacforest.inspection import DecisionRegionDisplay
        >>> toy = make_figure1(random_state=0)
        >>> forest = LACForestClassifier(10, theta=0.5, random_state=0)
        >>> forest = forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
        >>> display = DecisionRegionDisplay.from_estimator(
        ...     forest, toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled
        ... )
        >>> display.figure_.savefig("regions.png")  # doctest: +SKIP
        >>> plt.close(display.figure_)
        """
        classifier = unwrap(estimator)
        check_int("grid_resolution", grid_resolution, 2)
        rows, labels = _two_features(X, "X"), column_or_1d(y)
        check_consistent_length(rows, labels)
        unlabeled, shown = None, rows
        if X_unlabeled is not None:
            unlabeled = _two_features(X_unlabeled, "X_unlabeled")
            shown = np.vstack([rows, unlabeled])
        xx0, xx1 = _grid(shown, grid_resolution)
        grid = _like(X, np.column_stack([xx0.ravel(), xx1.ravel()]))
        new_label = getattr(classifier, "new_label_", None)
        display = cls(
            xx0=xx0,
            xx1=xx1,
            regions=estimator.predict(grid).reshape(xx0.shape),
            known_classes=estimator.classes_[estimator.classes_ != new_label],
            new_label=new_label,
            feature_names=_names(X),
            X=rows,
            y=labels,
            X_unlabeled=unlabeled,
        )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> DecisionRegionDisplay:
        """Draw regions and rows.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        self
        """
        ax = make_axes(ax)
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Patch

        known = list(self.known_classes)
        colors = [*class_colors(len(known)), NEW_COLOR]
        numbers = _numbers(self.regions, known)
        self.surface_ = ax.pcolormesh(
            self.xx0,
            self.xx1,
            numbers,
            cmap=ListedColormap(colors),
            vmin=-0.5,
            vmax=len(known) + 0.5,
            alpha=0.3,
            shading="nearest",
            rasterized=True,
        )
        is_new = numbers == len(known)
        if is_new.any():
            style = {"colors": "none", "hatches": ["///"], "levels": [0.5, 1.5]}
            hatched = ax.contourf(self.xx0, self.xx1, is_new, **style)
            hatched.set(edgecolor=f"{NEW_COLOR}80", linewidth=0)
        handles = self._draw_rows(ax, known, colors)
        if self.new_label is not None:
            region: dict[str, Any] = {
                "facecolor": f"{NEW_COLOR}4D",
                "edgecolor": NEW_COLOR,
                "hatch": "///",
            }
            handles.append(Patch(label="called new", lw=0, **region))
        ax.set(xlabel=plain(self.feature_names[0]), ylabel=plain(self.feature_names[1]))
        # Finding the place with the fewest points takes seconds where there are many.
        ax.legend(handles=handles, loc="upper right", fontsize="small", framealpha=0.9)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

    def _draw_rows(self, ax: Any, known: list[Any], colors: list[Any]) -> list[Any]:
        handles = []
        if self.X_unlabeled is not None:
            style = {"s": 10, "color": NEUTRAL_COLOR, "alpha": 0.6, "lw": 0}
            handles.append(ax.scatter(*self.X_unlabeled.T, label="unlabelled", **style))
        if self.X is not None and self.y is not None:
            numbers = _numbers(self.y, known)
            for number, color in enumerate(colors):
                rows = self.X[numbers == number]
                if len(rows):
                    is_known = number < len(known)
                    label = plain(f"class {known[number]}") if is_known else "new"
                    style = {"s": 18, "color": color, "edgecolor": "white", "lw": 0.4}
                    marker = "o" if is_known else "^"
                    handles.append(ax.scatter(*rows.T, label=label, marker=marker, **style))
        return handles


def _two_features(X: Any, name: str) -> NDArray[np.float64]:
    table: NDArray[np.float64] = check_array(
        X, dtype=np.float64, input_name=name, ensure_all_finite="allow-nan"
    )
    if table.shape[1] != 2:
        raise ValueError(
            f"regions are drawn over two features, but {name} has {table.shape[1]}: fit a "
            "classifier on two of them, or on a projection to two dimensions"
        )
    return table


def _grid(
    rows: NDArray[np.float64], resolution: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
    margin = _MARGIN * np.where(high > low, high - low, 1.0)
    edges = np.linspace(low - margin, high + margin, resolution)
    xx0, xx1 = np.meshgrid(edges[:, 0], edges[:, 1])
    return xx0, xx1


def _like(X: Any, grid: NDArray[np.float64]) -> Any:
    """The grid as a frame if X is one: scikit-learn warns if column names are missing."""
    if hasattr(X, "iloc"):
        return type(X)(grid, columns=X.columns)
    return type(X)(grid, schema=X.columns) if hasattr(X, "columns") else grid


def _names(X: Any) -> tuple[str, str]:
    if not hasattr(X, "columns"):
        return "feature 0", "feature 1"
    first, second = map(str, X.columns)
    return first, second


def _numbers(labels: NDArray[Any], known: list[Any]) -> NDArray[np.intp]:
    """Index of each label among the known classes; all other labels get the next index."""
    numbers = np.full(labels.shape, len(known))
    for number, label in enumerate(known):
        numbers[labels == label] = number
    return numbers
