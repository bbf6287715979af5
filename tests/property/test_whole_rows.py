"""Random cuts searched by whole rows of codes are those searched column by column."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from lacforest import AugmentedGiniCriterion, GiniCriterion
from lacforest._tree.grower import grow_trees
from lacforest._tree.growth import GrowthRules, GrowthTable, TreeLimits
from lacforest._tree.ranks import CodedColumns, ColumnValues
from lacforest._tree.workspace import ScratchPool, StopSignal


def random_columns(rng, n_rows, n_features, most_codes=256, categorical=0.0):
    """Coded columns and the values of their codes; some columns are constant.

    A share of the columns is categorical.
    """
    n_codes = rng.integers(1, most_codes + 1, size=n_features)
    codes = [rng.integers(0, n, size=n_rows).astype(np.uint8) for n in n_codes]
    values = [np.sort(rng.normal(size=n)) for n in n_codes]
    flags = rng.random(n_features) < categorical
    return CodedColumns(codes, n_codes, np.zeros(n_features), flags), values


def grow(columns, values, criterion, limits, classes, n_classes):
    rules = GrowthRules.with_random_cuts(criterion, limits, values)
    n_rows = len(classes)
    n_labeled = n_rows - int((classes == n_classes - 1).sum())
    table = GrowthTable(columns, classes, np.ones(n_rows, np.uint8), n_labeled, n_classes)
    seeds = np.arange(1, 4, dtype=np.uint64) * 104729
    return grow_trees(table, rules, seeds, None, None, StopSignal(), ScratchPool())


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.one_of(st.integers(2, 60), st.sampled_from([254, 255, 256, 510, 511, 900])),
    n_features=st.one_of(st.integers(1, 20), st.sampled_from([31, 32, 33, 63, 64])),
    augmented=st.booleans(),
    draws_on=st.booleans(),
    categorical=st.sampled_from([0.0, 0.4, 1.0]),
)
def test_whole_rows_give_the_same_trees(seed, n_rows, n_features, augmented, draws_on, categorical):
    rng = np.random.default_rng(seed)
    most_codes = int(rng.choice([2, 3, 9, 256]))
    columns, values = random_columns(rng, n_rows, n_features, most_codes, categorical)
    n_classes = int(rng.integers(2, 7))
    # Few rows outside of one class: a counter of one byte would overflow.
    classes = np.where(rng.random(n_rows) < 0.2, rng.integers(0, n_classes, n_rows), n_classes - 1)
    classes = np.sort(classes).astype(np.uint16)
    classes[0] = 0
    criterion = AugmentedGiniCriterion(0.5, n_rows, n_rows) if augmented else GiniCriterion()
    limits = TreeLimits(
        max_features=int(rng.integers(1, n_features + 1)),
        min_leaf=int(rng.integers(1, 4)),
        draw_until_feasible=draws_on,
    )
    rest = (criterion, limits, classes, n_classes)
    by_columns = grow(columns, ColumnValues(values), *rest)
    by_rows = grow(columns, ColumnValues(values, columns), *rest)
    for one, other in zip(by_columns, by_rows, strict=True):
        assert_array_equal(one.nodes, other.nodes)
        assert_array_equal(one.sets, other.sets)
        assert_array_equal(one.impure, other.impure)
        assert_array_equal(one.decrease, other.decrease)


def test_rows_of_other_columns_are_refused():
    rng = np.random.default_rng(0)
    columns, values = random_columns(rng, 20, 3)
    same_codes = CodedColumns(columns.columns, columns.n_codes, columns.has_missing)
    classes = np.repeat([0, 1], 10).astype(np.uint16)
    made_with = ColumnValues(values, columns)
    rest = (GiniCriterion(), TreeLimits(max_features=2), classes, 2)
    assert len(grow(columns, made_with, *rest)) == 3
    with pytest.raises(ValueError, match="with the columns that they were made with"):
        grow(same_codes, made_with, *rest)
    with pytest.raises(ValueError, match="one value per code"):
        ColumnValues(values[:2], columns)


@pytest.mark.parametrize("reason", ["65 columns", "two bytes", "missing", "many categories"])
def test_tables_without_whole_rows(reason):
    """They are searched by columns: the trees are the same with and without the columns."""
    rng = np.random.default_rng(1)
    columns, values = random_columns(rng, 50, 65 if reason == "65 columns" else 3)
    if reason == "two bytes":
        codes = [column.astype(np.uint16) for column in columns.columns]
        columns = CodedColumns(codes, columns.n_codes, columns.has_missing)
    if reason == "missing":
        codes = [column.copy() for column in columns.columns]
        codes[1][::5] = columns.n_codes[1]
        columns = CodedColumns(codes, columns.n_codes, [0, 1, 0])
    if reason == "many categories":
        assert (columns.n_codes > 16).all()
        columns = CodedColumns(columns.columns, columns.n_codes, columns.has_missing, [0, 1, 1])
    classes = np.sort(rng.integers(0, 3, 50)).astype(np.uint16)
    rest = (GiniCriterion(), TreeLimits(max_features=3), classes, 3)
    by_columns = grow(columns, ColumnValues(values), *rest)
    with_columns = grow(columns, ColumnValues(values, columns), *rest)
    for one, other in zip(by_columns, with_columns, strict=True):
        assert_array_equal(one.nodes, other.nodes)
        assert_array_equal(one.sets, other.sets)
    assert (sum(len(tree.sets) for tree in with_columns) > 0) == (reason == "many categories")
