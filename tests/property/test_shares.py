"""Shares of known classes in deployment: against the naive twin, and what may not matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import shares as naive
from share_blobs import blobs
from strategies import seeds

from lacforest import AugmentedGiniCriterion
from lacforest.mixture import RankMixture, ShareMixture
from lacforest.mixture._beta_mixture import mixture_weights
from lacforest.mixture._share_mixture import LARGEST_CHANCE_SHIFT
from lacforest.mixture._shares import (
    ClassScores,
    fit_shares,
    share_covariance,
    share_variance,
    shift_statistic,
)

several = settings(max_examples=25)


@st.composite
def class_scores(draw):
    """Class probabilities of both sides, every known class among the labelled rows."""
    rng = np.random.default_rng(draw(seeds))
    n_known = draw(st.integers(2, 4))
    classes = np.append(np.arange(n_known), rng.integers(0, n_known, draw(st.integers(4, 30))))
    n_unlabeled = draw(st.integers(5, 60))
    sharpness = draw(st.sampled_from([0.3, 1.0, 5.0]))
    labeled = rng.dirichlet(np.full(n_known + 1, sharpness), len(classes))
    unlabeled = rng.dirichlet(np.full(n_known + 1, sharpness), n_unlabeled)
    return ClassScores(labeled, unlabeled, classes, np.ones(len(classes)))


@several
@given(scores=class_scores())
def test_the_fit_is_the_maximum_of_the_naive_likelihood(scores):
    known = scores.labeled_shares
    counts, parts = naive.counts_and_parts(
        scores.labeled.tolist(), scores.unlabeled.tolist(), scores.classes.tolist(), known.tolist()
    )
    climbed = naive.maximise(counts, parts, n_steps=300)
    fitted = fit_shares(scores, n_rounds=1).shares
    assert (fitted >= 0).all()
    assert fitted.sum() <= 1 + 1e-9
    # The likelihood decides: several shares may have the same one. The part of new rows is free.
    best = mixture_weights(np.array(counts), np.array(parts))
    assert_allclose(fitted, best[: scores.n_known], atol=1e-6)
    per_row = naive.likelihood(counts, parts, best.tolist()) / sum(counts)
    assert per_row >= naive.likelihood(counts, parts, climbed) / sum(counts) - 1e-7


@several
@given(scores=class_scores())
def test_many_classes_are_fitted_to_the_same_shares(scores):
    one = fit_shares(scores).known_shares
    with pytest.MonkeyPatch.context() as patch:
        # As if so few components were too many for Newton steps.
        patch.setattr("lacforest.mixture._shares.MOST_PARTS", 0)
        patch.setattr("lacforest.mixture._beta_mixture.MOST_PARTS", 0)
        patch.setattr("lacforest.mixture._beta_mixture._MOST_LARGE_STEPS", 3_000)
        other = fit_shares(scores).known_shares
    assert_allclose(other, one, atol=0.02)


def test_a_class_that_looks_like_another_keeps_its_labelled_share():
    rng = np.random.default_rng(0)
    # Rows of class 1 are never the most likely of class 1: nothing tells its share.
    classes = np.repeat([0, 1, 2], [80, 20, 100])
    probabilities = np.array([[0.5, 0.1, 0.0, 0.4], [0.5, 0.1, 0.0, 0.4], [0.0, 0.1, 0.5, 0.4]])
    labeled = probabilities[classes] + rng.uniform(0, 1e-3, (200, 4))
    unlabeled = probabilities[np.repeat([0, 2], [300, 100])] + rng.uniform(0, 1e-3, (400, 4))
    found = fit_shares(ClassScores(labeled, unlabeled, classes, np.ones(200))).known_shares
    assert_allclose(found, [0.6, 0.15, 0.25], atol=0.02)
    assert_allclose(found[1] / found[0], 0.25, rtol=0.02)


def test_a_class_of_three_labelled_rows_takes_no_share_of_new_ones():
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], [100, 50, 3])
    # Scored by the two others alone, rows of the third class look as little known as new ones do;
    # its estimated share would be a half.
    looks = np.array([[0.5, 0, 0, 0.5], [0, 0.5, 0, 0.5], [0, 0, 0.1, 0.9], [0, 0, 0.1, 0.9]])
    deployed = np.repeat([0, 1, 2, 3], [200, 100, 6, 300])
    labeled, unlabeled = (
        looks[truth] + rng.uniform(0, 1e-2, (len(truth), 4)) for truth in (classes, deployed)
    )
    scores = ClassScores(labeled, unlabeled, classes, np.ones(153))
    fit = fit_shares(scores)
    assert_allclose(fit.known_shares, scores.labeled_shares, atol=0.03)
    assert fit.known_shares[2] == 3 / 153
    assert fit.known_shares.sum() == pytest.approx(1)
    assert share_variance(fit, scores.labeled_shares, scores.class_sizes)[2] == 0.0


def overlapping_scores(rng, share, sizes=(100, 100, 100), n_unlabeled=600):
    """Rows of three classes that are told apart by 0.6 only; labelled rows per class by `sizes`."""
    tilted = np.array([[0.6, 0.25, 0.15], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
    classes = np.repeat([0, 1, 2], sizes)
    deployed = rng.choice(3, n_unlabeled, p=share)
    sides = []
    for truth in (classes, deployed):
        shown = (rng.random((len(truth), 1)) > tilted[truth].cumsum(axis=1)).sum(axis=1)
        sides.append(np.eye(4)[shown] + rng.uniform(0, 0.1, (len(truth), 4)))
    return ClassScores(*sides, classes, np.ones(len(classes)))


def test_the_covariance_is_that_of_repeated_samples():
    rng = np.random.default_rng(0)
    fits, expected = [], []
    for _ in range(200):
        scores = overlapping_scores(rng, [0.2, 0.3, 0.5])
        fit = fit_shares(scores)
        fits.append(fit.known_shares)
        expected.append(share_covariance(fit, scores.class_sizes).diagonal())
    spread, expected = np.std(fits, axis=0), np.sqrt(np.mean(expected, axis=0))
    assert_allclose(expected, spread, rtol=0.3)


def statistic(scores):
    fit = fit_shares(scores)
    variance = share_variance(fit, scores.labeled_shares, scores.class_sizes)
    n_labeled = len(scores.classes)
    return shift_statistic(fit.known_shares, scores.labeled_shares, variance, n_labeled)


def test_classes_that_overlap_raise_few_alarms_and_hide_no_shift():
    rng = np.random.default_rng(1)
    equal = [statistic(overlapping_scores(rng, [1 / 3, 1 / 3, 1 / 3])) for _ in range(100)]
    # By the variance of rows that all tell their class, the mean is 3.4, and 37 % are alarms.
    assert 0.7 < np.mean(equal) < 1.3
    assert np.mean(np.array(equal) > LARGEST_CHANCE_SHIFT) < 0.1
    moved = [statistic(overlapping_scores(rng, [0.05, 0.15, 0.8])) for _ in range(20)]
    assert min(moved) > LARGEST_CHANCE_SHIFT


def test_a_frequent_class_with_few_labelled_rows_has_moved():
    rng = np.random.default_rng(3)
    cases = [overlapping_scores(rng, [0.3, 0.2, 0.5], sizes=(100, 100, 10)) for _ in range(20)]
    # By the variance at the estimated shares, four of these shifts are missed.
    assert min(statistic(scores) for scores in cases) > LARGEST_CHANCE_SHIFT


def test_the_variance_of_many_classes_is_the_least_possible(monkeypatch):
    scores = overlapping_scores(np.random.default_rng(2), [0.2, 0.3, 0.5])
    fit, labeled = fit_shares(scores), scores.labeled_shares
    by_information = share_variance(fit, labeled, scores.class_sizes)
    monkeypatch.setattr("lacforest.mixture._shares._MOST_INVERTED", 2)
    least = share_variance(fit, labeled, scores.class_sizes)
    assert_allclose(least, labeled / (600 * fit.shares.sum()))
    assert (least < by_information).all()


@settings(max_examples=100)
@given(
    entries=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 50), st.floats(0, 0.1)), min_size=1, max_size=6
    )
)
def test_the_statistic_is_that_of_the_formula(entries):
    known, counts, variance = np.array(entries, dtype=float).T
    labeled = counts / max(counts.sum(), 1.0)
    found = shift_statistic(known, labeled, variance, 100)
    expected = naive.shift_statistic(known.tolist(), labeled.tolist(), variance.tolist(), 100)
    assert_allclose(found, expected, rtol=1e-9)


@st.composite
def sparse_counts(draw):
    rng = np.random.default_rng(draw(seeds))
    n_bins, n_parts = draw(st.integers(2, 60)), draw(st.integers(2, 30))
    parts = rng.dirichlet(np.full(n_bins, 0.1), n_parts).T + 1e-12
    return rng.poisson(draw(st.sampled_from([0.05, 0.5, 5.0])), n_bins).astype(float), parts


@settings(max_examples=200)
@given(case=sparse_counts(), fails=st.booleans())
def test_weights_of_sparse_counts_are_found_even_where_least_squares_fails(case, fails):
    counts, parts = case
    counts[0] += 1

    def refuse(*arguments, **options):
        raise RuntimeError("Maximum number of iterations reached.")

    with pytest.MonkeyPatch.context() as patch:
        if fails:
            patch.setattr("lacforest.mixture._beta_mixture.nnls", refuse)
        weights = mixture_weights(counts, parts)
    assert (weights >= 0).all()
    assert_allclose(weights.sum(), 1.0, atol=1e-9)
    best = mixture_weights(counts, parts)
    shares = counts / counts.sum()
    reached, possible = (shares @ np.log(np.maximum(parts @ w, 1e-300)) for w in (weights, best))
    assert reached >= possible - 1e-3


@settings(max_examples=100)
@given(
    counts=st.lists(st.integers(0, 50), min_size=1, max_size=5),
    n_unlabeled=st.integers(0, 100),
    factors=st.lists(st.fractions("1/10", 10, max_denominator=20), min_size=5, max_size=5),
)
def test_weights_by_class_are_definition_1_with_a_ratio_per_class(counts, n_unlabeled, factors):
    factors = factors[: len(counts)]
    criterion = AugmentedGiniCriterion(0.25, n_labeled=60, n_unlabeled=100)
    weighted = [float(factor * count) for factor, count in zip(factors, counts, strict=True)]
    ratios = [criterion.ratio * float(factor) for factor in factors]
    expected = [float(v) for v in naive.augmented_shares(counts, n_unlabeled, ratios)]
    assert_allclose(criterion.proportions(weighted, n_unlabeled), expected, atol=1e-12)


# ---------------------------------------------------------------------------- the estimator


@pytest.fixture(scope="module")
def problem():
    return blobs(0)


def fitted(X, y, U, **parameters):
    return ShareMixture(**{"random_state": 0, "n_bootstrap": 0} | parameters).fit(X, y, U)


def test_it_finds_theta_and_shares(problem):
    X, y, U, truth = problem
    mixture = fitted(X, y, U, n_bootstrap=20)
    known = np.bincount(truth[truth < 3], minlength=3) / (truth < 3).sum()
    assert abs(mixture.theta_ - 0.3) < 0.05
    assert np.abs(mixture.known_shares_ - known).sum() < 0.15
    assert mixture.has_shifted_
    low, high = mixture.interval_
    assert low <= mixture.theta_ <= high
    ends = mixture.known_shares_interval_
    assert (ends[:, 0] <= mixture.known_shares_).all()
    assert (mixture.known_shares_ <= ends[:, 1]).all()


def test_shares_sum_to_one(problem):
    assert_allclose(fitted(*problem[:3]).known_shares_.sum(), 1.0)


def test_the_order_of_rows_changes_nothing(problem):
    X, y, U, _ = problem
    rng = np.random.default_rng(1)
    labeled, unlabeled = rng.permutation(len(X)), rng.permutation(len(U))
    one, other = fitted(X, y, U), fitted(X[labeled], y[labeled], U[unlabeled])
    assert_allclose(other.known_shares_, one.known_shares_, atol=1e-9)
    assert_allclose(other.theta_, one.theta_, atol=1e-9)


@pytest.mark.parametrize("names", [[2, 0, 1], [1, 2, 0]])
def test_names_of_classes_change_nothing(problem, names):
    # Rows that look like two classes alike go to the first of them, hence the tolerance.
    X, y, U, _ = problem
    one, other = fitted(X, y, U), fitted(X, np.array(names)[y], U)
    assert_allclose(other.known_shares_[names], one.known_shares_, atol=0.01)
    assert_allclose(other.theta_, one.theta_, atol=0.01)


def test_threads_change_nothing(problem):
    X, y, U, _ = problem
    one = fitted(X, y, U, n_jobs=1, n_bootstrap=3)
    for n_jobs in (2, 3):
        other = fitted(X, y, U, n_jobs=n_jobs, n_bootstrap=3)
        assert_array_equal(other.known_shares_, one.known_shares_)
        assert other.theta_ == one.theta_
        assert_array_equal(other.known_shares_interval_, one.known_shares_interval_)


def test_one_class_is_a_matter_of_ranks():
    X, y, U, _ = blobs(3, n_known=1, shares=(1.0,))
    mixture = fitted(X, y, U)
    assert mixture.known_shares_.tolist() == [1.0]
    assert mixture.share_shift_ == 0.0
    assert not mixture.has_shifted_
    scores = mixture.scores_
    by_rank = RankMixture(n_bootstrap=0).fit_scores(scores.labeled, scores.unlabeled)
    assert mixture.theta_ == by_rank.theta_


def test_integer_weights_are_repeated_rows_in_the_labelled_shares(problem):
    X, y, U, _ = problem
    weight = np.where(y == 0, 3, 1)
    mixture = ShareMixture(random_state=0, n_bootstrap=0).fit(X, y, U, sample_weight=weight)
    assert_allclose(mixture.labeled_shares_, [0.6, 0.2, 0.2])


def test_classes_that_nothing_tells_apart_have_not_moved():
    X, y, U, _ = blobs(8)
    weight = np.where(y == 0, 50.0, 1.0)
    mixture = ShareMixture(random_state=0, n_bootstrap=0)
    mixture.fit(np.zeros_like(X), y, np.zeros_like(U), sample_weight=weight)
    assert not mixture.has_shifted_


@pytest.mark.parametrize("theta", [0.0, 1.0])
def test_nothing_new_and_nothing_known(theta):
    X, y, U, _ = blobs(5, theta=theta)
    mixture = fitted(X, y, U)
    assert abs(mixture.theta_ - theta) < 0.06


def test_a_class_of_two_rows_and_few_unlabelled_rows():
    X, y, U, _ = blobs(6)
    rare = np.append(np.arange(62), np.arange(120, 180))  # two rows of class 1
    mixture = fitted(X[rare], y[rare], U[:2])
    assert_allclose(mixture.known_shares_.sum(), 1.0)
    assert 0 <= mixture.theta_ <= 1


def test_a_class_without_weight_keeps_share_zero():
    X, y, U, _ = blobs(7)
    mixture = ShareMixture(random_state=0, n_bootstrap=5).fit(X, y, U, sample_weight=y != 1)
    assert mixture.known_shares_[1] == 0.0


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"level": 1.0}, ValueError, "level must lie strictly between 0 and 1"),
        ({"level": "high"}, TypeError, "level must be a number"),
        ({"n_bootstrap": -1}, ValueError, "n_bootstrap must be at least 0"),
        ({"n_jobs": 0}, ValueError, "n_jobs must not be 0"),
    ],
)
def test_bad_parameters(problem, parameters, error, match):
    with pytest.raises(error, match=match):
        fitted(*problem[:3], **parameters)


def test_too_few_rows(problem):
    X, y, U, _ = problem
    with pytest.raises(ValueError, match="shares cannot be estimated from 180 labelled and 1"):
        fitted(X, y, U[:1])
    with pytest.raises(ValueError, match="X_unlabeled is None: shares are those of classes"):
        fitted(X, y, None)
