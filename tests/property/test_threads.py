"""The same seed gives bit-identical results for any number of threads and any backend."""

import joblib
import numpy as np
import pytest
from forests import assert_same_forest
from hypothesis import given, settings
from strategies import Problem, problems, seeds

# Starting threads takes most of the time.
few = settings(max_examples=10)


@pytest.mark.parametrize("n_jobs", [2, 4])
@few
@given(problem=problems(), seed=seeds)
def test_number_of_threads(n_jobs, problem, seed):
    one = problem.fit(10, seed, n_jobs=1)
    several = problem.fit(10, seed, n_jobs=n_jobs)
    assert_same_forest(one, several)
    assert (several.predict_proba(problem.X) == one.predict_proba(problem.X)).all()


@pytest.mark.parametrize("backend", ["threading", "loky"])
@few
@given(problem=problems(), seed=seeds)
def test_backend(backend, problem, seed):
    alone = problem.fit(10, seed)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert_same_forest(alone, problem.fit(10, seed))


@pytest.mark.parametrize("bootstrap", [False, True])
def test_enough_work_for_every_thread(bootstrap, global_random_seed):
    # Trees, columns and rows are all divided into different blocks here.
    rng = np.random.default_rng(global_random_seed)
    table = rng.normal(size=(1500, 30))
    table[rng.random(table.shape) < 0.05] = np.nan
    y = rng.integers(0, 3, 500)
    problem = Problem(table[:500], y, table[500:], 0.4, 0.02, 5)
    one = problem.fit(60, global_random_seed, n_jobs=1, bootstrap=bootstrap)
    rows = np.tile(table, (4, 1))  # 360,000 pairs of row and tree: prediction uses threads too
    expected = one.predict_proba(rows)
    for n_jobs in (2, 4):
        several = problem.fit(60, global_random_seed, n_jobs=n_jobs, bootstrap=bootstrap)
        assert_same_forest(one, several)
        assert (several.predict_proba(rows) == expected).all()
