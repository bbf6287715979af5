"""Plot of the ratio curve and the estimate of theta."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lacforest._utils.plotting import add_legend, ink, make_axes
from lacforest.mixture._base import ThetaEstimator
from lacforest.mixture._rank_mixture import RankMixture


class RatioCurveDisplay:
    """Ratio curve of a fitted estimator of theta, with the estimate and its interval.

    The curve shows how frequent unlabelled rows are relative to labelled ones, among the rows that
    look most known. On the left, where all rows are known, this ratio is ``1 - theta``. If the
    curve has a long flat start, theta is well determined; if it never levels off, it is not.

    Use `from_estimator` to make one.

    Parameters
    ----------
    x : float64 array
        Shares of labelled rows.
    ratio : float64 array
        Shares of unlabelled rows divided by x.
    theta : float
    interval : tuple of float or None
    chosen : tuple of float or None
        The point that theta was read from, if there is one.
    fitted : float64 array or None
        The fitted curve at x, if there is one.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(
        self,
        *,
        x: NDArray[np.float64],
        ratio: NDArray[np.float64],
        theta: float,
        interval: tuple[float, float] | None = None,
        chosen: tuple[float, float] | None = None,
        fitted: NDArray[np.float64] | None = None,
    ) -> None:
        self.x = x
        self.ratio = ratio
        self.theta = theta
        self.interval = interval
        self.chosen = chosen
        self.fitted = fitted

    @classmethod
    def from_estimator(cls, estimator: ThetaEstimator, *, ax: Any = None) -> RatioCurveDisplay:
        """Plot the curve of a fitted estimator.

        Parameters
        ----------
        estimator : ThetaEstimator
            Fitted. For a forest, pass its ``theta_estimator_``.
        ax : matplotlib Axes, optional
            Axes to draw into; a new figure by default.

        Returns
        -------
        RatioCurveDisplay
        """
        check_is_fitted(estimator)
        x, ratio = estimator.ratio_curve()
        display = cls(
            x=x,
            ratio=ratio,
            theta=estimator.theta_,
            interval=estimator.interval_,
            chosen=getattr(estimator, "chosen_", None),
            fitted=estimator.fitted_curve(x) if isinstance(estimator, RankMixture) else None,
        )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> RatioCurveDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        self
        """
        ax = make_axes(ax)
        known = 1.0 - self.theta
        if self.interval is not None:
            low, high = self.interval
            ax.axhspan(
                1.0 - high,
                1.0 - low,
                color="tab:orange",
                alpha=0.2,
                lw=0,
                label=f"interval of 1 − θ: {1.0 - high:.2f} to {1.0 - low:.2f}",
            )
        ax.axhline(known, color="tab:orange", label=f"1 − θ = {known:.3f}, θ = {self.theta:.3f}")
        ax.plot(self.x, self.ratio, color="tab:blue", drawstyle="steps-post", label="ratio curve")
        if self.fitted is not None:
            ax.plot(self.x, self.fitted, color=ink(), ls="--", lw=1, label="fitted mixture")
        if self.chosen is not None:
            ax.plot(*self.chosen, "o", color="tab:red", label="chosen point")
        ax.set(
            xlim=(0, 1),
            ylim=(0, max(1.1, min(1.5, 1.1 * float(self.ratio[self.x > 0.02].max(initial=1.0))))),
            xlabel="share of labelled rows, most known first",
            ylabel="unlabelled share / labelled share",
        )
        add_legend(ax, "upper right")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
