"""All search methods of a node find the same cuts; they differ only in speed.

Whether the compiled search counts (code, class) cells or sorts keys depends on how many cells a
node has for its rows. Two irrelevant changes affect that number: gaps between codes, and classes
without rows. Growing the same rows with and without them must give the same tree. Weights of one
make the search count in doubles instead of integers.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from forests import prepare
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import problems, seeds

from lacforest import AugmentedGiniCriterion, GiniCriterion, LACForestClassifier
from lacforest._coding.coded_table import CodedTable, code_table
from lacforest._growing.plan import TreePlan, TreeShape
from lacforest._input.tables import RowStack
from lacforest._input.training_data import TrainingRows
from lacforest._tree.coded_columns import CodedColumns
from lacforest._tree.grower import grow_trees
from lacforest._tree.growth import GrowthRules, GrowthTable, TreeLimits
from lacforest._tree.workspace import CODED_NODE, ScratchPool, StopSignal

several = settings(max_examples=100)
# With so many classes or such large gaps, there are too many cells for the search to count.
MANY = 10_000


def grow(problem, seed, criterion, gap=1, n_known=None, weight=None, dtype=np.uint32):
    """One tree of one step on all rows, as CODED_NODEs, counts, impure leaves, decrease."""
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
    forest = LACForestClassifier(1, max_features=problem.max_features, random_state=seed)
    coded = code_table(rows.table, 1)
    coded = CodedTable(rows.table, with_gaps(coded.columns, gap, dtype))
    grower, streams = prepare(forest, rows, coded)
    tree_shape = TreeShape(
        max_features=problem.max_features,
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        draws_on=isinstance(criterion, GiniCriterion),
        gamma=problem.gamma,
    )
    (tree,) = grower._blocks(TreePlan(criterion, tree_shape, streams.explore))
    return tree.nodes.view(CODED_NODE), tree.counts, tree.impure, tree.decrease


def with_gaps(columns, gap, dtype=np.uint32):
    """The same columns with every code, the one for missing included, times gap."""
    spread = [column.astype(dtype) * dtype(gap) for column in columns.columns]
    return CodedColumns(spread, columns.n_codes * np.uint32(gap), columns.has_missing)


criteria = st.sampled_from(["augmented", "gini"])


def make_criterion(name, problem):
    if name == "gini":
        return GiniCriterion()
    return AugmentedGiniCriterion(problem.theta, len(problem.X), problem.n_unlabeled)


def without_empty_classes(tree, problem):
    """The tree with the columns of classes that have rows; the last one is unlabelled."""
    nodes, counts, impure, decrease = tree
    kept = impure[:, [*range(problem.n_known), -1]]
    assert impure.sum() == kept.sum()
    return nodes, counts, kept, decrease


def assert_same_tree(one, other, gap=1):
    nodes, counts, impure, decrease = one
    other_nodes, other_counts, other_impure, other_decrease = other
    inner = nodes["left"] >= 0
    assert_array_equal(other_nodes["left"] >= 0, inner)
    assert_array_equal(other_nodes["feature"][inner], nodes["feature"][inner])
    assert_array_equal(other_nodes["left"][inner], nodes["left"][inner])
    for end in ("last", "next"):
        assert_array_equal(other_nodes[end][inner], nodes[end][inner] * np.uint32(gap))
    assert_array_equal(other_counts, counts)
    assert_array_equal(other_impure, impure)
    assert_array_equal(other_decrease, decrease)


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
def test_columns_of_bytes_change_nothing(problem, seed, name):
    criterion = make_criterion(name, problem)
    assert_same_tree(grow(problem, seed, criterion), grow(problem, seed, criterion, dtype=np.uint8))


@several
@given(
    seed=seeds,
    n_rows=st.integers(20, 200),
    n_codes=st.integers(1, 5),
    n_known=st.integers(1, 3),
    name=criteria,
)
def test_columns_that_are_counted_at_once(seed, n_rows, n_codes, n_known, name):
    """So few codes that cells are counted where the column stands, in small nodes as by codes."""
    rng = np.random.default_rng(seed)
    n_labeled = int(rng.integers(n_known, n_rows - 1))
    everyone = rng.integers(n_codes, size=(n_rows, 4)).astype(float) + rng.integers(3, size=4)
    everyone[:, 3] = everyone[:, 0] // 2 + rng.integers(2, size=n_rows)
    problem = SimpleNamespace(
        X=everyone[:n_labeled],
        everyone=everyone,
        codes=np.append(np.arange(n_known), rng.integers(n_known, size=n_labeled - n_known)),
        n_unlabeled=n_rows - n_labeled,
        n_known=n_known,
        max_features=2,
        gamma=0.01,
        theta=0.4,
    )
    criterion = make_criterion(name, problem)
    assert_same_tree(grow(problem, seed, criterion), grow(problem, seed, criterion, dtype=np.uint8))


@several
@given(problem=problems(max_rows=100), seed=seeds, name=criteria)
def test_keys_too_wide_for_four_bytes_change_nothing(problem, seed, name):
    # Codes of 22 bits or more and classes of 10 do not fit: the search falls back to 8 bytes.
    gap = 2**30 // (2 * len(problem.everyone))
    criterion = make_criterion(name, problem)
    narrow = grow(problem, seed, criterion)
    wide = grow(problem, seed, criterion, gap, n_known=1000)
    assert_same_tree(narrow, without_empty_classes(wide, problem), gap)


@pytest.mark.parametrize("weighted", [False, True])
def test_missing_rows_are_not_sorted_by_their_code(weighted):
    # The code of missing rows, 4200, has a bit more than the twelve of all others, which a sort in
    # two passes of six bits goes by: it would stand behind 4200 - 4096 = 104.
    codes = np.append(50 * np.arange(80), np.full(120, 4200)).astype(np.uint16)
    classes = (codes > 1000).astype(np.uint16)
    weight = np.ones(200) if weighted else None
    table = GrowthTable(
        CodedColumns([codes], [4200], [1]), classes, np.ones(200, np.uint8), 200, 3, weight
    )
    rules = GrowthRules(GiniCriterion(), TreeLimits(max_features=1))
    seeds_of_trees = np.zeros(1, dtype=np.uint64)
    (tree,) = grow_trees(table, rules, seeds_of_trees, None, None, StopSignal(), ScratchPool())
    assert len(tree.nodes) == 3
    root = tree.nodes.view(CODED_NODE)[0]
    assert (root["last"], root["next"], root["feature"]) == (1000, 1050, ~0)
