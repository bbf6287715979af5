"""Histogram of novelty scores, with a threshold at the share theta."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import column_or_1d

from lacforest._growing.plan import floor_with_tolerance
from lacforest._input.classifiers import find_classifier
from lacforest._input.ground_truth import read_truth
from lacforest._input.parameters import check_int, check_share
from lacforest._utils.plotting import (
    KNOWN_COLOR,
    NEUTRAL_COLOR,
    NEW_COLOR,
    add_legend,
    ink,
    make_axes,
)
from lacforest.inspection._permutation import new_class_scores


class NoveltyHistogramDisplay:
    """Histogram of novelty scores.

    Two peaks with a gap between them mean that new rows are easy to recognise. A line marks the
    score that ``floor(theta * n_rows)`` rows reach: if theta is right, it lies in the gap.

    Use `from_estimator` or `from_predictions` to make one.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Higher scores look newer.
    theta : float
        Share of new rows.
    is_new : bool ndarray of shape (n_rows,), optional
        Which rows are new, if that is known.

    Attributes
    ----------
    threshold : float or None
        Lowest of the ``floor(theta * n_rows)`` highest scores; None if there are none.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(
        self,
        *,
        scores: NDArray[np.float64],
        theta: float,
        is_new: NDArray[np.bool_] | None = None,
    ) -> None:
        self.scores = scores
        self.theta = theta
        self.is_new = is_new

    @property
    def threshold(self) -> float | None:
        """Lowest of the ``floor(theta * n_rows)`` highest scores; None if there are none."""
        n_above = floor_with_tolerance(self.theta * len(self.scores))
        return float(np.sort(self.scores)[-n_above]) if n_above else None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, bins: int = 40, ax: Any = None
    ) -> NoveltyHistogramDisplay:
        """Plot the probabilities of the new class, with the theta of the forest.

        Parameters
        ----------
        estimator : LACForestClassifier, or a Pipeline or search that ends in one
            Fitted with unlabelled rows.
        X : array-like, frame or sparse matrix of shape (n_rows, n_features)
            Unlabelled rows.
        y : array-like of shape (n_rows,), optional
            True labels, if known; those outside of the known classes count as new.
        bins : int, default=40
        ax : matplotlib Axes, optional
            Axes to draw into; a new figure by default.

        Returns
        -------
        NoveltyHistogramDisplay

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from lacforest import LACForestClassifier
        >>> from lacforest.datasets import make_figure1
        >>> from lacforest.inspection import NoveltyHistogramDisplay
        >>> toy, fresh = make_figure1(random_state=0), make_figure1(random_state=1)
        >>> forest = LACForestClassifier(theta=0.5, random_state=0)
        >>> forest = forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
        >>> display = NoveltyHistogramDisplay.from_estimator(forest, fresh.X_unlabeled)
        >>> int((display.scores >= display.threshold).sum())
        200
        >>> plt.close(display.figure_)
        """
        classifier = find_classifier(estimator)
        return cls.from_predictions(
            new_class_scores(estimator, X),
            y,
            theta=classifier.theta_,
            known_classes=None if y is None else classifier.known_classes_,
            new_label=classifier.new_label_,
            bins=bins,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_score: Any,
        y_true: Any = None,
        *,
        theta: float,
        known_classes: Any = None,
        new_label: Any = "auto",
        bins: int = 40,
        ax: Any = None,
    ) -> NoveltyHistogramDisplay:
        """Plot given scores.

        Parameters
        ----------
        y_score : array-like of shape (n_rows,)
            Novelty scores, where a higher score looks newer. ``forest.unlabeled_score_`` are the
            scores that determined the pseudo-labels.
        y_true : array-like of shape (n_rows,), optional
            True labels.
        theta : float
            Share of new rows, in [0, 1].
        known_classes : list of labels, optional
        new_label : object, default="auto"
            Pass one of them to define which rows of `y_true` are new: those of no class in
            `known_classes`, or those with the label `new_label`.
        bins : int, default=40
        ax : matplotlib Axes, optional
            Axes to draw into; a new figure by default.

        Returns
        -------
        NoveltyHistogramDisplay
        """
        scores = column_or_1d(y_score, dtype=np.float64)
        if len(scores) == 0 or not np.isfinite(scores).all():
            raise ValueError("y_score must contain one finite number per row, for at least one row")
        is_new = None
        if y_true is not None:
            is_new = read_truth(y_true, known_classes, new_label).is_new
            check_consistent_length(scores, is_new)
        return cls(scores=scores, theta=check_share(theta), is_new=is_new).plot(ax, bins=bins)

    def plot(self, ax: Any = None, *, bins: int = 40) -> NoveltyHistogramDisplay:
        """Draw the histogram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        bins : int, default=40

        Returns
        -------
        self
        """
        check_int("bins", bins, 1)
        ax = make_axes(ax)
        is_share = self.scores.min() >= 0 and self.scores.max() <= 1
        edges = np.histogram_bin_edges(self.scores, bins, range=(0, 1) if is_share else None)
        parts: list[tuple[NDArray[np.float64], str, str, str]]
        if self.is_new is None:
            parts = [(self.scores, "unlabelled rows", NEUTRAL_COLOR, "")]
        else:
            known, new = self.scores[~self.is_new], self.scores[self.is_new]
            parts = [
                (known, f"{len(known)} known rows", KNOWN_COLOR, ""),
                (new, f"{len(new)} new rows", NEW_COLOR, "///"),
            ]
        highest = 0.0
        for scores, label, color, hatch in parts:
            style = {"facecolor": f"{color}66", "edgecolor": color, "hatch": hatch}
            counts = ax.hist(scores, edges, histtype="stepfilled", label=label, **style)[0]
            highest = max(highest, float(counts.max()))
        if self.threshold is not None:
            n_above = int((self.scores >= self.threshold).sum())
            label = f"θ = {self.theta:.3f}: {n_above} rows from {self.threshold:.3f} on"
            ax.plot([self.threshold] * 2, [0, highest], color=ink(), ls="--", label=label)
        ax.set(xlabel="novelty score", ylabel="rows")
        add_legend(ax, "upper right")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
