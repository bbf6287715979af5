"""Shares of the known classes in deployment, in the neural forest."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lacforest.neural import DeepLACForestClassifier


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
