"""Conformal p-values, the procedure of Benjamini and Hochberg, and bounds on false alarms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import beta

from lacforest.calibration._selection import (
    benjamini_hochberg,
    conformal_p_values,
    estimated_fdr,
    fewest_rows,
    largest_rank,
)

scores = st.lists(st.integers(0, 6), min_size=1, max_size=30)


@given(scores, scores)
def test_p_values_count_calibration_rows_that_look_at_least_as_new(calibration, judged):
    found = conformal_p_values(np.sort(np.array(calibration, float)), np.array(judged, float))
    expected = [(1 + sum(c >= s for c in calibration)) / (len(calibration) + 1) for s in judged]
    assert_array_equal(found, expected)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=40), st.sampled_from([0.05, 0.1, 0.3]))
def test_benjamini_hochberg_equals_its_definition(parts, fdr):
    p_values = np.array(parts) / 40
    n = len(p_values)
    kept = [k for k in range(1, n + 1) if np.sort(p_values)[k - 1] <= fdr * k / n]
    threshold = np.sort(p_values)[kept[-1] - 1] if kept else -1.0
    assert_array_equal(benjamini_hochberg(p_values, fdr), p_values <= threshold)


def test_p_values_of_known_rows_are_not_too_small():
    rng = np.random.default_rng(0)
    found = np.concatenate(
        [conformal_p_values(np.sort(rng.random(99)), rng.random(20)) for _ in range(400)]
    )
    for level in (0.05, 0.1, 0.5):
        assert abs((found <= level).mean() - level) < 3 * np.sqrt(level / 400)


def test_false_discovery_rate_on_a_toy():
    rng = np.random.default_rng(1)
    shares = []
    for _ in range(300):
        judged = np.concatenate([rng.normal(size=70), 3 + rng.normal(size=30)])
        mask = benjamini_hochberg(conformal_p_values(np.sort(rng.normal(size=300)), judged), 0.2)
        shares.append(mask[:70].sum() / max(1, mask.sum()))
    assert np.mean(shares) <= 0.2 + 3 * np.std(shares) / np.sqrt(len(shares))
    assert np.mean(shares) > 0.08  # BH gives (1 - theta) of the level, if it finds rows at all


def test_a_batch_with_nothing_new_is_mostly_left_alone():
    rng = np.random.default_rng(2)
    found = [
        benjamini_hochberg(
            conformal_p_values(np.sort(rng.normal(size=300)), rng.normal(size=50)), 0.1
        ).any()
        for _ in range(300)
    ]
    assert np.mean(found) <= 0.1 + 3 * np.sqrt(0.09 / 300)


@pytest.mark.parametrize(
    ("n_rows", "max_fpr", "rank"), [(99, 0.05, 5), (98, 0.01, 0), (99, 0.01, 1)]
)
def test_rank_on_average(n_rows, max_fpr, rank):
    assert largest_rank(n_rows, max_fpr, None) == rank


@given(st.integers(1, 600), st.sampled_from([0.01, 0.05, 0.2]), st.sampled_from([0.5, 0.9, 0.99]))
def test_rank_with_confidence_is_the_largest_that_keeps_the_bound(n_rows, max_fpr, confidence):
    rank = largest_rank(n_rows, max_fpr, confidence)
    if rank:
        assert beta.cdf(max_fpr, rank, n_rows + 1 - rank) >= confidence
    if rank < n_rows:
        assert beta.cdf(max_fpr, rank + 1, n_rows - rank) < confidence


@pytest.mark.parametrize(("max_fpr", "confidence"), [(0.01, None), (0.05, None), (0.01, 0.9)])
def test_fewest_rows(max_fpr, confidence):
    fewest = fewest_rows(max_fpr, confidence)
    assert largest_rank(fewest, max_fpr, confidence) == 1
    assert largest_rank(fewest - 1, max_fpr, confidence) == 0


@pytest.mark.parametrize("confidence", [None, 0.9])
def test_rates_below_any_table(confidence):
    assert largest_rank(100, 1e-320, confidence) == 0
    assert 10**14 < fewest_rows(1e-320, confidence) < 10**17


def test_known_rows_expected_among_the_selected():
    p_values = np.array([0.01, 0.02, 0.3, 0.5, 0.9])
    selected = p_values < 0.1
    # 0.6 * 5 known rows, 2 % of which have such p-values, among two selected rows.
    assert estimated_fdr(p_values, selected, 0.4) == pytest.approx(0.6 * 5 * 0.02 / 2)
    assert estimated_fdr(p_values, p_values < 0, 0.4) == 0.0
    assert estimated_fdr(p_values, p_values > 0.8, 0.1) == 1.0


def test_one_percent_with_ninety_percent_confidence_needs_230_rows():
    assert fewest_rows(0.01, 0.9) == 230
