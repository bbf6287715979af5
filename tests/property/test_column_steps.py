"""Ranks that are added to columns before rows are grouped: against their definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference.column_steps import rank, rank_between

from lacforest.discovery._whitening import ColumnSteps

few_values = st.lists(st.integers(-12, 12), min_size=1, max_size=40)
many_values = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=200)


def steps_of(column, unit=1.0):
    return ColumnSteps.of(np.array(column, dtype=float)[:, None], np.array([unit]))


def added(column, values, unit=1.0):
    values = np.array(values, dtype=float)
    return (steps_of(column, unit).add_to(values[:, None])[:, 0] - values) / unit


@given(few_values, st.lists(st.floats(-20, 20), min_size=1, max_size=10))
def test_ranks(column, values):
    assert_allclose(added(column, column), [rank(column, value) for value in column])
    lowest, highest = min(column), max(column)
    # Beyond all values ranks go on by one per range.
    beyond = [max(value - highest, 0) - max(lowest - value, 0) for value in values]
    expected = [rank_between(column, value) for value in values]
    if lowest < highest:
        expected = np.add(expected, beyond)
    assert_allclose(added(column, values), expected, atol=1e-9)


@given(many_values)
def test_thinned_ranks_are_close_and_ascend(column):
    steps = steps_of(column)
    assert steps.values.shape[1] <= 32
    assert (np.diff(steps.values) > 0).all()
    kept, heights = steps.values[0], steps.heights[0]
    assert_allclose(heights, [rank(column, value) for value in kept])
    assert (kept[0], kept[-1]) == (min(column), max(column))


@given(few_values, st.randoms(use_true_random=False))
def test_order_and_direction_change_nothing(column, random):
    shuffled = random.sample(column, len(column))
    assert_array_equal(steps_of(shuffled).heights, steps_of(column).heights)
    turned = added([-value for value in column], [-value for value in column])
    assert_allclose(turned, 1 - added(column, column))


def test_columns_of_different_lengths():
    rows = np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]])
    steps = ColumnSteps.of(rows, np.array([3.0, 0.0]))
    assert_allclose(steps.add_to(rows), [[1.5, 5], [3.5, 5], [6.5, 5]])
    # What is far stays far.
    assert_allclose(steps.add_to(np.array([[104.0, 7.0]])), [[206.5, 7.0]])
    assert_allclose(steps.add_to(np.array([[-9.0, 7.0]])), [[-18.5, 7.0]])
