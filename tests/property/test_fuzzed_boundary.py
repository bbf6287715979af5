"""Compiled functions with arguments that do not fit: they refuse, or they finish.

A read or write outside of an array goes unnoticed here and ends the process under `make sanitize`.
"""

import ast
import contextlib
import copy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lacforest._tree
from lacforest import AugmentedGiniCriterion, GiniCriterion
from lacforest._tree import predict, row_hash
from lacforest._tree.bins import bin_codes, few_distinct, move_to_edges
from lacforest._tree.coded_columns import CodedColumns, ColumnValues
from lacforest._tree.criterion import augmented_proportions
from lacforest._tree.grower import grow_trees
from lacforest._tree.growth import GrowthRules, GrowthTable, TreeLimits
from lacforest._tree.keys import sorted_keys
from lacforest._tree.out_of_bag import out_of_bag_sums
from lacforest._tree.ranks import assign_thresholds, code_thresholds, nodes_by_feature, rank_codes
from lacforest._tree.sets import CategorySets
from lacforest._tree.shap import add_shap_values
from lacforest._tree.shap_terms import TERM_NODE, rank_column, split_terms
from lacforest._tree.workspace import (
    CODED_NODE,
    NODE,
    GrowingTree,
    Scratch,
    ScratchPool,
    StopSignal,
)
from lacforest.inspection._shap import integration_rules

REFUSALS = (TypeError, ValueError, OverflowError)
N_ROWS, N_FEATURES, N_CLASSES = 20, 2, 3
# Two trees: a root with a leaf and a split, and a stump. Step I made three nodes of the first.
LEFT = np.array([1, -1, 3, -3, -5, 1, -1, -2], np.int32)
STARTS = np.array([0, 5, 8])
NUMBERS = [0, 1, -1, 2, 3, 5, 7, 8, 255, 256, 65535, 65536, 2**31 - 1, -(2**31), 2**32 - 1]
FLOATS = [0.0, -1.0, 0.5, 1e300, -1e300, np.nan, np.inf, -np.inf]
DTYPES = ["u1", "u2", "u4", "u8", "i4", "i8", "f4", "f8", ">f8", "O"]


# ---------------------------------------------------------------------------- arguments that fit


def nodes_of(dtype):
    nodes = np.zeros(len(LEFT), dtype)
    nodes["left"] = LEFT
    nodes["feature"] = [0, 0, ~1, 0, 0, 1, 0, 0]
    if dtype is NODE:
        nodes["threshold"] = 9.5
    elif dtype is CODED_NODE:
        nodes["last"], nodes["next"] = 9, 10
    else:
        nodes["cut"] = 1
    return nodes


def rows_of_values():
    return np.column_stack([np.arange(N_ROWS), np.arange(N_ROWS)[::-1]]).astype(float)


def forest(dtype):
    return {"node_bytes": nodes_of(dtype).view(np.uint8), "tree_start": STARTS.copy()}


def column_parts():
    codes = np.arange(N_ROWS, dtype=np.uint8)
    return {
        "columns": [codes, codes[::-1].astype(np.uint16)],
        "n_codes": np.array([N_ROWS, N_ROWS], np.uint32),
        "has_missing": np.array([0, 1], np.uint8),
    }


def table_parts(weighted):
    return {
        "columns": CodedColumns(**column_parts()),
        "classes": np.arange(N_ROWS, dtype=np.uint16) % N_CLASSES,
        "taking_part": np.ones(N_ROWS, np.uint8),
        "n_labeled": 12,
        "n_classes": N_CLASSES,
        "weight": np.ones(N_ROWS) if weighted else None,
        "class_factor": np.ones(N_CLASSES - 1) if weighted else None,
        "most_rows": (7, 5),
    }


def grow_on(**parts):
    """Grow from the root, by both criteria and with random cuts, where the table is accepted."""
    table = GrowthTable(**parts)
    limits = TreeLimits(max_features=2)
    values = ColumnValues([np.arange(float(N_ROWS))] * N_FEATURES)
    seeds = np.arange(2, dtype=np.uint64)
    augmented = AugmentedGiniCriterion(0.5, 12, 8)
    for rules in (
        GrowthRules(GiniCriterion(), limits),
        GrowthRules(augmented, limits),
        GrowthRules.with_random_cuts(augmented, limits, values),
    ):
        grow_trees(table, rules, seeds, seeds, None, StopSignal(), ScratchPool())


