"""What prediction and coding accept from Python: arrays that do not fit together are refused."""

import numpy as np
import pytest
from test_core_boundary import columns, explored_tree

from lacforest._tree.growth import TreeLimits
from lacforest._tree.keys import sorted_keys
from lacforest._tree.predict import (
    add_coded_values,
    add_node_values,
    add_probabilities,
    find_leaves,
)
from lacforest._tree.ranks import assign_thresholds, code_thresholds, nodes_by_feature, rank_codes
from lacforest._tree.shap import add_shap_values
from lacforest._tree.shap_terms import TERM_NODE, split_terms
from lacforest._tree.workspace import NODE
from lacforest.inspection._shap import integration_rules

N_ROWS = 6
N_CLASSES = 3
LIMITS = TreeLimits(max_features=2)


# ---------------------------------------------------------------------------- prediction


FOREST = (explored_tree().view(NODE).view(np.uint8), np.array([0, 3]))


def test_results_of_another_number_of_rows():
    X, message = np.zeros((4, 2)), "room for the results of 5 rows, but X has 4"
    with pytest.raises(ValueError, match=message):
        add_probabilities(X, *FOREST, np.eye(2, dtype=np.float32), np.zeros((5, 2)))
    with pytest.raises(ValueError, match=message):
        find_leaves(X, *FOREST, np.zeros((5, 1), np.int32))
    explored = (np.array([3], np.int32), np.array([0, 3]), np.zeros(3))
    with pytest.raises(ValueError, match=message):
        add_node_values(X, *FOREST, *explored, np.zeros(5))


@pytest.mark.parametrize("tree_start", [[0, 4], [-1, 3], [0]])
def test_trees_outside_the_nodes(tree_start):
    with pytest.raises(ValueError, match="tree_start does not lie within the 3 nodes"):
        find_leaves(np.zeros((1, 2)), FOREST[0], np.array(tree_start), np.zeros((1, 1), np.int32))


def test_borders_of_another_forest():
    explored = (np.array([3, 3], np.int32), np.array([0, 3]), np.zeros(3))
    with pytest.raises(ValueError, match="are of different forests"):
        add_node_values(np.zeros((4, 2)), *FOREST, *explored, np.zeros(4))


def test_results_of_another_width():
    X = np.zeros((4, 2))
    with pytest.raises(ValueError, match="room for 3 results per row, but there are 2"):
        add_probabilities(X, *FOREST, np.eye(2, dtype=np.float32), np.zeros((4, 3)))
    with pytest.raises(ValueError, match="room for 2 results per row, but there are 1"):
        find_leaves(X, *FOREST, np.zeros((4, 2), np.int32))


def test_trees_without_nodes():
    with pytest.raises(ValueError, match="tree 1 has no nodes: tree_start must ascend"):
        find_leaves(np.zeros((1, 2)), FOREST[0], np.array([0, 2, 2]), np.zeros((1, 2), np.int32))


def test_nodes_that_are_not_aligned():
    shifted = np.empty(3 * NODE.itemsize + 1, np.uint8)[1:]
    shifted[:] = FOREST[0]
    with pytest.raises(ValueError, match="the nodes are not aligned in memory"):
        find_leaves(np.zeros((1, 2)), shifted, FOREST[1], np.zeros((1, 1), np.int32))


def test_values_a_part_of_a_value_apart():
    packed = np.zeros(8, dtype=np.dtype([("value", np.float64), ("pad", np.uint8)]))
    with pytest.raises(ValueError, match="do not lie a whole number of values apart"):
        find_leaves(packed["value"].reshape(4, 2), *FOREST, np.zeros((4, 1), np.int32))


@pytest.mark.parametrize(
    "change", [{"left": (0, 0)}, {"left": (0, 2)}, {"feature": (0, 2)}, {"feature": (0, ~2)}]
)
def test_trees_that_cannot_be_walked(change):
    """Rows meet the node, whatever the block and the layout of X."""
    nodes = (explored_tree(**change).view(np.uint8), np.array([0, 3]))
    calls = []
    for X in (np.zeros((1, 2)), np.zeros((40, 2), np.float32), np.zeros((40, 2), order="F")):
        n_rows = len(X)
        values = (np.array([3], np.int32), np.array([0, 3]), np.zeros(3))
        calls += [
            (find_leaves, (X, *nodes, np.zeros((n_rows, 1), np.int32))),
            (add_node_values, (X, *nodes, *values, np.zeros(n_rows))),
            (add_probabilities, (X, *nodes, np.eye(2, dtype=np.float32), np.zeros((n_rows, 2)))),
        ]
    calls.append((add_coded_values, (columns(), *nodes, np.zeros(3), 0, np.zeros(6))))
    for call, arguments in calls:
        with pytest.raises(ValueError, match="node 0 of tree 0 has children outside the tree, or"):
            call(*arguments)


