"""Theta of a fit: a number, or the result of an estimator of the mixture proportion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from lacforest._input.parameters import is_real
from lacforest._input.training_data import TrainingRows
from lacforest._tree.ranks import CodedColumns
from lacforest._utils.user_warnings import warn_user
from lacforest.mixture import RankMixture, ThetaEstimator, ThetaWarning


@dataclass(frozen=True)
class Theta:
    """The proportion that a classifier uses, and its origin.

    Attributes
    ----------
    value : float
    interval : tuple of float or None
        None where theta was given, or its estimator has none.
    estimator : estimator or None
        The fitted estimator, None where theta was given.
    """

    value: float
    interval: tuple[float, float] | None = None
    estimator: Any = None

    @property
    def upper(self) -> float:
        """The largest plausible share; the value itself where there is no interval.

        An interval that allows for any overlap of new and known rows may end far above it.
        """
        moderate = getattr(self.estimator, "moderate_upper_", None)
        if moderate is not None:
            return float(moderate)
        return self.value if self.interval is None else self.interval[1]


def check_theta(theta: Any) -> float | ThetaEstimator | Any:
    """The proportion of the augmented class (Eqn 1), or an unfitted estimator of it."""
    if isinstance(theta, str):
        if theta == "auto":
            return RankMixture()
    elif is_real(theta):
        if 0.0 < theta < 1.0:
            return float(theta)
        raise ValueError(
            f"theta must lie strictly between 0 and 1, got {theta!r}: it is the share of "
            "unlabelled rows that belong to the new class"
        )
    elif hasattr(theta, "fit") and hasattr(theta, "get_params") and not isinstance(theta, type):
        return clone(theta)
    raise TypeError(
        'theta must be "auto", a number strictly between 0 and 1, or an estimator of '
        f"lacforest.mixture, got {theta!r}"
    )


def find_theta(
    theta: float | ThetaEstimator | Any,
    rows: TrainingRows,
    columns: CodedColumns | None,
    entropy: NDArray[np.uint32],
    n_jobs: int | None,
) -> Theta:
    """Theta as given, or estimated on the rows of the fit.

    An estimator without a `random_state` or `n_jobs` of its own takes them from the classifier.
    Where there are control rows, unlabelled rows are compared with them.

    Parameters
    ----------
    theta : float or unfitted estimator
        What `check_theta` returned.
    rows : TrainingRows
    columns : CodedColumns or None
        The columns of `rows`, coded: an estimator that scores by a forest codes nothing again.
        None where the caller does not code them.
    entropy : uint32 array
    n_jobs : int or None
    """
    if isinstance(theta, float):
        return Theta(theta)
    own = theta.get_params(deep=False)
    for name, value in (("random_state", theta_seed(entropy)), ("n_jobs", n_jobs)):
        if name in own and own[name] is None:
            theta.set_params(**{name: value})
    n_labeled, n_control = rows.n_labeled, rows.n_control
    if isinstance(theta, ThetaEstimator) and n_control:
        theta.fit_control(rows.table, n_labeled, n_control, rows.sampling_weight, columns)
    elif isinstance(theta, ThetaEstimator):
        theta.fit_stack(rows.table, n_labeled, rows.sampling_weight, columns)
    else:
        table = rows.table.table()
        first = n_labeled - n_control if n_control else 0
        theta.fit(table[first:n_labeled], table[n_labeled:])
    estimate = _checked_estimate(theta)
    return Theta(estimate, _checked_interval(theta, estimate), theta)


def theta_seed(entropy: NDArray[np.uint32]) -> int:
    """Seed of the estimator of theta in a fit with this entropy."""
    return int(np.random.SeedSequence([*entropy.tolist(), 0]).generate_state(1)[0])


def _checked_estimate(estimator: Any) -> float:
    value: Any = getattr(estimator, "theta_", None)
    if value is None or not is_real(value) or not 0.0 <= value <= 1.0:
        raise ValueError(
            f"the estimator {estimator!r} gave theta_ = {value!r}, which is no share in [0, 1]"
        )
    return float(value)


def _checked_interval(estimator: Any, value: float) -> tuple[float, float] | None:
    interval: Any = getattr(estimator, "interval_", None)
    if interval is None:
        return None
    try:
        low, high = (float(end) for end in interval)
        makes_sense = 0.0 <= low <= value <= high <= 1.0
    except (TypeError, ValueError):
        makes_sense = False
    if not makes_sense:
        raise ValueError(
            f"the estimator {estimator!r} gave interval_ = {interval!r}, which is no pair of "
            f"shares around theta_ = {value!r}"
        )
    return low, high


def warn_if_undetermined(theta: Theta, n_unlabeled: int) -> None:
    """Warn where an estimate cannot tell nothing new, or everything new, from the rest."""
    message = undetermined_message(theta, n_unlabeled)
    if message is not None:
        warn_user(message, ThetaWarning)


def undetermined_message(theta: Theta, n_unlabeled: int) -> str | None:
    """What to warn of where an estimate is compatible with nothing new, or with everything new."""
    if theta.estimator is None:
        return None
    low = theta.value if theta.interval is None else theta.interval[0]
    found = f"theta is estimated at {theta.value:.3f}"
    if theta.interval is not None:
        found += f", with an interval from {low:.3f} to {theta.interval[1]:.3f}"
    # Less than half a row: as good as none.
    least = 0.5 / n_unlabeled
    if low < least:
        return (
            f"{found}: the data cannot tell whether any of the {n_unlabeled} unlabelled rows is "
            "new, and few or none will be called new. More unlabelled rows narrow the interval; "
            "if you know the share, pass it as theta."
        )
    if theta.upper > 1.0 - least:
        return (
            f"{found}: all of the {n_unlabeled} unlabelled rows may be new. Check that X and "
            "X_unlabeled have the same units, scaling and order of columns, and that known "
            "classes do occur among unlabelled rows; if you know the share, pass it as theta."
        )
    return None
