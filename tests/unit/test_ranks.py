"""Conversion of values to codes and codes to thresholds, for extreme floats."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from lacforest._coding.coded_table import code_table
from lacforest._input.tables import RowStack
from lacforest._tree.coded_columns import CodedColumns
from lacforest._tree.ranks import assign_thresholds, rank_codes
from lacforest._tree.workspace import CODED_NODE, NODE

LARGEST = float(np.finfo(np.float64).max)
SMALLEST = 5e-324


def ranks(values):
    n_rows = len(values)
    codes = np.full(n_rows, 12345, dtype=np.uint32)
    n_codes, n_missing = rank_codes(
        values, np.empty((2, n_rows), np.uint64), np.empty((2, n_rows), np.uint32), codes
    )
    return codes, n_codes, n_missing


def assert_ranks_like_numpy(values):
    codes, n_codes, n_missing = ranks(values)
    missing = np.isnan(values)
    distinct, inverse = np.unique(values[~missing], return_inverse=True)
    assert (n_codes, n_missing) == (len(distinct), missing.sum())
    assert_array_equal(codes[~missing], inverse)
    assert_array_equal(codes[missing], n_codes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "values",
    [
        [1.0],
        [np.nan],
        [np.nan, np.nan],
        [0.0, -0.0, np.nan, -0.0],
        [-np.nan, np.nan, 1.0, -1.0],  # both signs of NaN
        [3.0, -2.0, 3.0, 0.5, -7.5],
        [1e-45, 0.0, -1e-45, 3e-45],  # denormal in single precision
        [3.4e38, -3.4e38, 0.0],
        [16777216.0, 16777217.0, 16777218.0],  # the middle one is no float32
    ],
)
def test_ranks_of_chosen_values(values, dtype):
    assert_ranks_like_numpy(np.array(values, dtype=dtype))


def test_ranks_at_the_ends_of_double_precision():
    neighbours = [np.nextafter(1.0, 0.0), 1.0, np.nextafter(1.0, 2.0)]
    extremes = [SMALLEST, -SMALLEST, 0.0, LARGEST, -LARGEST, np.finfo(float).tiny]
    assert_ranks_like_numpy(np.array([*neighbours, *extremes, *neighbours, np.nan]))


@given(st.lists(st.floats(allow_infinity=False), min_size=1, max_size=60))
def test_ranks_of_doubles(values):
    assert_ranks_like_numpy(np.array(values))


@given(st.lists(st.floats(allow_infinity=False, width=32), min_size=1, max_size=60))
def test_ranks_of_singles(values):
    assert_ranks_like_numpy(np.array(values, dtype=np.float32))


def test_ranks_of_a_strided_column(global_random_seed):
    table = np.random.default_rng(global_random_seed).normal(size=(500, 3))
    for feature in range(3):
        assert_ranks_like_numpy(table[:, feature])


@pytest.mark.parametrize(("n_distinct", "width"), [(255, 1), (256, 2), (65535, 2), (65536, 4)])
def test_columns_are_as_narrow_as_their_codes(n_distinct, width):
    # There is one code more than values, that of missing values, which must fit.
    column = np.append(np.arange(n_distinct, dtype=float), np.nan)
    columns = code_table(RowStack([column[:, None]]), n_jobs=1).columns
    assert columns.columns[0].itemsize == width
    assert columns.n_codes.tolist() == [n_distinct]
    assert columns.has_missing.tolist() == [1]
    assert_array_equal(columns.columns[0], np.arange(n_distinct + 1))


@pytest.mark.parametrize(("n_distinct", "width"), [(256, 1), (257, 2), (65536, 2), (65537, 4)])
def test_columns_without_missing_values_need_no_code_for_them(n_distinct, width):
    column = np.arange(n_distinct, dtype=float)
    columns = code_table(RowStack([column[:, None]]), n_jobs=1).columns
    assert columns.columns[0].itemsize == width
    assert_array_equal(columns.columns[0], column)


def test_code_table_must_be_consistent():
    short, long = np.zeros(2, np.uint8), np.zeros(3, np.uint8)
    with pytest.raises(ValueError, match="equally long, with one entry of n_codes"):
        CodedColumns([short, long], [1, 1], [0, 0])
    with pytest.raises(ValueError, match="equally long, with one entry of n_codes"):
        CodedColumns([long, long], [1], [0])


# ---------------------------------------------------------------------------- thresholds


def threshold_between(values, last, following):
    """Threshold and corrected cut of a node whose rows have values[last] and values[following]."""
    nodes = np.zeros(1, dtype=CODED_NODE)
    nodes["last"], nodes["next"] = last, following
    thresholds = np.empty(1)
    assign_thresholds(nodes, np.zeros(1, np.uint32), np.array(values, dtype=float), thresholds)
    return float(thresholds[0]), int(nodes["last"][0])


@pytest.mark.parametrize("last", [0, 1, 2])
def test_a_cut_before_missing_values_keeps_all_values_on_its_left(last):
    # Rows of the node reach up to `last`; other rows of the table have larger values.
    assert threshold_between([1.0, 2.0, 3.0], last, 3) == (np.inf, 2)


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(values=st.lists(finite, min_size=2, max_size=12, unique=True), data=st.data())
@example([-LARGEST, LARGEST], None)
@example([-LARGEST, 0.0, LARGEST], None)
@example([0.0, SMALLEST], None)
@example([-SMALLEST, SMALLEST], None)
@example([1.0, np.nextafter(1.0, 2.0)], None)
@example([np.nextafter(LARGEST, 0.0), LARGEST], None)
def test_codes_and_floats_agree_on_every_value(values, data):
    values = sorted(values)
    last, following = 0, len(values) - 1
    if data is not None:
        last = data.draw(st.integers(0, len(values) - 2), label="last")
        following = data.draw(st.integers(last + 1, len(values) - 1), label="next")
    threshold, cut = threshold_between(values, last, following)
    assert values[last] <= threshold < values[following]
    assert last <= cut < following
    for code, value in enumerate(values):
        assert (code <= cut) == (value <= threshold)


@given(low=finite, high=finite)
@example(low=-LARGEST, high=LARGEST)
@example(low=LARGEST / 2, high=LARGEST)
@example(low=SMALLEST, high=3 * SMALLEST)
def test_threshold_lies_midway(low, high):
    low, high = min(low, high), max(low, high)
    if low == high:
        return
    threshold, _ = threshold_between([low, high], 0, 1)
    middle = (Fraction(low) + Fraction(high)) / 2
    step = math.ulp(max(abs(low), abs(high)))
    assert abs(Fraction(threshold) - middle) <= Fraction(step)


def test_threshold_of_neighbours_is_the_lower_one():
    for low in (1.0, 1e-300, 4.0, SMALLEST, np.nextafter(1.0, 0.0), -1.0):
        high = float(np.nextafter(low, np.inf))
        assert threshold_between([low, high], 0, 1) == (low, 0)


def test_present_against_missing():
    # next = n_codes: every value goes left, only missing rows go right.
    assert threshold_between([1.0, 2.0, 5.0], 1, 3) == (np.inf, 2)


def test_thresholds_of_several_features(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    table = rng.integers(0, 50, (200, 4)).astype(float)
    table[rng.random(table.shape) < 0.1] = np.nan
    stack = RowStack([table[:80], table[80:]])
    coded = code_table(stack, n_jobs=1)
    columns = coded.columns
    nodes = np.zeros(60, dtype=CODED_NODE)
    feature = rng.integers(0, 4, 60)
    nodes["feature"] = np.where(rng.random(60) < 0.5, feature, ~feature)
    nodes["last"] = rng.integers(0, 20, 60)
    nodes["next"] = nodes["last"] + rng.integers(1, 20, 60)
    members = np.flatnonzero(np.arange(60) % 3 > 0)
    untouched = nodes[::3].copy()
    distinct = [np.unique(column[~np.isnan(column)]) for column in table.T]
    low = np.array([distinct[f][c] for f, c in zip(feature, nodes["last"], strict=True)])
    high = np.array([distinct[f][c] for f, c in zip(feature, nodes["next"], strict=True)])
    in_place = nodes.copy()
    skip = np.arange(60) % 3 == 0
    coded.replace_cuts(in_place, skip)
    nodes["left"][skip] = -1  # leaves
    untouched_leaves = nodes[::3].copy()
    thresholds = coded.find_thresholds(nodes)
    assert_array_equal(thresholds[members], ((low + high) / 2)[members])
    assert not thresholds[skip].any()
    assert_array_equal(in_place.view(NODE)["threshold"][members], thresholds[members])
    assert_array_equal(in_place[::3], untouched)
    assert_array_equal(nodes[::3], untouched_leaves)
    for node, threshold in zip(members, thresholds[members], strict=True):
        codes, values = columns.columns[feature[node]], table[:, feature[node]]
        assert_array_equal(codes <= nodes["last"][node], values <= threshold)
