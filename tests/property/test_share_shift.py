"""Moved shares within a fit: tested by the first trees, and by all where these leave a doubt."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from share_blobs import blobs
from strategies import seeds

from lacforest._coding.coded_table import code_table
from lacforest._input.training_data import check_training_rows
from lacforest._tree.out_of_bag import out_of_bag_sums
from lacforest.mixture import ShareMixture
from lacforest.mixture._shares import invert


@pytest.fixture(scope="module")
def problem():
    return blobs(0)


# ------------------------------------------------------------------ inverses


@given(seed=seeds, n=st.integers(1, 12), power=st.integers(0, 6))
def test_small_matrices_are_inverted_as_by_lapack(seed, n, power):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n + 3, n)) * 10.0 ** rng.uniform(-power, power, size=n)
    matrix = factor.T @ factor
    scales = np.outer(*2 * [1 / np.sqrt(matrix.diagonal())])
    unit = matrix * scales
    assert_allclose(
        invert(matrix) / scales, np.linalg.inv(unit), atol=1e-10 * np.linalg.cond(unit) ** 2
    )


def test_components_that_say_the_same_count_once():
    matrix = np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 4.0]])
    assert_allclose(invert(matrix), [[0.5, 0, 0], [0, 0, 0], [0, 0, 0.25]])
    assert_allclose(matrix @ invert(matrix) @ matrix, matrix)
    assert_allclose(invert(np.zeros((2, 2))), np.zeros((2, 2)))


def test_large_matrices_are_inverted_too():
    factor = np.random.default_rng(0).normal(size=(400, 160))
    matrix = factor.T @ factor
    assert_allclose(invert(matrix) @ matrix, np.eye(160), atol=1e-9)
    assert_allclose(invert(matrix[:150, :150]) @ matrix[:150, :150], np.eye(150), atol=1e-9)


# ------------------------------------------------------------------ the test in a fit


def found_in_a_fit(X, y, U, monkeypatch):
    """What a fit finds of the shares, what all trees find, and the blocks that each has grown."""
    grown = []

    def counted(*arguments):
        grown.append(1)
        return out_of_bag_sums(*arguments)

    monkeypatch.setattr("lacforest.mixture._forest_scores.out_of_bag_sums", counted)
    mixtures, blocks = [], []
    for find in (ShareMixture.find_shift, ShareMixture.fit_shift):
        mixture = ShareMixture(random_state=0, n_bootstrap=0)
        rows, _ = check_training_rows(mixture, X, y, None, U)
        grown.clear()
        mixtures.append(find(mixture, rows, code_table(rows.table, 1)))
        blocks.append(len(grown))
    return *mixtures, *blocks


def test_a_fit_finds_shifts_by_all_trees(problem, monkeypatch):
    found, whole, *blocks = found_in_a_fit(*problem[:3], monkeypatch)
    assert blocks == [16, 16]
    assert found.has_shifted_
    assert whole.has_shifted_
    assert found.share_shift_ == whole.share_shift_
    assert found.theta_ == whole.theta_
    assert_array_equal(found.known_shares_, whole.known_shares_)


def test_a_fit_without_a_shift_grows_the_first_trees_alone(monkeypatch):
    X, y, U, _ = blobs(1, shares=(1 / 3, 1 / 3, 1 / 3))
    found, whole, *blocks = found_in_a_fit(X, y, U, monkeypatch)
    assert blocks == [2, 16]
    assert not found.has_shifted_
    assert not whole.has_shifted_
    assert 0 < found.share_shift_ < 1.5
    assert not hasattr(found, "theta_")


def test_doubts_of_the_first_trees_are_settled_by_all(monkeypatch):
    """Whatever the first trees say: below the threshold of all trees nothing has moved."""
    X, y, U, _ = blobs(1, shares=(1 / 3, 1 / 3, 1 / 3))
    monkeypatch.setattr("lacforest.mixture._share_mixture._SURELY_CHANCE", 0.0)
    found, whole, *blocks = found_in_a_fit(X, y, U, monkeypatch)
    assert blocks == [16, 16]
    assert found.share_shift_ == whole.share_shift_
    assert not found.has_shifted_
    assert not hasattr(found, "theta_")


def test_the_result_of_all_trees_does_not_depend_on_the_first(problem, monkeypatch):
    X, y, U, _ = problem
    one = ShareMixture(random_state=0, n_bootstrap=0).fit(X, y, U)
    monkeypatch.setattr("lacforest.mixture._forest_scores._FIRST_BLOCKS", 7)
    other = ShareMixture(random_state=0, n_bootstrap=0).fit(X, y, U)
    assert other.share_shift_ == one.share_shift_
    assert other.theta_ == one.theta_
