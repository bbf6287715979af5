"""Estimators of theta on scores: comparison with their twins, and invariances."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import mixture as naive
from strategies import ScoreSamples, increasing_maps, permutations, score_samples, seeds

from lacforest.mixture import BestBin, KernelMeanEmbedding, RankMixture
from lacforest.mixture._best_bin import best_bin
from lacforest.mixture._beta_mixture import N_BINS, components, mixture_weights, position_counts
from lacforest.mixture._score_table import ScoreTable

ESTIMATORS = {
    "rank mixture": lambda **options: RankMixture(**options),
    "best bin": lambda **options: BestBin(**options),
    "km1": lambda **options: KernelMeanEmbedding("km1", **options),
    "km2": lambda **options: KernelMeanEmbedding("km2", **options),
}
every_estimator = pytest.mark.parametrize("method", ESTIMATORS)
# Estimators that depend on the order of scores, not on their distances.
by_rank = pytest.mark.parametrize("method", ["rank mixture", "best bin"])
# A bootstrap sample takes some milliseconds, and more with kernel means.
several = settings(max_examples=30)
few = settings(max_examples=12)
many = settings(max_examples=50)


def fitted(method, samples, **options):
    return samples.fit(ESTIMATORS[method](**{"n_bootstrap": 5, "random_state": 0} | options))


def table_of(samples):
    weight = None if samples.weight is None else samples.weight.astype(float)
    return ScoreTable.of(samples.labeled, samples.unlabeled, weight)


def in_lists(samples):
    weights = None if samples.weight is None else samples.weight.tolist()
    return samples.labeled.tolist(), samples.unlabeled.tolist(), weights


weighted_or_not = st.booleans().flatmap(lambda weighted: score_samples(with_weight=weighted))

# ---------------------------------------------------------------------------- twins


@many
@given(samples=weighted_or_not)
def test_tables_count_rows_by_score(samples):
    labeled, unlabeled, weights = in_lists(samples)
    table = table_of(samples)
    weights = weights or [1] * len(labeled)
    by_score = Counter()
    for score, weight in zip(labeled, weights, strict=True):
        by_score[score] += weight
    # Only relative weights matter: together they are worth a number of rows.
    n_labeled = naive.effective_size(weights)
    expected = [by_score[score] * n_labeled / sum(weights) for score in table.values.tolist()]
    assert_allclose(table.labeled, expected, rtol=1e-12)
    rows = Counter(unlabeled)
    assert table.unlabeled.tolist() == [rows[score] for score in table.values.tolist()]
    assert table.values.tolist() == sorted({*labeled, *unlabeled})
    assert (table.n_labeled, table.n_unlabeled) == (n_labeled, len(unlabeled))


@many
@given(samples=weighted_or_not)
def test_ratio_curve(samples):
    found = np.transpose(table_of(samples).ratio_curve())
    assert_allclose(found, naive.ratio_curve(*in_lists(samples)), rtol=1e-12)


@many
@given(samples=weighted_or_not)
def test_best_bin(samples):
    labeled, unlabeled, weights = in_lists(samples)
    sizes = (table_of(samples).n_labeled, len(unlabeled))
    chosen = best_bin(table_of(samples))
    curve = naive.ratio_curve(labeled, unlabeled, weights)
    assert min(np.abs(np.subtract(chosen, point)).max() for point in curve) < 1e-12
    # Of two points whose bounds differ by rounding either may be chosen.
    lowest = naive.upper_bound(naive.best_bin(labeled, unlabeled, weights), *sizes)
    assert naive.upper_bound(chosen, *sizes) == pytest.approx(lowest, rel=1e-12)


@several
@given(samples=weighted_or_not)
def test_positions(samples):
    labeled, unlabeled, weights = in_lists(samples)
    expected = naive.position_counts(labeled, unlabeled, N_BINS, weights)
    assert sum(expected) == len(unlabeled)
    counts = position_counts(table_of(samples))
    assert_allclose(counts, np.array(expected, dtype=float), rtol=1e-9, atol=1e-9)


bin_counts = st.one_of(
    st.lists(st.integers(0, 50), min_size=N_BINS, max_size=N_BINS),
    # Rows in few bins, where most components have no weight.
    st.dictionaries(st.integers(0, N_BINS - 1), st.integers(1, 1000), min_size=1, max_size=5).map(
        lambda rows: [rows.get(i, 0) for i in range(N_BINS)]
    ),
).filter(any)


@several
@given(counts=bin_counts, lowest=st.sampled_from([3.0, 5.0, 8.0]))
def test_no_other_weights_are_more_likely(counts, lowest):
    counts, parts = np.array(counts, dtype=float), components(lowest)
    weights = mixture_weights(counts, parts)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    found = naive.log_likelihood(counts, parts, weights)
    slowly = naive.expectation_maximisation(counts, parts, 300)
    assert found >= naive.log_likelihood(counts, parts, slowly) - 1e-6 * counts.sum()
    assert naive.largest_gain(counts, parts, weights) < 1e-5


@several
@given(counts=bin_counts, shares=st.lists(st.floats(0, 1), min_size=13, max_size=13).filter(any))
def test_the_start_of_the_search_does_not_matter(counts, shares):
    counts, parts = np.array(counts, dtype=float), components(5.0)
    start = np.array(shares) / sum(shares)
    found, other = mixture_weights(counts, parts), mixture_weights(counts, parts, start)
    assert_allclose(parts @ found, parts @ other, atol=2e-3)
    assert naive.largest_gain(counts, parts, other) < 1e-5


# ---------------------------------------------------------------------------- ranges


@every_estimator
@few
@given(samples=weighted_or_not, seed=seeds, level=st.floats(0.01, 0.99))
def test_theta_is_a_share_inside_its_interval(method, samples, seed, level):
    estimator = fitted(method, samples, random_state=seed, level=level)
    low, high = estimator.interval_
    assert 0.0 <= low <= estimator.theta_ <= high <= 1.0
    assert type(estimator.theta_) is type(low) is type(high) is float


@every_estimator
@few
@given(samples=score_samples(), levels=st.lists(st.floats(0.01, 0.99), min_size=2, max_size=2))
def test_a_higher_level_gives_an_interval_that_contains_the_other(method, samples, levels):
    inner, outer = (fitted(method, samples, level=level) for level in sorted(levels))
    assert inner.theta_ == outer.theta_
    assert outer.interval_[0] <= inner.interval_[0]
    assert inner.interval_[1] <= outer.interval_[1]


@by_rank
@several
@given(samples=weighted_or_not)
def test_without_a_bootstrap_there_is_no_interval(method, samples):
    estimator = fitted(method, samples, n_bootstrap=0)
    assert estimator.interval_ is None
    assert estimator.theta_ == fitted(method, samples).theta_


# ---------------------------------------------------------------------------- invariance


def assert_same_estimate(one, other):
    assert one.theta_ == other.theta_
    assert one.interval_ == other.interval_
    assert_array_equal(one.ratio_curve(), other.ratio_curve())


@every_estimator
@few
@given(samples=score_samples(), data=st.data())
def test_the_order_of_rows_does_not_matter(method, samples, data):
    order = data.draw(permutations(len(samples.labeled)), label="order of labelled rows")
    unlabeled = data.draw(permutations(len(samples.unlabeled)), label="of unlabelled rows")
    shuffled = ScoreSamples(samples.labeled[order], samples.unlabeled[unlabeled])
    assert_same_estimate(fitted(method, samples), fitted(method, shuffled))


@many
@given(samples=score_samples(with_weight=True), data=st.data())
def test_weights_go_with_their_rows(samples, data):
    order = data.draw(permutations(len(samples.labeled)), label="order")
    shuffled = samples.but(labeled=samples.labeled[order], weight=samples.weight[order])
    # Sums of weights may be rounded differently in another order.
    curves = [table_of(each).ratio_curve() for each in (samples, shuffled)]
    assert_allclose(*curves, rtol=1e-12)


@by_rank
@several
@given(samples=weighted_or_not, data=st.data())
def test_increasing_maps_of_scores_do_not_matter(method, samples, data):
    mapped = samples.with_scores(data.draw(increasing_maps(samples.everyone), label="scores"))
    assert_same_estimate(fitted(method, samples), fitted(method, mapped))


@pytest.mark.parametrize("method", ["km1", "km2"])
@few
@given(samples=score_samples(), exponent=st.integers(-30, 30))
def test_the_unit_of_scores_does_not_matter(method, samples, exponent):
    scaled = samples.with_scores(samples.everyone * 2.0**exponent)
    one, other = fitted(method, samples), fitted(method, scaled)
    assert one.theta_ == pytest.approx(other.theta_, abs=1e-9)


@every_estimator
@few
@given(samples=score_samples(with_weight=True), exponent=st.integers(-300, 300))
def test_the_unit_of_weights_does_not_matter(method, samples, exponent):
    scaled = samples.but(weight=samples.weight * 2.0**exponent)
    one, other = fitted(method, samples), fitted(method, scaled)
    assert one.theta_ == pytest.approx(other.theta_, abs=1e-9)
    assert_allclose(one.interval_, other.interval_, atol=1e-9)


@by_rank
@several
@given(samples=score_samples(), weight=st.integers(1, 5))
def test_equal_weights_are_no_weights(method, samples, weight):
    weighted = samples.but(weight=np.full(len(samples.labeled), weight))
    one, other = fitted(method, samples), fitted(method, weighted)
    assert one.theta_ == pytest.approx(other.theta_, abs=1e-9)


@by_rank
@several
@given(samples=score_samples(with_weight=True), data=st.data())
def test_weight_zero_is_an_absent_row(method, samples, data):
    n_rows = len(samples.labeled)
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows)))
    kept[data.draw(st.integers(0, n_rows - 1))] = True
    zeroed = samples.but(weight=np.where(kept, samples.weight, 0))
    absent = samples.but(labeled=samples.labeled[kept], weight=samples.weight[kept])
    assert_same_estimate(fitted(method, zeroed), fitted(method, absent))


@many
@given(samples=score_samples(with_weight=True))
def test_an_integer_weight_is_a_repeated_score_on_the_curve(samples):
    # This does not hold for theta_: a row of weight three is less informative than three rows.
    repeated = ScoreSamples(np.repeat(samples.labeled, samples.weight), samples.unlabeled)
    weighted, plain = table_of(samples), table_of(repeated)
    assert_allclose(weighted.ratio_curve(), plain.ratio_curve(), rtol=1e-12)
    assert weighted.n_labeled <= plain.n_labeled


@by_rank
@several
@given(samples=weighted_or_not, seed=seeds)
def test_the_same_seed_gives_the_same_interval(method, samples, seed):
    one, other = (fitted(method, samples, random_state=seed) for _ in range(2))
    assert_same_estimate(one, other)


# ---------------------------------------------------------------------------- tables


@many
@given(samples=weighted_or_not, n_groups=st.integers(2, 30))
@example(samples=ScoreSamples(np.zeros(100), np.arange(100.0)), n_groups=10)
def test_groups_keep_totals_and_order(samples, n_groups):
    table = table_of(samples)
    grouped = table.grouped(n_groups)
    assert len(grouped.values) <= n_groups
    kept = np.searchsorted(table.values, grouped.values)
    assert_array_equal(table.values[kept], grouped.values)
    assert kept[-1] == len(table.values) - 1
    # A group is placed at its highest score, so that cumulative counts there are unchanged.
    assert_allclose(grouped.labeled.cumsum(), table.labeled.cumsum()[kept])
    assert_allclose(grouped.unlabeled.cumsum(), table.unlabeled.cumsum()[kept])
    assert (grouped.n_labeled, grouped.n_unlabeled) == (table.n_labeled, table.n_unlabeled)


@many
@given(samples=score_samples(), n_groups=st.integers(2, 30))
def test_a_group_holds_little_beside_its_first_score(samples, n_groups):
    table = table_of(samples)
    grouped = table.grouped(n_groups)
    share = table.labeled / table.labeled.sum() + table.unlabeled / table.unlabeled.sum()
    first = 0
    for last in np.searchsorted(table.values, grouped.values):
        assert share[first + 1 : last + 1].sum() <= 2 / n_groups + 1e-9
        first = last + 1


@many
@given(samples=weighted_or_not)
def test_few_scores_are_not_grouped(samples):
    table = table_of(samples)
    assert table.grouped(len(table.values)) is table


@many
@given(samples=weighted_or_not, seed=seeds)
def test_resamples_keep_totals(samples, seed):
    table = table_of(samples)
    drawn = table.resampled(np.random.default_rng(seed))
    assert drawn.labeled.sum() == pytest.approx(table.labeled.sum())
    assert drawn.unlabeled.sum() == len(samples.unlabeled)
    assert_array_equal(drawn.labeled[table.labeled == 0], 0)
    assert_array_equal(drawn.unlabeled[table.unlabeled == 0], 0)
    assert (drawn.n_labeled, drawn.n_unlabeled) == (table.n_labeled, table.n_unlabeled)
    # An integer number of rows: the effective sample size.
    assert_allclose(drawn.labeled, np.rint(drawn.labeled), atol=1e-9)
