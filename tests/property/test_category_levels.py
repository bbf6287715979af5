"""Columns of small whole numbers are read at once, and as one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from lacforest._input import categories
from lacforest._input.categories import read_levels

codes = st.one_of(st.integers(0, 5).map(float), st.just(np.nan), st.integers(0, 300).map(float))


def naive_levels(column):
    """Distinct values, and the place of each value among them; -1 where it is missing."""
    levels = sorted({value for value in column if value == value})
    return levels, [levels.index(value) if value == value else -1 for value in column]


@given(
    table=st.integers(1, 4).flatmap(
        lambda width: st.lists(st.tuples(*[codes] * width), min_size=1, max_size=30)
    ),
    dtype=st.sampled_from([np.float32, np.float64, np.int64, np.uint8]),
    at_once=st.booleans(),
    data=st.data(),
)
def test_levels_are_the_distinct_values(table, dtype, at_once, data):
    table = np.array(table)
    if np.dtype(dtype).kind in "iu":
        table = np.nan_to_num(table) % 256
    table = table.astype(dtype)
    features = np.array(
        data.draw(st.lists(st.integers(0, table.shape[1] - 1), unique=True, min_size=1))
    )
    with pytest.MonkeyPatch.context() as patch:
        if not at_once:
            patch.setattr(categories, "_levels_of_codes", lambda table, features: None)
        found = read_levels(table, features, "X")
    assert list(found) == features.tolist()
    for feature, own in found.items():
        levels, places = naive_levels(table[:, feature].tolist())
        assert own.levels.dtype == np.float64
        assert own.levels.tolist() == levels
        assert own.codes.tolist() == places
        assert not own.is_text


def test_what_is_counted_at_once():
    columns = np.array([0, 1])
    small = np.array([[0.0, 3.0], [np.nan, 1.0]])
    assert categories._levels_of_codes(small, columns) is not None
    for odd in (0.5, -1.0, np.inf, -np.inf, 2.0**53, 1e300):
        assert categories._levels_of_codes(np.array([[0.0, odd]]), columns) is None
    # Counting would take far more memory than the table.
    assert categories._levels_of_codes(np.array([[0.0, 900_000.0]]), columns) is None
    assert categories._levels_of_codes(small.astype(object), columns) is None
    assert categories._levels_of_codes(small[:0], columns) is None


def test_a_column_without_values_has_no_levels():
    found = read_levels(np.array([[np.nan, 2.0], [np.nan, 0.0]]), np.array([0, 1]), "X")
    assert_array_equal(found[0].levels, [])
    assert found[0].codes.tolist() == [-1, -1]
    assert found[1].levels.tolist() == [0.0, 2.0]


def test_a_code_that_is_none_is_named():
    table = np.array([[0.0, 1.5], [1.0, 2.0]])
    with pytest.raises(ValueError, match=r"column 1 of X is categorical and holds 1\.5"):
        read_levels(table, np.array([0, 1]), "X")
