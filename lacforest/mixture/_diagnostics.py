"""Checks of the assumptions of every estimate of theta, in plain language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from lacforest._input.tables import RowStack
from lacforest.mixture._rank_mixture import RankMixture
from lacforest.mixture.checks import estimate_findings
from lacforest.mixture.findings import Finding

# Smallest number of rows of a class whose share is checked.
_CLASS_ROWS = 20
# A class counts as shifted from this factor on.
_SHIFT = 1.5


@dataclass(frozen=True)
class ThetaReport:
    """Theta, and whether the data support it.

    Attributes
    ----------
    theta : float
    interval : tuple of float
    findings : tuple
        The results of all checks, each with ``topic`` ("something new", "something known",
        "identifiable", "agreement", "fit" or "class shares"), ``level`` ("ok", "caution" or
        "problem") and ``text``.
    estimator : RankMixture
        The fitted estimator.
    """

    theta: float
    interval: tuple[float, float]
    findings: tuple[Finding, ...]
    estimator: RankMixture

    @property
    def is_sound(self) -> bool:
        """Whether all checks are "ok"."""
        return all(finding.level == "ok" for finding in self.findings)

    def __str__(self) -> str:
        low, high = self.interval
        lines = [f"theta = {self.theta:.3f}, interval {low:.3f} to {high:.3f}"]
        lines += [f"[{found.level:>7}] {found.topic}: {found.text}" for found in self.findings]
        return "\n".join(lines)


def diagnose(
    X: ArrayLike,
    X_unlabeled: ArrayLike,
    y: ArrayLike | None = None,
    *,
    estimator: RankMixture | None = None,
    scorer: Any = "forest",
    level: float = 0.9,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> ThetaReport:
    """Estimate theta and check whether the data support the estimate.

    All estimators assume that labelled rows are a sample of the known part of the unlabelled ones,
    and that there is a region with hardly any new rows. Data cannot prove these assumptions, but
    they can show that one of them fails.

    Parameters
    ----------
    X : array-like, frame or sparse matrix of shape (n_labeled, n_features)
        Labelled rows.
    X_unlabeled : like X, of shape (n_unlabeled, n_features)
        Unlabelled rows from deployment.
    y : array-like of shape (n_labeled,), optional
        Labels. With them the share of every known class among unlabelled rows is compared with its
        share among labelled ones, at the cost of one more estimate per class.
    estimator : RankMixture, optional
        An estimator that was fitted on these tables, such as ``forest.theta_estimator_``. By
        default a new one is fitted.
    scorer : {"forest", "svc"} or classifier, default="forest"
        As in `RankMixture`.
    level : float, default=0.9
        Confidence level of the interval.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int or None, default=None

    Returns
    -------
    ThetaReport

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest.mixture import diagnose
    >>> rng = np.random.default_rng(0)
    >>> known, new = rng.normal(size=(2000, 2)), rng.normal(6, 1, size=(1000, 2))
    >>> report = diagnose(known[:1000], np.vstack([known[1000:], new]), random_state=0)
    >>> report.is_sound
    True
    """
    if estimator is None:
        seed = int(check_random_state(random_state).randint(0, 2**31))
        estimator = RankMixture(scorer, level=level, random_state=seed, n_jobs=n_jobs)
        stack, n_labeled, _ = estimator.stack_rows(X, X_unlabeled)
        estimator.fit_stack(stack, n_labeled)
    else:
        check_is_fitted(estimator)
        stack, n_labeled, _ = clone(estimator).stack_rows(X, X_unlabeled)
        if n_labeled != len(estimator.scores_.labeled):
            raise ValueError(
                f"estimator was fitted on {len(estimator.scores_.labeled)} labelled rows, but X "
                f"has {n_labeled}"
            )
    if estimator.interval_ is None:
        raise ValueError("estimator has no interval: fit it with n_bootstrap above 0")
    findings = list(estimate_findings(estimator, estimator.interval_))
    if y is not None:
        findings.append(_class_shares(estimator, stack, y))
    return ThetaReport(estimator.theta_, estimator.interval_, tuple(findings), estimator)


def _class_shares(estimator: RankMixture, stack: RowStack, y: ArrayLike) -> Finding:
    topic = "class shares"
    labels = column_or_1d(y)
    n_labeled = len(estimator.scores_.labeled)
    if len(labels) != n_labeled:
        raise ValueError(f"y has {len(labels)} labels, but X has {n_labeled} rows")
    unlabeled = np.arange(n_labeled, stack.n_rows)
    classes, counts = np.unique(labels, return_counts=True)
    compared = classes[counts >= _CLASS_ROWS]
    shares = counts[counts >= _CLASS_ROWS] / counts[counts >= _CLASS_ROWS].sum()
    found = []
    for label in compared:
        members = np.flatnonzero(labels == label)
        fitted = clone(estimator)
        fitted.fit_stack(stack.take(np.concatenate([members, unlabeled])), len(members))
        # As of the estimator that it is a clone of.
        assert fitted.interval_ is not None
        assert fitted.moderate_upper_ is not None
        least = 1.0 - fitted.moderate_upper_
        found.append((1.0 - fitted.theta_, least, 1.0 - fitted.interval_[0]))
    # Shares among known rows: a class that is rarer would otherwise look like a higher theta.
    known = sum(share for share, _, _ in found)
    rarer, commoner = [], []
    for label, share, (_, least, most) in zip(compared, shares, found, strict=True):
        if most * _SHIFT < share * known:
            rarer.append(label)
        elif least > _SHIFT * share * known:
            commoner.append(label)
    if rarer or commoner:
        shifts = [
            f"{word} in deployment than among labelled rows: {', '.join(map(str, names))}"
            for word, names in (("rarer", rarer), ("more frequent", commoner))
            if names
        ]
        return Finding(
            topic,
            "problem",
            "; ".join(shifts) + ". The estimate assumes equal shares: pass sample_weight for "
            "labelled rows, or sample them as they occur in deployment.",
        )
    return Finding(
        topic,
        "ok",
        f"none of the {len(compared)} classes with at least {_CLASS_ROWS} labelled rows is clearly "
        "rarer or more frequent in deployment.",
    )
