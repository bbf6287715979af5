"""Samples of rows by hash: against the naive twin, and independent of everything but the row."""

import numpy as np
import pytest
from forests import assert_same_forest, n_explored
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference.forest import grow_forest, seeds_of_trees
from reference.random import hashed_sample, row_share
from strategies import problems, seeds

from lacforest import LACExtraTreesClassifier
from lacforest._growing.plan import RowSample
from lacforest._growing.soft_labels import SoftLabels
from lacforest._tree.coded_columns import CodedColumns, ColumnValues
from lacforest._tree.criterion import AugmentedGiniCriterion, GiniCriterion
from lacforest._tree.grower import grow_trees
from lacforest._tree.growth import GrowthRules, GrowthTable, TreeLimits
from lacforest._tree.row_hash import classes_at, row_shares, row_words, sample_rows
from lacforest._tree.workspace import ScratchPool, StopSignal

slow = settings(max_examples=60)
words = st.integers(0, 2**64 - 1)
rates = st.one_of(st.sampled_from([0.1, 0.5, 0.9, 1.0]), st.floats(0.01, 1.0))


@given(first=st.integers(0, 2**33), n_rows=st.integers(0, 20), seed=words)
def test_hashes_are_those_of_the_naive_twin(first, n_rows, seed):
    rows = np.arange(first, first + n_rows)
    expected = [row_share(int(row), seed) for row in rows]
    assert row_shares(rows, seed).tolist() == expected
    assert ((row_words(first, first + n_rows, seed) >> 11) / 2**53).tolist() == expected


@given(n_rows=st.integers(0, 20), n_known=st.integers(1, 5), seed=seeds)
def test_classes_are_those_of_a_walk_along_the_edges(n_rows, n_known, seed):
    rng = np.random.default_rng(seed)
    shares = rng.integers(8, size=n_rows) / 8
    edges = np.sort(rng.integers(9, size=(n_rows, n_known)) / 8, axis=1)
    expected = []
    for share, own in zip(shares, edges, strict=True):
        at = n_known  # "new" comes first
        for number, edge in enumerate(own):
            if share < edge:
                break
            at = number
        expected.append(at)
    assert classes_at(shares, edges).tolist() == expected


@pytest.mark.parametrize(
    ("shares", "edges", "message"),
    [
        (np.zeros(2), np.zeros((3, 1)), "2 shares for 3 rows of edges"),
        (np.zeros(2), np.zeros((2, 0)), "edges of 0 classes"),
        (np.zeros(1), np.zeros((1, 1 << 16)), "edges of 65536 classes"),
    ],
)
def test_edges_that_are_no_edges(shares, edges, message):
    with pytest.raises(ValueError, match=message):
        classes_at(shares, edges)


@given(n_rows=st.integers(1, 60), seed=words, rate=rates, bootstrap=st.booleans())
def test_samples_are_those_of_the_naive_twin(n_rows, seed, rate, bootstrap):
    sample = RowSample.of(rate, n_rows, bootstrap)
    labeled = sample_rows(0, n_rows, seed, sample.chances)
    assert labeled.tolist() == hashed_sample(n_rows, 0, seed, rate, bootstrap)
    unlabeled = hashed_sample(0, n_rows, seed, rate, bootstrap)
    assert sample.unlabeled_rows(n_rows, seed).tolist() == sorted(set(unlabeled))


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("rate", [0.03, 0.4, 1.0])
def test_samples_are_as_large_as_asked_for(rate, bootstrap):
    chances = RowSample.of(rate, 1, bootstrap).chances
    times = np.bincount(sample_rows(0, 200_000, 7, chances), minlength=200_000)
    assert abs(times.mean() - rate) < 5 * np.sqrt(rate / 200_000)
    variance = rate if bootstrap else rate * (1 - rate)
    assert abs(times.var() - variance) < 0.02


def test_samples_of_two_trees_and_of_both_kinds_are_independent():
    chances = RowSample.of(0.5, 1).chances
    drawn = [set(sample_rows(0, 100_000, seed, chances).tolist()) for seed in (1, 2, 2**64 - 2)]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert abs(len(drawn[one] & drawn[other]) - 25_000) < 700


@given(n_rows=st.integers(1, 60), seed=words, low=rates, high=rates)
def test_a_larger_share_takes_more_of_the_same_rows(n_rows, seed, low, high):
    low, high = sorted([low, high])
    small = sample_rows(0, n_rows, seed, RowSample.of(low, n_rows).chances)
    assert set(small) <= set(sample_rows(0, n_rows, seed, RowSample.of(high, n_rows).chances))


def holds_rows(problem, seed, rate, bootstrap, n_trees):
    """Whether every tree has rows of both kinds."""
    n_labeled, n_unlabeled = len(problem.X), problem.n_unlabeled
    samples = [
        np.array(hashed_sample(n_labeled, n_unlabeled, sample, rate, bootstrap))
        for sample, _, _ in seeds_of_trees(seed, n_trees)
    ]
    return all((rows < n_labeled).any() and (rows >= n_labeled).any() for rows in samples)


