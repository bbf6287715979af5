"""Plot of training curves."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from lacforest._utils.plotting import KNOWN_COLOR, NEUTRAL_COLOR, NEW_COLOR, make_axes

_LOSSES = {
    "loss": ("loss", NEUTRAL_COLOR),
    "gini": ("augmented Gini", NEW_COLOR),
    "cross_entropy": ("cross entropy", KNOWN_COLOR),
}


class TrainingCurveDisplay:
    """Loss, its two terms and, where there is one, validation accuracy by epoch.

    Use `from_estimator` or `from_history` to make one.

    Parameters
    ----------
    history : dict of list
        ``history_`` of a fitted `DeepLACForestClassifier`.
    best_epoch : int or None, default=None
        The epoch whose weights were kept, which the plot marks.

    Attributes
    ----------
    ax_ : matplotlib Axes
        With the losses.
    accuracy_ax_ : matplotlib Axes or None
        With the accuracy, on the right.
    figure_ : matplotlib Figure
    """

    def __init__(self, *, history: dict[str, list[float]], best_epoch: int | None = None) -> None:
        self.history = history
        self.best_epoch = best_epoch

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> TrainingCurveDisplay:
        """Plot the curves of a fitted classifier.

        Parameters
        ----------
        estimator : DeepLACForestClassifier
            Fitted.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        TrainingCurveDisplay
        """
        check_is_fitted(estimator)
        return cls(history=estimator.history_, best_epoch=estimator.best_epoch_).plot(ax)

    @classmethod
    def from_history(cls, history: dict[str, list[float]], *, ax: Any = None) -> Any:
        """Plot a history, for instance one that a callback has collected.

        Parameters
        ----------
        history : dict of list
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        TrainingCurveDisplay
        """
        return cls(history=history).plot(ax)

    def plot(self, ax: Any = None) -> TrainingCurveDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        self
        """
        ax = make_axes(ax)
        epochs = range(1, len(self.history["loss"]) + 1)
        marker = "o" if len(epochs) == 1 else None
        lines = [
            ax.plot(epochs, self.history[name], color=color, label=label, marker=marker)[0]
            for name, (label, color) in _LOSSES.items()
        ]
        ax.set(xlabel="epoch", ylabel="mean over batches", ylim=(0, None))
        self.accuracy_ax_ = None
        if "accuracy" in self.history:
            self.accuracy_ax_ = ax.twinx()
            values = self.history["accuracy"]
            lines += self.accuracy_ax_.plot(
                epochs, values, color="#009E73", ls="--", marker=marker, label="accuracy (right)"
            )
            self.accuracy_ax_.set(ylabel="validation accuracy")
            if self.best_epoch is not None:
                best = values[self.best_epoch - 1]
                lines += self.accuracy_ax_.plot(
                    self.best_epoch, best, "o", color="#009E73", label=f"best: {best:.3f}"
                )
        ax.legend(handles=lines, loc="center right", frameon=False)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
