"""Codes of bins: against the naive twin, and forests on bins against forests on exact codes."""

import numpy as np
import pytest
from forests import assert_same_forest, path
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from reference.bins import bins_of_column, code_of, represented
from strategies import increasing_maps, problems, seeds, tables

from lacforest import LACExtraTreesClassifier
from lacforest._coding import bins as bins_module
from lacforest._coding import coded_table as coded_table_module
from lacforest._coding.bins import ColumnBins, find_bins
from lacforest._coding.coded_table import code_table
from lacforest._input.tables import RowStack
from lacforest._tree.bins import bin_codes, few_distinct, move_to_edges
from lacforest._tree.workspace import NODE

several = settings(max_examples=100)
bin_numbers = st.integers(2, 12)
floats = st.one_of(
    st.floats(allow_infinity=False), st.integers(-4, 4).map(float), st.just(float("nan"))
)


@given(column=st.lists(floats, min_size=1, max_size=80), max_bins=bin_numbers)
@example(column=[-0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 3.0], max_bins=2)
@example(column=[5e-324, 1e-323, 1.5e-323], max_bins=2)
@example(column=[-1.7e308, 1.7e308, 0.0], max_bins=2)
def test_bins_and_codes_are_those_of_the_naive_twin(column, max_bins):
    values = np.array(column)
    expected = bins_of_column(column, max_bins)
    found = find_bins(values, max_bins, None)
    codes, n_missing = found.encode(values)
    assert found.values.tolist() == [value for value, _ in expected]
    if found.edges is not None:
        assert found.edges.tolist() == [edge for _, edge in expected[:-1]]
    else:
        assert all(edge is None for _, edge in expected)
    assert codes.tolist() == [code_of(value, expected) for value in column]
    assert n_missing == np.isnan(values).sum()


@given(
    column=st.lists(floats, max_size=60),
    rest=st.lists(st.floats(-1e3, 1e3), min_size=13, max_size=20, unique=True),
    max_bins=bin_numbers,
)
def test_every_value_of_a_bin_lies_between_its_edges(column, rest, max_bins):
    values = np.array(column + rest)
    found = find_bins(values, max_bins, None)
    codes, _ = found.encode(values)
    present = ~np.isnan(values)
    edges = np.array([-np.inf, *found.edges, np.inf])
    assert (edges[codes[present]] < values[present]).all()
    assert (values[present] <= edges[codes[present] + 1]).all()
    assert (edges[:-1] < found.values).all()
    assert (found.values <= edges[1:]).all()
    assert 2 <= len(found.values) <= max_bins


@given(column=st.lists(floats, max_size=80), most=st.integers(1, 255), single=st.booleans())
def test_few_distinct_values_are_those_of_numpy(column, most, single):
    values = np.array(column, dtype=np.float64)
    if single:
        values = np.clip(values, -3e38, 3e38).astype(np.float32)
    distinct = np.unique(values[~np.isnan(values)].astype(np.float64) + 0.0)
    found = few_distinct(values, most)
    assert found is None if len(distinct) > most else found.tolist() == distinct.tolist()


def test_many_distinct_values_fill_all_bins():
    values = np.random.default_rng(0).normal(size=5000)
    found = find_bins(values, 255, None)
    sizes = np.bincount(found.encode(values)[0])
    assert len(sizes) == 255
    assert set(sizes.tolist()) <= {19, 20}


def test_a_frequent_value_takes_no_bin_from_the_others():
    values = np.concatenate([np.zeros(9000), 1.0 + np.arange(1000.0)])
    assert len(find_bins(values, 100, None).values) == 100


@several
@given(data=st.data(), max_bins=bin_numbers)
def test_codes_depend_on_the_order_of_values_alone(data, max_bins):
    table = data.draw(tables(40, 1, with_missing=True))
    mapped = data.draw(increasing_maps(table[:, 0]))
    codes = find_bins(table[:, 0], max_bins, None).encode(table[:, 0])[0]
    assert_array_equal(codes, find_bins(mapped, max_bins, None).encode(mapped)[0])


def fit_both(problem, seed, kind, max_bins):
    """A forest on bins, and one on exact codes of the values that stand for the bins."""
    columns = [represented(column, max_bins) for column in problem.everyone.T.tolist()]
    table = np.column_stack(columns)
    replaced = problem.with_table(table)
    if kind == "paper":
        binned = problem.fit(random_state=seed, max_bins=max_bins)
        return binned, replaced.fit(random_state=seed, max_bins=None), table
    options = {"theta": problem.theta, "n_explorers": 3, "known_shares": "labeled"}
    options |= {"random_state": seed, "refinement": kind}
    binned = LACExtraTreesClassifier(4, max_bins=max_bins, **options)
    exact = LACExtraTreesClassifier(4, max_bins=None, **options)
    binned.fit(problem.X, problem.y, X_unlabeled=problem.X_unlabeled)
    return binned, exact.fit(replaced.X, problem.y, X_unlabeled=replaced.X_unlabeled), table