@slow
@given(
    problem=problems(),
    seed=seeds,
    rate=st.floats(0.2, 1.0),
    bootstrap=st.booleans(),
    cap=st.sampled_from([None, 0.5]),
)
def test_sampled_trees_are_those_of_the_naive_forest(problem, seed, rate, bootstrap, cap):
    assume(holds_rows(problem, seed, rate, bootstrap, 2))
    options = {"random_state": seed, "bootstrap": bootstrap, "pseudo_cap": cap}
    forest = problem.fit(2, max_samples=rate, **options)
    marked = forest.pseudo_labels_.tolist()
    naive = grow_forest(problem, 2, seed, bootstrap, marked, multiple=cap, rate=rate)
    for view, tree, explored in zip(forest.estimators_, naive.trees, naive.n_explored, strict=True):
        expected = [
            (-1, -2) if node.cut is None else (node.left, node.cut.feature) for node in tree
        ]
        found = zip(view.children_left.tolist(), view.feature.tolist(), strict=True)
        assert list(found) == expected
        assert n_explored(view) == explored
    assert_allclose(forest.unlabeled_score_, naive.scores, rtol=0, atol=1e-9)


@slow
@given(problem=problems(with_weight=True), seed=seeds)
def test_all_rows_as_a_sample_are_all_rows(problem, seed):
    assert_same_forest(
        problem.fit(random_state=seed, max_samples=1.0), problem.fit(random_state=seed)
    )
    n_rows = len(problem.everyone)
    assert_same_forest(
        problem.fit(random_state=seed, max_samples=n_rows), problem.fit(random_state=seed)
    )


def blobs(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    X = rng.normal(size=(n_rows, 4)) + 2.0 * y[:, np.newaxis]
    return X, y, np.vstack([X[::2] + 0.1, rng.normal(size=(n_rows // 2, 4)) - 5.0])


@pytest.mark.parametrize("refinement", ["both", "sampled", "hard", "deepen"])
def test_samples_do_not_depend_on_threads(refinement):
    X, y, U = blobs()
    fits = [
        LACExtraTreesClassifier(
            9,
            n_explorers=7,
            theta=0.5,
            refinement=refinement,
            max_samples=0.4,
            n_jobs=n_jobs,
            random_state=3,
        ).fit(X, y, X_unlabeled=U)
        for n_jobs in (1, 2, 3)
    ]
    for other in fits[1:]:
        assert_same_forest(fits[0], other)


@given(seed=words, n_rows=st.integers(1, 30))
def test_a_label_drawn_by_hash_depends_on_its_row_alone(seed, n_rows):
    rng = np.random.default_rng(5)
    soft = SoftLabels.of(rng.random(30), rng.random((30, 3)), np.ones(3))
    some = np.sort(rng.choice(30, n_rows, replace=False))
    assert_array_equal(soft.draw_rows(some, seed), soft.draw_rows(np.arange(30), seed)[some])


def test_labels_drawn_by_hash_have_the_shares_of_their_classes():
    share, votes = np.full(20_000, 0.3), np.tile([0.5, 0.25, 0.25], (20_000, 1))
    soft = SoftLabels.of(share, votes, np.ones(3))
    found = np.bincount(soft.draw_rows(np.arange(20_000), 11)) / 20_000
    assert_allclose(found, [0.35, 0.175, 0.175, 0.3], atol=0.015)


@pytest.mark.parametrize("random_cuts", [False, True])
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("augmented", [False, True])
def test_a_tree_on_a_sample_is_a_tree_on_the_table_of_its_rows(augmented, bootstrap, random_cuts):
    """The rows of a tree may be gathered elsewhere and grown without the rest of the table."""
    rng = np.random.default_rng(8)
    n_labeled, n_rows, n_classes = 150, 400, 4
    values = rng.integers(0, 40, size=(n_rows, 3))
    codes = [np.ascontiguousarray(column, dtype=np.uint8) for column in values.T]
    classes = rng.integers(0, n_classes - 1, n_rows).astype(np.uint16)
    classes[n_labeled:] = n_classes - 1
    limits = TreeLimits(max_features=2)
    criterion = AugmentedGiniCriterion(0.5, 150, 250) if augmented else GiniCriterion()
    rules = GrowthRules(criterion, limits)
    if random_cuts:
        numbers = ColumnValues([np.arange(40.0)] * 3)
        rules = GrowthRules.with_random_cuts(criterion, limits, numbers)
    chances = RowSample.of(0.5, n_rows, bootstrap).chances

    def grow(rows, n_labeled, sample_seeds, chances):
        table = GrowthTable(
            CodedColumns([column[rows] for column in codes], [40] * 3, [False] * 3),
            classes[rows],
            np.ones(len(rows), dtype=np.uint8),
            n_labeled=n_labeled,
            n_classes=n_classes,
            chances=chances,
        )
        seeds = np.array([5], dtype=np.uint64)
        pool = ScratchPool()
        return grow_trees(table, rules, seeds, sample_seeds, None, StopSignal(), pool)[0]

    seed = 99
    taken = sample_rows(0, n_labeled, seed, chances)
    others = n_labeled + sample_rows(0, n_rows - n_labeled, seed ^ (2**64 - 1), chances)
    whole = grow(np.arange(n_rows), n_labeled, np.array([seed], dtype=np.uint64), chances)
    alone = grow(np.concatenate([taken, others]), len(taken), None, None)
    assert_array_equal(whole.nodes, alone.nodes)
    assert_array_equal(whole.impure, alone.impure)
