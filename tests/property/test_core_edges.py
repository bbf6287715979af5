"""Edges of the compiled core that random tables rarely meet."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from test_core_boundary import columns, explored_tree

from lacforest import AugmentedGiniCriterion, GiniCriterion
from lacforest._tree.coded_columns import CodedColumns, ColumnValues
from lacforest._tree.grower import grow_trees
from lacforest._tree.growth import GrowthRules, GrowthTable, TreeLimits
from lacforest._tree.predict import add_coded_values, find_leaves
from lacforest._tree.workspace import NODE, ScratchPool, StopSignal

# ---------------------------------------------------------------------------- prediction

ONE = np.float32(1)
ABOVE = np.nextafter(ONE, np.float32(2))


@pytest.mark.parametrize("missing_left", [True, False])
@pytest.mark.parametrize("n_rows", [1, 40])
@pytest.mark.parametrize("share", [0.0, 0.25, 0.75, 1.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_float32_values_beside_a_threshold(sign, share, n_rows, missing_left):
    """A float32 value goes left where it is at most the float64 threshold, not its rounding."""
    values = sign * np.array([np.nextafter(ONE, np.float32(0)), ONE, ABOVE])
    wide = values.astype(np.float64)
    threshold = wide[1] + share * (wide[2] - wide[1])
    nodes = explored_tree(feature=(0, 0 if missing_left else ~0)).view(NODE)
    nodes["threshold"][0] = threshold
    for table in (values, wide):
        X = np.repeat(table, n_rows)[:, None]
        found = np.zeros((len(X), 1), np.int32)
        find_leaves(X, nodes.view(np.uint8), np.array([0, 3]), found)
        assert_array_equal(found[::n_rows, 0], np.where(wide <= threshold, 1, 2))


@example(-1e-50)
@example(3.402823364973241e38)
@example(1e-50)
@example(1e39)
@example(-1e39)
@example(-0.0)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_float32_values_around_any_threshold(threshold):
    ends = np.float32([-np.inf, np.inf])
    with np.errstate(over="ignore", under="ignore"):
        nearest = np.float32(threshold)
        X = np.unique(np.float32([*np.nextafter(nearest, ends), nearest, *ends]))[:, None]
    nodes = explored_tree(feature=(0, 0)).view(NODE)
    nodes["threshold"][0] = threshold
    found = np.zeros((len(X), 1), np.int32)
    find_leaves(X, nodes.view(np.uint8), np.array([0, 3]), found)
    assert_array_equal(found, np.where(X.astype(np.float64) <= threshold, 1, 2))


@pytest.mark.parametrize("n_rows", [2, 255, 256, 257, 1023, 1024, 1025, 2049, 16384, 16385])
@pytest.mark.parametrize("first_row", [0, 1])
def test_the_last_row_of_a_coded_table_is_scored(n_rows, first_row):
    """Blocks of rows, and groups within them, may end with a single row."""
    end = first_row + n_rows
    nodes = explored_tree(last=(0, end - 2), next=(0, end - 1))
    sums = np.zeros(n_rows)
    values = np.array([0.0, 1.0, 2.0])
    forest = (nodes.view(np.uint8), np.array([0, 3]))
    add_coded_values(columns(end, np.uint16), *forest, values, first_row, sums)
    assert_array_equal(sums, [1] * (n_rows - 1) + [2])


# ---------------------------------------------------------------------------- random cuts


def random_thresholds(values, n_trees=200):
    """Thresholds of stumps between two values, one per seed."""
    coded = CodedColumns([np.array([0, 1], np.uint8)], [2], [0])
    table = GrowthTable(coded, np.array([0, 1], np.uint16), np.ones(2, np.uint8), 2, 2)
    rules = GrowthRules.with_random_cuts(
        GiniCriterion(), TreeLimits(max_features=1), ColumnValues([np.array(values)])
    )
    seeds = np.arange(n_trees, dtype=np.uint64) * 7919
    trees = grow_trees(table, rules, seeds, None, None, StopSignal(), ScratchPool())
    return np.array([tree.nodes["threshold"][0] for tree in trees])


@pytest.mark.parametrize("low", [1.0, -1.0, 1e300, 5e-324, 0.0])
def test_random_cuts_between_neighbouring_numbers(low):
    """Rounding to the upper value would send both rows to the left."""
    assert_array_equal(random_thresholds([low, np.nextafter(low, np.inf)]), low)


def test_random_cuts_where_the_difference_overflows():
    most = np.finfo(np.float64).max
    thresholds = random_thresholds([-most, most]) / most
    assert (thresholds >= -1).all()
    assert (thresholds < 1).all()
    # Uniform over the whole span: each half gets about half of 200 draws.
    for half in (thresholds < 0, thresholds >= 0.0):
        assert 60 < half.sum() < 140
    assert len(np.unique(thresholds)) > 190


def test_random_cuts_cover_the_span():
    thresholds = random_thresholds([2.0, 6.0])
    assert (thresholds >= 2).all()
    assert (thresholds < 6).all()
    assert_array_equal(np.histogram(thresholds, [2, 3, 4, 5, 6])[0] > 25, True)


# ---------------------------------------------------------------------------- fewest rows


def few_rows_apart(side, n_codes, weighted, criterion):
    """A column where the best cut leaves one row on a side, among 40 rows."""
    n_rows = 40
    codes = np.arange(n_rows) * n_codes // n_rows
    classes = np.zeros(n_rows, np.uint16)
    classes[0 if side == "left" else -1] = 1
    if criterion == "gini":
        rule = GiniCriterion()
    else:
        # The row apart is labelled; all others occur once labelled and once not.
        codes, classes = np.repeat(codes, 2), np.repeat(classes, 2)
        classes[1::2] = 2
        order = np.argsort(classes == 2, kind="stable")
        codes, classes = codes[order], classes[order]
        rule = AugmentedGiniCriterion(0.2, n_rows, n_rows)
    return GrowthTable(
        CodedColumns([codes.astype(np.uint16)], [n_codes], [0]),
        classes,
        np.ones(len(classes), np.uint8),
        n_rows,
        3,
        np.ones(len(classes)) if weighted else None,
    ), rule


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("is_random", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "augmented"])
def test_both_children_have_the_fewest_rows(side, weighted, is_random, criterion):
    table, rule = few_rows_apart(side, 40, weighted, criterion)
    n_trees = 20 if is_random else 1
    for least in (3, 7):
        limits = TreeLimits(max_features=1, min_leaf=least)
        rules = GrowthRules(rule, limits)
        if is_random:
            values = ColumnValues([np.arange(40.0)])
            rules = GrowthRules.with_random_cuts(rule, limits, values)
        seeds = np.arange(n_trees, dtype=np.uint64)
        trees = grow_trees(table, rules, seeds, None, None, StopSignal(), ScratchPool())
        assert any(len(tree.nodes) > 1 for tree in trees)
        for tree in trees:
            rows = tree.nodes["threshold"][tree.nodes["left"] < 0]
            assert rows.min() >= least


# ---------------------------------------------------------------------------- depth and ties


def grown(codes, classes, seeds, explored=None, **limits):
    """Trees by Gini impurity on columns of codes."""
    coded = CodedColumns(list(codes), [len(classes)] * len(codes), [0] * len(codes))
    n_rows = len(classes)
    table = GrowthTable(coded, classes, np.ones(n_rows, np.uint8), n_rows, 2)
    rules = GrowthRules(GiniCriterion(), TreeLimits(**limits))
    return grow_trees(table, rules, seeds, None, explored, StopSignal(), ScratchPool())


def depth_of(nodes):
    depths = np.zeros(len(nodes), int)
    for node in np.flatnonzero(nodes["left"] >= 0):
        depths[nodes["left"][node] + np.arange(2)] = depths[node] + 1
    return depths.max()


@pytest.mark.parametrize("max_depth", [1, 2, 3])
def test_trees_are_as_deep_as_they_may_be(max_depth):
    codes, classes = np.arange(64, dtype=np.uint16), np.arange(64).astype(np.uint16) % 2
    limits = {"max_features": 1, "max_depth": max_depth}
    seeds = np.ones(1, np.uint64)
    (tree,) = grown([codes], classes, seeds, **limits)
    assert depth_of(tree.nodes) == max_depth
    # The children of a tree of Step I are one level down, on both sides.
    start = explored_tree(last=(0, 31), next=(0, 32))
    (tree,) = grown([codes], classes, seeds, [start], **limits)
    assert depth_of(tree.nodes) == max_depth


def test_ties_within_rounding_go_to_the_feature_drawn_first():
    """A column and its mirror image have the same cuts, but their losses are summed in other ways.

    With one feature, that is the first one drawn.
    """
    rng, codes = np.random.default_rng(0), np.arange(101, dtype=np.uint16)
    seeds = np.arange(4, dtype=np.uint64)
    for _ in range(60):
        classes = (rng.random(101) < codes / 100).astype(np.uint16)
        roots = [
            [
                abs(2 * tree.nodes["feature"][0] + 1)  # the side of missing values does not matter
                for tree in grown(
                    [codes, codes[::-1].copy()], classes, seeds, max_features=m, max_depth=1
                )
            ]
            for m in (1, 2)
        ]
        assert roots[0] == roots[1]
