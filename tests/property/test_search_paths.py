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

from lacforest import AugmentedGiniCriterion, GiniCriterion, LACForestClassifier
from lacforest._coding import RowStack
from lacforest._grow import TreePlan
from lacforest._grow_lacforest import LACForestGrower
from lacforest._training_rows import TrainingRows
from lacforest._tree._buffers import CODED_NODE
from lacforest._tree._ranks import CodedColumns

several = settings(max_examples=100)
# Any table of so many classes or of codes so far apart has more cells than the search would count.
MANY = 10_000


def grow(problem, seed, criterion, gap=1, n_known=None, weight=None):
    """One tree of one step on all rows, as CODED_NODEs, counts, impure leaves, importances."""
    n_known = n_known or problem.n_known
    n_labeled, n_unlabeled = len(problem.X), problem.n_unlabeled
    rows = TrainingRows(
        table=RowStack([problem.everyone]),
        classes=np.append(problem.codes, [n_known] * n_unlabeled).astype(np.uint16),
        weight=weight,
        sampling_weight=None,
        n_labeled=n_labeled,
        n_unlabeled=n_unlabeled,
        n_known=n_known,
    )
    shape = LACForestClassifier(1, max_features=problem.max_features, random_state=seed)
    grower = LACForestGrower(rows, shape._growth_options(rows))
    grower.columns = with_gaps(grower.columns, gap)
    searches_on = isinstance(criterion, GiniCriterion)
    limits = grower.limits(1, search_on=searches_on, gamma=problem.gamma)
    everyone = np.ones(n_labeled + n_unlabeled, dtype=np.uint8)
    (tree,) = grower._blocks(TreePlan(criterion, limits, grower.explore_seeds, everyone))
    nodes, counts, impure, importances = tree
    return nodes.view(CODED_NODE), counts, impure, importances


def with_gaps(columns, gap):
    """The same columns with every code, the one for missing included, times gap."""
    spread = [column.astype(np.uint32) * np.uint32(gap) for column in columns.columns]
    return CodedColumns(spread, columns.n_codes * np.uint32(gap), columns.has_missing)


criteria = st.sampled_from(["augmented", "gini"])


def make_criterion(name, problem):
    if name == "gini":
        return GiniCriterion()
    return AugmentedGiniCriterion(problem.theta, len(problem.X), problem.n_unlabeled)


def without_empty_classes(tree, problem):
    """The tree with the columns of classes that some row has; the last is the unlabelled one."""
    nodes, counts, impure, importances = tree
    kept = impure[:, [*range(problem.n_known), -1]]
    assert impure.sum() == kept.sum()
    return nodes, counts, kept, importances


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
    criterion = make_criterion(name, problem)
    dense = grow(problem, seed, criterion)
    sparse = grow(problem, seed, criterion, gap=MANY)
    assert_same_tree(dense, sparse, MANY)
    leaf = dense[0]["left"] < 0
    assert_array_equal(dense[0]["left"][leaf], sparse[0]["left"][leaf])


@several
@given(problem=problems(max_rows=100), seed=seeds, name=criteria)
def test_classes_without_rows_change_nothing(problem, seed, name):
    criterion = make_criterion(name, problem)
    few = grow(problem, seed, criterion)
    many = grow(problem, seed, criterion, n_known=MANY)
    assert_same_tree(few, without_empty_classes(many, problem))


@several
@given(problem=problems(max_rows=100), seed=seeds, name=criteria, gap=st.sampled_from([1, MANY]))
def test_counting_in_doubles_changes_nothing(problem, seed, name, gap):
    criterion = make_criterion(name, problem)
    ones = np.ones(len(problem.everyone))
    assert_same_tree(
        grow(problem, seed, criterion, gap), grow(problem, seed, criterion, gap, weight=ones)
    )


@several
@given(problem=problems(max_rows=100), seed=seeds, name=criteria)
def test_keys_too_wide_for_four_bytes_change_nothing(problem, seed, name):
    # Codes of 22 bits or more and classes of 10 do not fit: the search falls back to 8 bytes.
    gap = 2**30 // (2 * len(problem.everyone))
    criterion = make_criterion(name, problem)
    narrow = grow(problem, seed, criterion)
    wide = grow(problem, seed, criterion, gap, n_known=1000)
    assert_same_tree(narrow, without_empty_classes(wide, problem), gap)
