"""Shares of a batch against plain loops, and how often a batch like the fit has moved."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import adaptation as naive
from scipy.stats import chi2

from lacforest.adaptation.batch import class_factors
from lacforest.adaptation.shares import NEW_ODDS, estimate_shares

quick = settings(max_examples=25, deadline=None)


@st.composite
def batches(draw):
    """Votes and shares of the fit, from blurred to clear."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_classes = draw(st.integers(1, 40)), draw(st.integers(2, 5))
    sharpness = draw(st.sampled_from([0.1, 1.0, 10.0]))
    votes = rng.dirichlet(np.full(n_classes, 1 / sharpness), n_rows)
    prior = 0.05 + rng.dirichlet(np.full(n_classes, 2.0))
    return votes, prior / prior.sum(), draw(st.sampled_from([1, 30, 10_000]))


@quick
@given(batches())
def test_shares_and_p_value(batch):
    votes, prior, n_fitted = batch
    found = estimate_shares(votes, prior, n_fitted)
    ratios = naive.ratios(votes.tolist(), prior.tolist())
    expected = naive.likeliest_shares(ratios)
    # Steps end where shares hardly change: compare what they are for, the likelihood.
    assert_allclose(
        naive.log_likelihood(ratios, found.shares),
        naive.log_likelihood(ratios, expected),
        atol=1e-2,
    )
    statistic = naive.statistic(votes.tolist(), prior.tolist(), n_fitted)
    assert_allclose(found.p_value, chi2.sf(max(statistic, 0.0), len(prior) - 1), atol=5e-3)


@quick
@given(batches(), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(batch, random):
    votes, prior, n_fitted = batch
    order = list(range(len(votes)))
    random.shuffle(order)
    first, second = (estimate_shares(v, prior, n_fitted) for v in (votes, votes[order]))
    assert_array_equal(first.shares, second.shares)
    assert first.p_value == second.p_value


@quick
@given(batches())
def test_factors_are_one_where_shares_may_be_those_of_the_fit(batch):
    votes, prior, n_fitted = batch
    found = estimate_shares(votes, prior, n_fitted)
    assert found.have_moved == (found.p_value < 0.05 and len(votes) >= 10)
    assert (class_factors(found, prior) == 1.0).all() == (not found.have_moved)


def _densities(rng, shares, n_rows):
    """Rows of three classes that overlap, as densities under each."""
    classes = rng.choice(len(shares), n_rows, p=shares)
    x = rng.normal(size=n_rows) + 2.5 * classes
    return np.exp(-0.5 * (x[:, None] - 2.5 * np.arange(len(shares))) ** 2)


def _votes(densities, prior):
    """Votes that are right once they are squared and the odds of new are corrected."""
    odds = densities * prior
    odds[:, -1] /= NEW_ODDS
    votes = np.sqrt(odds)
    return votes / votes.sum(axis=1, keepdims=True)


def _rate(true, of_batch, n_batch, n_fitted, n_draws=200):
    """How often shares have moved, where shares of the fit are found from a sample."""
    count = 0
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        flat = np.full(len(true), 1 / len(true))
        fitted = _votes(_densities(rng, true, n_fitted), flat)
        before = estimate_shares(fitted, flat, n_fitted).shares
        votes = _votes(_densities(rng, of_batch, n_batch), before)
        count += estimate_shares(votes, before, n_fitted).have_moved
    return count / n_draws


@pytest.mark.parametrize(("n_batch", "n_fitted"), [(100, 600), (300, 300), (600, 100)])
def test_one_batch_like_the_fit_in_twenty_has_moved_at_most(n_batch, n_fitted):
    like = np.array([0.3, 0.3, 0.4])
    rate = _rate(like, like, n_batch, n_fitted)
    assert 0.0 < rate <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 200)


def test_a_batch_with_other_shares_has_moved():
    like = np.array([0.3, 0.3, 0.4])
    assert _rate(like, np.array([0.4, 0.4, 0.2]), 300, 300, 50) > 0.9
    assert _rate(like, np.array([0.5, 0.1, 0.4]), 300, 300, 50) > 0.9
