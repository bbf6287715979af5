"""Shares of the known classes in deployment: as labelled, given, or estimated with theta."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._coding.coded_table import CodedTable, code_table
from lacforest._contract.control import control_shares, weigh_control
from lacforest._contract.subsample import theta_rows
from lacforest._contract.theta import Theta, find_theta
from lacforest._input.shares import given_shares, share_ratio
from lacforest._input.training_data import TrainingRows
from lacforest.mixture import RankMixture, ShareMixture
from lacforest.mixture.findings import Finding
from lacforest.mixture.share_finding import share_finding

# A class that is absent in deployment keeps this part of an equal share: its rows still show what
# it looks like.
_LEAST_PART = 0.001
# Most probabilities of rows, one per class, that "auto" computes (400 MB). Beyond, it takes the
# labelled shares.
_MOST_PROBABILITIES = 50_000_000


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
    chosen = theta_rows(rows)
    if chosen is not None:
        few = rows.take(chosen, rows.table.take(chosen))
        codes = None if coded is None else coded.take(chosen)
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
        mixture.fit_shift(rows, code_table(rows.table, n_jobs) if coded is None else coded)
    if given is None and (mixture is None or not mixture.has_shifted_):
        found = find_theta(theta, rows, columns, entropy, n_jobs)
        if mixture is None:
            return Deployment(found, labeled, None, None, rows)
        findings = (share_finding(mixture),)
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
        interval, shift = mixture.known_shares_interval_, mixture.share_shift_
        return Deployment(found, shares, interval, shift, weighted, (share_finding(mixture),))
    return Deployment(found, shares, None, None, weighted)


def _can_estimate(rows: TrainingRows) -> bool:
    """Whether there are classes whose shares may have moved, and rows to see it."""
    enough = min(rows.n_known, rows.n_labeled, rows.n_unlabeled) > 1
    return enough and rows.table.n_rows * (rows.n_known + 1) <= _MOST_PROBABILITIES


def _weigh(
    rows: TrainingRows, shares: NDArray[np.float64], labeled: NDArray[np.float64]
) -> TrainingRows:
    """Labelled rows weighted so that known classes have these shares."""
    ratio = share_ratio(shares, labeled, _LEAST_PART)
    weighted = rows.with_class_factor(ratio)
    factor = ratio[rows.classes[: rows.n_labeled]]
    sampling = factor if rows.sampling_weight is None else rows.sampling_weight * factor
    return replace(weighted, sampling_weight=sampling)
