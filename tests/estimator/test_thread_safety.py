"""Concurrent predictions and fits give bit-identical results to sequential ones."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from two_blobs import U, X, fitted_forest, small_forest, y

from lacforest import LACForestClassifier
from lacforest.ensemble import base, fitted

N_THREADS = 8


def at_once(*calls):
    """Return the results of calls that start together, each in its own thread."""
    barrier = threading.Barrier(len(calls))

    def start(call):
        barrier.wait(timeout=60)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result(timeout=120) for future in [pool.submit(start, c) for c in calls]]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    table = rng.normal(scale=4, size=(400, 3))
    table[rng.random(table.shape) < 0.1] = np.nan
    return table


METHODS = {
    "predict": lambda forest, rows: forest.predict(rows),
    "predict_proba": lambda forest, rows: forest.predict_proba(rows),
    "novelty_score": lambda forest, rows: forest.novelty_score(rows),
    "exploration": lambda forest, rows: forest.novelty_score(rows, "exploration"),
    "apply": lambda forest, rows: forest.apply(rows),
    "export_text": lambda forest, rows: forest.export_text(1),
    "impurity": lambda forest, rows: np.concatenate([t.impurity for t in forest.estimators_]),
}


@pytest.mark.parametrize("name", METHODS)
def test_one_model_asked_by_many_threads(rows, name):
    ask = METHODS[name]
    expected = ask(fitted_forest(n_estimators=20), rows)
    forest = fitted_forest(n_estimators=20)  # nothing cached yet

    def often():
        return [ask(forest, rows) for _ in range(10)]

    for answers in at_once(*[often] * N_THREADS):
        for answer in answers:
            assert_array_equal(answer, expected)


def test_different_questions_to_one_model(rows):
    forest = fitted_forest(n_estimators=20, n_jobs=2)
    expected = [ask(forest, rows) for ask in METHODS.values()]
    calls = [lambda ask=ask: [ask(forest, rows) for _ in range(5)] for ask in METHODS.values()]
    for answers, answer in zip(at_once(*calls), expected, strict=True):
        for one in answers:
            assert_array_equal(one, answer)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("theta", [0.5, "auto"])
def test_many_fits_at_once(rows, theta, n_jobs):
    def fit(seed):
        forest = small_forest(
            theta=theta, random_state=seed, n_jobs=n_jobs, bootstrap=seed % 2 == 1
        )
        return forest.fit(X, y, X_unlabeled=U).predict_proba(rows)

    expected = [fit(seed) for seed in range(N_THREADS)]
    found = at_once(*[lambda seed=seed: fit(seed) for seed in range(N_THREADS)])
    assert_array_equal(found, expected)


def test_fits_of_one_table_beside_predictions(rows):
    forest = fitted_forest()
    expected = forest.predict_proba(rows)

    def fit():
        return [fitted_forest().predict_proba(rows) for _ in range(5)]

    def predict():
        return [forest.predict_proba(rows) for _ in range(50)]

    for answers in at_once(*[fit, predict] * (N_THREADS // 2)):
        assert_array_equal(answers, [expected] * len(answers))


def other_fit(forest):
    """Another fit of the same estimator: other classes, more of them, the new one elsewhere."""
    three = np.array(["a", "b", "z"])[np.arange(len(y)) % 3]
    return forest.set_params(new_label="new").fit(X, three, X_unlabeled=U)


def first_fit(forest):
    return forest.set_params(new_label="auto").fit(X, y, X_unlabeled=U)


ANSWERS = METHODS | {
    "predict_log_proba": lambda forest, rows: forest.predict_log_proba(rows),
    "decision_path": lambda forest, rows: forest.decision_path(rows)[0].toarray(),
    "adapt": lambda forest, rows: forest.adapt(U).predict(rows),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_predictions_while_the_same_estimator_is_refitted(rows, name):
    ask = ANSWERS[name]
    expected = [ask(fit(small_forest()), rows) for fit in (first_fit, other_fit)]
    assert not np.array_equal(*expected)
    forest = first_fit(small_forest())
    done = threading.Event()

    def refit():
        try:
            for _ in range(8):
                other_fit(forest)
                first_fit(forest)
        finally:
            done.set()

    def predict():
        found = []
        while not done.is_set():
            found.append(ask(forest, rows))
        return found

    for answers in at_once(refit, predict, predict)[1:]:
        for answer in answers:
            assert any(np.array_equal(answer, one) for one in expected)


def test_a_fit_shows_nothing_before_it_is_done(rows, monkeypatch):
    forest = first_fit(small_forest())
    before, expected = dict(vars(forest)), forest.predict(rows)
    seen = []

    def grow(self, *arguments):
        found = own_grow(self, *arguments)  # sets the fitted attributes of the copy
        assert vars(forest)["_forest"] is before["_forest"]
        assert vars(forest)["classes_"] is before["classes_"]
        seen.append(forest.predict(rows))
        return found

    own_grow = base.BaseLACForest._grow
    monkeypatch.setattr(base.BaseLACForest, "_grow", grow)
    other_fit(forest)
    assert_array_equal(seen, [expected])
    assert set(forest.predict(rows)) <= {"a", "b", "z", "new"}


def test_a_prediction_ends_with_the_fit_that_it_began_with(rows, monkeypatch):
    forest = first_fit(small_forest())
    expected = forest.predict(rows)
    own_check = fitted.check_prediction_table

    def check(estimator, table):
        checked = own_check(estimator, table)
        monkeypatch.setattr(fitted, "check_prediction_table", own_check)
        other_fit(forest)
        return checked

    monkeypatch.setattr(fitted, "check_prediction_table", check)
    assert_array_equal(forest.predict(rows), expected)
    assert set(forest.predict(rows)) <= {"a", "b", "z", "new"}


def test_saves_to_one_file_beside_loads(tmp_path, rows):
    # The last rename wins, and readers never see a mixture of two files.
    path = tmp_path / "forest.lac"
    forests = [fitted_forest(random_state=seed) for seed in range(3)]
    forests[0].save(path)
    expected = [forest.predict_proba(rows) for forest in forests]

    def save(forest):
        for _ in range(10):
            forest.save(path)

    def load():
        return [LACForestClassifier.load(path).predict_proba(rows) for _ in range(10)]

    calls = [lambda forest=forest: save(forest) for forest in forests]
    for answers in at_once(*calls, load, load)[3:]:
        for answer in answers:
            assert any(np.array_equal(answer, one) for one in expected)
    assert [entry.name for entry in tmp_path.iterdir()] == ["forest.lac"]


@pytest.mark.skipif(
    not hasattr(sys, "_is_gil_enabled"), reason="this Python has no free-threaded build"
)
def test_the_import_leaves_the_gil_off():
    # A compiled module that does not declare itself safe would turn the GIL on again.
    import sysconfig

    free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    assert sys._is_gil_enabled() != free_threaded
