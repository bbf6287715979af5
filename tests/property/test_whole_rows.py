"""Cuts searched by whole rows of codes are those searched column by column."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from lacforest import AugmentedGiniCriterion, GiniCriterion
from lacforest._tree.coded_columns import CodedColumns, ColumnValues
from lacforest._tree.grower import grow_trees
from lacforest._tree.growth import GrowthRules, GrowthTable, TreeLimits
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
    """Three trees; by one random cut of each drawn column, or by every cut where values is None."""
    limits = TreeLimits(**limits)
    if values is None:
        rules = GrowthRules(criterion, limits)
    else:
        rules = GrowthRules.with_random_cuts(criterion, limits, ColumnValues(values))
    n_rows = len(classes)
    n_labeled = n_rows - int((classes == n_classes - 1).sum())
    table = GrowthTable(columns, classes, np.ones(n_rows, np.uint8), n_labeled, n_classes)
    seeds = np.arange(1, 4, dtype=np.uint64) * 104729
    return grow_trees(table, rules, seeds, None, None, StopSignal(), ScratchPool())


def check_rows_change_nothing(columns, values, criterion, limits, classes, n_classes):
    """The trees are the same before and after the columns are copied row by row."""
    rest = (values, criterion, limits, classes, n_classes)
    by_columns = grow(columns, *rest)
    columns.copy_rows(limits["max_features"], values is not None)
    by_rows = grow(columns, *rest)
    for one, other in zip(by_columns, by_rows, strict=True):
        assert_array_equal(one.nodes, other.nodes)
        assert_array_equal(one.sets, other.sets)
        assert_array_equal(one.impure, other.impure)
        assert_array_equal(one.decrease, other.decrease)
    return by_rows


def random_classes(rng, n_rows, n_classes):
    """Most rows are unlabelled: a counter of one byte would overflow."""
    classes = np.where(rng.random(n_rows) < 0.2, rng.integers(0, n_classes, n_rows), n_classes - 1)
    classes = np.sort(classes).astype(np.uint16)
    classes[0] = 0
    return classes


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
    criterion = AugmentedGiniCriterion(0.5, n_rows, n_rows) if augmented else GiniCriterion()
    limits = {
        "max_features": int(rng.integers(1, n_features + 1)),
        "min_leaf": int(rng.integers(1, 4)),
        "draw_until_feasible": draws_on,
    }
    classes = random_classes(rng, n_rows, n_classes)
    check_rows_change_nothing(columns, values, criterion, limits, classes, n_classes)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_codes", range(2, 13))
def test_categories_counted_up_to_each_code(n_codes, n_classes):
    # Nine columns take n_codes - 1 steps, which two classes count four at a time.
    rng = np.random.default_rng(n_codes)
    codes = list(rng.integers(0, n_codes, (9, 600)).astype(np.uint8))
    columns = CodedColumns(codes, np.full(9, n_codes), np.zeros(9), np.ones(9))
    values = [np.arange(n_codes)] * 9
    classes = random_classes(rng, 600, n_classes)
    check_rows_change_nothing(
        columns, values, GiniCriterion(), {"max_features": 9}, classes, n_classes
    )


@settings(max_examples=80)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.one_of(st.integers(2, 60), st.sampled_from([255, 256, 1023, 1024, 1025, 2300])),
    n_features=st.sampled_from([65, 80, 81, 130, 200]),
    n_drawn=st.one_of(st.integers(1, 18), st.sampled_from([32, 63, 64, 65, 127, 128])),
    are_random=st.booleans(),
    augmented=st.booleans(),
    draws_on=st.booleans(),
)
def test_copied_codes_of_drawn_columns_give_the_same_trees(
    seed, n_rows, n_features, n_drawn, are_random, augmented, draws_on
):
    rng = np.random.default_rng(seed)
    most_codes = int(rng.choice([2, 5, 256]))
    columns, values = random_columns(rng, n_rows, n_features, most_codes)
    n_classes = int(rng.integers(2, 7))
    criterion = AugmentedGiniCriterion(0.5, n_rows, n_rows) if augmented else GiniCriterion()
    limits = {
        "max_features": n_drawn,
        "min_leaf": int(rng.integers(1, 4)),
        "draw_until_feasible": draws_on,
    }
    classes = random_classes(rng, n_rows, n_classes)
    rest = (criterion, limits, classes, n_classes)
    check_rows_change_nothing(columns, values if are_random else None, *rest)
    assert columns.rows is not None


@pytest.mark.parametrize("n_features", [3, 16, 17, 64, 100])
def test_rows_hold_the_columns_and_zeros_behind_them(n_features):
    columns, _ = random_columns(np.random.default_rng(3), 300, n_features)
    columns.copy_rows(8, True)
    assert columns.rows.shape == (300, -(-n_features // 16) * 16)
    assert_array_equal(columns.rows[:, :n_features], np.stack(columns.columns, axis=1))
    assert (columns.rows[:, n_features:] == 0).all()
    first = columns.rows
    columns.copy_rows(8, False)
    assert columns.rows is first


def special_columns(rng, reason):
    """Columns that rows of codes are not made for."""
    columns, values = random_columns(rng, 50, 140 if "of 140" in reason else 3)
    codes, has_missing, flags = list(columns.columns), columns.has_missing, None
    if reason == "two bytes":
        codes = [column.astype(np.uint16) for column in codes]
    if reason == "missing":
        codes[1] = codes[1].copy()
        codes[1][::5] = columns.n_codes[1]
        has_missing = [0, 1, 0]
    if reason == "many categories":
        assert (columns.n_codes > 16).all()
        flags = [0, 1, 1]
    if reason == "a category of 140":
        flags = np.arange(140) == 3
    return CodedColumns(codes, columns.n_codes, has_missing, flags), values


@pytest.mark.parametrize("are_random", [True, False])
@pytest.mark.parametrize(
    "reason", ["two bytes", "missing", "many categories", "a category of 140", "129 drawn of 140"]
)
def test_tables_without_whole_rows(reason, are_random):
    rng = np.random.default_rng(1)
    columns, values = special_columns(rng, reason)
    n_drawn = 129 if reason == "129 drawn of 140" else 3
    classes = np.sort(rng.integers(0, 3, 50)).astype(np.uint16)
    rest = (GiniCriterion(), {"max_features": n_drawn}, classes, 3)
    trees = check_rows_change_nothing(columns, values if are_random else None, *rest)
    assert columns.rows is None
    if "categor" not in reason:
        assert sum(len(tree.sets) for tree in trees) == 0


def test_every_cut_of_few_columns_is_searched_by_columns():
    columns, _ = random_columns(np.random.default_rng(1), 50, 64)
    columns.copy_rows(8, False)
    assert columns.rows is None


@pytest.mark.parametrize(
    ("n_features", "n_drawn", "are_random", "copied_for"),
    [(12, 3, False, (3, True)), (140, 140, True, (8, True)), (70, 8, True, (8, False))],
    ids=["every cut after random ones", "more columns drawn", "random cuts after every cut"],
)
def test_rows_that_another_search_was_copied_for(n_features, n_drawn, are_random, copied_for):
    rng = np.random.default_rng(4)
    columns, values = random_columns(rng, 200, n_features)
    rest = (GiniCriterion(), {"max_features": n_drawn}, random_classes(rng, 200, 4), 4)
    values = values if are_random else None
    before = grow(columns, values, *rest)
    columns.copy_rows(*copied_for)
    assert columns.rows is not None
    for one, other in zip(before, grow(columns, values, *rest), strict=True):
        assert_array_equal(one.nodes, other.nodes)
