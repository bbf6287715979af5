"""Batches are divided eight rows at a time, level by level: rows reach the same leaves as alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from lacforest._tree.predict import find_leaves
from lacforest._tree.workspace import NODE


def random_tree(rng, n_inner, n_features):
    """Nodes of a tree with cuts at halves, of which values in the tests lie on both sides."""
    nodes = np.zeros(2 * n_inner + 1, dtype=NODE)
    nodes["left"] = -1
    open_leaves, n_nodes = [0], 1
    for _ in range(n_inner):
        node = open_leaves.pop(int(rng.integers(len(open_leaves))))
        feature = int(rng.integers(n_features))
        nodes[node] = (
            rng.integers(-4, 5) / 2,
            feature if rng.random() < 0.5 else ~feature,
            n_nodes,
        )
        open_leaves += [n_nodes, n_nodes + 1]
        n_nodes += 2
    return nodes


def leaf_of(nodes, row):
    """Follow the definition: at most the threshold goes left, missing values as the sign says."""
    node = 0
    while nodes["left"][node] >= 0:
        feature, value = (
            nodes["feature"][node],
            row[max(nodes["feature"][node], ~nodes["feature"][node])],
        )
        goes_left = feature >= 0 if np.isnan(value) else value <= nodes["threshold"][node]
        node = nodes["left"][node] + (not goes_left)
    return node


@settings(max_examples=100)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.one_of(
        st.integers(1, 70),
        st.sampled_from([1_023, 1_024, 1_025, 2_100, 16_383, 16_384, 16_385, 16_400]),
    ),
    dtype=st.sampled_from([np.float32, np.float64]),
    order=st.sampled_from("CF"),
)
def test_every_row_of_a_batch_reaches_its_leaf(seed, n_rows, dtype, order):
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 5))
    nodes = random_tree(rng, int(rng.integers(0, 60)), n_features)
    # Few distinct rows, so that the definition need not be followed for each of thousands.
    distinct = rng.integers(-6, 7, size=(40, n_features)) / 2
    distinct[rng.random(distinct.shape) < 0.2] = np.nan
    chosen = rng.integers(len(distinct), size=n_rows)
    X = np.asarray(distinct[chosen], dtype=dtype, order=order)
    leaves = np.empty((n_rows, 1), dtype=np.int32)
    find_leaves(X, nodes.view(np.uint8), np.array([0, len(nodes)]), leaves)
    expected = np.array([leaf_of(nodes, row) for row in distinct])
    assert_array_equal(leaves[:, 0], expected[chosen])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slices_of_every_size(dtype):
    """A deep tree and distinct rows: large slices, small ones, and rows alone."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_500, 4)).astype(dtype)
    X[rng.random(X.shape) < 0.1] = np.nan
    nodes = random_tree(rng, 600, 4)
    inner = nodes["left"] >= 0
    nodes["threshold"][inner] = rng.normal(size=inner.sum())
    leaves = np.empty((len(X), 1), dtype=np.int32)
    find_leaves(X, nodes.view(np.uint8), np.array([0, len(nodes)]), leaves)
    assert_array_equal(leaves[:, 0], [leaf_of(nodes, row) for row in X])


@pytest.mark.parametrize("n_rows", [63, 65, 8_192, 8_200, 16_400])
def test_blocks_of_a_wide_table(n_rows):
    """Rows are transposed in tiles, and a block of 256 columns has 8,192 rows."""
    rng = np.random.default_rng(0)
    n_features, n_trees = 256, 8
    trees = [random_tree(rng, 12, n_features) for _ in range(n_trees)]
    starts = np.cumsum([0, *map(len, trees)])
    distinct = rng.integers(-6, 7, size=(30, n_features)) / 2
    distinct[rng.random(distinct.shape) < 0.2] = np.nan
    chosen = rng.integers(len(distinct), size=n_rows)
    X = np.asarray(distinct[chosen], dtype=np.float32)
    leaves = np.empty((n_rows, n_trees), dtype=np.int32)
    find_leaves(X, np.concatenate(trees).view(np.uint8), starts, leaves)
    expected = np.array([[leaf_of(tree, row) for tree in trees] for row in distinct])
    assert_array_equal(leaves, expected[chosen])


@pytest.mark.parametrize("n_rows", [7, 8, 9, 15, 16, 17, 24, 31, 32, 33])
@pytest.mark.parametrize("missing_right", [False, True])
def test_all_rows_on_one_side(n_rows, missing_right):
    nodes = np.zeros(3, dtype=NODE)
    nodes["left"] = -1
    nodes[0] = (0.0, ~0 if missing_right else 0, 1)
    for value, leaf in ((-1.0, 1), (0.0, 1), (1.0, 2), (np.nan, 2 if missing_right else 1)):
        X = np.full((n_rows, 1), value, order="F")
        leaves = np.empty((n_rows, 1), dtype=np.int32)
        find_leaves(X, nodes.view(np.uint8), np.array([0, 3]), leaves)
        assert_array_equal(leaves, leaf)
