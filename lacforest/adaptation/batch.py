"""What a batch is made of in comparison with the fit, and alarms about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._utils.findings import Finding
from lacforest._utils.printable import counted
from lacforest.adaptation.shares import EXPONENT, FEWEST_ROWS, NEW_ODDS, BatchShares

# Smaller moves than these raise no alarm, however sure they are.
_THETA_MOVE = 0.05
_SHARES_MOVE = 0.15
_FAR_SHARE = 0.2
_LEAST_SHARE = 1e-4
_NAMED_CLASSES = 3
_LEAST_P_VALUE = 1e-3


@dataclass(frozen=True)
class Adaptation:
    """What a batch is made of.

    Attributes
    ----------
    n_rows : int
    theta : float
        Share of new rows in the batch.
    theta_interval : tuple of float
        All of [0, 1] where the batch has fewer than ten rows, as `known_shares_interval`.
    theta_before : float
        Share of new rows in the fit.
    known_classes : ndarray of shape (n_known,)
    known_shares : ndarray of shape (n_known,)
        Shares of known classes among the known rows of the batch.
    known_shares_interval : ndarray of shape (n_known, 2)
    known_shares_before : ndarray of shape (n_known,)
    p_value : float
        Of the claim that batch and fit have the same shares.
    is_adapted : bool
        Whether that claim was rejected (p < 0.05, and ten rows or more). If not, probabilities stay
        those of the fit.
    far_share : float or None
        Share of the rows called new that are out of reach of every group found so far; None where
        no groups were given.
    findings : tuple of Finding
        On the topics "theta", "shares", "adapt" and, with groups, "groups".
    """

    n_rows: int
    theta: float
    theta_interval: tuple[float, float]
    theta_before: float
    known_classes: NDArray[Any]
    known_shares: NDArray[np.float64]
    known_shares_interval: NDArray[np.float64]
    known_shares_before: NDArray[np.float64]
    p_value: float
    is_adapted: bool
    far_share: float | None
    findings: tuple[Finding, ...]

    @property
    def alarms(self) -> tuple[Finding, ...]:
        """The findings that call for attention."""
        return tuple(found for found in self.findings if found.level != "ok")

    def __str__(self) -> str:
        return "\n".join(f"{found.topic}: {found.text}" for found in self.findings)


def describe_batch(
    found: BatchShares,
    before: NDArray[np.float64],
    known_classes: NDArray[Any],
    level: float,
    is_far: NDArray[np.bool_] | None,
) -> Adaptation:
    """Compare the shares of a batch with those of the fit.

    Parameters
    ----------
    found : BatchShares
    before : ndarray of shape (n_known + 1,)
        Shares of all classes in the fit, the new one last.
    known_classes : ndarray of shape (n_known,)
    level : float
        Of the intervals.
    is_far : ndarray of bool or None
        For each row called new, whether it is out of reach of every group found so far.
    """
    theta_before = float(before[-1])
    shares_before = before[:-1] / before[:-1].sum()
    interval, shares_interval = found.theta_interval(level), found.known_shares_interval(level)
    theta, shares = float(found.shares[-1]), found.known_shares
    findings = [
        _theta_finding(theta, interval, theta_before, found.have_moved),
        _shares_finding(shares, shares_interval, shares_before, known_classes, found.have_moved),
        _adapt_finding(found),
    ]
    far_share = None
    if is_far is not None:
        far_share = float(is_far.mean()) if len(is_far) else 0.0
        findings.append(_far_finding(is_far))
    return Adaptation(
        n_rows=found.n_rows,
        theta=theta,
        theta_interval=interval,
        theta_before=theta_before,
        known_classes=known_classes,
        known_shares=shares,
        known_shares_interval=shares_interval,
        known_shares_before=shares_before,
        p_value=found.p_value,
        is_adapted=found.have_moved,
        far_share=far_share,
        findings=tuple(findings),
    )


def _theta_finding(
    theta: float, interval: tuple[float, float], before: float, have_moved: bool
) -> Finding:
    low, high = interval
    text = f"{theta:.1%} of the rows are new ({low:.1%} to {high:.1%}), {before:.1%} in the fit"
    is_far = not low <= before <= high and abs(theta - before) > _THETA_MOVE
    return Finding("theta", "caution" if have_moved and is_far else "ok", text)


def _shares_finding(
    shares: NDArray[np.float64],
    interval: NDArray[np.float64],
    before: NDArray[np.float64],
    known_classes: NDArray[Any],
    have_moved: bool,
) -> Finding:
    moved = (before < interval[:, 0]) | (before > interval[:, 1])
    distance = float(np.abs(shares - before)[moved].sum())
    if not have_moved or distance <= _SHARES_MOVE:
        return Finding("shares", "ok", "known classes have about the shares of the fit")
    # Of two classes one gains what the other loses: rounding must not decide which comes first.
    moves = np.where(moved, np.abs(shares - before), 0.0).round(9)
    order = np.argsort(-moves, kind="stable")
    named = ", ".join(
        f"{known_classes[k]} {shares[k]:.1%} (fit: {before[k]:.1%})"
        for k in order[: min(_NAMED_CLASSES, int(moved.sum()))]
    )
    return Finding("shares", "caution", f"shares among known rows have moved: {named}")


def _adapt_finding(found: BatchShares) -> Finding:
    p_value = f"p = {found.p_value:.3f}" if found.p_value >= _LEAST_P_VALUE else "p < 0.001"
    if found.is_too_small:
        text = (
            f"changes nothing: a batch of {counted(found.n_rows, 'row')} is too small to tell "
            f"other shares from chance, and for any alarm: {FEWEST_ROWS} rows or more are needed"
        )
    elif found.have_moved:
        text = f"changes probabilities: the batch has not the shares of the fit ({p_value})"
    else:
        text = f"changes nothing: the batch may have the shares of the fit ({p_value})"
    return Finding("adapt", "ok", text)


def _far_finding(is_far: NDArray[np.bool_]) -> Finding:
    n_far, n_flagged = int(is_far.sum()), len(is_far)
    text = f"{n_far} of {n_flagged} rows called new are far from every group found so far"
    is_many = n_flagged >= FEWEST_ROWS and n_far > _FAR_SHARE * n_flagged
    if is_many:
        text += ": another new class may have appeared"
    return Finding("groups", "caution" if is_many else "ok", text)


def class_factors(found: BatchShares, before: NDArray[np.float64]) -> NDArray[np.float64]:
    """Factors of the votes of each class, so that they are votes under other shares.

    Shares change squares of votes by ``shares / before``, and votes by the root of that. Where the
    shares of the fit explain the batch, all factors are one: any others would follow noise.
    """
    if not found.have_moved:
        return np.ones(len(before))
    ratio = np.maximum(found.shares, _LEAST_SHARE) / np.maximum(before, _LEAST_SHARE)
    # Half of the correction of estimates: all of it calls too much of some tables new.
    ratio[-1] *= NEW_ODDS**0.5
    factors: NDArray[np.float64] = ratio ** (1.0 / EXPONENT)
    return factors
