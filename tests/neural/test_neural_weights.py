"""Weights of labelled rows: in the loss, in the leaves, in validation, and by class."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from neural_toys import U, X, fitted_forest, small_forest, y
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from lacforest.metrics import augmented_accuracy_score
from lacforest.mixture import BestBin
from lacforest.neural import AugmentedGiniLoss, LeafStatistics, augmented_gini_loss
from lacforest.neural._data import check_fit_rows, hold_out

WEIGHT = np.random.default_rng(3).integers(0, 3, len(y)).astype(float)


def masses(rng, n_rows):
    """Leaf probabilities of rows in two trees of four leaves."""
    return torch.tensor(rng.dirichlet(np.ones(4), size=(n_rows, 2)))


def repeated(tensor, weight):
    return torch.repeat_interleave(tensor, torch.tensor(weight), dim=0)


weights = st.lists(st.integers(1, 4), min_size=1, max_size=8)


@settings(max_examples=40)
@given(weight=weights, theta=st.sampled_from([0.0, 0.3, 0.9]), closed=st.booleans())
def test_a_weight_in_the_loss_is_a_number_of_rows(weight, theta, closed):
    rng = np.random.default_rng(len(weight))
    own, others = masses(rng, len(weight)), None if closed else masses(rng, 5)
    codes = torch.tensor(rng.integers(0, 3, len(weight)))
    logits = torch.tensor(rng.normal(size=(len(weight), 3)))
    loss = AugmentedGiniLoss(theta, 3, lambda_ce=0.7)
    weighted = loss.parts(own, codes, others, logits, torch.tensor(weight, dtype=torch.float64))
    expected = loss.parts(
        repeated(own, weight), repeated(codes, weight), others, repeated(logits, weight)
    )
    for found, wanted in zip(weighted, expected, strict=True):
        assert found.item() == pytest.approx(wanted.item(), abs=1e-12)


@settings(max_examples=20)
@given(weight=weights)
def test_a_weight_in_the_leaves_is_a_number_of_rows(weight):
    rng = np.random.default_rng(len(weight))
    own, codes = masses(rng, len(weight)), torch.tensor(rng.integers(0, 3, len(weight)))
    one, other = LeafStatistics(3, 2, 4), LeafStatistics(3, 2, 4)
    one.add_labeled(own, codes, torch.tensor(weight))
    other.add_labeled(repeated(own, weight), repeated(codes, weight))
    unlabeled = masses(rng, 6)
    for statistics in (one, other):
        statistics.add_unlabeled(unlabeled)
    assert_allclose(one.proportions(0.4), other.proportions(0.4), atol=1e-12)


def test_weights_that_vanish_in_float32_leave_the_loss_finite():
    mu = masses(np.random.default_rng(0), 3).float().requires_grad_()
    codes, zero = torch.tensor([0, 1, 1]), torch.zeros(3)
    loss = augmented_gini_loss(mu, codes, None, 0.0, sample_weight=zero)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(mu.grad).all()


def test_weights_of_another_number_of_rows():
    mu = masses(np.random.default_rng(0), 3)
    with pytest.raises(ValueError, match="sample_weight must hold one weight for each of the 3"):
        augmented_gini_loss(mu, torch.tensor([0, 1, 1]), mu, 0.3, sample_weight=torch.ones(2))


def test_weights_of_one_change_nothing():
    ones = small_forest().fit(X, y, X_unlabeled=U, sample_weight=np.ones(len(y)))
    assert_array_equal(ones.predict_proba(U), fitted_forest().predict_proba(U))


@pytest.mark.parametrize("closed", [False, True])
def test_rows_of_weight_zero_are_absent(closed):
    kept = np.arange(len(y)) % 3 > 0
    others = {} if closed else {"X_unlabeled": U}
    zeroed = small_forest().fit(X, y, sample_weight=2.0 * kept, **others)
    absent = small_forest().fit(X[kept], y[kept], **others)
    # Weights of 2 throughout are weights of 1, up to rounding.
    assert_allclose(zeroed.predict_proba(U), absent.predict_proba(U), atol=1e-4)


@pytest.mark.parametrize("closed", [False, True])
def test_heavy_classes_are_predicted_more_often(closed):
    rows = np.repeat(X.mean(axis=0)[None], len(y), axis=0)  # no feature tells the classes apart
    others = {} if closed else {"X_unlabeled": rows}
    for heavy in (0, 1):
        weight = np.where(y == heavy, 50.0, 1.0)
        by_row = small_forest(theta=0.1, epochs=1).fit(rows, y, sample_weight=weight, **others)
        by_class = small_forest(theta=0.1, epochs=1, class_weight={heavy: 50.0})
        by_class.fit(rows, y, **others)
        assert (by_row.predict(X[:1]) == heavy).all()
        assert_array_equal(by_row.predict_proba(X), by_class.predict_proba(X))


def test_weights_change_the_training():
    weighted = small_forest().fit(X, y, X_unlabeled=U, sample_weight=WEIGHT + 0.5)
    assert weighted.history_["loss"] != fitted_forest().history_["loss"]
    assert weighted.history_["cross_entropy"] != fitted_forest().history_["cross_entropy"]


def test_theta_is_estimated_with_the_weights_of_rows_but_not_of_classes():
    weight = np.where(np.arange(len(y)) % 2, 5.0, 1.0)
    forest = small_forest(
        theta=BestBin(n_bootstrap=0), known_shares="labeled", epochs=1, class_weight={1: 9.0}
    )
    forest.fit(X, y, X_unlabeled=U, sample_weight=weight)
    alone = clone(forest.theta_estimator_)
    assert forest.theta_ == alone.fit(X, U, weight).theta_
    assert forest.theta_ != alone.fit(X, U).theta_


def test_held_out_rows_keep_their_weights():
    forest = small_forest(class_weight={1: 3.0})
    rows = check_fit_rows(forest, X, y, U, WEIGHT)
    kept, held = hold_out(rows, 0.25, [0])
    assert len(kept.weight) == len(kept.codes)
    assert_array_equal(np.sort(np.append(kept.weight, held.weight)), np.sort(rows.weight))
    # Features are distinct: rows are told by them.
    original = {tuple(row): w for row, w in zip(X, WEIGHT * np.where(y == 1, 3, 1), strict=True)}
    found = held.labeled.take(np.arange(len(held.codes))).numpy()
    assert_array_equal([original[tuple(row)] for row in found], held.weight)


def test_weighted_validation_accuracy(monkeypatch):
    seen = []

    def spy(*arguments, sample_weight, **named):
        seen.append(sample_weight)
        return augmented_accuracy_score(*arguments, sample_weight=sample_weight, **named)

    monkeypatch.setattr("lacforest.neural._training.augmented_accuracy_score", spy)
    forest = small_forest(early_stopping=True, validation_fraction=0.3, epochs=1)
    forest.fit(X, y, X_unlabeled=U, sample_weight=WEIGHT + 1.0)
    assert set(seen[0].tolist()) == {1.0, 2.0, 3.0}


def test_a_checkpoint_of_other_weights_is_refused(tmp_path):
    parameters = {"checkpoint": tmp_path / "run", "resume": True}
    small_forest(**parameters).fit(X, y, X_unlabeled=U, sample_weight=WEIGHT + 1.0)
    with pytest.raises(ValueError, match="the checkpoint of another run, with weight_checksum"):
        small_forest(**parameters).fit(X, y, X_unlabeled=U, sample_weight=WEIGHT + 0.5)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(len(y)), "sample_weight is zero for every labelled row"),
        (np.ones(3), "sample_weight has 3 entries, but X has 80 rows"),
        (np.full(len(y), -1.0), "sample_weight must not be negative"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        small_forest().fit(X, y, X_unlabeled=U, sample_weight=weight)


def test_bad_class_weights():
    with pytest.raises(ValueError, match="class_weight names labels that are not in y: "):
        small_forest(class_weight={7: 1.0}).fit(X, y, X_unlabeled=U)
