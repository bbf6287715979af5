"""Confusion matrix with the new class."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix

from lacforest._input.classifiers import find_classifier
from lacforest._input.ground_truth import read_with_known
from lacforest._utils.plotting import NEW_COLOR, make_axes, plain

# Number of classes up to which values in the cells are readable.
_MOST_VALUES = 16


class ConfusionDisplay(ConfusionMatrixDisplay):
    """Confusion matrix of known classes and, in the last row and column, the new class.

    It is scikit-learn's `ConfusionMatrixDisplay` with all hidden classes counted as "new".

    Use `from_estimator` or `from_predictions` to make one.

    Parameters
    ----------
    confusion_matrix : ndarray of shape (n_known + 1, n_known + 1)
    display_labels : ndarray of shape (n_known + 1,), default=None

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    im_, text_ : as in scikit-learn
    """

    @classmethod
    def from_estimator(  # fewer options than in scikit-learn
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        normalize: Literal["true", "pred", "all"] | None = None,
        ax: Any = None,
    ) -> ConfusionDisplay:
        """Predict and plot.

        Parameters
        ----------
        estimator : LACForestClassifier, or a Pipeline or search that ends in one
            Fitted with unlabelled rows.
        X : array-like, frame or sparse matrix of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            True labels; those outside of the known classes count as new.
        normalize : {"true", "pred", "all"} or None, default=None
            Normalise counts over rows, over columns or over all cells.
        ax : matplotlib Axes, optional
            Axes to draw into; a new figure by default.

        Returns
        -------
        ConfusionDisplay

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from lacforest import LACForestClassifier
        >>> from lacforest.datasets import make_figure1
        >>> from lacforest.inspection import ConfusionDisplay
        >>> toy, fresh = make_figure1(random_state=0), make_figure1(random_state=1)
        >>> forest = LACForestClassifier(theta=0.5, random_state=0)
        >>> forest = forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
        >>> display = ConfusionDisplay.from_estimator(forest, fresh.X_unlabeled, fresh.y_unlabeled)
        >>> display.display_labels.tolist()
        ['0', '1', 'new']
        >>> plt.close(display.figure_)
        """
        classifier = find_classifier(estimator)
        return cls.from_predictions(
            y,
            estimator.predict(X),
            known_classes=classifier.known_classes_,
            new_label=classifier.new_label_,
            normalize=normalize,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        known_classes: Any,
        new_label: Any = "auto",
        normalize: Literal["true", "pred", "all"] | None = None,
        ax: Any = None,
    ) -> ConfusionDisplay:
        """Plot given predictions.

        Parameters
        ----------
        y_true : array-like of shape (n_rows,)
            True labels; those outside of `known_classes` count as new.
        y_pred : array-like of shape (n_rows,)
            Predicted labels.
        known_classes : list of labels
        new_label : object, default="auto"
            Label of new rows in `y_pred`. "auto" is the new label of a `LACForestClassifier` that
            is fitted on `known_classes`.
        normalize : {"true", "pred", "all"} or None, default=None
            Normalise counts over rows, over columns or over all cells.
        ax : matplotlib Axes, optional
            Axes to draw into; a new figure by default.

        Returns
        -------
        ConfusionDisplay
        """
        truth, labels = read_with_known(y_true, known_classes, new_label)
        matrix = confusion_matrix(
            truth.y,
            truth.check_predicted(y_pred),
            labels=[*labels.known, labels.new_label],
            normalize=normalize,
        )
        names = np.array([*map(str, labels.known), "new"])
        return cls(matrix, display_labels=names).plot(ax)

    def plot(self, ax: Any = None, **options: Any) -> ConfusionDisplay:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        **options
            As in scikit-learn: ``include_values``, ``values_format`` and others.

        Returns
        -------
        self
        """
        ax = make_axes(ax)
        is_share = self.confusion_matrix.dtype.kind == "f"
        own = {
            "cmap": "Blues",
            "include_values": len(self.confusion_matrix) <= _MOST_VALUES,
            "values_format": ".2f" if is_share else "d",
        }
        super().plot(ax=ax, **{**own, **options})
        if self.display_labels is not None:
            names = [plain(label) for label in self.display_labels]
            ax.set(xticklabels=names, yticklabels=names)
        # Separate the new class from the known ones.
        border = len(self.confusion_matrix) - 1.5
        ax.axhline(border, color=NEW_COLOR, lw=1.5)
        ax.axvline(border, color=NEW_COLOR, lw=1.5)
        for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
            labels[-1].set(color=NEW_COLOR, weight="bold")
        ax.set(xlabel="predicted", ylabel="true")
        return self
