"""Model files of every format version remain readable and give the same predictions."""

import json
from pathlib import Path

import numpy as np
import pytest
from data.make_golden import plain_parameters
from numpy.testing import assert_allclose, assert_array_equal

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest._model.forest_files import VERSION, read_attachment
from lacforest.discovery import next_shares

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture(scope="module", params=range(1, VERSION + 1))
def model(request):
    return DATA / f"forest-v{request.param}.lac"


@pytest.fixture(scope="module")
def facts(model):
    facts = json.loads(model.with_suffix(".json").read_text())
    # Version 1 supports theta as a number only.
    return {"theta": facts["parameters"]["theta"], "theta_interval": None} | facts


@pytest.fixture(scope="module")
def cls(model):
    """Up to version 2 there is one class; from version 3 on files may contain two forests."""
    one_class = model.stem in ("forest-v1", "forest-v2")
    return LACForestClassifier if one_class else LACExtraTreesClassifier


@pytest.fixture(scope="module")
def forest(model, cls):
    return cls.load(model)


@pytest.fixture(scope="module")
def queries(facts):
    return np.array(facts["queries"], dtype=float)  # None becomes NaN


def test_it_is_small(model):
    assert model.stat().st_size < 10_000


def test_predictions(forest, facts, queries):
    assert np.isnan(queries).any()
    # Sums of three float32 shares in double precision are exact, hence equal on all machines.
    assert_array_equal(forest.predict_proba(queries), facts["predict_proba"])
    assert_array_equal(forest.predict(queries), facts["predict"])
    assert_array_equal(forest.apply(queries), facts["apply"])
    # Proportions of Step I are computed in double; a fused multiply-add may round differently.
    scores = forest.novelty_score(queries, stage="exploration")
    assert_allclose(scores, facts["exploration"], rtol=1e-12, atol=1e-12)
    assert set(facts["predict"]) == {"cat", "dog", "neither"}  # all labels occur


def test_fitted_attributes(forest, facts):
    assert forest.classes_.tolist() == facts["classes"]
    assert forest.known_classes_.tolist() == ["cat", "dog"]
    assert forest.new_label_ == "neither"
    assert_array_equal(forest.pseudo_labels_, facts["pseudo_labels"])
    assert_array_equal(forest.unlabeled_score_, facts["unlabeled_score"])
    assert_array_equal(forest.feature_importances_, facts["feature_importances"])
    assert forest.theta_ == facts["theta"]
    interval = facts["theta_interval"]
    assert forest.theta_interval_ == (None if interval is None else tuple(interval))
    assert forest.theta_estimator_ is None
    # Files that are older than a parameter have its default.
    added = ("known_shares", "pseudo_cap", "max_bins", "max_samples", "oob_score")
    added += ("categorical_features", "warm_start")
    defaults = {name: getattr(type(forest)(), name) for name in added}
    assert plain_parameters(forest) == defaults | facts["parameters"]


def test_nothing_is_attached(model, cls):
    assert read_attachment(model) == (cls.__name__, None)


def test_as_many_trees_as_were_saved(forest):
    assert len(forest.estimators_) == 3


def test_trees_can_be_looked_at(forest):
    for tree in forest.estimators_:
        leaf = tree.children_left == -1
        assert_allclose(tree.value[leaf].sum(axis=1), 1.0, rtol=1e-6)
        assert set(tree.phase.tolist()) == ({1, 2} if forest._explored is None else {2})
    assert "-> neither" in forest.export_text(0)


def test_it_can_be_saved_in_the_present_format(forest, cls, queries, tmp_path):
    forest.save(tmp_path / "again.lac")
    again = cls.load(tmp_path / "again.lac")
    assert_array_equal(again.predict_proba(queries), forest.predict_proba(queries))


def test_it_is_adapted_to_a_batch_if_it_has_shares(forest, cls, model, queries):
    if model.stem > "forest-v3":
        assert 0 <= forest.adapt(queries).theta_ <= 1
        return
    message = f"this {cls.__name__} comes from a file of an older version, which has no shares"
    with pytest.raises(ValueError, match=message):
        forest.adapt(queries)
    with pytest.raises(ValueError, match=message):
        next_shares(forest, {"fraud": 1}, 1)
