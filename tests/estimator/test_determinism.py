"""Bit-identical results for the same seed with any number of threads, backend and batch."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from forests import assert_same_forest, n_explored
from numpy.testing import assert_array_equal
from sklearn.base import clone
from two_blobs import U, X, small_forest, y

# Enough rows and trees for several threads: prediction uses a second thread from 400,000 pairs of
# row and tree on.
rng = np.random.default_rng(0)
X_large, y_large = rng.normal(size=(400, 6)), rng.integers(0, 3, size=400)
U_large = rng.normal(size=(600, 6)) + np.repeat([[0.0], [1.5]], 300, axis=0)
queries = rng.normal(size=(9000, 6))
N_TREES = 60


def large_forest(**parameters):
    parameters = {"n_estimators": N_TREES, "random_state": 0} | parameters
    return small_forest(**parameters).fit(X_large, y_large, X_unlabeled=U_large)


@pytest.fixture(scope="module")
def reference():
    return large_forest(n_jobs=1)


def assert_same_predictions(forest, reference):
    assert_array_equal(forest.predict_proba(queries), reference.predict_proba(queries))
    assert_array_equal(forest.apply(queries), reference.apply(queries))
    assert_array_equal(
        forest.novelty_score(queries, "exploration"),
        reference.novelty_score(queries, "exploration"),
    )


# ---------------------------------------------------------------------------- threads


@pytest.mark.parametrize("n_jobs", [2, 4, -1, None])
def test_any_number_of_threads(reference, n_jobs):
    forest = large_forest(n_jobs=n_jobs)
    assert_same_forest(forest, reference)
    assert_same_predictions(forest, reference)


@pytest.mark.parametrize("options", [{"bootstrap": True}, {"class_weight": "balanced"}], ids=str)
def test_threads_with_other_options(options):
    assert_same_forest(large_forest(n_jobs=3, **options), large_forest(n_jobs=1, **options))


def test_threads_in_a_plain_forest():
    one, three = (small_forest(n_jobs=n).fit(X_large, y_large) for n in (1, 3))
    assert_same_forest(one, three)


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing", "sequential"])
def test_any_backend(reference, backend):
    # The kernels share memory, so threads are used even within a backend of processes.
    with joblib.parallel_config(backend=backend, n_jobs=2):
        forest = large_forest(n_jobs=None)
        assert_same_predictions(forest, reference)
    assert_same_forest(forest, reference)


def test_a_forest_can_be_fitted_and_used_inside_worker_processes(reference):
    # loky hands large arrays to its workers as read-only memory maps.
    def fit_and_predict(table, labels, unlabeled, rows):
        forest = small_forest(n_estimators=N_TREES).fit(table, labels, X_unlabeled=unlabeled)
        return forest.predict_proba(rows)

    with joblib.parallel_config(backend="loky", n_jobs=2, max_nbytes=1000):
        answers = joblib.Parallel()(
            [
                joblib.delayed(fit_and_predict)(X_large, y_large, U_large, queries[:100]),
                joblib.delayed(type(reference).predict_proba)(reference, queries[:100]),
            ]
        )
    for answer in answers:
        assert_array_equal(answer, reference.predict_proba(queries[:100]))


# ---------------------------------------------------------------------------- batches


@pytest.mark.parametrize("size", [1, 2, 7, 64, 1000])
def test_any_split_into_batches(reference, size):
    rows = queries[: 40 * size]
    batches = [rows[first : first + size] for first in range(0, len(rows), size)]
    for method in ("predict_proba", "novelty_score", "apply", "predict"):
        whole = getattr(reference, method)(rows)
        assert_array_equal(np.concatenate([getattr(reference, method)(b) for b in batches]), whole)


def test_any_order_of_rows(reference):
    order = rng.permutation(len(queries))
    assert_array_equal(
        reference.predict_proba(queries[order]), reference.predict_proba(queries)[order]
    )
    assert_array_equal(reference.apply(queries[order]), reference.apply(queries)[order])


def test_neighbours_in_a_batch_do_not_matter(reference):
    # Equal rows, rows of NaN and sorted rows follow different code paths in a batch.
    strange = np.vstack([np.repeat(queries[:1], 500, axis=0), np.full((500, 6), np.nan)])
    answers = reference.predict_proba(np.vstack([strange, np.sort(queries, axis=0), queries]))
    assert_array_equal(answers[-len(queries) :], reference.predict_proba(queries))
    assert_array_equal(answers[:500], np.repeat(reference.predict_proba(queries[:1]), 500, axis=0))


def test_prediction_does_not_change_the_forest(reference):
    before = pickle.dumps(reference)
    assert_same_predictions(reference, reference)
    _ = reference.estimators_[0].impurity, reference.decision_path(queries[:50])
    assert pickle.dumps(reference) == before


# ---------------------------------------------------------------------------- random_state


def test_a_number_gives_the_same_forest_every_time():
    forest = small_forest(random_state=7).fit(X, y, X_unlabeled=U)
    assert_same_forest(forest, small_forest(random_state=7).fit(X, y, X_unlabeled=U))
    assert_same_forest(forest, clone(forest).fit(X, y, X_unlabeled=U))
    again = copy.deepcopy(forest).fit(X, y, X_unlabeled=U)
    assert_same_forest(forest, again)


def thresholds(forest):
    return np.concatenate([tree.threshold for tree in forest.estimators_]).tolist()


def test_another_number_gives_another_forest():
    forests = [small_forest(random_state=seed).fit(X, y, X_unlabeled=U) for seed in range(5)]
    assert len({tuple(thresholds(forest)) for forest in forests}) == 5


def test_a_random_state_moves_on_between_fits():
    forest = small_forest(random_state=np.random.RandomState(7))
    first = thresholds(forest.fit(X, y, X_unlabeled=U))
    assert thresholds(forest.fit(X, y, X_unlabeled=U)) != first
    # A new RandomState gives the same draws as its integer seed.
    forest.set_params(random_state=np.random.RandomState(7))
    assert thresholds(forest.fit(X, y, X_unlabeled=U)) == first
    assert thresholds(small_forest(random_state=7).fit(X, y, X_unlabeled=U)) == first


def test_none_draws_from_the_global_state_of_numpy():
    state = np.random.get_state()  # noqa: NPY002  (the state in question)
    try:
        np.random.seed(3)  # noqa: NPY002
        first = thresholds(small_forest(random_state=None).fit(X, y, X_unlabeled=U))
        second = thresholds(small_forest(random_state=None).fit(X, y, X_unlabeled=U))
        np.random.seed(3)  # noqa: NPY002
        again = thresholds(small_forest(random_state=None).fit(X, y, X_unlabeled=U))
    finally:
        np.random.set_state(state)  # noqa: NPY002
    assert first == again
    assert first != second


def test_a_number_leaves_the_global_state_alone():
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    small_forest(bootstrap=True).fit(X, y, X_unlabeled=U).predict(U)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


# ---------------------------------------------------------------------------- number of trees


@pytest.mark.parametrize("bootstrap", [False, True])
def test_the_first_trees_of_a_larger_forest_are_those_of_a_smaller_one(bootstrap):
    few, many = (
        small_forest(n_estimators=n, bootstrap=bootstrap).fit(X_large, y_large) for n in (4, 11)
    )
    for small, large in zip(few.estimators_, many.estimators_[:4], strict=True):
        assert_array_equal(small.children_left, large.children_left)
        assert_array_equal(small.feature, large.feature)
        assert_array_equal(small.threshold, large.threshold)
        assert_array_equal(small.value, large.value)


@pytest.mark.parametrize("bootstrap", [False, True])
def test_step_one_of_the_first_trees_does_not_know_the_number_of_trees(bootstrap):
    # Step II does: its pseudo-labels come from the scores of all trees.
    few, many = (
        large_forest(n_estimators=n, bootstrap=bootstrap, known_shares="labeled") for n in (4, 11)
    )
    for small, large in zip(few.estimators_, many.estimators_[:4], strict=True):
        n_first = n_explored(small)
        assert n_first == n_explored(large)
        assert_array_equal(small.n_unlabeled[:n_first], large.n_unlabeled[:n_first])
        assert_array_equal(small.n_labeled[:n_first], large.n_labeled[:n_first])
        # Step II may split leaves of Step I differently in each forest.
        inner = np.flatnonzero((small.children_left >= 0) & (small.children_left < n_first))
        assert_array_equal(small.feature[inner], large.feature[inner])
        assert_array_equal(small.threshold[inner], large.threshold[inner])


def test_trees_differ_from_each_other(reference):
    assert len({tuple(tree.threshold.tolist()) for tree in reference.estimators_}) == N_TREES
