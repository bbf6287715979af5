"""Checks of the assumptions of every estimate of theta, in plain language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from lacforest._input.parameters import check_known_shares, given_shares, weights_to_shares
from lacforest._utils.findings import Finding
from lacforest.mixture._rank_mixture import RankMixture
from lacforest.mixture._share_mixture import ShareMixture
from lacforest.mixture.checks import estimate_findings, rank_estimate
from lacforest.mixture.share_finding import (
    look_alike_findings,
    plausible_interval,
    share_finding,
)


@dataclass(frozen=True)
class ThetaReport:
    """Theta, and whether the data support it.

    Attributes
    ----------
    theta : float
    interval : tuple of float
    findings : tuple
        The results of all checks, each with ``topic`` ("something new", "something known",
        "identifiable", "agreement", "fit", "class shares" or "look-alikes"), ``level`` ("ok",
        "caution" or "problem") and ``text``.
    estimator : RankMixture
        The fitted estimator.
    shares : ShareMixture or None
        The shares of the known classes; None if no labels were given. Where they have moved, theta
        is the one under these shares.
    """

    theta: float
    interval: tuple[float, float]
    findings: tuple[Finding, ...]
    estimator: RankMixture
    shares: ShareMixture | None = None

    @property
    def is_sound(self) -> bool:
        """Whether all checks are "ok"."""
        return all(finding.level == "ok" for finding in self.findings)

    def row_weights(self, y: ArrayLike) -> NDArray[np.float64] | None:
        """Weights of labelled rows under which their classes have the shares of deployment.

        Other estimators of theta take them as ``sample_weight``. None if the shares have not moved.

        Parameters
        ----------
        y : array-like of shape (n_labeled,)
            Labels of the rows.
        """
        shares = self.shares
        if shares is None or not (shares.has_shifted_ or shares.known_shares is not None):
            return None
        labels = column_or_1d(y)
        named = dict(zip(shares.classes_.tolist(), shares.known_shares_.tolist(), strict=True))
        return weights_to_shares(labels, named, np.ones(len(labels))) * len(labels)

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
    known_shares: Any = "auto",
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
        Labels. With them the shares of the known classes among unlabelled rows are estimated as
        well. Where they differ from those of labelled rows, theta is estimated under the new
        shares.
    known_shares : "auto", "labeled", array-like or dict, default="auto"
        As in `lacforest.LACForestClassifier`. "labeled" leaves the check of shares out.
    estimator : RankMixture, optional
        An estimator that was fitted on these tables, such as ``forest.theta_estimator_``, whose
        theta is kept. By default a new one is fitted.
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
    seed = int(check_random_state(random_state).randint(0, 2**31))
    is_given = estimator is not None
    if estimator is None:
        estimator = RankMixture(scorer, level=level, random_state=seed, n_jobs=n_jobs)
        estimator.fit(X, X_unlabeled)
    else:
        check_is_fitted(estimator)
        _, n_labeled, _ = clone(estimator).stack_rows(X, X_unlabeled)
        if n_labeled != len(estimator.scores_.labeled):
            raise ValueError(
                f"estimator was fitted on {len(estimator.scores_.labeled)} labelled rows, but X "
                f"has {n_labeled}"
            )
    theta, interval, shares = estimator.theta_, estimator.interval_, None
    if interval is None:
        raise ValueError("estimator has no interval: fit it with n_bootstrap above 0")
    found = []
    check_known_shares(known_shares)
    given = None
    if not isinstance(known_shares, str):
        if y is None:
            raise ValueError("known_shares are shares of classes: pass the labels y as well")
        given = given_shares(known_shares, np.unique(column_or_1d(y)))
    if y is not None and (given is not None or known_shares == "auto"):
        shares = ShareMixture(known_shares=given, level=level, random_state=seed, n_jobs=n_jobs)
        shares.fit(X, y, X_unlabeled)
        if given is None:
            found.append(share_finding(shares))
        by_rank = rank_estimate(shares)
        is_moved = given is not None or shares.has_shifted_
        if is_moved and not is_given and by_rank is not None:
            assert shares.interval_ is not None  # n_bootstrap is not 0
            theta, interval, estimator = shares.theta_, shares.interval_, by_rank
        found += look_alike_findings(shares)
    findings = (*estimate_findings(estimator, interval), *found)
    if shares is not None:
        interval = plausible_interval(interval, shares)
    return ThetaReport(theta, interval, findings, estimator, shares)
