"""Compare the compiled extremely randomised trees with the naive ones, tree by tree."""

import warnings

import numpy as np
import pytest
from forests import border_is_tied
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference.extra_trees import deepen, grow_extra_trees
from reference.forest import labeled_cap, n_pseudo_labels, pseudo_label_cap, top_rows
from reference.random import limit_rows
from strategies import Problem, problems, seeds

from lacforest import LACExtraTreesClassifier
from lacforest._model.tree_view import TreeViews

N_EXPLORERS = 2
N_TREES = 3  # two on pseudo-labels and, with refinement="both", one on drawn labels
slow = settings(max_examples=60)
min_leaves = st.integers(1, 6)
caps = st.sampled_from([None, 0.2, 0.5, 1.0, 2.0])


def fit(problem, seed, min_leaf, refinement="both", **parameters):
    forest = LACExtraTreesClassifier(
        N_TREES,
        theta=problem.theta,
        n_explorers=N_EXPLORERS,
        min_explored_leaf=min_leaf,
        refinement=refinement,
        max_features=problem.max_features,
        known_shares="labeled",
        random_state=seed,
        **parameters,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Step I found no feasible split", UserWarning)
        return forest.fit(
            problem.X, problem.y, sample_weight=problem.weight, X_unlabeled=problem.X_unlabeled
        )


def splits(tree):
    leaf = (-1, -2, -2.0, False)
    return [
        leaf
        if node.cut is None
        else (node.left, node.cut.feature, node.cut.threshold, node.cut.missing_left)
        for node in tree
    ]


def assert_same_trees(views, trees):
    for view, tree in zip(views, trees, strict=True):
        found = zip(
            view.children_left.tolist(),
            view.feature.tolist(),
            view.threshold.tolist(),
            view.missing_go_to_left.tolist(),
            strict=True,
        )
        assert list(found) == splits(tree)


def check(problem, seed, min_leaf, refinement="both", cap=1.0):
    forest = fit(problem, seed, min_leaf, refinement, pseudo_cap=cap)
    n_hard = {"both": 2, "hard": N_TREES, "deepen": N_TREES}[refinement]
    naive = grow_extra_trees(
        problem, N_EXPLORERS, N_TREES, n_hard, min_leaf, seed, forest.pseudo_labels_.tolist(), cap
    )
    assert_allclose(forest.unlabeled_score_, naive.scores, rtol=0, atol=1e-12)
    n_pseudo = n_pseudo_labels(problem.theta, problem.n_unlabeled)
    assert forest.pseudo_labels_.sum() == n_pseudo
    if not border_is_tied(forest):
        assert forest.pseudo_labels_.tolist() == top_rows(naive.scores, n_pseudo)
    if refinement == "deepen":
        naive = deepen(problem, naive, seed, N_TREES, cap)
    else:
        explored = TreeViews(forest._explored, None, forest._column_order())
        assert_same_trees(explored, naive.explored)
        for start, counts in zip(forest._explored.tree_start, naive.explored_counts, strict=False):
            rows = forest._explored.explored_counts[start : start + len(counts)]
            assert rows.tolist() == [[sum(c[:-1]), c[-1]] for c in counts]
    assert_same_trees(forest.estimators_, naive.trees)
    expected = np.array([naive.probabilities(row) for row in problem.everyone.tolist()])
    assert_allclose(
        forest.predict_proba(problem.everyone), expected[:, forest._column_order()], atol=1e-6
    )


@slow
@given(problem=problems(with_missing=False), seed=seeds, min_leaf=min_leaves)
def test_complete_rows(problem, seed, min_leaf):
    check(problem, seed, min_leaf)


@slow
@given(problem=problems(with_missing=True), seed=seeds, min_leaf=min_leaves)
def test_missing_values(problem, seed, min_leaf):
    check(problem, seed, min_leaf)


@slow
@given(problem=problems(with_weight=True), seed=seeds, min_leaf=min_leaves)
def test_integer_weights(problem, seed, min_leaf):
    check(problem, seed, min_leaf, "hard")


@slow
@given(problem=problems(), seed=seeds, min_leaf=min_leaves, cap=caps)
def test_deepened_trees(problem, seed, min_leaf, cap):
    check(problem, seed, min_leaf, "deepen", cap)


@slow
@given(problem=problems(with_weight=True), seed=seeds, cap=caps)
def test_rows_of_capped_trees(problem, seed, cap):
    check(problem, seed, 3, "both", cap)


@slow
@given(problem=problems(), seed=seeds, cap=caps)
def test_a_cap_that_does_not_bind_changes_nothing(problem, seed, cap):
    binds = cap is not None and (
        pseudo_label_cap(problem, cap) < n_pseudo_labels(problem.theta, problem.n_unlabeled)
        or labeled_cap(problem, cap) < len(problem.X)
        or 2 * cap * problem.row_weights.sum() < problem.n_unlabeled + 1
    )
    one, other = (fit(problem, seed, 3, "hard", pseudo_cap=c) for c in (cap, None))
    assert binds or (one._forest.nodes == other._forest.nodes).all()


def test_each_row_is_drawn_equally_often():
    # Of the naive draw; other tests compare the compiled one with it.
    n_trees, n_labeled, n_new, cap = 4_000, 4, 6, 3
    chosen = np.zeros(n_labeled + n_new)
    for seed in range(n_trees):
        rows, _ = limit_rows(list(range(n_labeled + n_new)), n_labeled, 2, cap, seed)
        chosen[rows] += 1
    assert_allclose(chosen[:n_labeled] / n_trees, 0.5, atol=5 * 0.5 / n_trees**0.5)
    assert_allclose(chosen[n_labeled:] / n_trees, cap / n_new, atol=5 * 0.5 / n_trees**0.5)


# With 70 unlabelled rows, trees on pseudo-labels draw 98 of 330 labelled ones.
@pytest.mark.parametrize("n_labeled", [150, 330])
def test_a_larger_problem(n_labeled, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    table = np.column_stack(
        [
            rng.normal(size=400),
            rng.integers(0, 8, 400),
            np.where(rng.random(400) < 0.1, np.nan, rng.normal(size=400).round(1)),
        ]
    )
    known, unlabeled = np.split(table, [n_labeled])
    y = (known[:, 0] > 0).astype(int) + rng.integers(0, 2, n_labeled)
    check(Problem(known, y, unlabeled, 0.3, 0.0, 2), global_random_seed, 5)


@given(problem=problems(), seed=seeds, min_leaf=min_leaves)
@settings(max_examples=40)
def test_every_row_of_the_table_goes_where_codes_say(problem, seed, min_leaf):
    # Step I routes rows by codes, the frozen trees by floats. Without a cap it takes all of them.
    forest = fit(problem, seed, min_leaf, "hard", pseudo_cap=None)
    explored = forest._explored
    leaves = explored.leaves(problem.everyone, 1) + explored.tree_start[:-1]
    is_unlabeled = np.arange(len(leaves)) >= len(problem.X)
    weight = np.append(problem.row_weights, np.ones(problem.n_unlabeled))
    found = np.zeros(explored.explored_counts.shape)
    for column in leaves.T:
        np.add.at(found, (column, is_unlabeled.astype(int)), weight)
    is_leaf = explored.nodes["left"] < 0
    assert_allclose(explored.explored_counts[is_leaf], found[is_leaf])


@given(problem=problems(), seed=seeds)
@settings(max_examples=40)
def test_leaves_of_step_one_keep_their_minimum(problem, seed):
    forest = fit(problem, seed, 4, pseudo_cap=None)
    rows = forest._explored.explored_counts.sum(axis=1)
    n_rows = len(problem.everyone)
    assert (rows[forest._explored.nodes["left"] < 0] >= min(4, n_rows)).all()


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1e-300, 0.0), (1e308, -0.5e308)])
def test_cuts_are_uniform_between_the_extremes(scale, shift):
    # One cut per tree over the values 0, 1, 10: a tenth of all cuts are below 1.
    values = np.array([0.0, 1.0, 10.0] * 4) / 10 * scale + shift
    forest = LACExtraTreesClassifier(
        2_000, max_depth=1, refinement="hard", n_explorers=1, random_state=0
    ).fit(values[:, np.newaxis], ["a", "b", "c"] * 4)
    cuts = np.array([tree.threshold[0] for tree in forest.estimators_])
    places = (cuts - shift) / scale
    assert ((places >= 0) & (places < 1)).all()
    # Five standard errors, and the quantiles of a uniform distribution.
    assert_allclose(np.quantile(places, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=5 * 0.5 / 2000**0.5)
