"""Shapley values of the compiled trees against their definition."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference.shapley import path_dependent
from strategies import problems, seeds

from lacforest import LACExtraTreesClassifier
from lacforest._model.arrays import ForestArrays
from lacforest._tree.shap import use_wide_loops
from lacforest._tree.shap_terms import rank_column
from lacforest._tree.workspace import NODE
from lacforest.export import to_sklearn_like
from lacforest.inspection import shap_values
from lacforest.inspection._shap import RankedForest

# Half a unit in the last place of single precision, of numbers below 1.
HALF_UNIT = 2.0**-25


def rounding(n_terms, most=1.0):
    """Largest error of a tree's value in single precision; of a forest's value, the mean of these.

    Each term is rounded once and added once. `most` is a power of two that bounds partial sums.
    """
    return 2 * n_terms * most * HALF_UNIT


@st.composite
def forests(draw, max_features=6, max_inner=12, n_trees=2):
    """Random trees as they are frozen: repeated features, empty leaves, missing values, ties."""
    n_features = draw(st.integers(1, max_features))
    nodes, starts, leaf_values = [], [0], [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.25, 0.75]]
    for _ in range(n_trees):
        # (feature, threshold, missing go right) of inner nodes, in order of their numbers.
        n_inner = draw(st.integers(0, max_inner))
        tree = [None]
        for _ in range(n_inner):
            open_nodes = [i for i, node in enumerate(tree) if node is None]
            node = draw(st.sampled_from(open_nodes))
            feature = draw(st.integers(0, n_features - 1))
            missing_right = draw(st.booleans())
            threshold = draw(st.sampled_from([-1.0, 0.0, 0.5, 1.0, np.inf]))
            tree[node] = (threshold, ~feature if missing_right else feature, len(tree))
            tree += [None, None]
        for node, split in enumerate(tree):
            if split is None:
                leaf = ~draw(st.integers(0, len(leaf_values) - 1))
                tree[node] = (float(draw(st.integers(0, 3))), 0, leaf)
        nodes += tree
        starts.append(len(nodes))
    arrays = ForestArrays(
        nodes=np.array(
            nodes, dtype=[("threshold", "f8"), ("feature", "i4"), ("left", "i4")]
        ).astype(NODE),
        tree_start=np.array(starts),
        leaf_values=np.array(leaf_values, dtype=np.float32),
        n_explored=np.zeros(n_trees, dtype=np.int32),
        explored_counts=np.zeros((0, 2)),
        ratio=0.0,
        n_features=n_features,
    )
    arrays.validate()
    values = st.sampled_from([-2.0, -1.0, 0.0, 0.25, 0.5, 1.0, 2.0, np.nan])
    n_rows = draw(st.integers(1, 8))
    cells = draw(st.lists(values, min_size=n_rows * n_features, max_size=n_rows * n_features))
    return arrays, np.array(cells).reshape(n_rows, n_features)


def as_dictionaries(arrays, code):
    """The trees in the form of the naive twin, with the probability of one class."""
    trees = []
    for first, end in zip(arrays.tree_start, arrays.tree_start[1:], strict=False):
        nodes = arrays.nodes[first:end]
        is_leaf = nodes["left"] < 0
        left = np.where(is_leaf, -1, nodes["left"])
        right = np.where(is_leaf, -1, nodes["left"] + 1)
        weight = np.where(is_leaf, nodes["threshold"], 0.0)
        for node in np.flatnonzero(~is_leaf)[::-1]:
            weight[node] = weight[left[node]] + weight[right[node]]
        leaf = ~np.minimum(nodes["left"], -1)
        trees.append(
            {
                "children_left": left,
                "children_right": right,
                "children_default": np.where(nodes["feature"] >= 0, left, right),
                "features": np.where(nodes["feature"] >= 0, nodes["feature"], ~nodes["feature"]),
                "thresholds": nodes["threshold"],
                "values": arrays.leaf_values[leaf, code].astype(float) / arrays.n_trees,
                "node_sample_weight": weight,
            }
        )
    return trees


@given(forests(), st.integers(0, 1))
@settings(max_examples=300)
def test_values_are_those_of_the_definition(drawn, code):
    arrays, X = drawn
    values, base = RankedForest(arrays).explain(X, code, None)
    trees = as_dictionaries(arrays, code)
    for row, found in zip(X, values, strict=True):
        expected, expected_base = path_dependent(trees, row)
        # A tree with 12 inner nodes has 13 leaves and at most as many terms again at inner nodes.
        assert_allclose(found, expected, rtol=0, atol=rounding(26, most=2))
        assert_allclose(base, expected_base, atol=1e-12)


@given(forests(), st.integers(17, 24), st.integers(1, 40))
def test_wide_tables_agree_with_the_definition_too(drawn, n_features, n_rows):
    """Sums of more than sixteen features are added up, and moved to the results, in another way."""
    arrays, X = drawn
    rows = X[np.arange(n_rows) % len(X)]
    first = n_features - arrays.n_features
    nodes = arrays.nodes.copy()
    is_inner = nodes["left"] >= 0
    nodes["feature"][is_inner] += np.where(nodes["feature"][is_inner] >= 0, first, -first)
    wide = dataclasses.replace(arrays, nodes=nodes, n_features=n_features)
    values, _ = RankedForest(wide).explain(np.pad(rows, ((0, 0), (first, 0))), 1, None)
    assert (values[:, :first] == 0).all()
    trees = as_dictionaries(arrays, 1)
    expected = np.array([path_dependent(trees, row)[0] for row in X])[np.arange(n_rows) % len(X)]
    assert_allclose(values[:, first:], expected, rtol=0, atol=rounding(26, most=2))


@given(problems(max_rows=25), seeds)
@settings(max_examples=25)
def test_values_of_grown_forests(problem, seed):
    forest = problem.fit(random_state=seed)
    rows = problem.everyone[:3]
    values, base = shap_values(forest, rows, output="all")
    trees = to_sklearn_like(forest)["trees"]
    for row, found in zip(rows, values, strict=True):
        expected, expected_base = path_dependent(trees, row)
        # At most 25 leaves.
        assert_allclose(found, expected, rtol=0, atol=rounding(25))
        assert_allclose(base, expected_base, atol=1e-7)


@given(problems(with_weight=True), seeds)
@settings(max_examples=25)
def test_values_add_up_to_the_probability(problem, seed):
    forest = problem.fit(random_state=seed)
    values, base = shap_values(forest, problem.everyone, output="all")
    assert_allclose(base + values.sum(axis=1), forest.predict_proba(problem.everyone), atol=1e-6)
    of_new, base_of_new = shap_values(forest, problem.everyone)
    assert_array_equal(of_new, values[:, :, forest.new_class_index_])
    assert base_of_new == base[forest.new_class_index_]


numbers = st.floats(-3, 3) | st.sampled_from([-np.inf, -0.0, 0.0, 1.0, np.inf])


@given(
    st.lists(numbers, min_size=1, max_size=40, unique=True),
    st.lists(numbers | st.just(np.nan), max_size=20),
    st.sampled_from([np.uint16, np.uint32]),
)
def test_ranks_count_the_thresholds_below(thresholds, values, dtype):
    thresholds = np.sort(thresholds)
    column = np.array([*values, *thresholds])
    ranks = np.zeros(len(column), dtype=dtype)
    rank_column(thresholds, column, ranks)
    expected = [np.iinfo(dtype).max if x != x else sum(t < x for t in thresholds) for x in column]
    assert ranks.tolist() == expected


def test_ranks_that_do_not_fit_are_refused():
    column, ranks = np.zeros(3), np.zeros(3, dtype=np.uint16)
    for thresholds, out in [
        (np.zeros(0), ranks),
        (np.arange(65_535.0), ranks),
        (np.zeros(2), ranks[:2]),
    ]:
        with pytest.raises(ValueError, match=r"thresholds|entry"):
            rank_column(thresholds, column, out)


# ---------------------------------------------------------------------------- long paths


def chain(n_features, n_inner, seed):
    """One deep tree: each left child is a leaf, each right child splits on another feature."""
    rng = np.random.default_rng(seed)
    nodes = []
    for k in range(n_inner):
        nodes.append((rng.normal() - 1, k % n_features, 2 * k + 1))
        nodes.append((float(rng.integers(1, 9)), 0, ~int(rng.integers(0, 2))))
    # The right child of node 2k is 2k + 2: inner nodes stand at even numbers.
    nodes.append((3.0, 0, ~1))
    return ForestArrays(
        nodes=np.array(nodes, dtype=NODE),
        tree_start=np.array([0, len(nodes)]),
        leaf_values=np.eye(2, dtype=np.float32),
        n_explored=np.zeros(1, dtype=np.int32),
        explored_counts=np.zeros((0, 2)),
        ratio=0.0,
        n_features=n_features,
    )


@pytest.mark.parametrize(("n_features", "n_inner"), [(9, 30), (16, 20), (17, 17), (40, 60)])
def test_long_paths_agree_with_shorter_ones(n_features, n_inner):
    """A column that no row varies in changes nothing but the length of paths."""
    arrays = chain(n_features, n_inner, seed=n_inner)
    arrays.validate()
    X = np.random.default_rng(0).normal(size=(300, n_features))
    values, base = RankedForest(arrays).explain(X, 1, None)
    # The sums of a row's features are together below 2 at any time, and so are their errors.
    error = rounding(n_inner + 1, most=2)
    assert_allclose(
        base + values.sum(axis=1), arrays.probabilities(X, None)[:, 1], rtol=0, atol=error
    )
    expected = [chain_values(arrays, row) for row in X[:4]]
    assert_allclose(values[:4], expected, rtol=0, atol=error)


def chain_values(arrays, row):
    """Shapley values by the integral of the multilinear extension, over a fine grid of Simpson."""
    steps = np.linspace(0, 1, 2001)
    nodes = arrays.nodes
    weight = np.where(nodes["left"] < 0, nodes["threshold"], 0.0)
    for node in np.flatnonzero(nodes["left"] >= 0)[::-1]:
        weight[node] = weight[nodes["left"][node]] + weight[nodes["left"][node] + 1]
    values = np.zeros(len(row))
    satisfied, share = np.ones(len(row)), np.ones(len(row))

    def add(leaf, satisfied, share):
        worth = arrays.leaf_values[~nodes["left"][leaf], 1]
        used = np.flatnonzero((satisfied != 1) | (share != 1))
        factors = {k: steps * satisfied[k] + (1 - steps) * share[k] for k in used}
        for j in used:
            others = np.prod([factors[k] for k in used if k != j] + [np.ones_like(steps)], axis=0)
            simpson = np.ones_like(steps)
            simpson[1:-1:2], simpson[2:-1:2] = 4, 2
            integral = (simpson * others).sum() / simpson.sum()
            values[j] += worth * (satisfied[j] - share[j]) * integral

    node = 0
    while nodes["left"][node] >= 0:
        left, feature = nodes["left"][node], nodes["feature"][node]
        goes_left = row[feature] <= nodes["threshold"][node]
        for child, taken in ((left, goes_left), (left + 1, not goes_left)):
            below = satisfied.copy(), share.copy()
            below[0][feature] *= taken
            below[1][feature] *= weight[child] / weight[node]
            if child == left:
                add(child, *below)
        satisfied, share = below
        node = left + 1
    add(node, satisfied, share)
    return values


# ---------------------------------------------------------------------------- batches and threads


@pytest.fixture(scope="module")
def grown():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 20))
    X[:100, 0] += 2
    X[500:, 1] += 3
    X[rng.random(X.shape) < 0.05] = np.nan
    forest = LACExtraTreesClassifier(30, theta=0.3, random_state=0, n_jobs=1)
    forest.fit(X[:200], np.repeat([0, 1], 100), X_unlabeled=X[200:])
    return forest, X


def test_a_row_gets_the_same_bits_in_any_batch(grown):
    forest, X = grown
    rows = np.tile(X, (30, 1))  # more than a block
    values = shap_values(forest, rows).values
    assert len(values) == 18_000
    assert_array_equal(values, np.tile(values[:600], (30, 1)))
    assert_array_equal(shap_values(forest, X[7:8]).values, values[7:8])
    assert_array_equal(shap_values(forest, X[::-1]).values, values[:600][::-1])


def most_features(tree):
    """Most features on one path."""
    most, open_nodes = 0, [(0, frozenset())]
    while open_nodes:
        node, above = open_nodes.pop()
        most = max(most, len(above))
        if tree.feature[node] >= 0:
            used = above | {int(tree.feature[node])}
            open_nodes += [(tree.children_left[node], used), (tree.children_right[node], used)]
    return most


def test_rows_on_long_paths_get_the_same_bits_in_any_batch():
    """The values of units that wait are added to the rows sooner where a batch has more keys."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 24))
    forest = LACExtraTreesClassifier(3, theta=0.3, refinement="hard", random_state=0, n_jobs=1)
    forest.fit(X[:600], rng.integers(0, 3, size=600), X_unlabeled=X[600:])
    assert min(most_features(tree) for tree in forest.estimators_) > 16
    rows = rng.normal(size=(6000, 24))
    parts = [shap_values(forest, rows[i : i + 300]).values for i in range(0, 6000, 300)]
    assert_array_equal(shap_values(forest, rows).values, np.concatenate(parts))


