"""A model file of format version 1, written once, stays readable and says what it said then."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lacforest import LACForestClassifier

DATA = Path(__file__).parent.parent / "data"
MODEL = DATA / "forest-v1.lac"


@pytest.fixture(scope="module")
def facts():
    return json.loads((DATA / "forest-v1.json").read_text())


@pytest.fixture(scope="module")
def forest():
    return LACForestClassifier.load(MODEL)


@pytest.fixture(scope="module")
def queries(facts):
    return np.array(facts["queries"], dtype=float)  # None becomes NaN


def test_it_is_small():
    assert MODEL.stat().st_size < 10_000


def test_predictions(forest, facts, queries):
    assert np.isnan(queries).any()
    # Sums of three float32 shares in double: no room for rounding to differ between machines.
    assert_array_equal(forest.predict_proba(queries), facts["predict_proba"])
    assert_array_equal(forest.predict(queries), facts["predict"])
    assert_array_equal(forest.apply(queries), facts["apply"])
    # Proportions of Step I are computed here, and a fused multiply-add may round them otherwise.
    scores = forest.novelty_score(queries, stage="exploration")
    assert_allclose(scores, facts["exploration"], rtol=1e-12, atol=1e-12)
    assert set(facts["predict"]) == {"cat", "dog", "neither"}  # it says something


def test_fitted_attributes(forest, facts):
    assert forest.classes_.tolist() == facts["classes"]
    assert forest.known_classes_.tolist() == ["cat", "dog"]
    assert forest.new_label_ == "neither"
    assert_array_equal(forest.pseudo_labels_, facts["pseudo_labels"])
    assert_array_equal(forest.unlabeled_score_, facts["unlabeled_score"])
    assert_array_equal(forest.feature_importances_, facts["feature_importances"])
    assert forest.get_params() == facts["parameters"]
    assert len(forest.estimators_) == 3


def test_trees_can_be_looked_at(forest):
    for tree in forest.estimators_:
        leaf = tree.children_left == -1
        assert_allclose(tree.value[leaf].sum(axis=1), 1.0, rtol=1e-6)
        assert {1, 2} == set(tree.phase.tolist())
    assert "-> neither" in forest.export_text(0)


def test_it_can_be_saved_in_the_present_format(forest, queries, tmp_path):
    forest.save(tmp_path / "again.lac")
    again = LACForestClassifier.load(tmp_path / "again.lac")
    assert_array_equal(again.predict_proba(queries), forest.predict_proba(queries))
