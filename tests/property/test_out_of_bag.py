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

from lacforest._coding.coded_table import code_columns, code_table
from lacforest._input.tables import RowStack
from lacforest._tree.criterion import GiniCriterion
from lacforest._tree.growth import GrowthRules, GrowthTable, TreeLimits
from lacforest._tree.out_of_bag import out_of_bag_sums
from lacforest._tree.workspace import ScratchPool, StopSignal
from lacforest.mixture import BestBin
from lacforest.mixture._forest_scores import forest_scores, leaf_size, row_words

N_TREES = 4
# Growing naive trees takes longest.
slow = settings(max_examples=40)
# 200 trees per fit, some milliseconds each.
several = settings(max_examples=25)
any_word = st.integers(0, 2**64 - 1)


def grow(
    table, classes, n_labeled, sampling, min_leaf, max_features, *, random_cuts=False, pool=None
):
    """Sums by the compiled core; sampling holds words, chances, seeds and sample seeds."""
    coded = code_table(RowStack([table]), 1)
    limits = TreeLimits(
        max_features=max_features, min_leaf=min_leaf, min_split=2, draw_until_feasible=True
    )
    rules = GrowthRules(GiniCriterion(), limits)
    if random_cuts:
        rules = GrowthRules.with_random_cuts(GiniCriterion(), limits, coded.values)
    growth_table = GrowthTable(
        coded.columns,
        np.array(classes, dtype=np.uint16),
        np.ones(len(table), dtype=np.uint8),
        n_labeled,
        max(classes) + 1,
    )
    streams = (np.array(each, dtype=np.uint64) for each in sampling)
    return out_of_bag_sums(
        growth_table, rules, *streams, StopSignal(), ScratchPool() if pool is None else pool
    )


@st.composite
def samplings(draw, n_labeled, n_unlabeled):
    """Words of the rows, chances of the rows, and two seeds per tree."""
    n_rows = n_labeled + n_unlabeled
    words = draw(st.lists(any_word, min_size=n_rows, max_size=n_rows))
    # Half, nearly none, and nearly all: some trees lack a side, and some leave nothing out.
    chances = st.sampled_from([2**63, 2**60, 2**64 - 2**60, 2**64 - 1])
    below = [draw(chances)] * n_labeled + [draw(chances)] * n_unlabeled
    of_trees = st.lists(any_word, min_size=N_TREES, max_size=N_TREES)
    return words, below, draw(of_trees), draw(of_trees)


def check(problem, data, random_cuts=False):
    """Two sides, or all known classes beside the unlabelled rows."""
    n_labeled = len(problem.X)
    sampling = data.draw(samplings(n_labeled, problem.n_unlabeled), label="sampling")
    min_leaf = data.draw(st.integers(1, 4), label="min_leaf")
    known = [0] * n_labeled
    if data.draw(st.booleans(), label="all classes"):
        known = problem.codes.tolist()
    classes = [*known, *[max(known) + 1] * problem.n_unlabeled]
    sums, times = grow(
        problem.everyone,
        classes,
        n_labeled,
        sampling,
        min_leaf,
        problem.max_features,
        random_cuts=random_cuts,
    )
    rows = Rows(
        values=problem.everyone.tolist(),
        classes=classes,
        weights=[1] * len(classes),
        n_known=max(known) + 1,
    )
    words, below, tree_seeds, sample_seeds = sampling
    expected, expected_times = naive_sums(
        rows,
        n_labeled,
        words,
        below,
        LeafRule(min_leaf),
        problem.max_features,
        tree_seeds,
        sample_seeds,
        random_cuts,
    )
    assert times.tolist() == expected_times
    assert_allclose(sums, expected, rtol=0, atol=1e-12)


