"""The share of rows called new, as a function of theta."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from lacforest._input.classifiers import find_classifier
from lacforest._input.parameters import check_int, is_int
from lacforest._utils.plotting import KNOWN_COLOR, NEW_COLOR, add_legend, ink, make_axes
from lacforest.ensemble.base import BaseLACForest, check_is_forest


class ThetaSensitivityDisplay:
    """Share of rows that are called new by forests fitted with different thetas.

    If the curve is flat, the value of theta within its interval matters little. If it follows the
    dotted diagonal, the number of rows called new depends on theta alone.

    Use `from_estimator` or `from_predictions` to make one.

    Parameters
    ----------
    thetas : ndarray of shape (n_thetas,)
        Ascending.
    flagged : ndarray of shape (n_thetas,)
        Shares of rows called new.
    theta : float
        Theta of the inspected forest.
    flagged_at_theta : float
        Share of rows that it calls new.
    interval : tuple of float or None
        The interval of `theta`, if it was estimated.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(
        self,
        *,
        thetas: NDArray[np.float64],
        flagged: NDArray[np.float64],
        theta: float,
        flagged_at_theta: float,
        interval: tuple[float, float] | None = None,
    ) -> None:
        self.thetas = thetas
        self.flagged = flagged
        self.theta = theta
        self.flagged_at_theta = flagged_at_theta
        self.interval = interval

    @classmethod
    def from_estimator(
        cls,
        forest: BaseLACForest,
        X: Any,
        y: Any,
        X_unlabeled: Any = None,
        *,
        X_test: Any = None,
        thetas: Any = 7,
        verbose: int = 0,
        ax: Any = None,
    ) -> ThetaSensitivityDisplay:
        """Fit a copy of the forest at each theta, and plot the share of rows called new.

        One forest is fitted per theta. `forest` itself is not changed.

        Parameters
        ----------
        forest : LACForestClassifier or LACExtraTreesClassifier
            Fitted with unlabelled rows. With an integer ``random_state``, the copies differ only in
            theta.
        X, y, X_unlabeled
            The training data of the forest.
        X_test : like X, optional
            Rows to count. By default `X_unlabeled`, on which the copies were fitted: they predict
            at least the share theta of these rows to be new.
        thetas : int or array-like of float, default=7
            Thetas, strictly between 0 and 1; or the number of thetas, which are spaced evenly over
            the interval of the estimated theta.
        verbose : int, default=0
            If positive, print a line after each fit.
        ax : matplotlib Axes, optional
            Axes to draw into; a new figure by default.

        Returns
        -------
        ThetaSensitivityDisplay

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from lacforest import LACForestClassifier
        >>> from lacforest.datasets import make_figure1
        >>> from lacforest.inspection import ThetaSensitivityDisplay
        >>> toy = make_figure1(random_state=0)
        >>> forest = LACForestClassifier(20, random_state=0)
        >>> forest = forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
        >>> display = ThetaSensitivityDisplay.from_estimator(
        ...     forest, toy.X_labeled, toy.y_labeled, toy.X_unlabeled, thetas=[0.4, 0.5, 0.6]
        ... )
        >>> bool((display.flagged >= display.thetas).all())
        True
        >>> plt.close(display.figure_)
        """
        check_is_forest(forest)
        fitted: Any = find_classifier(forest)
        counted = X_unlabeled if X_test is None else X_test
        if counted is None:
            raise ValueError(
                "there are no rows to count: pass X_unlabeled, or X_test if unlabelled rows are "
                "marked in y"
            )
        values = _check_thetas(thetas, forest)
        shares = _shares_as_found(forest)
        flagged = []
        for i, theta in enumerate(values):
            copy = clone(forest).set_params(theta=float(theta), known_shares=shares)
            copy.fit(X, y, X_unlabeled=X_unlabeled)
            flagged.append(_share_called_new(copy, counted))
            if verbose > 0:
                done = f"theta={theta:.3f}, fit {i + 1} of {len(values)}"
                print(f"{done}: {flagged[-1]:.1%} of rows are called new", flush=True)
        display = cls(
            thetas=values,
            flagged=np.array(flagged),
            theta=float(fitted.theta_),
            flagged_at_theta=_share_called_new(forest, counted),
            interval=forest.theta_interval_,
        )
        return display.plot(ax)

    @classmethod
    def from_predictions(
        cls,
        thetas: Any,
        predictions: Any,
        *,
        theta: float,
        new_label: Any = -1,
        interval: tuple[float, float] | None = None,
        ax: Any = None,
    ) -> ThetaSensitivityDisplay:
        """Plot the share of rows called new, from given predictions.

        Parameters
        ----------
        thetas : array-like of shape (n_thetas,)
            Different thetas, strictly between 0 and 1, in any order.
        predictions : list of n_thetas array-likes of shape (n_rows,)
            Predictions for the same rows by a classifier fitted with each theta.
        theta : float
            The theta in use, one of `thetas`.
        new_label : object, default=-1
            Label of the new class.
        interval : tuple of float, optional
            The interval of `theta`, if it was estimated.
        ax : matplotlib Axes, optional
            Axes to draw into; a new figure by default.

        Returns
        -------
        ThetaSensitivityDisplay

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from lacforest.inspection import ThetaSensitivityDisplay
        >>> display = ThetaSensitivityDisplay.from_predictions(
        ...     [0.3, 0.5], [["a", "<new>"], ["<new>", "<new>"]], theta=0.5, new_label="<new>"
        ... )
        >>> display.flagged.tolist()
        [0.5, 1.0]
        >>> plt.close(display.figure_)
        """
        values = _check_thetas(np.asarray(thetas, dtype=np.float64), None)
        given = np.asarray(thetas, dtype=np.float64).tolist()
        rows = [np.asarray(labels) for labels in predictions]
        if len(rows) != len(given) or len(values) != len(given):
            raise ValueError(
                f"predictions are needed for each of several distinct thetas, got {len(rows)} for "
                f"{given}"
            )
        if theta not in given:
            raise ValueError(f"theta={theta!r} must be one of thetas, got {given}")
        if len({labels.shape for labels in rows}) > 1 or rows[0].ndim != 1 or len(rows[0]) == 0:
            shapes = [labels.shape for labels in rows]
            raise ValueError(f"predictions must be of the same rows, got shapes {shapes}")
        share = {
            at: float(np.mean(labels == new_label)) for at, labels in zip(given, rows, strict=True)
        }
        display = cls(
            thetas=values,
            flagged=np.array([share[at] for at in values.tolist()]),
            theta=float(theta),
            flagged_at_theta=share[theta],
            interval=interval,
        )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> ThetaSensitivityDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        self
        """
        ax = make_axes(ax)
        if self.interval is not None:
            low, high = self.interval
            label = f"interval of θ: {low:.3f} to {high:.3f}"
            ax.axvspan(low, high, color=KNOWN_COLOR, alpha=0.15, lw=0, label=label)
        diagonal = [self.thetas.min(), self.thetas.max()]
        ax.plot(diagonal, diagonal, color=ink(), ls=":", label="share θ")
        ax.plot(self.thetas, self.flagged, "o-", color=NEW_COLOR, label="called new")
        label = f"θ = {self.theta:.3f}: {self.flagged_at_theta:.1%} called new"
        at_theta = {"color": ink(), "mfc": "none", "ms": 9, "ls": "", "label": label}
        ax.plot(self.theta, self.flagged_at_theta, "D", **at_theta)
        ax.set(xlabel="θ", ylabel="share of rows called new")
        add_legend(ax, "upper left")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def _check_thetas(thetas: Any, forest: BaseLACForest | None) -> NDArray[np.float64]:
    """Thetas in ascending order; an integer is the number of thetas in the interval."""
    if forest is not None and is_int(thetas):
        check_int("thetas", thetas, 2)
        if forest.theta_interval_ is None:
            raise ValueError(
                "theta of this forest was given and has no interval: pass a list of thetas, such "
                "as thetas=[0.3, 0.4, 0.5]"
            )
        # An interval may reach 0 or 1, where no forest can be fitted: stay half a row away.
        margin = 0.5 / len(forest.unlabeled_score_)
        low, high = np.clip(forest.theta_interval_, margin, 1 - margin)
        spread: NDArray[np.float64] = np.linspace(low, high, int(thetas))
        return spread
    values: NDArray[np.float64] = np.unique(np.asarray(thetas, dtype=np.float64))
    if len(values) == 0 or not ((values > 0) & (values < 1)).all():
        raise ValueError(f"thetas must lie strictly between 0 and 1, got {thetas!r}")
    return values


def _shares_as_found(forest: BaseLACForest) -> Any:
    """The parameter known_shares with which a fit takes the shares that this one estimated."""
    if forest.share_shift_ is None:  # they were given, or not estimated
        return forest.known_shares
    if forest.known_shares_interval_ is None:
        return "labeled"
    assert forest.known_shares_ is not None  # they have an interval
    return dict(zip(forest.known_classes_.tolist(), forest.known_shares_, strict=True))


def _share_called_new(forest: BaseLACForest, X: Any) -> float:
    return float(np.mean(forest.predict(X) == forest.new_label_))
