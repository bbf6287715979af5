"""Table 1 on synthetic datasets, with methods whose results are known."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import ttest_rel

from lacforest import LACForestClassifier
from lacforest.datasets import make_figure1
from lacforest.ensemble.base import BaseLACForest
from lacforest.ensemble.registry import FORESTS
from lacforest.experiments import _learning, _methods, _paper
from lacforest.experiments._comparison import compare, win_tie_loss
from lacforest.experiments._evaluation import evaluate
from lacforest.experiments._learning import LearningJob, LearningOptions, Setting, make_jobs
from lacforest.experiments._sweeps import THETA
from lacforest.metrics import accuracy_score, macro_f1_score, new_class_auc


def run_all(experiment):
    return [(job, experiment.run_job(job)) for job in make_jobs(experiment.options).values()]


def test_jobs_cover_everything_once():
    options = LearningOptions("x", ["a", "b"], ["m", "n"], THETA.points, 3, 2)
    jobs = make_jobs(options)
    assert len(jobs) == 2 * 6 * 3 * 2 * 2
    assert list(jobs)[:2] == ["a/30/1000/0/0/m", "a/30/1000/0/0/n"]


def test_trials_take_turns_with_the_choices():
    options = LearningOptions("x", ["a"], ["m"], n_choices=3, n_trials=5)
    assert options.splits == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1)]
    by_default = LearningOptions("x", ["a"], ["m"])
    assert set(by_default.splits) == set(LearningOptions("x", ["a"], ["m"], n_trials=100).splits)


def test_methods_see_the_same_rows(experiment, given):
    job = LearningJob("one", Setting(), 0, 0, "good")
    experiment.run_job(job)
    experiment.run_job(LearningJob("one", Setting(), 0, 0, "bad"))
    for first, second in zip(*given, strict=True):
        assert_array_equal(first, second)
    X, y, X_unlabeled = given[0]
    assert len(X) == len(y) == 500
    assert len(X_unlabeled) == 1000


def test_a_choice_fixes_the_hidden_classes_and_a_sample_the_rows(experiment):
    def hidden(choice, sample, *point):
        return experiment.draw(LearningJob("one", Setting(*point), choice, sample, "good"))[0]

    assert_array_equal(hidden(0, 0).hidden, hidden(0, 1).hidden)
    assert_array_equal(hidden(0, 0).hidden, hidden(0, 0, 30, 400).hidden)
    assert not np.array_equal(hidden(0, 0).labeled, hidden(0, 1).labeled)
    choices = {tuple(hidden(choice, 0).hidden) for choice in range(8)}
    assert len(choices) > 1


def test_results_are_measured(experiment):
    result = experiment.run_job(LearningJob("one", Setting(), 0, 0, "good"))
    assert result["accuracy"] == result["macro_f1"] == result["auc"] == 1.0
    assert result["theta"] == 0.5
    assert result["theta_estimate"] == 0.4
    assert result["seconds"] > 0
    worse = experiment.run_job(LearningJob("one", Setting(), 0, 0, "bad"))
    assert 0.4 < worse["accuracy"] < 0.8


def test_test_rows_are_predicted_once(experiment, monkeypatch):
    calls = []

    def count(cls, name):
        method = getattr(cls, name)

        def counted(self, X, *more):
            calls.append((name, len(X)))
            return method(self, X, *more)

        monkeypatch.setattr(cls, name, counted)

    for name in ("predict", "predict_proba", "novelty_score"):
        count(BaseLACForest, name)
    experiment._factories["good"] = lambda *_: LACForestClassifier(2, theta=0.5, random_state=0)
    experiment.run_job(LearningJob("one", Setting(), 0, 0, "good"))
    assert calls == [("predict_proba", _learning.N_TEST)]


@pytest.mark.parametrize("name", ["lacforest", "lacextratrees", "glac", "osnn"])
def test_one_prediction_gives_labels_and_scores(name):
    toy = make_figure1(60, 80, random_state=0)
    model = _methods.make_method(name, 0.5, 0, 1)
    model.set_params(**{"n_estimators": 3, "theta": 0.5} if name in FORESTS else {})
    model.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
    found = evaluate(model, toy.X_unlabeled, toy.y_unlabeled, -1)
    assert found == {
        "accuracy": accuracy_score(toy.y_unlabeled, model.predict(toy.X_unlabeled)),
        "macro_f1": macro_f1_score(toy.y_unlabeled, model.predict(toy.X_unlabeled)),
        "auc": new_class_auc(toy.y_unlabeled, model.novelty_score(toy.X_unlabeled), new_label=-1),
    }


def test_too_few_rows_for_any_choice(experiment):
    with pytest.raises(ValueError, match="one has too few rows for 500 labelled and 9000 unl"):
        experiment.draw(LearningJob("one", Setting(50, 9000), 0, 0, "good"))


def test_cells_are_means_and_paired_tests(experiment):
    results = run_all(experiment)
    cells = compare(results)
    assert len(cells) == 2 * 3
    good, bad = (
        np.array([result["accuracy"] for job, result in results if job.method == method])
        for method in ("good", "bad")
    )
    cell = cells[1]
    assert (cell.method, cell.measure, cell.n_splits) == ("bad", "accuracy", 4)
    assert cell.mean == pytest.approx(bad.mean())
    assert cell.deviation == pytest.approx(bad.std(ddof=1))
    assert ttest_rel(good, bad).pvalue < 0.05
    assert cell.verdict == "win"
    assert cells[0].verdict is None
    assert win_tie_loss(cells, "bad", "accuracy") == "1/0/0"


def test_registering_twice(given):
    with pytest.raises(ValueError, match="a method named 'good' already exists"):
        _methods.register_method("good", lambda *_: None)


def test_the_methods_of_the_library():
    auto, km2, true = (
        _methods.make_method(name, 0.3, 1, 2)
        for name in ("lacforest", "lacforest:km2", "lacforest:true_theta")
    )
    assert auto.theta == "auto"
    assert km2.theta.variant == "km2"
    assert true.theta == 0.3
    assert (auto.random_state, auto.n_jobs) == (1, 2)


def test_the_forests_are_those_of_the_registry():
    for name, forest in FORESTS.items():
        assert type(_methods.make_method(name, 0.5, 0, 1)) is forest


def test_all_are_the_methods_of_the_paper():
    assert tuple(_methods.compared_methods()) == _paper.METHODS
    for name in _methods.METHODS.keys() - {"oracle", "discriminator"}:
        model = _methods.make_method(name, 0.3, 7, 2)
        given = model.get_params()
        assert given.get("random_state", 7) == 7
        assert given.get("n_jobs", 2) == 2
        if name not in ("lacforest:true_theta", "lacforest:km2"):
            assert given.get("theta") in ("auto", None), name


def test_settings_of_the_table_and_of_the_authors():
    own, published = (_methods.make_method(name, 0.5, 0, 1) for name in ("osnn", "osnn:published"))
    assert (own.threshold, published.threshold) == (0.95, "tuned")
    own, published = (
        _methods.make_method(name, 0.5, 0, 1) for name in ("pac_iforest", "pac_iforest:published")
    )
    assert (own.q, own.forests, published.q, published.forests) == (0.2, "one", 0.05, "per_class")
    assert "eulac:published" not in _methods.METHODS


def test_standard_setting_is_that_of_the_paper():
    assert _learning.Setting() == Setting(50, 1000)
    assert (_learning.N_LABELED, _learning.N_TEST) == (500, 100)
