"""Shares of the known classes in deployment, in the neural forest and in methods with a risk."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lacforest.neural import DeepLACForestClassifier
from lacforest.neural.baselines import DeepEULACClassifier, DeepGLACClassifier


def _moved_blobs():
    """Two classes labelled alike and deployed as one to nine; a third of the rows is new."""
    rng = np.random.default_rng(0)
    centre = np.array([[0.0, 0.0], [3.0, 0.0], [1.5, 6.0]])
    y, deployed = np.repeat([0, 1], 100), np.repeat([0, 1, 2], [30, 270, 150])
    X, U = (centre[k] + rng.normal(size=(len(k), 2)) for k in (y, deployed))
    return X, y, U, deployed


def _fitted_on_moved(**parameters):
    X, y, U, deployed = _moved_blobs()
    options = {"epochs": 15, "learning_rate": 0.1, "hidden": (16,), "random_state": 0}
    forest = DeepLACForestClassifier(**options | parameters)
    return forest.fit(X, y, X_unlabeled=U), U, deployed


def test_shares_are_estimated_with_theta():
    forest, U, deployed = _fitted_on_moved()
    assert forest.known_shares_[1] == pytest.approx(0.9, abs=0.06)
    assert forest.known_shares_interval_.shape == (2, 2)
    assert forest.share_shift_ > 4
    assert forest.theta_ == pytest.approx(1 / 3, abs=0.07)
    labeled, _, _ = _fitted_on_moved(known_shares="labeled")
    assert labeled.theta_ > forest.theta_ + 0.1
    assert labeled.known_shares_.tolist() == [0.5, 0.5]
    truth = np.where(deployed == 2, -1, deployed)
    right = [(model.predict(U) == truth).mean() for model in (forest, labeled)]
    assert right[0] > right[1]


def test_given_shares_are_class_weights():
    by_shares, U, _ = _fitted_on_moved(theta=1 / 3, known_shares={0: 0.1, 1: 0.9})
    by_weight, _, _ = _fitted_on_moved(
        theta=1 / 3, known_shares="labeled", class_weight={0: 0.2, 1: 1.8}
    )
    assert_allclose(by_shares.predict_proba(U), by_weight.predict_proba(U), atol=1e-5)
    assert by_shares.known_shares_.tolist() == [0.1, 0.9]
    assert by_shares.share_shift_ is None


def test_shares_are_saved(tmp_path):
    forest, U, _ = _fitted_on_moved()
    forest.save(tmp_path / "forest.safetensors")
    loaded = DeepLACForestClassifier.load(tmp_path / "forest.safetensors")
    assert loaded.known_shares_.tolist() == forest.known_shares_.tolist()
    assert loaded.known_shares_interval_.tolist() == forest.known_shares_interval_.tolist()
    assert loaded.share_shift_ == forest.share_shift_
    assert loaded.predict_proba(U).tolist() == forest.predict_proba(U).tolist()


@pytest.mark.parametrize(
    ("known_shares", "message"),
    [
        ([0.5, 0.4], "known_shares must sum to 1, but their sum is 0.9"),
        ({0: 0.5, 7: 0.5}, r"known_shares names labels that y does not have: \[7\]"),
        ("moved", 'known_shares must be "auto", "labeled", an array or a dict'),
    ],
)
def test_bad_shares(known_shares, message):
    with pytest.raises(ValueError, match=message):
        _fitted_on_moved(known_shares=known_shares)


RISKS = [DeepEULACClassifier, DeepGLACClassifier]
_SHORT = {"epochs": 20, "batch_size": 32, "hidden": (16,), "random_state": 0, "device": "cpu"}


@pytest.mark.parametrize("method", RISKS)
def test_risks_follow_moved_shares(method, tmp_path):
    X, y, U, deployed = _moved_blobs()
    model = method(**_SHORT).fit(X, y, X_unlabeled=U)
    assert model.known_shares_[1] == pytest.approx(0.9, abs=0.06)
    assert model.share_shift_ > 4
    assert model.theta_ == pytest.approx(1 / 3, abs=0.07)
    labeled = method(known_shares="labeled", **_SHORT).fit(X, y, X_unlabeled=U)
    assert labeled.known_shares_.tolist() == [0.5, 0.5]
    truth = np.where(deployed == 2, -1, deployed)
    right = [(one.predict(U) == truth).mean() for one in (model, labeled)]
    assert right[0] > right[1]
    model.save(tmp_path / "model.safetensors")
    loaded = method.load(tmp_path / "model.safetensors")
    assert loaded.known_shares_.tolist() == model.known_shares_.tolist()
    assert loaded.share_shift_ == model.share_shift_
    assert loaded.predict_proba(U).tolist() == model.predict_proba(U).tolist()


@pytest.mark.parametrize("method", RISKS)
def test_given_shares_are_class_weights_in_risks(method):
    X, y, U, _ = _moved_blobs()
    by_shares = method(theta=1 / 3, known_shares=[0.1, 0.9], **_SHORT)
    by_weight = method(theta=1 / 3, known_shares="labeled", class_weight={0: 0.2, 1: 1.8}, **_SHORT)
    expected = by_weight.fit(X, y, X_unlabeled=U).predict_proba(U)
    assert_allclose(by_shares.fit(X, y, X_unlabeled=U).predict_proba(U), expected, atol=1e-4)


@pytest.mark.parametrize("method", RISKS)
def test_shares_that_did_not_move_change_no_bit(method):
    rng = np.random.default_rng(0)
    centre = np.array([[0.0, 0.0], [3.0, 0.0], [1.5, 6.0]])
    y, deployed = np.repeat([0, 1], 100), np.repeat([0, 1, 2], 100)
    X, U = (centre[k] + rng.normal(size=(len(k), 2)) for k in (y, deployed))
    auto, labeled = (
        method(known_shares=shares, **_SHORT).fit(X, y, X_unlabeled=U)
        for shares in ("auto", "labeled")
    )
    assert auto.theta_ == labeled.theta_
    assert auto.predict_proba(U).tolist() == labeled.predict_proba(U).tolist()
    assert labeled.share_shift_ is None


@pytest.mark.parametrize("method", RISKS)
def test_bad_shares_of_risks(method):
    X, y, U, _ = _moved_blobs()
    with pytest.raises(ValueError, match=r"known_shares must sum to 1, but their sum is 0\.9"):
        method(known_shares=[0.5, 0.4], **_SHORT).fit(X, y, X_unlabeled=U)
    assert method.paper_table().known_shares == "labeled"
