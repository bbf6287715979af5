"""What the compiled core accepts from Python: arrays that do not fit together are refused."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lacforest import AugmentedGiniCriterion, GiniCriterion
from lacforest._tree.coded_columns import CodedColumns, ColumnValues
from lacforest._tree.grower import grow_trees
from lacforest._tree.growth import GrowthRules, GrowthTable, TreeLimits
from lacforest._tree.workspace import (
    CODED_NODE,
    NODE,
    GrowingTree,
    Scratch,
    ScratchPool,
    StopSignal,
)

N_ROWS = 6
N_CLASSES = 3
LIMITS = TreeLimits(max_features=2)


def columns(n_rows=N_ROWS, dtype=np.uint8):
    codes = np.arange(n_rows, dtype=dtype)
    return CodedColumns([codes, codes[::-1].copy()], [n_rows, n_rows], [0, 0])


def table(n_rows=N_ROWS, **changes):
    parts = {
        "columns": columns(n_rows),
        "classes": np.arange(n_rows, dtype=np.uint16) % N_CLASSES,
        "taking_part": np.ones(n_rows, dtype=np.uint8),
        "n_labeled": n_rows // 2,
        "n_classes": N_CLASSES,
    }
    return GrowthTable(**(parts | changes))


def words(*values):
    return np.array(values, dtype=np.uint64)


def grow(on=None, rules=None, seeds=(1,), sample_seeds=None, explored=None, pool=None):
    return grow_trees(
        table() if on is None else on,
        GrowthRules(GiniCriterion(), LIMITS) if rules is None else rules,
        words(*seeds),
        None if sample_seeds is None else words(*sample_seeds),
        explored,
        StopSignal(),
        ScratchPool() if pool is None else pool,
    )


# ---------------------------------------------------------------------------- tables


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"classes": np.full(N_ROWS, N_CLASSES, np.uint16)},
            "class codes must lie below n_classes = 3, got 3",
        ),
        ({"classes": np.zeros(5, np.uint16)}, "classes has 5 entries, but the table has 6 rows"),
        ({"taking_part": np.ones(7, np.uint8)}, "taking_part has 7 entries, but the table has 6"),
        ({"weight": np.ones(5)}, "weight has 5 entries, but the table has 6 rows"),
        ({"weight": np.full(N_ROWS, np.nan)}, "weight must be finite and not negative"),
        ({"weight": np.full(N_ROWS, -1.0)}, "weight must be finite and not negative"),
        ({"weight": np.full(N_ROWS, np.inf)}, "weight must be finite and not negative"),
        ({"n_labeled": 7}, "n_labeled must lie between 0 and 6 rows, got 7"),
        ({"n_labeled": -1}, "n_labeled must lie between 0 and 6 rows, got -1"),
        ({"n_classes": 0}, "n_classes must lie between 1 and 65536, got 0"),
        ({"n_classes": 65537}, "n_classes must lie between 1 and 65536, got 65537"),
    ],
)
def test_tables_that_do_not_fit_together(changes, message):
    with pytest.raises(ValueError, match=message):
        table(**changes)


def test_tables_of_other_types():
    with pytest.raises(ValueError, match="Buffer dtype mismatch"):
        table(classes=np.zeros(N_ROWS, np.int64))
    with pytest.raises(TypeError, match="columns"):
        table(columns=None)
    with pytest.raises(TypeError, match="classes"):
        table(classes=None)


def test_a_table_keeps_its_arrays_alive():
    on = table(classes=np.arange(N_ROWS).astype(np.uint16) % N_CLASSES, weight=np.ones(N_ROWS))
    assert (on.n_labeled, on.n_classes, on.is_weighted) == (3, N_CLASSES, True)
    expected = grow(table())[0].nodes
    for _ in range(50):
        np.full(N_ROWS, 65535, dtype=np.uint16)  # would take the place of a freed array
    assert (grow(on)[0].nodes == expected).all()


@pytest.mark.parametrize(
    ("codes", "n_codes", "has_missing", "message"),
    [
        ([np.array([0, 3], np.uint8)], [2], [1], "column 0 has code 3, but 2 distinct values"),
        ([np.array([0, 2], np.uint8)], [2], [0], "column 0 has missing values, but has_missing"),
        ([np.zeros(4, np.uint8)[::2]], [1], [0], "column 0 must be a contiguous vector"),
        ([np.zeros(4, np.int64)], [1], [0], "column 0 must hold unsigned codes, got int64"),
        ([np.zeros((2, 2), np.uint8)], [1], [0], "column 0 must be a contiguous vector"),
        ([np.zeros(0, np.uint8)], [1], [0], "column 0 must be a contiguous vector of 1 to"),
        (
            [np.zeros(4, np.uint8)],
            [1],
            [0, 0],
            "one entry of n_codes, has_missing and",
        ),
        ([], [], [], "columns must be equally long"),
    ],
)
def test_codes_out_of_range(codes, n_codes, has_missing, message):
    with pytest.raises(ValueError, match=message):
        CodedColumns(codes, n_codes, has_missing)


# ---------------------------------------------------------------------------- rules


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_features": 0}, "max_features must be an integer of at least 1, got 0"),
        ({"max_features": 1.5}, "max_features must be an integer of at least 1, got 1.5"),
        ({"max_depth": 0}, "max_depth must be an integer of at least 1, got 0"),
        ({"min_leaf": np.nan}, "min_leaf must be finite, got nan"),
        ({"min_split": np.inf}, "min_split must be finite, got inf"),
        ({"min_labeled": -np.inf}, "min_labeled must be finite, got -inf"),
        ({"min_unlabeled": np.nan}, "min_unlabeled must be finite, got nan"),
        ({"rows_per_category": np.inf}, "rows_per_category must be finite, got inf"),
    ],
)
def test_limits_that_make_no_sense(changes, message):
    with pytest.raises(ValueError, match=message):
        TreeLimits(**({"max_features": 1} | changes))


def test_limits_are_given_by_name():
    with pytest.raises(TypeError, match="positional"):
        TreeLimits(1)
    with pytest.raises(TypeError, match="max_features"):
        TreeLimits()


def test_limits_beyond_those_of_c_are_clamped():
    beyond = TreeLimits(max_features=10**30, max_depth=10**30)
    rules = GrowthRules(GiniCriterion(), beyond)
    assert (grow(rules=rules)[0].nodes == grow()[0].nodes).all()


def test_limits_too_large_for_integer_counts():
    rules = GrowthRules(GiniCriterion(), TreeLimits(max_features=1, min_leaf=1e300))
    with pytest.raises(ValueError, match=r"limits without weights must not exceed 2\*\*53 rows"):
        grow(rules=rules)
    (tree,) = grow(table(weight=np.ones(N_ROWS)), rules)
    assert len(tree.nodes) == 1


def test_rules_of_other_types():
    with pytest.raises(TypeError, match=r"criterion must be an AugmentedGiniCriterion or a .*int"):
        GrowthRules(3, LIMITS)
    with pytest.raises(TypeError, match="limits"):
        GrowthRules(GiniCriterion(), None)
    with pytest.raises(TypeError, match="values"):
        GrowthRules.with_random_cuts(GiniCriterion(), LIMITS, None)


def test_rules_say_what_they_hold():
    values = ColumnValues([np.arange(6.0)] * 2)
    criterion = GiniCriterion()
    rules = GrowthRules.with_random_cuts(criterion, LIMITS, values)
    assert (rules.criterion, rules.limits, rules.values) == (criterion, LIMITS, values)
    assert GrowthRules(criterion, LIMITS).values is None


@pytest.mark.parametrize("lengths", [(6, 5), (7, 6), (6,), (6, 6, 6)])
def test_values_of_another_table(lengths):
    values = ColumnValues([np.arange(float(n)) for n in lengths])
    rules = GrowthRules.with_random_cuts(GiniCriterion(), LIMITS, values)
    with pytest.raises(ValueError, match="one value per code of every column"):
        grow(rules=rules)


def test_values_must_be_vectors():
    with pytest.raises(ValueError, match="one vector per column"):
        ColumnValues([])
    with pytest.raises(ValueError, match="one vector per column"):
        ColumnValues([np.zeros((2, 2))])
    for values in ([0.0, 0.0], [1.0, 0.0], [0.0, np.nan]):
        with pytest.raises(ValueError, match="values of a column must ascend"):
            ColumnValues([np.array(values)])


# ---------------------------------------------------------------------------- growing


def test_seeds_of_another_number_of_trees():
    with pytest.raises(ValueError, match="1 sample_seeds for 2 trees"):
        grow(seeds=(1, 2), sample_seeds=(1,))
    with pytest.raises(ValueError, match="1 explored trees for 2 seeds"):
        grow(seeds=(1, 2), explored=[np.zeros(1, NODE)])


UNWALKABLE = "node 0 of tree 0 has children outside the tree, or splits on an unknown feature"


def explored_tree(**changes):
    """A root and two leaves; changes are (node, value) of a field."""
    nodes = np.zeros(3, dtype=CODED_NODE)
    nodes["left"] = [1, -1, -1]
    nodes["last"][0], nodes["next"][0] = 2, 3
    for field, (node, value) in changes.items():
        nodes[field][node] = value
    return nodes


def test_trees_of_step_one_are_grown_on():
    (tree,) = grow(explored=[explored_tree()])
    assert tree.nodes[0] == explored_tree().view(NODE)[0]
    assert (tree.nodes["left"][1:3] >= 3).all()
    assert tree.counts is None


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (explored_tree(left=(0, 0)), UNWALKABLE),
        (explored_tree(left=(0, 2)), UNWALKABLE),
        (explored_tree(feature=(0, 2)), UNWALKABLE),
        (explored_tree(feature=(0, ~2)), UNWALKABLE),
        (np.zeros(0, NODE), "nodes must be a NODE array with at least one node"),
        (np.zeros(3, np.float64), "nodes must be a NODE array"),
    ],
)
def test_trees_of_step_one_that_cannot_be_walked(nodes, message):
    with pytest.raises(ValueError, match=message):
        grow(explored=[nodes])


def test_step_one_is_not_grown_on_by_augmented_gini():
    rules = GrowthRules(AugmentedGiniCriterion(0.5, 3, 3), LIMITS)
    with pytest.raises(ValueError, match="grown on by Gini impurity only"):
        grow(rules=rules, explored=[explored_tree()])


@settings(max_examples=200)
@given(data=st.data())
def test_any_classes_grow_a_tree_or_are_refused(data):
    """Class codes of one class too many once corrupted memory."""
    n_rows = data.draw(st.integers(1, 40))
    n_classes = data.draw(st.integers(1, 4))
    size = {"min_size": n_rows, "max_size": n_rows}
    classes = data.draw(st.lists(st.integers(0, n_classes), **size))
    part = data.draw(st.lists(st.integers(0, 1), **size))
    weight = data.draw(st.none() | st.lists(st.floats(0, 10), **size))
    parts = {
        "classes": np.array(classes, np.uint16),
        "taking_part": np.array(part, np.uint8),
        "n_labeled": data.draw(st.integers(0, n_rows)),
        "n_classes": n_classes,
        "weight": None if weight is None else np.array(weight),
    }
    if max(classes) >= n_classes:
        with pytest.raises(ValueError, match="class codes must lie below"):
            table(n_rows, **parts)
        return
    bootstrap = data.draw(st.booleans())
    (tree,) = grow(table(n_rows, **parts), sample_seeds=(5,) if bootstrap else None)
    leaves = ~tree.nodes["left"][tree.nodes["left"] < 0]
    assert (leaves < n_classes + len(tree.impure)).all()
    if not bootstrap and weight is None:
        assert tree.nodes["threshold"][tree.nodes["left"] < 0].sum() == sum(part)


# ---------------------------------------------------------------------------- scratch memory

SIZES = (100, 5, 3, True)


@pytest.mark.parametrize("other", [(100, 6, 3, True), (100, 5, 2, True), (100, 5, 3, False)])
def test_a_pool_has_one_size(other):
    pool = ScratchPool()
    pool.acquire(*SIZES)
    with pytest.raises(ValueError, match=r"a pool serves one table only: .*\(5, 3, True, 0\)"):
        pool.acquire(*other)
    with pytest.raises(ValueError, match="a pool serves one table only"):
        pool.release(Scratch(*other))
    assert len(pool) == 0


def test_a_pool_hands_out_what_was_released():
    pool = ScratchPool()
    one, other = pool.acquire(*SIZES), pool.acquire(*SIZES)
    assert one is not other
    pool.release(one)
    assert len(pool) == 1
    assert pool.acquire(*SIZES) is one
    assert (one.n_rows, one.n_features, one.n_classes, one.is_narrow) == SIZES


def test_a_pool_hands_out_memory_for_as_many_rows_as_asked_for():
    pool = ScratchPool()
    small = pool.acquire(*SIZES)
    pool.release(small)
    large = pool.acquire(101, *SIZES[1:])
    assert large.n_rows == 101
    pool.release(large)
    assert pool.acquire(*SIZES) is large


def test_scratch_memory_is_released_once():
    pool = ScratchPool()
    scratch = pool.acquire(*SIZES)
    pool.release(scratch)
    with pytest.raises(ValueError, match="released twice"):
        pool.release(scratch)
    with pytest.raises(TypeError, match="got None"):
        pool.release(None)


def test_scratch_memory_without_size():
    with pytest.raises(ValueError, match="scratch memory for 0 rows, 5 features and 3 classes"):
        Scratch(0, 5, 3, True)
    with pytest.raises(ValueError, match="scratch memory for 4611686018427387904 rows"):
        Scratch(2**62, 5, 3, True)
    with pytest.raises(ValueError, match="a tree of -1 classes and 2 features"):
        GrowingTree(-1, 2)


def test_a_pool_of_another_table():
    pool = ScratchPool()
    grow(pool=pool)
    grow(pool=pool)
    assert len(pool) == 1
    with pytest.raises(ValueError, match="a pool serves one table only"):
        grow(table(weight=np.ones(N_ROWS)), pool=pool)


def test_threads_never_share_scratch_memory():
    pool, taken, lock, clashes = ScratchPool(), set(), threading.Lock(), []

    def work():
        for _ in range(200):
            scratch = pool.acquire(*SIZES)
            with lock:
                clashes.append(id(scratch) in taken)
                taken.add(id(scratch))
            with lock:
                taken.remove(id(scratch))
            pool.release(scratch)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(clashes) == 800
    assert not any(clashes)
    assert len(pool) <= 4