def refine(explored, seeds, sample_seeds):
    rules = GrowthRules(GiniCriterion(), TreeLimits(max_features=1, min_leaf=0))
    table = GrowthTable(**table_parts(weighted=False))
    grow_trees(table, rules, seeds, sample_seeds, explored, StopSignal(), ScratchPool())


def score_out_of_bag(**parts):
    rules = GrowthRules(GiniCriterion(), TreeLimits(max_features=1))
    table = GrowthTable(**table_parts(weighted=False))
    out_of_bag_sums(table, rules, stop=StopSignal(), pool=ScratchPool(), **parts)


def code_and_walk(columns, n_codes, has_missing, is_categorical):
    coded = CodedColumns(columns, n_codes, has_missing, is_categorical)
    grow_on(**(table_parts(weighted=False) | {"columns": coded}))


def walk_by_sets(**parts):
    """Send rows down trees of which every node splits by the first set of its tree."""
    sets = CategorySets(**parts)
    nodes = nodes_of(NODE)
    nodes["threshold"] = 0.0
    trees = {"node_bytes": nodes.view(np.uint8), "tree_start": STARTS.copy(), "sets": sets}
    predict.find_leaves(rows_of_values(), leaves=np.zeros((N_ROWS, 2), np.int32), **trees)
    columns, sums = CodedColumns(**column_parts()), np.zeros(N_ROWS)
    predict.add_coded_values(columns, node_values=np.arange(8.0), first_row=0, sums=sums, **trees)
    shap = shap_parts()
    shap["node_bytes"].view(TERM_NODE)["cut"] = 0
    add_shap_values(**shap, sets=sets)


def draw_cuts(values):
    rules = GrowthRules.with_random_cuts(
        GiniCriterion(), TreeLimits(max_features=2), ColumnValues(values)
    )
    table = GrowthTable(**table_parts(weighted=False))
    grow_trees(table, rules, np.ones(1, np.uint64), None, None, StopSignal(), ScratchPool())


def limit_growth(**limits):
    rules = GrowthRules(GiniCriterion(), TreeLimits(**limits))
    table = GrowthTable(**table_parts(weighted=True))
    grow_trees(table, rules, np.ones(1, np.uint64), None, None, StopSignal(), ScratchPool())


def shap_parts():
    nodes = nodes_of(TERM_NODE)
    value = np.linspace(0, 1, len(nodes))
    split_terms(nodes.view(np.uint8), STARTS, value, np.ones(len(nodes)))
    return {
        "ranks": np.ascontiguousarray(rows_of_values().T.astype(np.uint16)),
        "node_bytes": nodes.view(np.uint8),
        "tree_start": STARTS.copy(),
        "rules": integration_rules(1),
        "first_row": 3,
        "end_row": N_ROWS,
        "out": np.zeros((N_ROWS, N_FEATURES)),
    }


def augmented(theta, n_labeled, n_unlabeled, left, right, rows):
    criterion = AugmentedGiniCriterion(theta, n_labeled, n_unlabeled)
    criterion.proportions(left, rows)
    criterion.impurity(left, rows)
    criterion.reduction(left, rows, right, rows)


def plain(left, right):
    GiniCriterion().impurity(left)
    GiniCriterion().reduction(left, right)


def coded_nodes():
    return {"nodes": nodes_of(CODED_NODE), "members": np.array([0, 5], np.uint32)}


