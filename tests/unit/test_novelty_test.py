"""The test of "nothing is new": exact ranks, halves, and its rate of false alarms."""

from itertools import combinations

import numpy as np
import pytest

from lacforest._coding.coded_table import code_columns
from lacforest._input.tables import RowStack, by_column
from lacforest._utils.findings import FALSE_ALARMS
from lacforest.mixture import RankMixture, diagnose
from lacforest.mixture._forest_scores import half_scores
from lacforest.mixture._novelty_test import combine, novelty_p_value, rank_p_value


def coded(*sides):
    return code_columns(RowStack([by_column(side) for side in sides], None), 1)


def naive_statistic(pooled, is_unlabeled):
    """Largest standardised number of unlabelled rows at or above a cut, one cut at a time."""
    n, m = len(pooled), is_unlabeled.sum()
    largest = 0.0
    for share in (0.02, 0.05, 0.1, 0.2, 0.4):
        above = pooled >= np.quantile(pooled, 1 - share, method="higher")
        k = above.sum()
        variance = k * m / n * (1 - m / n) * (n - k) / (n - 1)
        if variance > 0:
            excess = (above & is_unlabeled).sum() - k * m / n
            largest = max(largest, excess / np.sqrt(variance))
    return largest


@pytest.mark.parametrize("seed", range(5))
def test_p_value_is_that_of_all_divisions(seed):
    rng = np.random.default_rng(seed)
    labeled, unlabeled = rng.integers(0, 6, 5) / 5, rng.integers(1, 8, 6) / 5
    pooled = np.append(labeled, unlabeled)
    found = naive_statistic(pooled, np.arange(11) >= 5)
    as_large = []
    for chosen in combinations(range(11), 6):
        is_unlabeled = np.isin(np.arange(11), chosen)
        as_large.append(naive_statistic(pooled, is_unlabeled) >= found - 1e-9)
    exact = np.mean(as_large)
    estimate = rank_p_value(labeled, unlabeled, np.random.default_rng(0))
    assert estimate == pytest.approx(exact, abs=5 * np.sqrt(exact / 2000) + 1e-3)


def test_rate_of_false_alarms_on_scores():
    rng = np.random.default_rng(0)
    alarms = [rank_p_value(rng.random(60), rng.random(90), rng) <= FALSE_ALARMS for _ in range(400)]
    # 400 independent tests at 5 %: more than 36 alarms have a probability below 0.001.
    assert np.sum(alarms) <= 36


def test_equal_scores_show_nothing():
    assert rank_p_value(np.ones(20), np.ones(30), np.random.default_rng(0)) == 1.0


def test_halves_that_agree_count_once():
    assert combine([0.03, 0.03]) == pytest.approx(0.03)
    assert 0.01 < combine([0.01, 0.2]) < 0.2


def test_halves_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    labeled, unlabeled = rng.normal(size=(40, 3)), rng.normal(size=(60, 3))
    first, second = rng.permutation(40), rng.permutation(60)
    half, scores = half_scores(coded(labeled, unlabeled), 40, 0, 1)
    other_half, other = half_scores(coded(labeled[first], unlabeled[second]), 40, 0, 1)
    order = np.append(first, 40 + second)
    np.testing.assert_array_equal(other_half, half[order])
    np.testing.assert_array_equal(other, scores[order])
    assert 0.3 < half.mean() < 0.7


def test_a_half_is_scored_without_its_own_rows():
    # Labelled and unlabelled rows take turns. Trees that saw a row would give it the score of its
    # own side; others go by its neighbours, which are of the other side.
    labeled, unlabeled = np.arange(0.0, 400, 2)[:, None], np.arange(1.0, 400, 2)[:, None]
    _, scores = half_scores(coded(labeled, unlabeled), 200, 0, 1)
    assert scores[:200].mean() > scores[200:].mean()


def test_the_p_value_does_not_depend_on_threads():
    rng = np.random.default_rng(0)
    columns = coded(rng.normal(size=(80, 2)), rng.normal(0.5, 1, size=(90, 2)))
    assert novelty_p_value(columns, 80, 0, 1) == novelty_p_value(columns, 80, 0, 2)


def test_too_few_rows_are_not_tested():
    rng = np.random.default_rng(0)
    assert novelty_p_value(coded(rng.random((15, 2)), rng.random((300, 2))), 15, 0, 1) is None


def test_the_lower_end_is_zero_where_nothing_is_found():
    rng = np.random.default_rng(0)
    labeled = rng.normal(size=(300, 3))
    for shift, found in ((0, False), (5, True)):
        unlabeled = np.vstack([rng.normal(size=(300, 3)), rng.normal(shift, 1, size=(100, 3))])
        estimator = RankMixture(n_bootstrap=20, random_state=0).fit(labeled, unlabeled)
        assert (estimator.p_value_ <= FALSE_ALARMS) == found
        assert (estimator.interval_[0] > 0) == found
        assert estimator.finds_nothing_new != found
        text = str(diagnose(labeled, unlabeled, random_state=0))
        assert "the rate of false alarms is 5%" in text


@pytest.mark.parametrize("weight", [None, np.ones(50), np.arange(1.0, 51)])
def test_weighted_rows_are_not_tested(weight):
    rng = np.random.default_rng(0)
    estimator = RankMixture(n_bootstrap=5, random_state=0)
    estimator.fit(rng.normal(size=(50, 2)), rng.normal(size=(80, 2)), weight)
    assert (estimator.p_value_ is None) == (weight is not None and np.ptp(weight) > 0)
    assert estimator.fit_scores(rng.random(50), rng.random(80)).p_value_ is None
