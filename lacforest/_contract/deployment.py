"""Theta and the shares of the known classes: as given, or estimated on the rows of a fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from lacforest._coding.bins import sampled_rows
from lacforest._coding.coded_table import CodedTable, code_table
from lacforest._contract.control import control_shares, weigh_control
from lacforest._input.parameters import given_shares, is_real, share_ratio
from lacforest._input.training_data import TrainingRows
from lacforest._tree.coded_columns import CodedColumns
from lacforest._utils.findings import Finding
from lacforest._utils.user_warnings import warn_user
from lacforest.mixture import RankMixture, ShareMixture, ThetaEstimator, ThetaWarning
from lacforest.mixture.share_finding import (
    look_alike_findings,
    plausible_interval,
    share_finding,
)

# Most labelled and most unlabelled rows: errors of estimates are far below their intervals by then.
MOST_ROWS = 100_000
# Most of them by which shares of classes are found: by then, the error of a share is what more rows
# do not remove.
_MOST_SHARE_ROWS = 20_000
# Rows of every class, where there are as many.
_ROWS_PER_CLASS = 50

# A class that is absent in deployment keeps this part of an equal share: its rows still show what
# it looks like.
_LEAST_SHARE = 0.001
# Most probabilities of rows, one per class, that "auto" computes (400 MB). Beyond, it takes the
# labelled shares.
_MOST_PROBABILITIES = 50_000_000


def theta_rows(rows: TrainingRows) -> NDArray[np.intp] | None:
    """Numbers of the rows that theta is found by, in ascending order; None takes all rows."""
    return _sampled(rows, MOST_ROWS)


def _sampled(rows: TrainingRows, most: int) -> NDArray[np.intp] | None:
    """Row numbers in ascending order, by their hashes; None takes all rows.

    Labelled and unlabelled rows are chosen apart, and rare classes keep some of their rows. Control
    rows are few and compared as a whole: tables with them are not divided.
    """
    # Rows that rare classes keep come on top of the labelled ones.
    most_labeled = most + rows.n_known * _ROWS_PER_CLASS
    if rows.n_control or (rows.n_labeled <= most_labeled and rows.n_unlabeled <= most):
        return None
    labeled = sampled_rows(rows.n_labeled, most)
    if labeled is None:
        labeled = np.arange(rows.n_labeled)
    else:
        labeled = _with_rare_classes(labeled, rows.classes[: rows.n_labeled], rows.n_known)
    unlabeled = sampled_rows(rows.n_unlabeled, most)
    if unlabeled is None:
        unlabeled = np.arange(rows.n_unlabeled)
    return np.concatenate([labeled, rows.n_labeled + unlabeled])


def _with_rare_classes(
    chosen: NDArray[np.intp], classes: NDArray[np.uint16], n_known: int
) -> NDArray[np.intp]:
    counts = np.bincount(classes[chosen], minlength=n_known)
    rare = [
        np.flatnonzero(classes == code)[:_ROWS_PER_CLASS]
        for code in np.flatnonzero(counts < _ROWS_PER_CLASS)
    ]
    return np.unique(np.concatenate([chosen, *rare]))


def _take_rows(
    rows: TrainingRows, coded: CodedTable | None, most: int
) -> tuple[TrainingRows, CodedTable | None]:
    """At most so many rows of each side, with their codes; large tables are represented by some."""
    chosen = _sampled(rows, most)
    if chosen is None:
        return rows, coded
    few = rows.take(chosen, rows.table.take(chosen))
    return few, None if coded is None else coded.take(chosen)


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
    def lower(self) -> float:
        """The least plausible share; the value itself where there is no interval."""
        return self.value if self.interval is None else self.interval[0]

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
            "X_unlabeled have the same units, scaling and order of columns (inside a Pipeline mark "
            "rows by unlabeled_label=), and that known classes do occur among unlabelled rows; if "
            "you know the share, pass it as theta."
        )
    return None


@dataclass(frozen=True)
class Deployment:
    """What the unlabelled rows of a fit are made of.

    Attributes
    ----------
    theta : Theta
    known_shares : float64 array of shape (n_known,)
        Shares of the known classes among known rows; they sum to 1.
    known_shares_interval : float64 array of shape (n_known, 2) or None
        None unless the shares were found to have moved.
    share_shift : float or None
        How far shares in deployment lie from those of labelled rows; None where this was not
        tested.
    rows : TrainingRows
        The rows of the fit, weighted to these shares where they have moved.
    findings : tuple of Finding
        What checks of the assumptions found, first that of the shares.
    column_shift : float64 array of shape (n_features, 2) or None
        How far each column of the unlabelled rows lies from that of the labelled ones.
    """

    theta: Theta
    known_shares: NDArray[np.float64]
    known_shares_interval: NDArray[np.float64] | None
    share_shift: float | None
    rows: TrainingRows
    findings: tuple[Finding, ...] = ()
    column_shift: NDArray[np.float64] | None = None


def _weigh_like(rows: TrainingRows, few: TrainingRows) -> TrainingRows:
    """All rows with the class factors that some of them got."""
    return rows if few.class_factor is None else rows.with_class_factor(few.class_factor)


def find_deployment(
    theta: Any,
    known_shares: Any,
    rows: TrainingRows,
    known: NDArray[Any],
    coded: CodedTable | None,
    entropy: NDArray[np.uint32],
    n_jobs: int | None,
) -> Deployment:
    """Theta and the shares of known classes, as given or estimated.

    Where there are control rows, "auto" takes the shares of classes among them. Large tables are
    represented by some of their rows, see `theta_rows`.

    Parameters
    ----------
    theta : float or unfitted estimator
        What `check_theta` returned.
    known_shares : "auto", "labeled", array or dict
        Checked by `check_known_shares`.
    rows : TrainingRows
    known : array of shape (n_known,)
        Labels of the known classes.
    coded : CodedTable or None
        The table of `rows` in codes; None codes it here if an estimate needs it.
    entropy : uint32 array
    n_jobs : int or None
    """
    few, codes = _take_rows(rows, coded, MOST_ROWS)
    if few is not rows:
        of_few = find_deployment(theta, known_shares, few, known, codes, entropy, n_jobs)
        return replace(of_few, rows=_weigh_like(rows, of_few.rows))
    columns = None if coded is None else coded.columns
    if rows.n_control:
        auto_shares = control_shares(rows)
        rows = weigh_control(rows)
        if isinstance(known_shares, str) and known_shares == "auto":
            known_shares = auto_shares
    labeled = rows.labeled_shares
    given = None if isinstance(known_shares, str) else given_shares(known_shares, known)
    mixture = None
    if given is not None or (known_shares == "auto" and _can_estimate(rows)):
        seed = getattr(theta, "random_state", None)
        if seed is None:
            seed = int(np.random.SeedSequence([*entropy.tolist(), 1]).generate_state(1)[0])
        mixture = ShareMixture(known_shares=given, random_state=seed, n_jobs=n_jobs)
    # Control rows are compared with unlabelled ones by the estimator itself.
    takes_mixture = type(theta) is RankMixture and not rows.n_control
    if mixture is not None and (given is None or takes_mixture):
        mixture.classes_ = known
        few, codes = _take_rows(rows, coded, _MOST_SHARE_ROWS)
        codes = code_table(few.table, n_jobs) if codes is None else codes
        if given is None:
            mixture.find_shift(few, codes)
        else:
            mixture.fit_shift(few, codes)
    if given is None and (mixture is None or not mixture.has_shifted_):
        found = find_theta(theta, rows, columns, entropy, n_jobs)
        if mixture is None:
            return Deployment(found, labeled, None, None, rows)
        found, findings = _judge_by_shares(found, mixture)
        return Deployment(found, labeled, None, mixture.share_shift_, rows, findings)

    assert mixture is not None
    if given is None or takes_mixture:
        mixture.fit_intervals()
    shares = mixture.known_shares_ if given is None else given
    weighted = _weigh(rows, shares, labeled)
    if takes_mixture:
        # The default estimator knows no classes: this one scores rows under their shares.
        found = Theta(mixture.theta_, mixture.interval_, mixture)
    else:
        found = find_theta(theta, weighted, columns, entropy, n_jobs)
    if given is None:
        found, findings = _judge_by_shares(found, mixture)
        interval, shift = mixture.known_shares_interval_, mixture.share_shift_
        return Deployment(found, shares, interval, shift, weighted, findings)
    return Deployment(found, shares, None, None, weighted)


def _judge_by_shares(theta: Theta, mixture: ShareMixture) -> tuple[Theta, tuple[Finding, ...]]:
    """Findings on the known classes; an estimated theta is less certain where they look alike."""
    findings = (share_finding(mixture),)
    if theta.estimator is None:
        return theta, findings
    if theta.interval is not None:
        theta = replace(theta, interval=plausible_interval(theta.interval, mixture))
    return theta, (*findings, *look_alike_findings(mixture))


def _can_estimate(rows: TrainingRows) -> bool:
    """Whether there are classes whose shares may have moved, and rows to see it."""
    enough = min(rows.n_known, rows.n_labeled, rows.n_unlabeled) > 1
    return enough and rows.table.n_rows * (rows.n_known + 1) <= _MOST_PROBABILITIES


def _weigh(
    rows: TrainingRows, shares: NDArray[np.float64], labeled: NDArray[np.float64]
) -> TrainingRows:
    """Labelled rows weighted so that known classes have these shares."""
    ratio = share_ratio(shares, labeled, _LEAST_SHARE)
    weighted = rows.with_class_factor(ratio)
    factor = ratio[rows.classes[: rows.n_labeled]]
    sampling = factor if rows.sampling_weight is None else rows.sampling_weight * factor
    return replace(weighted, sampling_weight=sampling)
