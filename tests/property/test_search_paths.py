"""The ways of searching a node are a choice of speed: all find the same cuts.

Whether the compiled search counts (code, class) cells or sorts keys depends on how many cells a
node has for its rows. Two things that mean nothing to the search change that number: gaps between
codes, and classes that no row has. Growing the same rows with and without them must give the same
tree. Weights of one make the search count in doubles instead of integers.
"""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import problems, seeds

from lacforest import AugmentedGiniCriterion, GiniCriterion
from lacforest._coding import RowStack, code_columns
from lacforest._pseudo import ceil_with_tolerance
from lacforest._tree._builder import CODED_NODE, StopSignal, grow_trees
from lacforest._tree._ranks import CodedColumns

several = settings(max_examples=100)
# Any table of so many classes or of codes so far apart has more cells than the search would count.
MANY = 10_000


def limits(problem, search_on):
    return {
        "min_labeled": ceil_with_tolerance(problem.gamma * len(problem.X)),
        "min_unlabeled": ceil_with_tolerance(problem.gamma * problem.n_unlabeled),
        "min_leaf": 1,
        "min_split": 2,
        "max_depth": 2**31 - 1,
        "max_features": problem.max_features,
        "search_on": search_on,
    }


def grow(problem, seed, columns, criterion, n_classes=None, weight=None):
    """One tree of one step on all rows, as CODED_NODEs, counts, impure leaves, importances."""
    n_classes = n_classes or problem.n_known + 1
    classes = np.concatenate([problem.codes, np.full(problem.n_unlabeled, n_classes - 1)])
    ((nodes, counts, impure, importances),) = grow_trees(
        columns,
        classes.astype(np.uint16),
        weight,
        np.ones(len(classes), dtype=np.uint8),
        len(problem.X),
        n_classes,
        criterion,
        limits(problem, search_on=isinstance(criterion, GiniCriterion)),
        np.array([seed], dtype=np.uint64),
        None,
        None,
        StopSignal(),
    )
    return nodes.view(CODED_NODE), counts, impure, importances


def coded(problem):
    return code_columns(RowStack([problem.everyone]), n_jobs=1)


def with_gaps(columns, gap):
    """The same columns with every code, the one for missing included, times gap."""
    spread = [column.astype(np.uint32) * np.uint32(gap) for column in columns.columns]
    return CodedColumns(spread, columns.n_codes * np.uint32(gap), columns.has_missing)


criteria = st.sampled_from(["augmented", "gini"])


def make_criterion(name, problem):
    if name == "gini":
        return GiniCriterion()
    return AugmentedGiniCriterion(problem.theta, len(problem.X), problem.n_unlabeled)


def assert_same_tree(one, other, gap=1):
    nodes, counts, impure, importances = one
    other_nodes, other_counts, other_impure, other_importances = other
    inner = nodes["left"] >= 0
    assert_array_equal(other_nodes["left"] >= 0, inner)
    assert_array_equal(other_nodes["feature"][inner], nodes["feature"][inner])
    assert_array_equal(other_nodes["left"][inner], nodes["left"][inner])
    for end in ("last", "next"):
        assert_array_equal(other_nodes[end][inner], nodes[end][inner] * np.uint32(gap))
    assert_array_equal(other_counts, counts)
    assert_array_equal(other_impure, impure)
    assert_array_equal(other_importances, importances)


@several
@given(problem=problems(max_rows=100), seed=seeds, name=criteria)
def test_gaps_between_codes_change_nothing(problem, seed, name):
    columns, criterion = coded(problem), make_criterion(name, problem)
    dense = grow(problem, seed, columns, criterion)
    sparse = grow(problem, seed, with_gaps(columns, MANY), criterion)
    assert_same_tree(dense, sparse, MANY)
    leaf = dense[0]["left"] < 0
    assert_array_equal(dense[0]["left"][leaf], sparse[0]["left"][leaf])


@several
@given(problem=problems(max_rows=100), seed=seeds, name=criteria)
def test_classes_without_rows_change_nothing(problem, seed, name):
    columns, criterion = coded(problem), make_criterion(name, problem)
    few = grow(problem, seed, columns, criterion)
    many = grow(problem, seed, columns, criterion, n_classes=MANY)
    # The last class is another one; the classes between have no rows.
    kept = [*range(problem.n_known), MANY - 1]
    nodes, counts, impure, importances = many
    assert impure.sum() == impure[:, kept].sum()
    assert_same_tree(few, (nodes, counts, impure[:, kept], importances))


@several
@given(problem=problems(max_rows=100), seed=seeds, name=criteria, gap=st.sampled_from([1, MANY]))
def test_counting_in_doubles_changes_nothing(problem, seed, name, gap):
    columns, criterion = with_gaps(coded(problem), gap), make_criterion(name, problem)
    ones = np.ones(len(problem.everyone))
    assert_same_tree(
        grow(problem, seed, columns, criterion),
        grow(problem, seed, columns, criterion, weight=ones),
    )


@several
@given(problem=problems(max_rows=100), seed=seeds, name=criteria)
def test_keys_too_wide_for_four_bytes_change_nothing(problem, seed, name):
    # Codes of 22 bits or more and classes of 10 do not fit: the search falls back to 8 bytes.
    gap = 2**30 // (2 * len(problem.everyone))
    columns, criterion = coded(problem), make_criterion(name, problem)
    narrow = grow(problem, seed, columns, criterion)
    wide = grow(problem, seed, with_gaps(columns, gap), criterion, n_classes=1000)
    kept = [*range(problem.n_known), 999]
    nodes, counts, impure, importances = wide
    assert_same_tree(narrow, (nodes, counts, impure[:, kept], importances), gap)