WORDS = {"words": np.arange(N_ROWS, dtype=np.uint64), "below": np.full(N_ROWS, 1 << 63, np.uint64)}
SEEDS = {"seeds": np.arange(2, dtype=np.uint64), "sample_seeds": np.arange(2, dtype=np.uint64)}
# Compiled function, and keywords that it takes.
CALLS = {
    "add_probabilities": lambda: (
        predict.add_probabilities,
        {"X": rows_of_values(), **forest(NODE)}
        | {"leaf_values": np.ones((5, N_CLASSES), np.float32)}
        | {"sums": np.zeros((N_ROWS, N_CLASSES))},
    ),
    "add_node_values": lambda: (
        predict.add_node_values,
        {"X": rows_of_values().astype(np.float32), **forest(NODE)}
        | {"n_explored": np.array([3, 3], np.int32), "explored_start": np.array([0, 3, 6])}
        | {"explored_values": np.arange(6.0), "sums": np.zeros(N_ROWS)},
    ),
    "find_leaves": lambda: (
        predict.find_leaves,
        {"X": rows_of_values(), **forest(NODE), "leaves": np.zeros((N_ROWS, 2), np.int32)},
    ),
    "add_coded_values": lambda: (
        predict.add_coded_values,
        {"columns": CodedColumns(**column_parts()), **forest(CODED_NODE)}
        | {"node_values": np.arange(8.0), "first_row": 4, "sums": np.zeros(N_ROWS - 4)},
    ),
    "split_terms": lambda: (
        split_terms,
        forest(TERM_NODE) | {"leaf_value": np.ones(8), "leaf_rows": np.ones(8)},
    ),
    "rank_column": lambda: (
        rank_column,
        {"thresholds": np.arange(3.0), "column": np.arange(9.0), "ranks": np.zeros(9, np.uint16)},
    ),
    "add_shap_values": lambda: (add_shap_values, shap_parts()),
    "GrowthTable": lambda: (grow_on, table_parts(weighted=False)),
    "GrowthTable, weighted": lambda: (grow_on, table_parts(weighted=True)),
    "CodedColumns": lambda: (
        code_and_walk,
        column_parts() | {"is_categorical": np.array([0, 1], np.uint8)},
    ),
    "CategorySets": lambda: (
        walk_by_sets,
        {"is_categorical": np.ones(2, np.uint8), "tree_start": np.array([0, 2, 4])}
        | {"words": np.array([1 << 32, 255, 1 << 32, 3], np.uint64)},
    ),
    "ColumnValues": lambda: (draw_cuts, {"values": [np.arange(float(N_ROWS))] * 2}),
    "TreeLimits": lambda: (
        limit_growth,
        {"max_features": 1, "max_depth": 3, "min_leaf": 1.0, "min_split": 2.0}
        | {"min_labeled": 1.0, "min_unlabeled": 1.0},
    ),
    "grow_trees": lambda: (
        refine,
        {"explored": [nodes_of(CODED_NODE)[:5], nodes_of(CODED_NODE)[5:]], **SEEDS},
    ),
    "out_of_bag_sums": lambda: (score_out_of_bag, {**WORDS, **SEEDS}),
    "rank_codes": lambda: (
        rank_codes,
        {"values": np.arange(6.0), "bits_scratch": np.empty((2, 6), np.uint64)}
        | {"order_scratch": np.empty((2, 6), np.uint32), "codes": np.empty(6, np.uint32)},
    ),
    "nodes_by_feature": lambda: (
        nodes_by_feature,
        {"nodes": nodes_of(NODE), "skip": np.zeros(8, np.uint8), "n_features": 2},
    ),
    "assign_thresholds": lambda: (
        assign_thresholds,
        coded_nodes() | {"values": np.arange(20.0), "thresholds": np.zeros(8)},
    ),
    "code_thresholds": lambda: (
        code_thresholds,
        {**coded_nodes(), "nodes": nodes_of(NODE), "values": np.arange(20.0)},
    ),
    "sorted_keys": lambda: (
        sorted_keys,
        {"keys": np.arange(50, dtype=np.uint32)[::-1], "shift": 0, "bits": 6},
    ),
    "augmented_proportions": lambda: (
        augmented_proportions,
        {"counts": np.ones((4, 2)), "ratio": 0.5},
    ),
    "AugmentedGiniCriterion": lambda: (
        augmented,
        {"theta": 0.5, "n_labeled": 12.0, "n_unlabeled": 8.0, "rows": 2.0}
        | {"left": np.arange(2.0), "right": np.ones(2)},
    ),
    "GiniCriterion": lambda: (plain, {"left": np.arange(3.0), "right": np.ones(3)}),
    "few_distinct": lambda: (few_distinct, {"values": np.arange(30.0) % 7, "most": 9}),
    "bin_codes": lambda: (
        bin_codes,
        {"values": np.arange(6.0), "edges": np.array([1.5, 3.5]), "codes": np.empty(6, np.uint8)},
    ),
    "move_to_edges": lambda: (
        move_to_edges,
        {**coded_nodes(), "nodes": nodes_of(NODE), "values": np.arange(20.0)}
        | {"edges": np.arange(19.0) + 0.25},
    ),
    "row_words": lambda: (row_hash.row_words, {"first": 2, "end": 9, "seed": 5}),
    "classes_at": lambda: (row_hash.classes_at, {"shares": np.ones(4), "edges": np.eye(4)}),
    "row_shares": lambda: (row_hash.row_shares, {"rows": np.arange(5), "seed": 5}),
    "sample_rows": lambda: (
        row_hash.sample_rows,
        {"first": 2, "end": 9, "seed": 5, "chances": np.array([0.4, 0.8])},
    ),
    "bootstrap_rows": lambda: (row_hash.bootstrap_rows, {"n_rows": 7, "seed": 5}),
    "GrowingTree": lambda: (GrowingTree, {"n_classes": 3, "n_features": 2}),
    "Scratch": lambda: (
        Scratch,
        {"n_rows": 5, "n_features": 2, "n_classes": 3, "is_narrow": True},
    ),
}