@slow
@given(problem=problems(max_rows=20), data=st.data())
def test_random_cuts(problem, data):
    check(problem, data, random_cuts=True)


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
    words, tree_seeds, sample_seeds = (
        rng.integers(2**64, size=size, dtype=np.uint64).tolist() for size in (700, 2, 2)
    )
    classes = [0] * 300 + [1] * 400
    below = [2**63] * 300 + [2**62] * 400
    rows = Rows(table.tolist(), classes, [1] * 700, 1)
    sums, times = grow(table, classes, 300, (words, below, tree_seeds, sample_seeds), 10, 2)
    expected, expected_times = naive_sums(
        rows, 300, words, below, LeafRule(10), 2, tree_seeds, sample_seeds
    )
    assert times.tolist() == expected_times
    assert_allclose(sums, expected, rtol=0, atol=1e-12)


def test_a_row_above_all_that_a_cut_beside_missing_rows_saw_is_not_missing():
    # One cut says it all: labelled rows have a value, unlabelled ones have none. The highest value
    # is left out of the tree, and is a value all the same.
    table = np.append(np.arange(10.0), np.full(10, np.nan))[:, None]
    left_out = (word for word in range(1000) if not is_drawn(word, 0, 2**63))
    drawn = (word for word in range(1000) if is_drawn(word, 0, 2**63))
    words = [next(left_out) if row == 9 else next(drawn) for row in range(20)]
    classes = [0] * 10 + [1] * 10
    sums, times = grow(table, classes, 10, (words, [2**63] * 20, [0], [0]), 1, 1)
    assert times.tolist() == [int(row == 9) for row in range(20)]
    assert sums[9].tolist() == [1.0, 0.0]


@settings(max_examples=20)
@given(problem=problems(max_rows=20), data=st.data())
def test_scratch_memory_is_clean_when_used_again(problem, data):
    n_labeled = len(problem.X)
    sampling = data.draw(samplings(n_labeled, problem.n_unlabeled))
    classes = [0] * n_labeled + [1] * problem.n_unlabeled
    fixed = (problem.everyone, classes, n_labeled, sampling, 1, problem.max_features)
    pool = ScratchPool()
    for _ in range(2):
        sums, times = grow(*fixed, pool=pool)
        assert len(pool) == 1
    fresh_sums, fresh_times = grow(*fixed)
    assert_array_equal(sums, fresh_sums)
    assert_array_equal(times, fresh_times)


@pytest.mark.parametrize(
    ("n_labeled", "n_words", "n_below", "n_seeds", "message"),
    [
        (0, 4, 4, 1, "labelled and unlabelled rows, a word and a chance per row"),
        (4, 4, 4, 1, "labelled and unlabelled rows, a word and a chance per row"),
        (2, 3, 4, 1, "labelled and unlabelled rows, a word and a chance per row"),
        (2, 4, 2, 1, "labelled and unlabelled rows, a word and a chance per row"),
        (2, 4, 4, 2, "as many sample_seeds as seeds"),
    ],
)
def test_arrays_that_do_not_fit_together(n_labeled, n_words, n_below, n_seeds, message):
    sampling = ([0] * n_words, [1] * n_below, [0], [0] * n_seeds)
    with pytest.raises(ValueError, match=message):
        grow(np.ones((4, 1)), [0, 0, 1, 1], n_labeled, sampling, 1, 1)


# ---------------------------------------------------------------------------- all of forest_scores


def scores_of(problem, seed, n_jobs=1):
    columns = code_columns(RowStack([problem.everyone]), 1)
    return forest_scores(columns, len(problem.X), seed, n_jobs)


@several
@given(problem=problems(), data=st.data())
def test_words_tell_rows_apart_whatever_their_order(problem, data):
    # Equal rows too, or a tree would see all of them or none.
    table = problem.X
    order = data.draw(permutations(len(table)))
    words, others = (
        row_words(code_columns(RowStack([each]), 1), 0, len(each)) for each in (table, table[order])
    )
    assert len(np.unique(words)) == len(words)
    assert_array_equal(np.sort(words), np.sort(others))


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


@pytest.mark.parametrize(
    ("n_smaller", "leaf"), [(2, 2), (60, 2), (150, 5), (299, 9), (300, 10), (100_000, 10)]
)
def test_leaves_shrink_where_one_side_has_few_rows(n_smaller, leaf):
    assert leaf_size(n_smaller) == leaf
