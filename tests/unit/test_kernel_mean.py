"""KM1 and KM2 on scores: comparison with the naive twin, and known results."""

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from lacforest.mixture import _kernel_mean
from lacforest.mixture._kernel_mean import KernelMean

VARIANTS = ["km1", "km2"]
# Where lam ends if no slope passes the threshold.
CAP = 1 - 1 / (8 - 7 / 512)
FLOOR = 1 - 1 / (1 + 7 / 512)
# Scores that tie, and scores that do not.
scores = st.one_of(st.integers(-4, 4).map(float), st.integers(-4000, 4000).map(lambda k: k / 999))
samples = st.lists(scores, min_size=1, max_size=15).map(np.array)
few = settings(max_examples=25)
several = settings(max_examples=60)


def counted(labeled, unlabeled):
    """Distinct values, and the rows of either sample that have them."""
    values, codes = np.unique(np.concatenate([labeled, unlabeled]), return_inverse=True)
    split = np.split(codes, [len(labeled)])
    return values, *(np.bincount(part, minlength=len(values)).astype(float) for part in split)


def of_rows(labeled, unlabeled, width=None):
    return KernelMean(*counted(np.asarray(labeled), np.asarray(unlabeled)), width)


def twin(labeled, unlabeled, width=None):
    pytest.importorskip("clarabel")
    from reference.kernel_mean import Samples

    return Samples(labeled, unlabeled, width)


def mixture(seed, n_labeled=200, n_unlabeled=400, known=0.5):
    rng = np.random.default_rng(seed)
    n_known = round(known * n_unlabeled)
    new = rng.normal(3, 1, n_unlabeled - n_known)
    return rng.normal(size=n_labeled), np.concatenate([rng.normal(size=n_known), new])


# ---------------------------------------------------------------------------- the naive twin


@several
@given(labeled=samples, unlabeled=samples)
def test_width_and_distance_of_samples_are_those_of_the_twin(labeled, unlabeled):
    everyone = np.concatenate([labeled, unlabeled])
    # If most pairs have equal scores, the width of the twin is zero.
    assume(np.median(np.abs(np.subtract.outer(everyone, everyone))) > 0)
    found, expected = of_rows(labeled, unlabeled), twin(labeled, unlabeled)
    assert found.mmd == pytest.approx(expected.mmd, abs=1e-7)
    at_width = twin(labeled, unlabeled, found.width)
    assert at_width.mmd == pytest.approx(expected.mmd, abs=1e-7)  # equal widths, or a tie


@several
@given(labeled=samples, unlabeled=samples, width=st.sampled_from([0.1, 0.5, 2.0, 10.0]))
def test_distances_are_those_of_the_twin(labeled, unlabeled, width):
    # The twin lists rows individually, so this also tests that counts equal repeated rows.
    found, expected = of_rows(labeled, unlabeled, width), twin(labeled, unlabeled, width)
    for lam in (1.0, 1.05, 2.0, 7.0):
        assert found.distance(lam) == pytest.approx(expected.distance(lam), abs=1e-6)


