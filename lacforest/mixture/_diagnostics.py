"""Checks of what every estimate of theta assumes, in plain language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from lacforest._coding import RowStack
from lacforest.mixture._best_bin import BestBin
from lacforest.mixture._beta_mixture import N_BINS, position_counts
from lacforest.mixture._rank_mixture import RankMixture

# New rows may make up this share of the unlabelled rows in a region that counts as known.
_FEW_NEW = 0.05
# Labelled rows that such a region should hold.
_REGION = 0.1
# How far two readings of theta may lie apart before it is worth a word.
_FAR = 0.1
# Chance of a false alarm that a test of the assumption accepts.
_ALARM = 0.001
# Bins of positions that are counted together by the test of fit.
_BINS_TOGETHER = 5
# Rows of a class that say something about its share.
_CLASS_ROWS = 20
# A class counts as shifted from this factor on.
_SHIFT = 1.5


@dataclass(frozen=True)
class Finding:
    """One check and what it found.

    Attributes
    ----------
    topic : str
        "something new", "something known", "identifiable", "agreement", "fit" or "class shares".
    level : {"ok", "caution", "problem"}
    text : str
        What was found, and what to do about it.
    """

    topic: str
    level: Literal["ok", "caution", "problem"]
    text: str


@dataclass(frozen=True)
class ThetaReport:
    """Theta and whether the data support it.

    Attributes
    ----------
    theta : float
    interval : tuple of float
    findings : tuple of Finding
    estimator : RankMixture
        The fitted estimator behind them.
    """

    theta: float
    interval: tuple[float, float]
    findings: tuple[Finding, ...]
    estimator: RankMixture

    @property
    def is_sound(self) -> bool:
        """Whether no check found a problem or a reason for caution."""
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
    and that somewhere there are hardly any new rows. Neither can be proved from data; both can be
    seen to fail.

    Parameters
    ----------
    X : array-like, frame or sparse matrix of shape (n_labeled, n_features)
        Labelled rows.
    X_unlabeled : like X, of shape (n_unlabeled, n_features)
        Unlabelled rows from deployment.
    y : array-like of shape (n_labeled,), optional
        Labels. With them the share of every known class among unlabelled rows is compared with its
        share among labelled ones, at the cost of one more estimate a class.
    estimator : RankMixture, optional
        One that was fitted on these tables, such as ``forest.theta_estimator_``, to be checked
        instead of a new one.
    scorer : {"forest", "svc"} or classifier, default="forest"
        As in `RankMixture`.
    level : float, default=0.9
        Level of the interval.
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
    findings = [
        _something_new(estimator),
        _something_known(estimator),
        _identifiable(estimator),
        _agreement(estimator),
        _fit(estimator),
    ]
    if y is not None:
        findings.append(_class_shares(estimator, stack, y))
    return ThetaReport(estimator.theta_, estimator.interval_, tuple(findings), estimator)


def _ends(estimator: RankMixture) -> tuple[float, float]:
    assert estimator.interval_ is not None
    return estimator.interval_


def _something_new(estimator: RankMixture) -> Finding:
    topic, n_unlabeled = "something new", len(estimator.scores_.unlabeled)
    low, _ = _ends(estimator)
    if low < 0.5 / n_unlabeled:
        return Finding(
            topic,
            "caution",
            f"the data cannot tell whether any of the {n_unlabeled} unlabelled rows is new. More "
            "unlabelled rows would narrow the interval.",
        )
    return Finding(topic, "ok", f"at least about {low:.1%} of the unlabelled rows are new.")


def _something_known(estimator: RankMixture) -> Finding:
    topic = "something known"
    _, high = _ends(estimator)
    if high > 1.0 - _FEW_NEW:
        return Finding(
            topic,
            "caution",
            f"up to {high:.1%} of the unlabelled rows look new. Check that both tables have the "
            "same units, scaling and order of columns, and that known classes do occur in "
            "deployment.",
        )
    return Finding(
        topic, "ok", f"at least about {1.0 - high:.1%} of the unlabelled rows are known."
    )


def known_region(estimator: RankMixture) -> float:
    """Share of labelled rows in the region where hardly any unlabelled row is new.

    The largest x such that, by the fitted curve, new rows make up at most 5 % of the unlabelled
    rows below.
    """
    x = np.linspace(0.0, 1.0, N_BINS + 1)
    curve = estimator.fitted_curve(x)
    known = 1.0 - estimator.theta_
    few = known >= (1.0 - _FEW_NEW) * curve
    return float(x[few].max()) if few.any() else 0.0


def _identifiable(estimator: RankMixture) -> Finding:
    topic = "identifiable"
    steep, flat = estimator.shape_range()
    region = known_region(estimator)
    if region < _REGION or flat - steep > _FAR:
        return Finding(
            topic,
            "caution",
            f"new and known rows overlap: theta is {steep:.3f} if they overlap little and "
            f"{flat:.3f} if they do much, and {region:.0%} of labelled rows lie where hardly any "
            "unlabelled row is new. Better features or more rows may tell them apart. It looks the "
            "same where a known class is rarer in deployment: pass labels to see.",
        )
    return Finding(
        topic,
        "ok",
        f"{region:.0%} of labelled rows lie where at least {1.0 - _FEW_NEW:.0%} of unlabelled rows "
        "are known.",
    )


def _agreement(estimator: RankMixture) -> Finding:
    topic = "agreement"
    other = BestBin(level=estimator.level, random_state=estimator.random_state)
    other.fit_scores(estimator.scores_.labeled, estimator.scores_.unlabeled)
    said = f"rank mixture says {estimator.theta_:.3f}, best bin {other.theta_:.3f}"
    if abs(other.theta_ - estimator.theta_) > _FAR:
        return Finding(
            topic,
            "caution",
            f"two estimators disagree: {said}. Treat theta as uncertain by that much, and see how "
            "predictions change between the two.",
        )
    return Finding(topic, "ok", f"{said}.")


def misfit(estimator: RankMixture) -> float:
    """p-value of the fitted mixture where unlabelled rows look known.

    Pearson's test on the lower half of the positions, with the noise of labelled rows added to that
    of unlabelled ones. It fails where labelled rows are more frequent than any sample of the known
    part would have them.
    """
    table = estimator._table
    found = position_counts(table).reshape(-1, _BINS_TOGETHER).sum(axis=1)
    edges = np.linspace(0.0, 1.0, len(found) + 1)
    with np.errstate(invalid="ignore"):
        below = edges * estimator.fitted_curve(edges)
    expected = np.diff(below) * table.n_unlabeled
    half = len(found) // 2
    found, expected = found[:half], np.maximum(expected[:half], 1e-9)
    n_labeled = table.n_labeled / len(edges)
    variance = expected + expected**2 / n_labeled
    statistic = float(((found - expected) ** 2 / variance).sum())
    return float(chi2.sf(statistic, half))


def _fit(estimator: RankMixture) -> Finding:
    topic = "fit"
    p_value = misfit(estimator)
    if p_value < _ALARM:
        return Finding(
            topic,
            "problem",
            "labelled rows do not look like a sample of the known part of the unlabelled ones: the "
            f"rows that look most known do not occur in equal shares (p = {p_value:.1g}). A class "
            "or source may be rarer in deployment than among labelled rows; theta is then too "
            "high. Pass labels to see which class.",
        )
    return Finding(
        topic, "ok", f"among rows that look known, both tables agree (p = {p_value:.2g})."
    )


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
        found.append((1.0 - fitted.theta_, 1.0 - _ends(fitted)[1], 1.0 - _ends(fitted)[0]))
    # Shares among known rows: a class that is rarer would otherwise look like a higher theta.
    known = sum(share for share, _, _ in found)
    rarer, commoner = [], []
    for label, share, (_, least, most) in zip(compared, shares, found, strict=True):
        if most * _SHIFT < share * known:
            rarer.append(label)
        elif least > _SHIFT * share * known:
            commoner.append(label)
    if rarer or commoner:
        told = [
            f"{word} in deployment than among labelled rows: {', '.join(map(str, names))}"
            for word, names in (("rarer", rarer), ("more frequent", commoner))
            if names
        ]
        return Finding(
            topic,
            "problem",
            "; ".join(told) + ". Theta assumes equal shares: weigh labelled rows by sample_weight, "
            "or sample them as they occur in deployment.",
        )
    return Finding(
        topic,
        "ok",
        f"none of the {len(compared)} classes with at least {_CLASS_ROWS} labelled rows is visibly "
        "rarer or more frequent in deployment.",
    )
