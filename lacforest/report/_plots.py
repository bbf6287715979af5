"""The pictures of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._utils.plotting import NEW_COLOR, plain
from lacforest.ensemble.base import BaseLACForest
from lacforest.inspection import (
    ConfusionDisplay,
    NoveltyHistogramDisplay,
    OSCRDisplay,
    ThetaSensitivityDisplay,
    new_versus_known_importances,
)
from lacforest.mixture import RatioCurveDisplay
from lacforest.report._html import Section
from lacforest.report._pictures import Picture, draw

_MOST_FEATURES = 12
# Values of theta for which the forest is fitted again.
_THETAS = 5


def pictures_section(
    forest: BaseLACForest,
    X: Any,
    y_true: Any,
    training: tuple[Any, Any, Any] | None,
    feature_names: Sequence[str] | None,
) -> Section:
    """All pictures side by side; the parameters are those of `write_report`."""
    pictures = [
        draw(
            lambda ax: NoveltyHistogramDisplay.from_estimator(forest, X, y_true, ax=ax),
            alt="Histogram of novelty scores",
            caption="How new the rows look. Two separate peaks mean that new rows are easy to "
            "recognise. The dashed line has the share θ of the rows on its right.",
        ),
        *_importances(forest, feature_names),
        *_by_truth(forest, X, y_true),
        *_theta(forest, X, training),
    ]
    return Section("What does it look like?", pictures=pictures)


def _by_truth(forest: BaseLACForest, X: Any, y_true: Any) -> list[Picture]:
    if y_true is None:
        return []
    pictures = [
        draw(
            lambda ax: ConfusionDisplay.from_estimator(forest, X, y_true, ax=ax),
            alt="Confusion matrix with the new class",
            caption="True against predicted classes, the new class included.",
        )
    ]
    # The curve needs both known and new rows.
    if 0 < np.isin(y_true, forest.known_classes_).sum() < len(y_true):
        pictures.append(
            draw(
                lambda ax: OSCRDisplay.from_estimator(forest, X, y_true, name="", ax=ax),
                alt="OSCR curve",
                caption="Correctly classified known rows against new rows that count as known, "
                "over all thresholds of the novelty score. OSCR is the area below.",
            )
        )
    return pictures


def _theta(forest: BaseLACForest, X: Any, training: tuple[Any, Any, Any] | None) -> list[Picture]:
    """What theta was read from, and what would follow from other values."""
    pictures = []
    if forest.theta_curve_ is not None:
        x, ratio, fitted = forest.theta_curve_.T
        assert forest.theta_ is not None  # the curve is that of its estimate
        curve = RatioCurveDisplay(
            x=x,
            ratio=ratio,
            theta=forest.theta_,
            interval=forest.theta_interval_,
            fitted=None if np.isnan(fitted).any() else fitted,
        )
        pictures.append(
            draw(
                curve.plot,
                alt="Ratio curve of theta",
                caption="What θ is read from: how frequent unlabelled rows are, relative to "
                "labelled ones, among the rows that look most known. Where all of these are known, "
                "the ratio is 1 − θ: if the curve is flat at that height, θ is well determined.",
            )
        )
    if training is not None and training[2] is not None and forest.theta_interval_ is not None:
        sensitivity = ThetaSensitivityDisplay.from_estimator(
            forest, *training, X_test=X, thetas=_THETAS, ax=_scrap_axes()
        )
        pictures.append(
            draw(
                sensitivity.plot,
                alt="Share of rows called new as a function of theta",
                caption="How the share of rows called new depends on θ, over the interval of θ. If "
                "the line is flat, the exact value matters little.",
            )
        )
    return pictures


def _scrap_axes() -> Any:
    """Axes for a first drawing that is discarded; the plot is drawn again in both styles."""
    import matplotlib.figure

    return matplotlib.figure.Figure().subplots()


def _importances(forest: BaseLACForest, feature_names: Sequence[str] | None) -> list[Picture]:
    values = new_versus_known_importances(forest)
    if not values.any():
        return []
    names = feature_names
    if names is None:
        names = getattr(forest, "feature_names_in_", None)
    labels = [f"x{i}" for i in range(len(values))] if names is None else list(map(str, names))
    order = np.argsort(-values, kind="stable")[:_MOST_FEATURES]
    return [
        draw(
            lambda ax: _bars(ax, [labels[i] for i in order], values[order]),
            alt="Features that separate new rows from known ones: "
            + ", ".join(f"{labels[i]} {values[i]:.2f}" for i in order[:5]),
            caption="Which columns separate new rows from known ones. The importances of all "
            "columns sum to 1.",
        )
    ]


def _bars(ax: Any, labels: list[str], values: NDArray[np.float64]) -> None:
    ax.barh([plain(label) for label in labels[::-1]], values[::-1], color=NEW_COLOR)
    ax.set_xlabel("importance")
