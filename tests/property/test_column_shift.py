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


def shifted(reference, compared, n_categories=6, weight=None):
    """What is found of one column of categories, some of them missing."""
    table = np.concatenate([reference, compared]).astype(np.float64)[:, None]
    columns = code_columns(RowStack([table], categories=(n_categories,)), 1)
    n = len(reference)
    return column_aucs(columns, np.arange(n), weight, [np.arange(n, len(table))])[0, 0]


def test_categories_by_their_shares():
    reference = np.repeat([0, 1, 2], [50, 30, 20])
    assert shifted(reference, np.repeat([0, 1, 2], [250, 150, 100])) == 0.5
    # 40 % of the rows moved to two categories, from one that is no neighbour of theirs.
    assert_allclose(shifted(reference, np.repeat([0, 1, 2, 4], [10, 50, 20, 20])), 0.7)
    assert shifted(reference, np.repeat([5, np.nan], [30, 70])) == 1.0
    # A little more here and there is chance.
    assert shifted(reference, np.repeat([0, 1, 2], [47, 35, 18])) == 0.5


def test_the_names_of_categories_do_not_matter():
    rng = np.random.default_rng(0)
    names = rng.permutation(6)
    reference, compared = rng.integers(0, 4, 100), rng.integers(2, 6, 150)
    found = shifted(reference, compared)
    assert found > 0.7
    assert_allclose(shifted(names[reference], names[compared]), found)


def test_weights_of_reference_rows_count_for_categories():
    reference, compared = np.resize([0, 1], 400), np.repeat([0, 1], [360, 40])
    assert_allclose(shifted(reference, compared), 0.7)
    assert shifted(reference, compared, weight=np.resize([0.9, 0.1], 400)) == 0.5


def test_chance_alone_does_not_set_hundreds_of_categories_apart():
    rng = np.random.default_rng(0)
    found = shifted(rng.integers(0, 400, 1000), rng.integers(0, 400, 1000), n_categories=400)
    assert found - 0.5 < 4 * np.sqrt(2 / 1000 / 12)
