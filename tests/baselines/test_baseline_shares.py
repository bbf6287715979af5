"""EULAC and GLAC where known classes have other shares in deployment than among labelled rows."""

import numpy as np
import pytest
from blobs import MODELS, U, X, X_test, draw, y
from numpy.testing import assert_allclose, assert_array_equal

SHARES = np.array([0.1, 0.2, 0.7])
# 30 % of the rows are new.
moved_truth = np.repeat([0, 1, 2, 3], [14, 28, 98, 60])
moved = draw(moved_truth, np.random.default_rng(1))
by_shares = pytest.mark.parametrize("name", ["eulac", "glac"])


def fit(name, unlabeled=moved, **options):
    return MODELS[name](**{"theta": "auto"} | options).fit(X, y, X_unlabeled=unlabeled)


# Labelled shares are wrong here, and the fit may say so.
@pytest.mark.filterwarnings("ignore::lacforest.mixture.ThetaWarning")
@by_shares
def test_shares_that_moved_are_found_and_used(name):
    auto, labeled = fit(name), fit(name, known_shares="labeled")
    # The labelled shares are off by 0.73.
    assert np.abs(auto.known_shares_ - SHARES).sum() < 0.2
    assert auto.share_shift_ > 3.5
    assert auto.known_shares_interval_.shape == (3, 2)
    assert abs(auto.theta_ - 0.3) < 0.1 < labeled.theta_ - 0.3
    truth = np.where(moved_truth == 3, -1, moved_truth)
    right = [
        (np.where(model.predict(moved) == model.new_label_, -1, model.predict(moved)) == truth)
        for model in (auto, labeled)
    ]
    assert right[0].mean() > right[1].mean()


@by_shares
def test_shares_that_stayed_change_no_bit(name):
    auto, labeled = fit(name, U), fit(name, U, known_shares="labeled")
    assert auto.share_shift_ < 3.5
    assert auto.known_shares_interval_ is None
    assert auto.theta_ == labeled.theta_
    assert_array_equal(auto.novelty_score(X_test), labeled.novelty_score(X_test))


@by_shares
def test_shares_weigh_the_labelled_risk(name):
    given = fit(name, theta=0.3, known_shares=dict(enumerate(SHARES)))
    weighted = MODELS[name](theta=0.3, known_shares="labeled")
    weighted.fit(X, y, X_unlabeled=moved, sample_weight=(3 * SHARES)[y])
    plain = fit(name, theta=0.3, known_shares="labeled")
    scores = [model.novelty_score(X_test) for model in (given, weighted, plain)]
    assert_allclose(scores[0], scores[1], atol=1e-6)
    assert np.abs(scores[0] - scores[2]).max() > 1e-3


@by_shares
def test_files_keep_shares(name, tmp_path):
    model = fit(name)
    model.save(tmp_path / "model.lac")
    loaded = type(model).load(tmp_path / "model.lac")
    assert_array_equal(loaded.known_shares_, model.known_shares_)
    assert_array_equal(loaded.known_shares_interval_, model.known_shares_interval_)
    assert loaded.share_shift_ == model.share_shift_


@by_shares
@pytest.mark.parametrize(
    ("shares", "error", "match"),
    [
        ("uniform", ValueError, 'must be "auto", "labeled", an array or a dict'),
        ([0.5, 0.4, 0.0], ValueError, "must sum to 1, but their sum is 0.9"),
        ([0.5, 0.5], ValueError, "has 2 entries, but y has 3 classes"),
        ({0: 0.5, 9: 0.5}, ValueError, r"names labels that y does not have: \[9\]"),
    ],
)
def test_shares_that_make_no_sense(name, shares, error, match):
    with pytest.raises(error, match=match):
        fit(name, known_shares=shares)


@by_shares
def test_an_absent_class(name):
    model = fit(name, theta=0.3, known_shares=[0.0, 0.3, 0.7])
    assert model.known_shares_[0] == 0.0
    assert np.isfinite(model.novelty_score(X_test)).all()