@pytest.mark.parametrize(
    ("n_left", "n_right"), [(1, 1), (2, 1), (2, 2), (2, 9), (2, 1_024), (2, 1_025)]
)
@pytest.mark.parametrize("change", [{"left": 2}, {"left": 4}, {"feature": 1}, {"feature": ~1}])
def test_nodes_that_cannot_be_walked_meet_few_rows_or_many(change, n_left, n_right):
    """Rows that are alone, slices of few rows and large ones are sent on by different loops."""
    nodes = np.zeros(5, dtype=NODE)
    nodes["left"] = [1, -1, 3, -1, -1]
    for field, value in change.items():
        nodes[field][2] = value
    X = np.repeat([-1.0, 1.0], [n_left, n_right])[:, None]
    with pytest.raises(ValueError, match="node 2 of tree 0 has children outside the tree, or"):
        find_leaves(
            X, nodes.view(np.uint8), np.array([0, 5]), np.zeros((len(X), 1), dtype=np.int32)
        )


@pytest.mark.parametrize("left", [-4, -(2**31), 2**31 - 1])
def test_leaves_beyond_their_values(left):
    forest = (explored_tree(left=(1, left)).view(np.uint8), np.array([0, 3]))
    with pytest.raises(ValueError, match="rows reached leaves beyond the 3 rows of leaf_values"):
        add_probabilities(np.zeros((1, 2)), *forest, np.eye(3, dtype=np.float32), np.zeros((1, 3)))


@pytest.mark.parametrize(
    ("n_explored", "start", "message"),
    [
        (0, 0, "n_explored of tree 0 does not lie within its nodes"),
        (4, 0, "n_explored of tree 0 does not lie within its nodes"),
        (3, -1, "explored_start of tree 0 lies outside explored_values"),
        (3, 1, "explored_start of tree 0 lies outside explored_values"),
        (2, 0, "node 0 of tree 0 has children outside the tree"),
    ],
)
def test_borders_outside_of_a_tree(n_explored, start, message):
    explored = (np.array([n_explored], np.int32), np.array([start, start + 3]), np.zeros(3))
    with pytest.raises(ValueError, match=message):
        add_node_values(np.zeros((4, 2)), *FOREST, *explored, np.zeros(4))


def test_values_of_fewer_nodes():
    with pytest.raises(ValueError, match="2 node_values for the nodes of all trees"):
        add_coded_values(columns(), *FOREST, np.zeros(2), 0, np.zeros(6))


@pytest.mark.parametrize("first_row", [-1, 3, 2**63 - 1])
def test_rows_outside_the_coded_table(first_row):
    with pytest.raises(ValueError, match="rows beyond the end of the coded table"):
        add_coded_values(columns(), *FOREST, np.zeros(3), first_row, np.zeros(4))