@pytest.mark.parametrize("variant", VARIANTS)
@few
@given(labeled=samples, unlabeled=samples, mixing=st.sampled_from([0.2, 0.25]))
def test_share_is_that_of_the_twin(variant, labeled, unlabeled, mixing):
    expected = twin(labeled, unlabeled, width=1.0)
    assume(expected.mmd > 1e-3)
    share, margin = expected.known_share(variant, mixing)
    assume(margin > 1e-4)  # else rounding decides
    found = of_rows(labeled, unlabeled, width=1.0).known_share(variant, mixing)
    assert found.share == pytest.approx(share, abs=1e-12)
    assert found.threshold == pytest.approx(expected.threshold(variant, mixing), abs=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_estimate_from_150_scores_is_that_of_the_twin(variant):
    labeled, unlabeled = mixture(1, 50, 100)
    share, _ = twin(labeled, unlabeled).known_share(variant)
    assert of_rows(labeled, unlabeled).known_share(variant).share == pytest.approx(share, abs=1e-12)


# ---------------------------------------------------------------------------- known answers


@pytest.mark.parametrize("variant", VARIANTS)
def test_components_far_apart(variant):
    rng = np.random.default_rng(0)
    labeled = rng.random(400)
    unlabeled = np.concatenate([rng.random(200), 5 + rng.random(300)])
    assert 0.375 <= of_rows(labeled, unlabeled).known_share(variant).share <= 0.405


@pytest.mark.parametrize("variant", VARIANTS)
def test_share_in_the_middle(variant):
    shares = [of_rows(*mixture(seed, 500, 1000)).known_share(variant).share for seed in range(5)]
    assert np.mean(shares) == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize("variant", VARIANTS)
def test_more_known_rows_give_a_larger_share(variant):
    shares = [
        of_rows(*mixture(2, known=known)).known_share(variant).share
        for known in (0.0, 0.25, 0.5, 0.75)
    ]
    assert shares == sorted(shares)
    assert shares[0] < 0.1
    assert shares[-1] > 0.6


@pytest.mark.parametrize("variant", VARIANTS)
def test_identical_samples_reach_the_cap(variant):
    labeled, _ = mixture(3)
    for unlabeled in (labeled, np.repeat(labeled, 3)):
        found = of_rows(labeled, unlabeled)
        assert found.mmd == pytest.approx(0.0, abs=1e-15)
        assert found.known_share(variant).share == pytest.approx(CAP)


def test_the_curve_of_two_points():
    # v has all its weight on the unlabelled point, so d(lam) = (lam - 1) mmd, every slope equals
    # every threshold, and theta is not determined.
    found = KernelMean(np.array([2.0, 5.0]), np.array([1.0, 0.0]), np.array([0.0, 1.0]), width=2.0)
    mmd = math.sqrt(2 - 2 * math.exp(-9 / 8))
    assert found.mmd == pytest.approx(mmd)
    for lam in (1.5, 2.0, 8.0):
        assert found.distance(lam) == pytest.approx((lam - 1) * mmd)
    for variant in VARIANTS:
        assert found.known_share(variant).share == pytest.approx(FLOOR)


def test_threshold_of_km1():
    found = of_rows(*mixture(4, 100, 400))
    assert found.mmd > 0.4
    assert found.known_share("km1").threshold == 0.1
    # mmd is too small for 1 / sqrt(n): the threshold of KM2 serves.
    found = of_rows(*mixture(4, 4, 400))
    km1, km2 = found.known_share("km1"), found.known_share("km2")
    assert (km1.threshold, km1.share) == (km2.threshold, km2.share)


def test_threshold_of_km2():
    found = of_rows(*mixture(5, 30, 60), width=0.2)
    first_slope = found.distance(1.05) / 0.05
    assert first_slope > 0.01
    for mixing in (0.0, 0.25, 1.0):
        expected = (1 - mixing) * first_slope + mixing * found.mmd
        assert found.known_share("km2", mixing).threshold == pytest.approx(expected)


def test_the_curve_is_told():
    found = of_rows(*mixture(6))
    share = found.known_share("km2")
    assert (np.diff(share.lams) > 0).all()
    assert share.lams[0] == 1.0
    assert {1.05, 4.5, 4.52} <= set(share.lams.tolist())
    assert_array_equal(share.distances, [found.distance(lam) for lam in share.lams.tolist()])
    assert share.share == (share.lam - 1) / share.lam
    # Values of lam tried for one variant are not reported for the other.
    assert 1.05 not in found.known_share("km1").lams


# ---------------------------------------------------------------------------- the curve


@several
@given(labeled=samples, unlabeled=samples)
def test_distance_is_convex_from_zero_at_one(labeled, unlabeled):
    found = of_rows(labeled, unlabeled)
    lams = np.linspace(1, 8, 15)
    distances = np.array([found.distance(lam) for lam in lams.tolist()])
    assert found.distance(1.0) <= 1e-9
    assert found.distance(0.5) <= 1e-9
    assert (distances >= 0).all()
    assert (np.diff(distances, 2) >= -1e-6).all()
    # The unlabelled sample itself is a distribution.
    assert (distances <= (lams - 1) * found.mmd + 1e-6).all()


@several
@given(labeled=samples, unlabeled=samples, exponent=st.integers(-900, 900))
def test_scaling_by_a_power_of_two_changes_the_width_only(labeled, unlabeled, exponent):
    assume(np.any(labeled) or np.any(unlabeled))  # zeros have no scale
    scale = 2.0**exponent
    one, other = of_rows(labeled, unlabeled), of_rows(scale * labeled, scale * unlabeled)
    assert other.width == scale * one.width
    assert other.mmd == one.mmd
    for lam in (1.05, 3.0):
        assert other.distance(lam) == one.distance(lam)


@several
@given(labeled=samples, unlabeled=samples)
# Two widths are narrower than all gaps, and tie but for rounding.
@example(
    labeled=np.array([0, 0, 0, 0, 0, 999, -1]) / 999, unlabeled=np.array([0] * 5 + [-1, 2]) / 999
)
def test_reflection_changes_nothing(labeled, unlabeled):
    one, other = of_rows(labeled, unlabeled), of_rows(-labeled, -unlabeled)
    assert other.width == one.width
    for lam in (1.05, 3.0):
        assert other.distance(lam) == pytest.approx(one.distance(lam), abs=1e-6)


@several
@given(labeled=samples, unlabeled=samples, factor=st.sampled_from([0.3, 2.0, 7.0]))
def test_only_shares_of_counts_enter_the_distance(labeled, unlabeled, factor):
    values, *counts = counted(labeled, unlabeled)
    one = KernelMean(values, *counts)
    other = KernelMean(values, counts[0], factor * counts[1], one.width)
    for lam in (1.05, 3.0):
        assert other.distance(lam) == pytest.approx(one.distance(lam), abs=1e-6)


# ---------------------------------------------------------------------------- resampling


def test_resampled_is_a_fresh_estimate_at_the_same_width():
    values, labeled, unlabeled = counted(*mixture(7))
    found = KernelMean(values, labeled, unlabeled)
    found.known_share("km2")
    rng = np.random.default_rng(0)
    draws = [rng.multinomial(part.sum(), part / part.sum()) for part in (labeled, unlabeled)]
    again = found.resampled(*draws)
    fresh = KernelMean(values, *(draw.astype(float) for draw in draws), found.width)
    assert again.width == found.width
    assert again.mmd == pytest.approx(fresh.mmd)
    assert again.mmd != pytest.approx(found.mmd, abs=1e-6)
    for variant in VARIANTS:
        assert again.known_share(variant).share == fresh.known_share(variant).share


def test_resampling_leaves_the_original_alone():
    values, labeled, unlabeled = counted(*mixture(8))
    found = KernelMean(values, labeled, unlabeled)
    before = found.known_share("km2")
    found.resampled(unlabeled, labeled).known_share("km2")
    after = found.known_share("km2")
    assert_array_equal(before.distances, after.distances)
    assert before.share == after.share


# ---------------------------------------------------------------------------- degenerate samples

EDGES = {
    "one value": ([2.0, 2.0], [2.0]),
    "only zeros": ([0.0], [0.0, 0.0]),
    "one row each": ([1.0], [3.0]),
    "two values": ([0.0, 0.0, 1.0], [0.0, 1.0, 1.0]),
    "most rows tie": ([0.0] * 50 + [1.0], [0.0] * 50 + [1.0, 5.0]),
    "disjoint": ([0.0, 0.1, 0.2], [9.0, 9.1, 9.3]),
    "tiny differences": ([1e-12, 2e-12], [3e-12, 5e-12]),
    "units in the last place": (1e12 + np.arange(4) * 2**-13, 1e12 + np.arange(2, 9) * 2**-13),
    "huge": ([-1e308, 1e308], [0.0, 1.7e308]),
    "subnormal": ([0.0, 5e-324], [1e-323, 2e-323]),
    "far outlier": ([0.0, 1e-12, 2e-12], [3e-12, 1e12]),
    "all scales": (10.0 ** np.arange(-300, 0, 20), 10.0 ** np.arange(-290, 300, 20)),
    "clusters at all distances": ([0.0, 1e-300, 1.0], [1e-300, 2e-300, 1e300]),
}


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_degenerate_samples_have_a_share(edge, variant):
    found = of_rows(*EDGES[edge])
    share = found.known_share(variant)
    assert FLOOR - 1e-12 <= share.share <= CAP + 1e-12
    assert np.isfinite([found.width, found.mmd, share.threshold, *share.distances]).all()


@pytest.mark.parametrize(("edge", "expected"), [("one value", CAP), ("disjoint", FLOOR)])
@pytest.mark.parametrize("variant", VARIANTS)
def test_degenerate_samples_have_the_right_share(edge, variant, expected):
    assert of_rows(*EDGES[edge]).known_share(variant).share == pytest.approx(expected)


@pytest.mark.parametrize("difference", [1e-15, 1e-10, 1e-7])
def test_samples_that_hardly_differ_are_the_same(difference):
    rng = np.random.default_rng(0)
    labeled = rng.normal(size=20)
    unlabeled = np.tile(labeled, 3) * (1 + difference * rng.normal(size=60))
    found = of_rows(labeled, unlabeled)
    assert found.mmd > 0
    assert found.known_share("km2").share == pytest.approx(CAP)


def test_weights_need_not_be_counts():
    values, labeled, unlabeled = counted(*mixture(9))
    rng = np.random.default_rng(0)
    weighted = labeled * rng.random(len(values)), unlabeled * rng.random(len(values))
    assert KernelMean(values, *weighted).known_share("km2").share == pytest.approx(0.5, abs=0.15)


# ---------------------------------------------------------------------------- median distance


@several
@given(rows=st.lists(scores, min_size=2, max_size=20))
def test_median_distance_of_rows(rows):
    values, counts = np.unique(rows, return_counts=True)
    squares = np.subtract.outer(rows, rows) ** 2
    expected = math.sqrt(np.median(squares))
    if expected == 0:  # of the pairs that differ, if there are any
        expected = math.sqrt(np.median(squares[squares > 0])) if len(values) > 1 else 1.0
    found = _kernel_mean._median_distance(values, counts.astype(float))
    assert found == pytest.approx(expected, rel=1e-14)


@several
@given(rows=st.lists(st.integers(0, 30), min_size=2, max_size=20), factor=st.floats(0.01, 100.0))
def test_median_distance_depends_on_shares_of_weights(rows, factor):
    values, counts = np.unique(np.array(rows, dtype=float), return_counts=True)
    # An odd number of rows: no tie between halves that rounding could break.
    assume(len(rows) % 2 == 1)
    expected = _kernel_mean._median_distance(values, counts.astype(float))
    assert _kernel_mean._median_distance(values, factor * counts) == expected


def test_values_without_rows_are_no_part_of_the_median():
    # Two rows: half of the pairs are at distance 0, and the next distance is 5.
    points, weights = np.array([0.0, 1.0, 5.0, 6.0]), np.array([1.0, 0.0, 1.0, 0.0])
    assert _kernel_mean._median_distance(points, weights) == pytest.approx(5 / math.sqrt(2))


def test_median_distance_of_many_scores():
    n_rows = 20_001
    # |i - j| <= k holds for n + 2 sum_{m <= k} (n - m) of the n^2 ordered pairs.
    within = n_rows + 2 * np.cumsum(n_rows - np.arange(1, n_rows))
    expected = 1 + np.searchsorted(within, n_rows**2 / 2)
    points = np.arange(n_rows, dtype=float)
    assert _kernel_mean._median_distance(points, np.ones(n_rows)) == expected


# ---------------------------------------------------------------------------- the factor


@pytest.mark.parametrize("width", [0.1, 1.0, 10.0])
def test_factor_of_the_kernel(width):
    points = np.sort(np.random.default_rng(0).normal(size=400))
    factor = _kernel_mean._factorise(points, width)
    dense = np.exp(-(np.subtract.outer(points, points) ** 2) / (2 * width**2))
    assert_allclose(factor.T @ factor, dense, rtol=0, atol=2e-12)


def test_rank_is_low():
    found = of_rows(*mixture(0, 500, 1000))
    assert found._corners.shape[0] == 1500
    assert found._corners.shape[1] < 40


def test_widths_that_need_too_much_memory_are_left_out(monkeypatch):
    labeled, unlabeled = np.arange(200.0), np.arange(0.5, 200.0)
    assert of_rows(labeled, unlabeled).width < 7.0
    monkeypatch.setattr(_kernel_mean, "_MAX_CELLS", 0)
    monkeypatch.setattr(_kernel_mean, "_MAX_RANK", 12)
    limited = of_rows(labeled, unlabeled)
    assert limited._corners.shape[1] <= 12
    assert limited.width > 100.0
    with pytest.raises(ValueError, match="too narrow for 400 distinct scores: more than 12"):
        of_rows(labeled, unlabeled, width=1.0)


def test_the_widest_kernel_may_need_too_much_memory(monkeypatch):
    # Ranks of ten median distances and of 31 are above the limit.
    monkeypatch.setattr(_kernel_mean, "_MAX_CELLS", 0)
    monkeypatch.setattr(_kernel_mean, "_MAX_RANK", 8)
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.random(300), 10.0 ** np.arange(1, 12)])
    found = of_rows(scores[::2], scores[1::2])
    assert found._corners.shape[1] <= 8
    assert found.width > 30 * _kernel_mean._median_distance(np.sort(scores), np.ones(len(scores)))
    assert np.isfinite(found.known_share("km2").share)
