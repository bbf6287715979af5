"""Estimates where theta is known: exact cases, and large samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import mixture as naive
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.exceptions import NotFittedError

from lacforest.mixture import BestBin, KernelMeanEmbedding, RankMixture, ShareMixture
from lacforest.mixture._beta_mixture import (
    N_BINS,
    components,
    exponents,
    mixture_weights,
    position_counts,
)
from lacforest.mixture._rank_mixture import _curve
from lacforest.mixture._score_table import ScoreTable

ESTIMATORS = {
    "rank mixture": RankMixture(n_bootstrap=0, random_state=0),
    "best bin": BestBin(n_bootstrap=0, random_state=0),
    "km1": KernelMeanEmbedding("km1", n_bootstrap=0, random_state=0),
    "km2": KernelMeanEmbedding("km2", n_bootstrap=0, random_state=0),
}
every_estimator = pytest.mark.parametrize("method", ESTIMATORS)
by_rank = pytest.mark.parametrize("method", ["rank mixture", "best bin"])
TENTHS = [tenths / 10 for tenths in range(11)]


def evenly(n_rows, low=0.0, high=1.0):
    """An evenly spaced sample of a uniform distribution, without randomness."""
    return low + (np.arange(n_rows) + 0.5) / n_rows * (high - low)


def theta_of(method, labeled, unlabeled):
    return ESTIMATORS[method].fit_scores(labeled, unlabeled).theta_


# ---------------------------------------------------------------------------- exact cases


@by_rank
@pytest.mark.parametrize("n_new", [0, 1, 10, 50, 90, 99, 100])
@pytest.mark.parametrize("n_labeled", [99, 100, 500])
def test_disjoint_supports(method, n_labeled, n_new):
    unlabeled = np.append(evenly(100 - n_new), np.full(n_new, 2.0))
    theta = theta_of(method, evenly(n_labeled), unlabeled)
    assert theta == pytest.approx(n_new / 100, abs=0.01 + 1e-9)


@by_rank
@pytest.mark.parametrize("theta", TENTHS)
def test_any_share_of_a_large_sample(method, theta):
    # New rows are distributed like the maximum of 20 known rows, so that both overlap.
    n_rows = 20_000
    n_new = round(theta * n_rows)
    unlabeled = np.append(evenly(n_rows - n_new), evenly(n_new) ** (1 / 20))
    assert theta_of(method, evenly(n_rows), unlabeled) == pytest.approx(theta, abs=0.02)


@pytest.mark.parametrize("method", ["km1", "km2"])
@pytest.mark.parametrize("theta", TENTHS)
def test_kernel_means_of_any_share(method, theta):
    n_new = round(theta * 1000)
    unlabeled = np.append(evenly(1000 - n_new), evenly(n_new, 3.0, 4.0))
    # Values of theta below 1/8 are outside the search range.
    assert theta_of(method, evenly(1000), unlabeled) == pytest.approx(max(theta, 1 / 8), abs=0.05)


@every_estimator
def test_more_new_rows_give_a_higher_theta(method):
    def theta(share):
        n_new = round(share * 500)
        unlabeled = np.append(evenly(500 - n_new), 1.2 - evenly(n_new, 0, 0.5) ** 2)
        return theta_of(method, evenly(500), unlabeled)

    found = [theta(share) for share in (0.2, 0.4, 0.6, 0.8, 1.0)]
    assert_array_equal(np.argsort(found), np.arange(5))
    assert min(np.diff(found)) > 0.1


@by_rank
@pytest.mark.parametrize("n_rows", [10, 100, 1000])
def test_the_same_scores_hold_nothing_new(method, n_rows):
    assert theta_of(method, evenly(n_rows), evenly(n_rows)) < 0.01


@by_rank
@pytest.mark.parametrize(("n_labeled", "n_unlabeled"), [(1, 1), (5, 80), (80, 5)])
def test_constant_scores_hold_nothing_new(method, n_labeled, n_unlabeled):
    assert theta_of(method, np.full(n_labeled, 0.5), np.full(n_unlabeled, 0.5)) < 1e-6


@by_rank
def test_unlabelled_rows_that_look_less_new_than_any_labelled_one(method):
    # The assumption is violated; theta is zero instead of negative.
    assert theta_of(method, evenly(50, 1, 2), evenly(50)) == 0.0


@by_rank
def test_two_rows(method):
    assert theta_of(method, [0.0], [1.0]) >= 0.0
    assert theta_of(method, [1.0], [0.0]) == 0.0


@pytest.mark.parametrize("estimator", [RankMixture(), BestBin()], ids=str)
def test_new_rows_far_away(estimator):
    rng = np.random.default_rng(0)
    known, new = rng.random((900, 3)), 5 + rng.random((200, 3))
    estimator.set_params(random_state=0).fit(known[:600], np.vstack([known[600:], new]))
    assert estimator.theta_ == pytest.approx(0.4, abs=0.03)
    assert estimator.interval_[0] < 0.4 < estimator.interval_[1]


@pytest.mark.parametrize("estimator", [RankMixture(), BestBin()], ids=str)
def test_noise_is_not_new(estimator):
    table = np.random.default_rng(0).normal(size=(800, 40))
    estimator.set_params(random_state=0).fit(table[:300], table[300:])
    assert estimator.theta_ < 0.1
    assert estimator.interval_[0] < 0.01


@pytest.mark.parametrize("estimator", [RankMixture(), BestBin()], ids=str)
def test_unlabelled_rows_that_are_all_new(estimator):
    table = np.random.default_rng(0).normal(size=(700, 3))
    estimator.set_params(random_state=0).fit(table[:300], table[300:] + 20)
    assert estimator.theta_ > 0.98
    assert estimator.interval_[1] > 0.99


@pytest.mark.parametrize("level", [0.5, 0.9, 0.98])
def test_the_interval_leaves_half_of_the_rest_on_either_side(level):
    estimator = BestBin(level=level)
    estimator.theta_ = 0.5
    percents = np.arange(101) / 100
    table = ScoreTable.of(percents, percents)
    low, high = estimator._interval(np.column_stack([percents, percents]), table)
    assert_allclose([low, high], [(1 - level) / 2, (1 + level) / 2])


def test_intervals_of_shares_leave_half_of_the_rest_on_either_side(monkeypatch):
    rng = np.random.default_rng(0)
    table, quantile, asked = rng.normal(size=(120, 2)), np.quantile, set()

    def noted(values, share, **options):
        asked.add(round(float(share), 12))
        return quantile(values, share, **options)

    monkeypatch.setattr(np, "quantile", noted)
    shares = ShareMixture(level=0.8, n_bootstrap=2, random_state=0)
    shares.fit(table[:60], np.arange(60) % 2, table[60:])
    assert asked == {0.1, 0.9}


def test_intervals_of_shares_are_as_wide_as_their_level():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(120, 2)) + 2 * (np.arange(120) % 2)[:, None]
    levels = np.array([0.4, 0.6, 0.8])
    ends = [
        ShareMixture(level=level, n_bootstrap=2, random_state=0)
        .fit(table[:60], np.arange(60) % 2, table[60:])
        .known_shares_interval_[0, 1]
        for level in levels
    ]
    assert ends[-1] < 1.0
    # All else is the same: ends differ by quantiles of the normal distribution alone.
    steps = np.diff(norm.ppf((1 + levels) / 2))
    assert_allclose(np.diff(ends)[1] / np.diff(ends)[0], steps[1] / steps[0])


# ---------------------------------------------------------------------------- the ratio curve


@every_estimator
def test_the_curve_is_that_of_the_scores(method):
    labeled, unlabeled = [1, 2, 2, 4], [0, 2, 3, 3, 5]
    x, ratio = ESTIMATORS[method].fit_scores(labeled, unlabeled).ratio_curve()
    # Up to 1, 2, 3, 4 and 5: no labelled row is as low as 0.
    assert_allclose(x, [1 / 4, 3 / 4, 3 / 4, 1, 1])
    assert_allclose(ratio, [4 / 5, 8 / 15, 16 / 15, 4 / 5, 1])


def test_the_best_bin_is_a_point_of_the_curve():
    rng = np.random.default_rng(0)
    estimator = BestBin().fit_scores(rng.normal(size=500), rng.normal(0.5, 1.5, size=700))
    x, ratio = estimator.ratio_curve()
    place = np.flatnonzero(x == estimator.chosen_[0])
    assert estimator.chosen_[1] in ratio[place]
    assert estimator.theta_ == 1 - estimator.chosen_[1]


def test_best_bin_by_hand():
    # Up to 1, the share of unlabelled rows is half that of labelled rows; up to 2, both are 1.
    labeled = np.repeat([1.0, 2.0], [90, 10])
    unlabeled = np.repeat([1.0, 2.0], [45, 55])
    estimator = BestBin(n_bootstrap=0).fit_scores(labeled, unlabeled)
    assert estimator.chosen_ == (0.9, 0.5)
    assert estimator.theta_ == 0.5
    # With 10 labelled rows the bound at 1 is too loose, so the whole sample is chosen.
    few = BestBin(n_bootstrap=0).fit_scores(np.repeat([1.0, 2.0], [1, 9]), unlabeled)
    assert few.chosen_ == (1.0, 1.0)
    assert few.theta_ == 0.0


@pytest.mark.parametrize(("n_low", "chosen"), [(456, (0.5, 0.912)), (457, (1.0, 1.0))])
def test_where_the_best_bin_gives_way(n_low, chosen):
    # noise = 2 sqrt(log(40) / 2000) = 0.0859, and 2 * 1.01 * noise + ratio against
    # 1.01 * noise + 1: the ratio has to be below 0.9132.
    unlabeled = np.repeat([1.0, 2.0], [n_low, 1000 - n_low])
    estimator = BestBin(n_bootstrap=0).fit_scores(np.repeat([1.0, 2.0], 500), unlabeled)
    assert estimator.chosen_ == chosen


def test_many_scores_are_counted_in_groups():
    rng = np.random.default_rng(0)
    labeled, unlabeled = rng.random(50_000), rng.random(30_000) ** 0.5
    for make in (RankMixture, BestBin):
        estimator = make(n_bootstrap=0).fit_scores(labeled, unlabeled)
        assert len(estimator.ratio_curve()[0]) <= 2000
        assert len(estimator.scores_.labeled) == 50_000
    exact = naive.upper_bound
    curve = np.transpose(ScoreTable.of(labeled, unlabeled).ratio_curve())
    lowest = min(exact(point, 50_000, 30_000) for point in curve[::10])
    assert exact(estimator.chosen_, 50_000, 30_000) == pytest.approx(lowest, abs=0.01)


# ---------------------------------------------------------------------------- the mixture


def test_components_are_probabilities_of_bins():
    parts = components(5.0)
    assert parts.shape == (N_BINS, 13)
    assert_allclose(parts.sum(axis=0), 1.0)
    assert_allclose(parts[:, 0], 1 / N_BINS)
    for column, power in zip(parts.T[1:], exponents(5.0), strict=True):
        for i in (0, 40, 99):
            expected, _ = quad(lambda x, k=power: k * x ** (k - 1), i / N_BINS, (i + 1) / N_BINS)
            assert column[i] == pytest.approx(expected, rel=1e-6, abs=1e-12)
    assert exponents(5.0)[0] == pytest.approx(5.0)
    assert not parts.flags.writeable  # it is shared


@pytest.mark.parametrize("theta", TENTHS)
def test_a_mixture_of_the_components_is_recognised(theta):
    parts = components(5.0)
    truth = np.full(13, theta / 12)
    truth[0] = 1 - theta
    weights = mixture_weights(1e6 * parts @ truth, parts)
    assert 1 - weights[0] == pytest.approx(theta, abs=1e-3)
    assert_allclose(parts @ weights, parts @ truth, atol=1e-5)


def test_known_rows_have_uniform_positions_whatever_they_tie_with():
    # Every value as often among unlabelled rows as among labelled ones: uniform up to one gap.
    scores = np.repeat([0.0, 1.0, 2.0, 5.0], [1, 30, 7, 62])
    counts = position_counts(ScoreTable.of(scores, np.tile(scores, 3)))
    assert_allclose(counts.cumsum(), 3 * np.arange(1, N_BINS + 1), atol=300 / 101)


def test_the_range_of_shapes_holds_the_estimate():
    rng = np.random.default_rng(0)
    unlabeled = np.append(rng.random(600), rng.random(400) ** 0.2)
    estimator = RankMixture(n_bootstrap=30, random_state=0).fit_scores(rng.random(800), unlabeled)
    steep, flat = estimator.shape_range()
    assert steep < estimator.theta_ < flat
    low, high = estimator.interval_
    assert low < steep
    assert flat < high


def test_the_fitted_curve_starts_at_the_share_of_known_rows():
    rng = np.random.default_rng(0)
    unlabeled = np.append(rng.random(3000), rng.random(2000) ** 0.1)
    estimator = RankMixture(n_bootstrap=0).fit_scores(rng.random(5000), unlabeled)
    assert_allclose(estimator.fitted_curve([0.0, 1.0]), [1 - estimator.theta_, 1.0], rtol=1e-9)
    x, ratio = estimator.ratio_curve()
    assert_allclose(estimator.fitted_curve(x)[x > 0.1], ratio[x > 0.1], atol=0.05)


@pytest.mark.parametrize("component", [0, 1, 3])
def test_the_curve_of_one_component_is_its_distribution_over_x(component):
    x = np.array([0.1, 0.5, 0.9])
    powers = np.append(1.0, exponents(5.0))
    alone = np.eye(len(powers))[component]
    assert_allclose(x * _curve(x, 5.0, alone), x ** powers[component])


# ---------------------------------------------------------------------------- the bootstrap


@by_rank
def test_intervals_narrow_as_rows_become_more(method):
    widths = []
    for n_rows in (100, 1000, 10_000):
        unlabeled = np.append(evenly(n_rows // 2), evenly(n_rows // 2, 2, 3))
        estimator = type(ESTIMATORS[method])(n_bootstrap=50, random_state=0)
        low, high = estimator.fit_scores(evenly(n_rows), unlabeled).interval_
        widths.append(high - low)
    assert widths[0] > widths[1] > widths[2]


@by_rank
def test_a_level_leaves_half_of_the_rest_on_either_side(method):
    rng = np.random.default_rng(0)
    labeled, unlabeled = rng.random(300), np.append(rng.random(200), rng.random(100) ** 0.1)
    estimator = type(ESTIMATORS[method])(level=0.8, n_bootstrap=100, random_state=0)
    low, high = estimator.fit_scores(labeled, unlabeled).interval_
    assert len(estimator._ends) == 100
    assert np.count_nonzero(estimator._ends[:, 0] < low) == 10
    # The upper end of the rank mixture may be wider than the replicates alone.
    assert np.count_nonzero(estimator._ends[:, 1] > high) <= 10
    if method == "best bin":
        assert np.count_nonzero(estimator._ends[:, 1] > high) == 10
    else:
        assert np.count_nonzero(estimator._ends[:, 2] > estimator.moderate_upper_) == 10


def test_resamples_vary_as_samples_do():
    table = ScoreTable.of(np.repeat([0.0, 1.0], [30, 10]), np.repeat([0.0, 1.0], [5, 15]))
    rng = np.random.default_rng(0)
    drawn = [table.resampled(rng) for _ in range(4000)]
    counts = np.array([[sample.labeled[0], sample.unlabeled[0]] for sample in drawn])
    assert_allclose(counts.mean(axis=0), [30, 5], rtol=0.03)
    assert_allclose(counts.var(axis=0), [40 * 0.75 * 0.25, 20 * 0.25 * 0.75], rtol=0.1)


def test_resamples_of_weighted_rows_vary_as_fewer_rows_do():
    # Half of the weight on 1 row and half on 9: worth 10**2 / (5**2 + 5**2 / 9) = 3.6 rows.
    weight = np.append(5.0, np.full(9, 5 / 9))
    table = ScoreTable.of(np.repeat([0.0, 1.0], [1, 9]), np.zeros(3), weight)
    assert table.n_labeled == 4
    rng = np.random.default_rng(0)
    drawn = np.array([table.resampled(rng).labeled for _ in range(4000)])
    shares = drawn[:, 0] / table.labeled.sum()
    assert shares.mean() == pytest.approx(0.5, rel=0.03)
    assert shares.var() == pytest.approx(0.5 * 0.5 / 4, rel=0.1)


@pytest.mark.parametrize("method", ["rank mixture", "best bin"])
def test_intervals_hold_the_truth_as_often_as_they_say(method):
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(40):
        unlabeled = np.append(rng.random(300), rng.random(200) ** 0.05)
        estimator = type(ESTIMATORS[method])(n_bootstrap=30, random_state=0)
        low, high = estimator.fit_scores(rng.random(400), unlabeled).interval_
        held += low <= 0.4 <= high
    assert held >= 32


# ---------------------------------------------------------------------------- not fitted


@pytest.mark.parametrize("method", ["ratio_curve", "shape_range"])
def test_nothing_is_shown_before_a_fit(method):
    with pytest.raises(NotFittedError):
        getattr(RankMixture(), method)()


def test_no_curve_is_fitted_before_a_fit():
    with pytest.raises(NotFittedError):
        RankMixture().fitted_curve(np.zeros(1))


def test_few_labelled_rows_are_weak_evidence_of_overlap():
    unlabeled = np.sqrt(evenly(4000))  # all overlap: the density 2x
    weights = [
        RankMixture(n_bootstrap=0).fit_scores(evenly(n_labeled), unlabeled)._overlap_weight
        for n_labeled in (20, 2000)
    ]
    assert weights[0] < 0.9 < weights[1]
