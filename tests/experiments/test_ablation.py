"""The ablation table, and the forest that is trained on the hidden labels."""

import json

import numpy as np
import pytest

from lacforest.experiments._ablation import METHODS, gap_closed, render_ablation
from lacforest.experiments._learning import LearningJob, Setting
from lacforest.experiments._methods import METHODS as REGISTERED
from lacforest.experiments._oracle import OracleForest

ACCURACY = {
    "lacforest": {"one": 0.80, "two": 0.90},
    "lacextratrees": {"one": 0.85, "two": 0.91},
    "oracle": {"one": 0.90, "two": 0.94},
}


def make_results(accuracy=ACCURACY, n_samples=4):
    noise = np.linspace(-0.01, 0.01, n_samples)
    return [
        (LearningJob(name, Setting(), 0, i, method), {"accuracy": mean + noise[i]})
        for method, by_name in accuracy.items()
        for name, mean in by_name.items()
        for i in range(n_samples)
    ]


def test_the_share_of_the_gap():
    rows = json.loads(render_ablation(make_results(), "json"))["table"]
    paper, ours, oracle = rows
    # Half of 0.10 on one dataset, a quarter of 0.04 on the other; 0.03 of 0.07 on average.
    assert ours["closed_by_dataset"] == pytest.approx((0.5 + 0.25) / 2)
    assert ours["closed"] == pytest.approx(0.03 / 0.07)
    assert (paper["closed"], oracle["closed"]) == (0.0, pytest.approx(1.0))
    assert (paper["step"], paper["error"]) == (None, None)
    assert ours["step"] == pytest.approx(0.03)
    assert ours["error"] == pytest.approx(np.std([0.05, 0.01], ddof=1) / 2**0.5)
    assert (ours["one"], ours["average"]) == (pytest.approx(0.85), pytest.approx(0.88))


def test_no_share_where_there_is_no_gap():
    means = {"lacforest": np.array([0.9]), "oracle": np.array([0.9])}
    assert gap_closed(means, "lacforest") == (None, None)
    assert gap_closed({"lacforest": np.array([0.9])}, "lacforest") == (None, None)


def test_the_table_as_text():
    text = render_ablation(make_results(), "text")
    assert text.splitlines()[0].split()[:3] == ["method", "change", "one"]
    assert "4 splits per dataset" in text


def test_all_methods_are_registered():
    assert set(METHODS) <= set(REGISTERED)


def test_the_oracle_finds_the_hidden_class():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)) + np.repeat([[0], [8]], 20, axis=0), np.repeat([0, 1], 20)
    deployed = np.vstack([X, rng.normal(size=(40, 2)) + np.array([0, 8])])
    truth = np.append(y, [-1] * 40)
    forest = OracleForest(0, 1).fit(X, y, deployed, truth)
    probabilities = forest.predict_proba(deployed)
    assert (forest.classes_[probabilities.argmax(axis=1)] == truth).all()
    scores = probabilities[:, forest.new_class_index_]
    assert scores[truth == -1].min() > scores[truth != -1].max()
