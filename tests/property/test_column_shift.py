"""The shift of columns from codes agrees with counting pairs of values."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from reference.column_shift import auc

from lacforest._coding.coded_table import code_columns
from lacforest._input.tables import RowStack
from lacforest.mixture import column_shift
from lacforest.mixture.column_shift import column_aucs

VALUES = st.one_of(st.integers(-3, 3).map(float), st.just(np.nan), st.floats(-1, 1))


@st.composite
def tables(draw):
    n_rows, n_reference = draw(st.integers(3, 12)), draw(st.integers(1, 3))
    table = draw(arrays(np.float64, (n_rows, 2), elements=VALUES))
    weight = draw(st.none() | arrays(np.float64, n_reference, elements=st.floats(0.1, 5)))
    n_first = draw(st.integers(0, n_rows - n_reference))
    return table, n_reference, weight, n_first


@given(tables())
def test_pairs_of_values(case):
    table, n_reference, weight, n_first = case
    columns = code_columns(RowStack([table]), 1)
    rest = np.arange(n_reference, len(table))
    groups = [rest, rest[:n_first]]
    found = column_aucs(columns, np.arange(n_reference), weight, groups)
    own = np.ones(n_reference) if weight is None else weight
    for j in range(2):
        for side, rows in enumerate(groups):
            if len(rows) == 0:
                assert np.isnan(found[j, side])
            else:
                expected = auc(table[:n_reference, j], own, table[rows, j])
                assert_allclose(found[j, side], expected, atol=1e-12)


def test_large_tables_are_thinned_out_evenly(monkeypatch):
    monkeypatch.setattr(column_shift, "MOST_ROWS", 50)
    rng = np.random.default_rng(0)
    table = np.sort(rng.normal(size=(2000, 1)), axis=0)
    columns = code_columns(RowStack([table]), 1)
    odd, even = np.arange(1, 2000, 2), rng.permutation(np.arange(0, 2000, 2))
    found = column_aucs(columns, odd, np.ones(1000), [even])
    assert abs(found[0, 0] - 0.5) < 0.2  # with the first rows, which are the smallest, 1
    assert_array_equal(column_aucs(columns, odd, None, [even]), found)