# Grown trees and sets come from Python nowhere; rules, pools and signals are arguments of calls.
OBJECTS = {"GrowingSets", "GrowthRules", "GrownTree", "ScratchPool", "StopSignal"}


def test_every_compiled_function_is_called():
    stubs = Path(lacforest._tree.__file__).parent.glob("*.pyi")
    bodies = [ast.parse(stub.read_text(encoding="utf-8")).body for stub in stubs]
    listed = {
        part.name
        for body in bodies
        for part in body
        if isinstance(part, ast.ClassDef | ast.FunctionDef)
    }
    assert len(listed) > 25
    # A switch, which every value fits.
    assert listed == {name.split(",")[0] for name in CALLS} | OBJECTS | {"use_wide_loops"}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_that_fit_are_accepted(name):
    call, arguments = CALLS[name]()
    call(**arguments)


# ---------------------------------------------------------------------------- arguments that do not


def changed_number(draw, value):
    # Sizes stay small enough to be allocated.
    small = [number for number in NUMBERS if abs(number) <= 65536]
    return draw(st.sampled_from([*small, None, "3", 2**70, float("nan"), 0.5, value + 1]))


def changed_array(draw, array):
    """The array with another length, type or layout, or with other entries."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return array[: draw(st.integers(0, len(array)))]
    if kind == 1:
        return np.concatenate([array, array[: draw(st.integers(1, 3))]])
    if kind == 2 and array.dtype.names is None:
        return array.astype(draw(st.sampled_from(DTYPES)))
    if kind == 3:
        return np.repeat(array, 2, axis=0)[::2]
    if kind == 4 and array.ndim > 1:
        return array[..., : draw(st.integers(0, array.shape[-1]))]
    if kind == 5:
        return draw(st.sampled_from([None, 3, [], array[::-1], array.tolist()]))
    changed = array.copy()
    if array.dtype == np.uint8 and array.size % NODE.itemsize == 0 and array.size:
        # Bytes of nodes: change whole fields rather than bytes.
        size = TERM_NODE if array.size % TERM_NODE.itemsize == 0 else NODE
        fields = changed.view(size)
        target = fields[draw(st.sampled_from(size.names))]
    elif array.dtype.names is not None:
        target = changed[draw(st.sampled_from(array.dtype.names))]
    else:
        target = changed
    for _ in range(draw(st.integers(1, 3)) if target.size else 0):
        place = draw(st.integers(0, target.size - 1))
        number = draw(st.sampled_from(FLOATS if target.dtype.kind == "f" else NUMBERS))
        target.flat[place] = np.array(number).astype(target.dtype)
    return changed


def changed_argument(draw, value):
    if isinstance(value, list):
        value = list(value)
        place = draw(st.integers(0, len(value) - 1))
        value[place] = changed_array(draw, value[place])
        return value[: draw(st.sampled_from([0, 1, len(value), len(value)]))]
    if isinstance(value, np.ndarray):
        return changed_array(draw, value)
    if isinstance(value, int | float):
        return changed_number(draw, value)
    return draw(st.sampled_from([None, 3, value]))


@pytest.mark.parametrize("name", CALLS)
@given(data=st.data())
def test_changed_arguments_are_refused_or_harmless(name, data):
    call, arguments = CALLS[name]()
    arguments = {
        key: copy.copy(value) if isinstance(value, np.ndarray) else value
        for key, value in arguments.items()
    }
    changed = st.lists(st.sampled_from(sorted(arguments)), min_size=1, max_size=2, unique=True)
    with np.errstate(all="ignore"):
        for key in data.draw(changed):
            if arguments[key] is not None:
                arguments[key] = changed_argument(data.draw, arguments[key])
        with contextlib.suppress(*REFUSALS):
            call(**arguments)