@pytest.mark.parametrize("n_rows", [1, 2047, 2048, 2049, 4097])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_cover_every_row(n_rows, dtype):
    """Rows one by one give what blocks of rows give, by floats and by codes."""
    nodes = explored_tree(last=(0, n_rows // 2), next=(0, n_rows // 2 + 1))
    forest = (nodes.view(np.uint8), np.array([0, 3]))
    coded = columns(n_rows, np.uint32)
    sums, node_values = np.zeros(n_rows), np.array([0.0, 1.0, 2.0])
    add_coded_values(coded, *forest, node_values, 0, sums)
    expected = np.where(np.arange(n_rows) <= n_rows // 2, 1, 2)
    np.testing.assert_array_equal(sums, expected)
    nodes = nodes.view(NODE)
    nodes["threshold"][0] = n_rows // 2
    X = np.column_stack([np.arange(n_rows), np.zeros(n_rows)]).astype(dtype)
    for rows in (X, np.asfortranarray(X)):
        leaves = np.zeros((n_rows, 1), np.int32)
        find_leaves(rows, nodes.view(np.uint8), np.array([0, 3]), leaves)
        np.testing.assert_array_equal(leaves[:, 0], expected)


# ---------------------------------------------------------------------------- codes and thresholds


def test_ranks_need_room():
    room = np.empty((2, 3), np.uint64), np.empty((2, 3), np.uint32)
    with pytest.raises(ValueError, match="must have the 4 entries of values"):
        rank_codes(np.zeros(4), *room, np.empty(4, np.uint32))
    with pytest.raises(ValueError, match="must have the 3 entries of values"):
        rank_codes(np.zeros(3), *room, np.empty(4, np.uint32))
    empty = np.empty((2, 0), np.uint64), np.empty((2, 0), np.uint32), np.empty(0, np.uint32)
    assert rank_codes(np.zeros(0), *empty) == (0, 0)


def test_nodes_of_unknown_features():
    nodes = explored_tree(feature=(0, 2))
    with pytest.raises(ValueError, match="node 0 splits on feature 2 of 2"):
        nodes_by_feature(nodes, np.zeros(3, np.uint8), 2)
    with pytest.raises(ValueError, match="nodes of -1 features"):
        nodes_by_feature(nodes, np.zeros(3, np.uint8), -1)
    with pytest.raises(ValueError, match="skip has 2 entries for 3 nodes"):
        nodes_by_feature(nodes, np.zeros(2, np.uint8), 3)


@pytest.mark.parametrize(("last", "following"), [(2, 2), (3, 4), (5, 9)])
def test_cuts_outside_the_values(last, following):
    nodes = explored_tree(last=(0, last), next=(0, following))
    with pytest.raises(ValueError, match="node 0 is cut outside of 3 values"):
        assign_thresholds(nodes, np.zeros(1, np.uint32), np.arange(3.0), np.zeros(3))


def test_members_outside_the_nodes():
    members, values = np.array([3], np.uint32), np.arange(4.0)
    with pytest.raises(ValueError, match="member 3 of 3 nodes"):
        assign_thresholds(explored_tree(), members, values, None)
    with pytest.raises(ValueError, match="member 3 of 3 nodes"):
        code_thresholds(explored_tree(), members, values)
    with pytest.raises(ValueError, match="thresholds has 2 entries for 3 nodes"):
        assign_thresholds(explored_tree(), np.zeros(1, np.uint32), values, np.zeros(2))
    with pytest.raises(ValueError, match="a column without values has no cut"):
        code_thresholds(explored_tree(), np.zeros(1, np.uint32), np.zeros(0))


@pytest.mark.parametrize(("shift", "bits"), [(-1, 3), (0, 33), (30, 3), (0, -1)])
def test_keys_without_these_bits(shift, bits):
    with pytest.raises(ValueError, match=f"keys of 32 bits have no {bits} bits from {shift} on"):
        sorted_keys(np.zeros(3, np.uint32), shift, bits)


def test_keys_must_be_a_vector():
    with pytest.raises(ValueError, match="keys must have one dimension"):
        sorted_keys(np.zeros((2, 2), np.uint32), 0, 2)


# ---------------------------------------------------------------------------- Shapley values


def term_arguments(**changes):
    """Arguments of add_shap_values for a stump; changes are (node, value) of a field, or others."""
    nodes = np.zeros(3, TERM_NODE)
    nodes["left"] = [1, -1, -1]
    split_terms(nodes.view(np.uint8), np.array([0, 3]), np.array([0, 0.25, 1]), np.ones(3))
    arguments = {
        "ranks": np.zeros((2, 4), np.uint16),
        "node_bytes": nodes.view(np.uint8),
        "tree_start": np.array([0, 3]),
        "rules": integration_rules(1),
        "first_row": 0,
        "end_row": 4,
        "out": np.zeros((4, 2)),
    }
    for name, value in changes.items():
        if name in TERM_NODE.names:
            nodes[name][value[0]] = value[1]
        else:
            arguments[name] = value
    return arguments


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"left": (0, 2)}, "node 0 of tree 0 has children outside the tree"),
        ({"feature": (0, 2)}, "node 0 of tree 0 has children outside the tree, or splits on an un"),
        ({"depth": (0, 1)}, "node 0 of tree 0 is not as split_terms leaves it"),
        ({"depth": (2, 3)}, "node 0 of tree 0 is not as split_terms leaves it"),
        ({"n_inner": (0, 9)}, "node 0 of tree 0 is not as split_terms leaves it"),
        ({"worth": (1, 0.0)}, "node 1 of tree 0 is not as split_terms leaves it"),
        ({"end_row": 5}, "rows 0 to 5 of 4"),
        ({"first_row": -1}, "rows -1 to 4 of 4"),
        ({"out": np.zeros((3, 2))}, "ranks must have the shape"),
        ({"out": np.zeros((4, 1))}, "ranks must have the shape"),
        ({"rules": np.zeros((2, 2, 1))}, "rules must hold points, weights and reciprocals"),
        ({"rules": np.zeros((3, 3, 1))}, "rules must hold points, weights and reciprocals"),
        ({"rules": integration_rules(0)}, "too few rules for the longest path"),
    ],
)
def test_terms_that_do_not_fit(changes, message):
    add_shap_values(**term_arguments())
    with pytest.raises(ValueError, match=message):
        add_shap_values(**term_arguments(**changes))


def test_a_node_with_two_parents():
    nodes = np.zeros(5, TERM_NODE)
    nodes["left"] = [1, 3, 3, -1, -1]
    split_terms(nodes.view(np.uint8), np.array([0, 5]), np.linspace(0, 1, 5), np.ones(5))
    changes = {"node_bytes": nodes.view(np.uint8), "tree_start": np.array([0, 5])}
    with pytest.raises(ValueError, match="node 2 of tree 0 is not as split_terms leaves it"):
        add_shap_values(**term_arguments(**changes))


def test_trees_that_cannot_be_split_into_terms():
    nodes = np.zeros(3, TERM_NODE)
    nodes["left"] = [1, -1, -1]
    values = np.ones(3)
    with pytest.raises(ValueError, match="leaf_value and leaf_rows must have one entry per node"):
        split_terms(nodes.view(np.uint8), np.array([0, 3]), values[:2], values[:2])
    nodes["left"][0] = 2
    with pytest.raises(ValueError, match="node 0 of tree 0 has children outside the tree"):
        split_terms(nodes.view(np.uint8), np.array([0, 3]), values, values)
