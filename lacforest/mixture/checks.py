"""Checks of what an estimate of theta assumes, on scores that it has already.

`lacforest.mixture.diagnose` runs them on request, and every fit on its own estimate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import chi2

from lacforest._tree.coded_columns import CodedColumns
from lacforest._utils.findings import FALSE_ALARMS, Finding
from lacforest.mixture._base import ThetaEstimator
from lacforest.mixture._best_bin import best_bin
from lacforest.mixture._beta_mixture import N_BINS, position_counts
from lacforest.mixture._forest_scores import row_words
from lacforest.mixture._rank_mixture import RankMixture
from lacforest.mixture._share_mixture import ShareMixture

# New rows may make up this share of the unlabelled rows in a region that counts as known.
_FEW_NEW = 0.05
# Labelled rows that such a region should hold.
_REGION = 0.1
# How far two readings of theta may lie apart before it is worth a word.
_FAR = 0.1
# How far theta may depend on the assumed overlap of new and known rows.
_UNCERTAIN = 0.15
# Below the first p-value a test of the assumption counsels caution, and below the second it calls
# the data a problem. Scores of a forest are not independent, so small values occur by chance.
_DOUBTFUL = 1e-3
_CERTAIN = 1e-6
# A row in both tables is scored by trees that saw its other copy. From this share on, such rows
# make the test of fit fail by themselves.
_FEW_SHARED = 0.05
# Bins of positions that are counted together by the test of fit.
_BINS_TOGETHER = 5


def estimate_findings(
    estimator: RankMixture, interval: tuple[float, float], shared: float = 0.0
) -> tuple[Finding, ...]:
    """All checks of one estimate; none fits a model.

    Parameters
    ----------
    estimator : RankMixture
        Fitted, with or without an interval.
    interval : tuple of float
        Interval of theta.
    shared : float
        Share of labelled rows that are among the unlabelled ones too.
    """
    return (
        _something_new(interval[0], len(estimator.scores_.unlabeled), estimator.p_value_),
        _something_known(interval[1]),
        _identifiable(estimator),
        _agreement(estimator),
        _fit(estimator, shared),
    )


def shared_rows(columns: CodedColumns, n_labeled: int) -> float:
    """Share of labelled rows that occur among the unlabelled ones, value by value."""
    n_rows = len(columns.columns[0])
    labeled = row_words(columns, 0, n_labeled)
    return float(np.isin(labeled, row_words(columns, n_labeled, n_rows)).mean())


def rank_estimate(estimator: Any) -> RankMixture | None:
    """The rank mixture on the scores of a fitted estimator; None where it has no scores."""
    if not hasattr(estimator, "scores_"):
        return None
    if isinstance(estimator, RankMixture):
        return estimator
    if isinstance(estimator, ShareMixture):
        return estimator._by_rank
    if not isinstance(estimator, ThetaEstimator):
        return None
    by_rank = RankMixture(n_bootstrap=0, random_state=0)
    by_rank.theta_, by_rank.interval_ = by_rank._estimate(estimator._table), None
    by_rank._table, by_rank.scores_ = estimator._table, estimator.scores_
    return by_rank


def _something_new(low: float, n_unlabeled: int, p_value: float | None) -> Finding:
    topic = "something new"
    tested = "" if p_value is None else f" ({_test_text(p_value)})"
    if p_value is not None and p_value <= FALSE_ALARMS and low < 0.5 / n_unlabeled:
        return Finding(
            topic, "ok", f"some unlabelled rows are new{tested}, but their share may be small."
        )
    if low < 0.5 / n_unlabeled:
        return Finding(
            topic,
            "caution",
            f"the data do not show whether any of the {n_unlabeled} unlabelled rows is new"
            f"{tested}. More unlabelled rows would narrow the interval.",
        )
    return Finding(topic, "ok", f"at least about {low:.1%} of the unlabelled rows are new{tested}.")


def _test_text(p_value: float) -> str:
    rate = f"the rate of false alarms is {FALSE_ALARMS:.0%}"
    return f"p < 0.001; {rate}" if p_value < 0.001 else f"p = {p_value:.2g}; {rate}"


def _something_known(high: float) -> Finding:
    topic = "something known"
    if high > 1.0 - _FEW_NEW:
        return Finding(
            topic,
            "caution",
            f"up to {high:.1%} of the unlabelled rows look new. Check that both tables have the "
            "same units, scaling and order of columns, and that known classes occur in "
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
    if region < _REGION or flat - steep > _UNCERTAIN:
        return Finding(
            topic,
            "caution",
            f"new and known rows overlap: theta is {steep:.3f} if they overlap little and "
            f"{flat:.3f} if they overlap much, and only {region:.0%} of labelled rows lie where "
            "hardly any unlabelled row is new. Better features or more rows may separate them. The "
            "result is the same if a known class is rarer in deployment.",
        )
    return Finding(
        topic,
        "ok",
        f"{region:.0%} of labelled rows lie where at least {1.0 - _FEW_NEW:.0%} of unlabelled rows "
        "are known.",
    )


def _agreement(estimator: RankMixture) -> Finding:
    topic = "agreement"
    other = max(0.0, 1.0 - best_bin(estimator._table)[1])
    said = (
        f"theta is {estimator.theta_:.3f} by a curve through all rows, and {other:.3f} by the rows "
        "that look most known alone"
    )
    if abs(other - estimator.theta_) > _FAR:
        return Finding(
            topic,
            "caution",
            f"two ways to estimate theta disagree: {said}. Theta is uncertain by this difference: "
            "check how predictions change between the two values.",
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


def _fit(estimator: RankMixture, shared: float) -> Finding:
    topic = "fit"
    p_value = misfit(estimator)
    if p_value < _DOUBTFUL and shared > _FEW_SHARED:
        return Finding(
            topic,
            "caution",
            f"{shared:.0%} of the labelled rows are among the unlabelled ones too. The tables are "
            "not independent samples, so it cannot be tested whether they agree among rows that "
            "look known.",
        )
    if p_value < _DOUBTFUL:
        return Finding(
            topic,
            "problem" if p_value < _CERTAIN else "caution",
            "labelled rows do not look like a sample of the known part of the unlabelled ones: the "
            "shares of the rows that look most known differ between the tables "
            f"(p = {p_value:.1g}). A class or source may be rarer in deployment than among "
            "labelled rows; theta is then too high. Compare the shares of classes and sources "
            "with those in deployment.",
        )
    doubt = f"; below {_DOUBTFUL:g} they would not" if p_value < 0.05 else ""
    return Finding(
        topic, "ok", f"among rows that look known, both tables agree (p = {p_value:.2g}{doubt})."
    )
