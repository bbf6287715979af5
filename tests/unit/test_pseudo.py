"""Floors and ceilings of products of floats, with tolerance for rounding errors."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lacforest._growing.plan import (
    ceil_with_tolerance,
    floor_with_tolerance,
    pseudo_labels,
)


@pytest.mark.parametrize(
    ("theta", "n_rows", "expected"),
    [
        (0.29, 100, 29),  # 28.999999999999996
        (0.57, 100, 57),  # 56.99999999999999
        (0.58, 100, 58),  # 57.99999999999999
        (1.1 - 0.8, 10, 3),  # a theta that was computed: 0.30000000000000004
        (1 / 3, 3, 1),
        (1 / 49, 49, 1),  # 0.9999999999999999
        (0.299, 100, 29),
        (0.5, 7, 3),
        (0.999, 1000, 999),
        (0.001, 999, 0),
    ],
)
def test_floor_of_a_product(theta, n_rows, expected):
    assert floor_with_tolerance(theta * n_rows) == expected


@pytest.mark.parametrize(
    ("gamma", "n_rows", "expected"),
    [
        (0.07, 100, 7),  # 7.000000000000001
        (0.14, 50, 7),
        (0.55, 100, 55),  # 55.00000000000001
        (0.01, 500, 5),
        (0.01, 501, 6),
        (0.0, 10, 0),
        (0.5, 7, 4),
    ],
)
def test_ceiling_of_a_product(gamma, n_rows, expected):
    assert ceil_with_tolerance(gamma * n_rows) == expected


def test_hundredths_of_every_size():
    for percent in range(101):
        for n_rows in range(1, 400):
            product = percent / 100 * n_rows
            assert floor_with_tolerance(product) == percent * n_rows // 100
            assert ceil_with_tolerance(product) == -(-percent * n_rows // 100)


@given(millionths=st.integers(0, 10**6), n_rows=st.integers(1, 10**6))
@example(millionths=249998, n_rows=499944)  # 124985.000112 is not 124985
@example(millionths=500003, n_rows=500000)
def test_decimal_numbers_of_any_size(millionths, n_rows):
    exact = Fraction(millionths, 10**6) * n_rows
    product = millionths / 10**6 * n_rows
    assert floor_with_tolerance(product) == math.floor(exact)
    assert ceil_with_tolerance(product) == math.ceil(exact)


@pytest.mark.parametrize("gamma", [1e-6, 1e-10, 1e-15])
def test_any_positive_share_asks_for_a_row(gamma):
    # n_{C,l} >= gamma n_l > 0 (Eqn 5) holds for no empty child.
    assert ceil_with_tolerance(gamma * 100) == 1


@pytest.mark.parametrize("n_rows", [10**8 + 1, 2**32 - 1])
def test_tolerance_stays_below_one_row(n_rows):
    # Up to the largest supported number of rows, the tolerance is below half a row.
    assert floor_with_tolerance(0.5 * n_rows) == n_rows // 2
    assert ceil_with_tolerance(0.5 * n_rows) == n_rows // 2 + 1


def test_highest_scores_are_chosen_and_ties_go_to_the_earlier_row():
    scores = np.array([0.2, 0.9, 0.5, 0.5, 0.5, 0.1])
    assert pseudo_labels(scores, 0.5).tolist() == [False, True, True, True, False, False]
    assert pseudo_labels(np.zeros(4), 0.5).tolist() == [True, True, False, False]
    assert pseudo_labels(np.zeros(4), 0.2).tolist() == [False] * 4
    assert pseudo_labels(np.zeros(0), 0.5).tolist() == []


@pytest.mark.parametrize("n_rows", [17, 100, 5000])
def test_ties_among_many_rows(n_rows):
    """Sorts that are not stable keep the order of small arrays only."""
    scores = np.random.default_rng(n_rows).integers(0, 3, n_rows) / 2
    for theta in (0.1, 0.45, 0.8):
        order = sorted(range(n_rows), key=lambda row: (-scores[row], row))
        expected = np.zeros(n_rows, dtype=bool)
        expected[order[: int(theta * n_rows)]] = True
        assert pseudo_labels(scores, theta).tolist() == expected.tolist()


def test_number_of_pseudo_labels():
    scores = np.linspace(0, 1, 100)
    assert pseudo_labels(scores, 0.29).sum() == 29
    assert pseudo_labels(scores, 0.29)[-29:].all()
