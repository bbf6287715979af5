"""Scores by the trees that did not see a row: against the naive forest, and what may not matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference.out_of_bag import LeafRule, is_drawn
from reference.out_of_bag import out_of_bag_sums as naive_sums
from reference.split import Rows
from strategies import increasing_maps, permutations, problems, seeds

from lacforest._coding import RowStack, code_columns
from lacforest._tree._buffers import StopSignal
from lacforest._tree._out_of_bag import out_of_bag_sums
from lacforest.mixture import BestBin
from lacforest.mixture._forest_scores import _row_keys, forest_scores

N_TREES = 4
# Growing naive trees takes longest.
slow = settings(max_examples=40)
# 200 trees a fit, at some milliseconds.
several = settings(max_examples=25)
words = st.integers(0, 2**64 - 1)


def grow(table, n_labeled, keys, below, sample_seeds, min_leaf, max_features, seeds, benches=None):
    limits = {
        "min_labeled": 0,
        "min_unlabeled": 0,
        "min_leaf": min_leaf,
        "min_split": 2,
        "max_depth": 2**31 - 1,
        "max_features": max_features,
        "search_on": True,
    }
    streams = (np.array(each, dtype=np.uint64) for each in (keys, below, seeds, sample_seeds))
    keys, below, seeds, sample_seeds = streams
    return out_of_bag_sums(
        code_columns(RowStack([table]), 1),
        n_labeled,
        keys,
        below,
        limits,
        seeds,
        sample_seeds,
        StopSignal(),
        [] if benches is None else benches,
    )


@st.composite
def samplings(draw, problem):
    """Keys of the rows, chances of both sides, and a seed a tree."""
    n_rows = len(problem.everyone)
    keys = draw(st.lists(words, min_size=n_rows, max_size=n_rows))
    # Half, nearly none, and nearly all: some trees lack a side, and some leave nothing out.
    chances = st.sampled_from([2**63, 2**60, 2**64 - 2**60, 2**64 - 1])
    below = [draw(chances), draw(chances)]
    return keys, below, draw(st.lists(words, min_size=N_TREES, max_size=N_TREES))


def check(problem, data):
    keys, below, sample_seeds = data.draw(samplings(problem), label="keys, chances, seeds")
    tree_seeds = data.draw(st.lists(words, min_size=N_TREES, max_size=N_TREES), label="seeds")
    min_leaf, n_labeled = data.draw(st.integers(1, 4), label="min_leaf"), len(problem.X)
    sums, times = grow(
        problem.everyone,
        n_labeled,
        keys,
        below,
        sample_seeds,
        min_leaf,
        problem.max_features,
        tree_seeds,
    )
    rows = Rows(
        values=problem.everyone.tolist(),
        classes=[0] * n_labeled + [1] * problem.n_unlabeled,
        weights=[1] * len(problem.everyone),
        n_known=1,
    )
    expected, expected_times = naive_sums(
        rows, keys, below, LeafRule(min_leaf), problem.max_features, tree_seeds, sample_seeds
    )
    assert times.tolist() == expected_times
    assert_allclose(sums, expected, rtol=0, atol=1e-12)


@slow
@given(problem=problems(max_rows=20, with_missing=False), data=st.data())
def test_complete_rows(problem, data):
    check(problem, data)


@slow
@given(problem=problems(max_rows=20, with_missing=True), data=st.data())
def test_missing_values(problem, data):
    check(problem, data)


def test_a_larger_table(global_random_seed):
    # Enough rows for sorted keys, and codes of two bytes.
    rng = np.random.default_rng(global_random_seed)
    table = np.column_stack([rng.normal(size=700), rng.integers(0, 9, 700), rng.random(700)])
    keys, tree_seeds, sample_seeds = (
        rng.integers(2**64, size=size, dtype=np.uint64).tolist() for size in (700, 2, 2)
    )
    rows = Rows(table.tolist(), [0] * 300 + [1] * 400, [1] * 700, 1)
    sums, times = grow(table, 300, keys, [2**63, 2**62], sample_seeds, 10, 2, tree_seeds)
    expected, expected_times = naive_sums(
        rows, keys, [2**63, 2**62], LeafRule(10), 2, tree_seeds, sample_seeds
    )
    assert times.tolist() == expected_times
    assert_allclose(sums, expected, rtol=0, atol=1e-12)


def test_a_row_above_all_that_a_cut_beside_missing_rows_saw_is_not_missing():
    # One cut says it all: labelled rows have a value, unlabelled ones have none. The highest value
    # is left out of the tree, and is a value all the same.
    table = np.append(np.arange(10.0), np.full(10, np.nan))[:, None]
    left_out = (key for key in range(1000) if not is_drawn(key, 0, 2**63))
    drawn = (key for key in range(1000) if is_drawn(key, 0, 2**63))
    keys = [next(left_out) if row == 9 else next(drawn) for row in range(20)]
    sums, times = grow(table, 10, keys, [2**63, 2**63], [0], 1, 1, [0])
    assert times.tolist() == [int(row == 9) for row in range(20)]
    assert sums[9] == 0.0


@settings(max_examples=20)
@given(problem=problems(max_rows=20), data=st.data())
def test_scratch_memory_is_handed_on_clean(problem, data):
    keys, below, sample_seeds = data.draw(samplings(problem))
    fixed = (problem.everyone, len(problem.X), keys, below)
    benches = []
    for _ in range(2):
        again = grow(*fixed, sample_seeds, 1, problem.max_features, sample_seeds, benches)
        assert len(benches) == 1
    fresh = grow(*fixed, sample_seeds, 1, problem.max_features, sample_seeds)
    assert_array_equal(again, fresh)


@pytest.mark.parametrize(
    ("n_labeled", "n_keys", "n_below", "n_seeds", "message"),
    [
        (0, 4, 2, 1, "rows of both sides, and a key for each"),
        (4, 4, 2, 1, "rows of both sides, and a key for each"),
        (2, 3, 2, 1, "rows of both sides, and a key for each"),
        (2, 4, 1, 1, "rows of both sides, and a key for each"),
        (2, 4, 2, 2, "two seeds a tree"),
    ],
)
def test_arrays_that_do_not_fit_together(n_labeled, n_keys, n_below, n_seeds, message):
    with pytest.raises(ValueError, match=message):
        grow(np.ones((4, 1)), n_labeled, [0] * n_keys, [1] * n_below, [0] * n_seeds, 1, 1, [0])


# ---------------------------------------------------------------------------- all of forest_scores


def scores_of(problem, seed, n_jobs=1):
    columns = code_columns(RowStack([problem.everyone]), 1)
    return forest_scores(columns, len(problem.X), seed, n_jobs)


@several
@given(problem=problems(), data=st.data())
def test_keys_tell_rows_apart_whatever_their_order(problem, data):
    # Equal rows too, or a tree would see all of them or none.
    table = problem.X
    order = data.draw(permutations(len(table)))
    keys, others = (
        _row_keys(code_columns(RowStack([each]), 1), 0, len(each)) for each in (table, table[order])
    )
    assert len(np.unique(keys)) == len(keys)
    assert_array_equal(np.sort(keys), np.sort(others))


@several
@given(problem=problems(), seed=seeds)
def test_scores_are_shares(problem, seed):
    scores = scores_of(problem, seed)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert_array_equal(scores, scores_of(problem, seed))


@settings(max_examples=10)
@given(problem=problems(), seed=seeds)
def test_any_number_of_threads_gives_the_same_bits(problem, seed):
    expected = scores_of(problem, seed)
    for n_jobs in (2, 3):
        assert_array_equal(scores_of(problem, seed, n_jobs), expected)


@several
@given(problem=problems(), seed=seeds, data=st.data())
def test_increasing_maps_of_features_change_no_score(problem, seed, data):
    columns = [data.draw(increasing_maps(column)) for column in problem.everyone.T]
    mapped = problem.with_table(np.column_stack(columns))
    assert_array_equal(scores_of(problem, seed), scores_of(mapped, seed))


@several
@given(problem=problems(), seed=seeds, data=st.data())
def test_the_order_of_rows_changes_no_score(problem, seed, data):
    order = data.draw(permutations(len(problem.X)), label="labelled")
    unlabeled = data.draw(permutations(problem.n_unlabeled), label="unlabelled")
    shuffled = problem.but(X=problem.X[order], X_unlabeled=problem.X_unlabeled[unlabeled])
    sides = [np.split(scores_of(each, seed), [len(each.X)]) for each in (problem, shuffled)]
    for scores, other, table, places in zip(
        *sides, (problem.X, problem.X_unlabeled), (order, unlabeled), strict=True
    ):
        assert_array_equal(np.sort(scores), np.sort(other))
        # Of rows that hold the same it is open which has which score.
        if len(np.unique(np.nan_to_num(table, nan=1e9), axis=0)) == len(table):
            assert_array_equal(scores[places], other)


@settings(max_examples=20)
@given(problem=problems(), seed=seeds, data=st.data())
def test_neither_order_nor_maps_change_theta(problem, seed, data):
    columns = [data.draw(increasing_maps(column)) for column in problem.everyone.T]
    mapped = problem.with_table(np.column_stack(columns))
    order = data.draw(permutations(len(problem.X)), label="labelled")
    unlabeled = data.draw(permutations(problem.n_unlabeled), label="unlabelled")
    one, other = (BestBin(n_bootstrap=10, random_state=seed) for _ in range(2))
    one.fit(problem.X, problem.X_unlabeled)
    other.fit(mapped.X[order], mapped.X_unlabeled[unlabeled])
    assert one.theta_ == other.theta_
    assert one.interval_ == other.interval_


def test_scores_are_given_by_trees_that_did_not_see_the_row():
    # Noise: a forest that scored its own training rows would tell the sides apart.
    rng = np.random.default_rng(0)
    table = rng.normal(size=(1000, 5))
    scores = forest_scores(code_columns(RowStack([table]), 1), 400, 0, 1)
    assert abs(scores[:400].mean() - scores[400:].mean()) < 0.02
    assert scores.mean() == pytest.approx(0.5, abs=0.02)  # neither side's size tells anything