def test_narrow_tables_agree_with_wide_ones():
    """Up to sixteen columns are added up in another way; columns without a split change nothing."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(900, 11))
    X[:200, 2] += 1
    X[700:, 3] += 2
    forest = LACExtraTreesClassifier(20, theta=0.3, random_state=0, n_jobs=1)
    forest.fit(X[:300], np.repeat([0, 1], 150), X_unlabeled=X[300:])
    arrays = forest._forest
    wide = dataclasses.replace(arrays, n_features=30)
    assert max(len(tree.feature) for tree in forest.estimators_) > 200
    narrow_values, _ = RankedForest(arrays).explain(X, 2, None)
    wide_values, _ = RankedForest(wide).explain(np.pad(X, ((0, 0), (0, 19))), 2, None)
    assert_allclose(narrow_values, wide_values[:, :11], atol=1e-13)
    assert (wide_values[:, 11:] == 0).all()
    assert np.ptp(narrow_values, axis=0).min() > 0


def test_threads_give_the_same_bits(grown):
    forest, X = grown
    rows = np.tile(X, (10, 1))
    one = shap_values(forest, rows).values
    forest.set_params(n_jobs=3)
    assert_array_equal(shap_values(forest, rows).values, one)
    forest.set_params(n_jobs=1)


def test_long_paths_are_in_this_forest(grown):
    forest, _ = grown
    used = max(len(set(tree.feature[tree.feature >= 0])) for tree in forest.estimators_)
    assert used > 16
    assert max(tree.max_depth for tree in forest.estimators_) > 16


def test_many_thresholds_need_wider_ranks():
    n_inner = 70_000
    nodes = [(1.0, 0, ~0)] * (2 * n_inner + 1)
    # A tree as flat as can be: node k has the children 2k + 1 and 2k + 2.
    for k in range(n_inner):
        nodes[k] = (k / n_inner, 0, 2 * k + 1)
    nodes[-1] = (5.0, 0, ~1)
    arrays = ForestArrays(
        nodes=np.array(nodes, dtype=NODE),
        tree_start=np.array([0, len(nodes)]),
        leaf_values=np.eye(2, dtype=np.float32),
        n_explored=np.zeros(1, dtype=np.int32),
        explored_counts=np.zeros((0, 2)),
        ratio=0.0,
        n_features=2,
    )
    X = np.array([[2.0, 0.0], [-1.0, 0.0], [np.nan, 0.0]])
    values, base = RankedForest(arrays).explain(X, 1, None)
    assert_allclose(base + values.sum(axis=1), arrays.probabilities(X, None)[:, 1], atol=1e-12)
    assert (values[:, 1] == 0).all()


@pytest.mark.parametrize("n_features", [3, 7, 12, 16, 17, 40])
def test_loops_for_wide_registers_give_the_same_bits(n_features):
    rng = np.random.default_rng(n_features)
    X = rng.normal(size=(150, n_features))
    y = (X[:, 0] + X[:, -1] > 0).astype(int)
    forest = LACExtraTreesClassifier(20, n_explorers=10, theta=0.4, random_state=0)
    forest.fit(X, y, X_unlabeled=rng.normal(0.5, 1.5, size=(201, n_features)))
    # Neither a multiple of four rows nor of a tile.
    rows = rng.normal(size=(519, n_features))
    wide = shap_values(forest, rows).values
    use_wide_loops(False)
    try:
        plain = shap_values(forest, rows).values
    finally:
        use_wide_loops(True)
    assert_array_equal(wide, plain)
