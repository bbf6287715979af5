"""Shares of classes in unlabelled rows, and labels drawn from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import extra_trees as naive

from lacforest._growing.soft_labels import NewShares, SoftLabels


def new_shares(scores, theta):
    return NewShares.of(scores, theta).at(scores)


scores_of_rows = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30)


@given(scores=scores_of_rows, theta=st.floats(0.01, 0.99))
def test_shares_equal_the_naive_ones(scores, theta):
    found = new_shares(np.array(scores), theta)
    assert_allclose(found, naive.new_shares(scores, theta), rtol=0, atol=1e-9)


@given(scores=scores_of_rows, theta=st.floats(0.01, 0.99))
def test_shares_have_the_mean_theta_and_the_order_of_scores(scores, theta):
    found = new_shares(np.array(scores), theta)
    assert_allclose(found.mean(), theta, atol=1e-9)
    assert (np.diff(found[np.argsort(scores, kind="stable")]) >= -1e-12).all()


@pytest.mark.parametrize("theta", [0.0, 1.0])
def test_theta_at_its_ends(theta):
    assert new_shares(np.array([0.1, 0.5, 0.9]), theta).tolist() == [theta] * 3


@st.composite
def soft_problems(draw):
    n_rows, n_known = draw(st.integers(1, 20)), draw(st.integers(1, 4))
    shares = st.floats(0.0, 1.0)
    new = draw(st.lists(shares, min_size=n_rows, max_size=n_rows))
    row = st.lists(st.floats(0.0, 1.0), min_size=n_known, max_size=n_known)
    votes = draw(st.lists(row, min_size=n_rows, max_size=n_rows))
    prior = draw(st.lists(st.integers(1, 9), min_size=n_known, max_size=n_known))
    return new, votes, prior


@given(problem=soft_problems(), seed=st.integers(0, 2**32))
def test_drawn_labels_equal_the_naive_ones(problem, seed):
    new, votes, prior = problem
    soft = SoftLabels.of(np.array(new), np.array(votes), np.array(prior, dtype=float))
    assert soft.draw(seed).tolist() == naive.draw_labels(new, votes, prior, seed)


def test_labels_are_drawn_by_their_shares():
    new, votes, prior = np.array([0.5, 0.1]), np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([1, 3])
    soft = SoftLabels.of(new, votes, prior)
    drawn = np.array([soft.draw(seed) for seed in range(4_000)])
    counts = np.array([np.bincount(column, minlength=3) for column in drawn.T]) / len(drawn)
    # A row without votes takes the prior. Five standard errors.
    expected = [[0.375, 0.125, 0.5], [0.225, 0.675, 0.1]]
    assert_allclose(counts, expected, atol=5 * 0.5 / 4_000**0.5)


def test_the_same_seed_draws_the_same_labels():
    soft = SoftLabels.of(np.full(50, 0.5), np.ones((50, 3)), np.ones(3))
    assert_array_equal(soft.draw(7), soft.draw(7))
    assert (soft.draw(7) != soft.draw(8)).any()
