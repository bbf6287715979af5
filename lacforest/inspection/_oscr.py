"""Plot of the open-set classification rate (OSCR)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._input.classifiers import find_classifier
from lacforest._utils.plotting import KNOWN_COLOR, make_axes
from lacforest.metrics import oscr_curve, oscr_score


class OSCRDisplay:
    """Correctly classified known rows against new rows that count as known, over all thresholds.

    This is the open-set classification rate (OSCR). Curves further up and to the left are better.
    On the right, where every row counts as known, the curve ends at the accuracy on known rows.

    Use `from_estimator` or `from_predictions` to make one.

    Parameters
    ----------
    fpr : ndarray of shape (n_thresholds,)
        Share of new rows that count as known.
    ccr : ndarray of shape (n_thresholds,)
        Share of known rows that count as known and get the right class.
    oscr : float
        Area under the curve.
    name : str, optional
        Name for the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(
        self,
        *,
        fpr: NDArray[np.float64],
        ccr: NDArray[np.float64],
        oscr: float,
        name: str | None = None,
    ) -> None:
        self.fpr = fpr
        self.ccr = ccr
        self.oscr = oscr
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, ax: Any = None
    ) -> OSCRDisplay:
        """Predict and plot.

        Parameters
        ----------
        estimator : LACForestClassifier, or a Pipeline or search that ends in one
            Fitted with unlabelled rows.
        X : array-like, frame or sparse matrix of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            True labels; those outside of the known classes count as new.
        name : str, optional
            Name for the legend. By default the class name of the classifier.
        ax : matplotlib Axes, optional
            Axes to draw into; a new figure by default.

        Returns
        -------
        OSCRDisplay

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from lacforest import LACForestClassifier
        >>> from lacforest.datasets import make_figure1
        >>> from lacforest.inspection import OSCRDisplay
        >>> toy, fresh = make_figure1(random_state=0), make_figure1(random_state=1)
        >>> forest = LACForestClassifier(theta=0.5, random_state=0)
        >>> forest = forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
        >>> display = OSCRDisplay.from_estimator(forest, fresh.X_unlabeled, fresh.y_unlabeled)
        >>> display.oscr > 0.9
        True
        >>> plt.close(display.figure_)
        """
        classifier = find_classifier(estimator)
        return cls.from_predictions(
            y,
            estimator.predict_proba(X),
            known_classes=classifier.known_classes_,
            new_label=classifier.new_label_,
            name=name or type(classifier).__name__,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        novelty: Any = None,
        *,
        known_classes: Any,
        new_label: Any = "auto",
        name: str | None = None,
        ax: Any = None,
    ) -> OSCRDisplay:
        """Plot given probabilities.

        Parameters
        ----------
        y_true, y_proba, novelty, known_classes, new_label
            As in `lacforest.metrics.oscr_curve`.
        name : str, optional
            Name for the legend.
        ax : matplotlib Axes, optional
            Axes to draw into; a new figure by default.

        Returns
        -------
        OSCRDisplay
        """
        given: dict[str, Any] = {"known_classes": known_classes, "new_label": new_label}
        fpr, ccr, _ = oscr_curve(y_true, y_proba, novelty, **given)
        area = oscr_score(y_true, y_proba, novelty, **given)
        return cls(fpr=fpr, ccr=ccr, oscr=area, name=name).plot(ax)

    def plot(self, ax: Any = None, **options: Any) -> OSCRDisplay:
        """Draw the curve. To compare classifiers, draw several curves into the same axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        **options
            Passed to ``ax.plot``.

        Returns
        -------
        self
        """
        own_figure = ax is None
        ax = make_axes(ax)
        label = f"OSCR = {self.oscr:.3f}"
        label = f"{self.name} ({label})" if self.name else label
        options = {"label": label, **({"color": KNOWN_COLOR} if own_figure else {}), **options}
        (self.line_,) = ax.plot(self.fpr, self.ccr, **options)
        ax.set(
            xlim=(-0.02, 1.02),
            ylim=(0, 1.02),
            xlabel="new rows that count as known",
            ylabel="known rows classified correctly",
        )
        ax.legend(loc="lower right", frameon=False)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