@pytest.mark.filterwarnings("ignore:Step I found no feasible split")
@several
@given(
    problem=problems(),
    seed=seeds,
    kind=st.sampled_from(["paper", "both", "deepen"]),
    max_bins=bin_numbers,
)
def test_a_forest_on_bins_is_that_of_the_values_that_stand_for_them(problem, seed, kind, max_bins):
    binned, exact, table = fit_both(problem, seed, kind, max_bins)
    for name in ("left", "feature"):
        assert_array_equal(binned._forest.nodes[name], exact._forest.nodes[name])
    assert_array_equal(binned.unlabeled_score_, exact.unlabeled_score_)
    assert_array_equal(binned.pseudo_labels_, exact.pseudo_labels_)
    assert_array_equal(binned.predict_proba(problem.everyone), exact.predict_proba(table))
    assert_array_equal(binned.apply(problem.everyone), exact.apply(table))


@pytest.mark.filterwarnings("ignore:Step I found no feasible split")
@several
@given(problem=problems(), seed=seeds, kind=st.sampled_from(["paper", "both"]))
def test_enough_bins_give_the_bits_of_exact_codes(problem, seed, kind):
    most = max(len(np.unique(column)) for column in problem.everyone.T)
    binned, exact, _ = fit_both(problem, seed, kind, max(2, most))
    assert_same_forest(binned, exact)


@several
@given(problem=problems(), seed=seeds, max_bins=bin_numbers, bootstrap=st.booleans())
def test_code_routing_is_float_routing(problem, seed, max_bins, bootstrap):
    forest = problem.fit(random_state=seed, max_bins=max_bins, bootstrap=bootstrap)
    by_floats = forest.novelty_score(problem.X_unlabeled, stage="exploration")
    assert_array_equal(forest.unlabeled_score_, by_floats)
    leaves = forest.apply(problem.everyone)
    for index, tree in enumerate(forest.estimators_):
        walked = [path(tree, row)[-1] for row in problem.everyone]
        assert_array_equal(leaves[:, index], walked)


def test_auto_is_exact_up_to_a_number_of_rows(monkeypatch):
    table = RowStack([np.random.default_rng(1).normal(size=(1000, 2))])
    assert code_table(table, 1, "auto").bins is None
    monkeypatch.setattr(coded_table_module, "ROWS_TO_BIN", 999)
    coded = code_table(table, 1, "auto")
    assert coded.columns.n_codes.tolist() == [255, 255]
    assert coded.columns.columns[0].dtype == np.uint8


def test_quantiles_of_long_columns_come_from_hashed_rows(monkeypatch):
    monkeypatch.setattr(bins_module, "SAMPLED_ROWS", 300)
    sample = bins_module.sampled_rows(1000)
    assert len(np.unique(sample)) == 300
    assert (np.diff(sample) > 0).all()
    values = np.random.default_rng(2).normal(size=1000)
    found = code_table(RowStack([values[:, np.newaxis]]), 1, 10)
    assert_array_equal(found.bins[0].edges, ColumnBins.of(values[sample], 10).edges)
    # Rows of the sample do not depend on how many rows follow, if those have larger hashes.
    assert set(sample[sample < 500]) <= set(bins_module.sampled_rows(500))


def test_a_rare_value_outside_the_sample_keeps_its_code(monkeypatch):
    monkeypatch.setattr(bins_module, "SAMPLED_ROWS", 10)
    values = np.zeros(1000)
    values[np.setdiff1d(np.arange(1000), bins_module.sampled_rows(1000))[:3]] = [1.0, 2.0, 3.0]
    found = code_table(RowStack([values[:, np.newaxis]]), 1, 5)
    assert found.columns.n_codes.tolist() == [4]


def test_a_column_that_the_sample_misses(monkeypatch):
    monkeypatch.setattr(bins_module, "SAMPLED_ROWS", 10)
    values = np.full(1000, np.nan)
    others = np.setdiff1d(np.arange(1000), bins_module.sampled_rows(1000))[:50]
    values[others] = np.arange(50.0)
    found = code_table(RowStack([values[:, np.newaxis]]), 1, 5)
    assert found.columns.n_codes.tolist() == [5]
    assert found.columns.has_missing.tolist() == [1]


def test_kernels_refuse_what_does_not_fit():
    values, codes = np.zeros(3), np.zeros(3, dtype=np.uint8)
    with pytest.raises(ValueError, match="most must lie between 1 and 255, got 256"):
        few_distinct(values, 256)
    with pytest.raises(ValueError, match="at most 254 edges have codes of one byte, got 255"):
        bin_codes(values, np.arange(255.0), codes)
    with pytest.raises(ValueError, match="codes has 2 entries for 3 values"):
        bin_codes(values, np.arange(2.0), codes[:2])
    nodes, members = np.zeros(1, dtype=NODE), np.array([1], dtype=np.uint32)
    with pytest.raises(ValueError, match="2 edges for 2 values"):
        move_to_edges(nodes, members, np.zeros(2), np.zeros(2))
    with pytest.raises(ValueError, match="member 1 of 1 nodes"):
        move_to_edges(nodes, members, np.zeros(2), np.zeros(1))
