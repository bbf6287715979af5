"""One machine of LACU-SVM: a ramp-loss SVM on labelled and unlabelled rows, by CCCP."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from lacforest._utils.user_warnings import warn_user
from lacforest.baselines._smo import optimise

# Gap of the optimality conditions at which a quadratic programme counts as solved.
_TOLERANCE = 1e-3
# Steps between two checks for Ctrl-C, and how many such turns there are at most.
_STEPS = 50_000
_MOST_TURNS = 100
# Bound of the constraints' multipliers, in units of C times the number of labelled rows. A
# constraint whose multiplier reaches it cannot be met.
_LARGEST_MULTIPLIER = 10.0
# Margin of known negatives where no positive is on its side.
_DEFAULT_MARGIN = 0.5
_LOWEST_MEAN = -0.9


@dataclass(frozen=True)
class LACUOptions:
    """Parameters of the machines, all numbers.

    Attributes
    ----------
    C, C_unlabeled : float
        Penalties of labelled and of unlabelled rows.
    ramp : float
        s, where the ramp loss of unlabelled rows becomes flat.
    balance : float
        eta, width of the band for the mean output on unlabelled rows.
    push : float
        lambda, the distance that known negatives keep beyond the nearest positive.
    max_rounds : int
    """

    C: float
    C_unlabeled: float
    ramp: float
    balance: float
    push: float
    max_rounds: int


def balance_band(mean: float, eta: float) -> tuple[float, float]:
    """Lowest and highest mean output on unlabelled rows; never empty."""
    return min(mean, max(_LOWEST_MEAN, eta * mean)), mean


class QuadraticProgramme:
    """The dual of a round, with the variables in this order.

    Labelled rows; unlabelled rows as positives; unlabelled rows as negatives; the upper and the
    lower end of the band for their mean; labelled negatives once more, for the push.

    Parameters
    ----------
    kernel : float64 array of shape (n_points, n_points)
        Points are labelled rows, unlabelled rows, and the mean of the unlabelled rows.
    signs : float64 array of shape (n_labeled,)
        1 for rows of the class, else -1.
    weight : float64 array of shape (n_labeled,)
        Factors of C.
    band : tuple of float
    options : LACUOptions
    """

    def __init__(
        self,
        kernel: NDArray[np.float64],
        signs: NDArray[np.float64],
        weight: NDArray[np.float64],
        band: tuple[float, float],
        options: LACUOptions,
    ) -> None:
        n_labeled = len(signs)
        n_points = len(kernel)
        n_unlabeled = n_points - n_labeled - 1
        self.kernel = kernel
        self.n_labeled, self.n_unlabeled = n_labeled, n_unlabeled
        self.options = options
        negatives = np.flatnonzero(signs < 0)
        unlabeled = n_labeled + np.arange(n_unlabeled)
        self.point = np.concatenate(
            [np.arange(n_labeled), unlabeled, unlabeled, [n_points - 1] * 2, negatives]
        ).astype(np.int32)
        self.cap = _LARGEST_MULTIPLIER * options.C * weight.sum()
        self.gain = np.concatenate(
            [
                signs,
                np.ones(n_unlabeled),
                -np.ones(n_unlabeled),
                band[::-1],
                np.zeros(len(negatives)),
            ]
        )
        self.low = np.zeros(len(self.gain))
        self.high = np.zeros(len(self.gain))
        self.low[:n_labeled] = np.where(signs > 0, 0.0, -options.C * weight)
        self.high[:n_labeled] = np.where(signs > 0, options.C * weight, 0.0)
        end = n_labeled + 2 * n_unlabeled
        self.low[end] = -self.cap
        self.high[end + 1] = self.cap
        self.low[end + 2 :] = -self.cap
        self.alpha = np.zeros(len(self.gain))
        self.bias = 0.0

    def set_round(self, outputs: NDArray[np.float64], margin: float) -> bool:
        """Boxes and push of a round, from the outputs of the last one; whether any changed."""
        start, n = self.n_labeled, self.n_unlabeled
        of_unlabeled = outputs[start : start + n]
        C, ramp = self.options.C_unlabeled, self.options.ramp
        before = self.low.copy(), self.gain.copy()
        flat = np.where(of_unlabeled < ramp, C, 0.0)
        self.low[start : start + n], self.high[start : start + n] = -flat, C - flat
        flat = np.where(-of_unlabeled < ramp, C, 0.0)
        second = slice(start + n, start + 2 * n)
        self.low[second], self.high[second] = flat - C, flat
        self.gain[start + 2 * n + 2 :] = -margin
        return not (
            np.array_equal(before[0], self.low)
            and np.allclose(before[1], self.gain, rtol=0, atol=_TOLERANCE)
        )

    def solve(self) -> NDArray[np.float64]:
        """Outputs of the machine at all points. Starts from the last solution."""
        alpha = np.clip(self.alpha, self.low, self.high)
        # Zero lies in every box: shrinking one side towards it makes the sum vanish.
        rise, fall = alpha[alpha > 0].sum(), -alpha[alpha < 0].sum()
        if rise > fall:
            alpha[alpha > 0] *= fall / rise
        elif fall > rise:
            alpha[alpha < 0] *= rise / fall
        field = self.kernel @ np.bincount(self.point, alpha, minlength=len(self.kernel))
        for _ in range(_MOST_TURNS):
            self.bias, gap, _ = optimise(
                self.kernel,
                self.point,
                self.gain,
                self.low,
                self.high,
                alpha,
                field,
                _TOLERANCE,
                _STEPS,
            )
            if gap <= _TOLERANCE:
                break
        else:
            warn_user(
                f"a machine stopped after {_MOST_TURNS * _STEPS} steps with a gap of {gap:.2g}: "
                "scale the columns of X, or lower C",
                ConvergenceWarning,
            )
        self.alpha = alpha
        outputs: NDArray[np.float64] = field + self.bias
        return outputs

    @property
    def constraints_met(self) -> bool:
        """Whether no multiplier reached the largest value it may have."""
        of_constraints = self.alpha[self.n_labeled + 2 * self.n_unlabeled :]
        return bool((np.abs(of_constraints) < self.cap).all())

    def coefficients(self) -> NDArray[np.float64]:
        """Coefficient of each row; that of the mean is divided among the unlabelled rows."""
        of_points = np.bincount(self.point, self.alpha, minlength=len(self.kernel))
        rows = of_points[:-1].astype(np.float64)
        rows[self.n_labeled :] += of_points[-1] / self.n_unlabeled
        return rows


def find_margin(outputs: NDArray[np.float64], signs: NDArray[np.float64], push: float) -> float:
    """How far below zero known negatives are pushed: beyond the nearest labelled positive."""
    nearest = float(outputs[: len(signs)][signs > 0].min())
    return nearest + push if nearest > 0 else _DEFAULT_MARGIN


def train_machine(
    kernel: NDArray[np.float64],
    signs: NDArray[np.float64],
    weight: NDArray[np.float64],
    start: NDArray[np.float64],
    band: tuple[float, float],
    options: LACUOptions,
) -> QuadraticProgramme:
    """Rounds of the concave-convex procedure, until nothing changes.

    Parameters
    ----------
    kernel, signs, weight, band, options
        As in `QuadraticProgramme`.
    start : float64 array of shape (n_labeled + n_unlabeled,)
        Outputs of the SVM that was trained on labelled rows only.
    """
    programme = QuadraticProgramme(kernel, signs, weight, band, options)
    outputs = start
    for _ in range(options.max_rounds):
        margin = find_margin(outputs, signs, options.push)
        if not programme.set_round(outputs, margin):
            break
        outputs = programme.solve()
    return programme
