"""The training loop: batches, schedule, checkpoints, early stopping, callbacks."""

import copy
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from neural_toys import (
    IMAGE_LABELS,
    IMAGES,
    TRUTH,
    UNLABELED_IMAGES,
    U,
    X,
    fitted_forest,
    small_forest,
    y,
)
from numpy.testing import assert_allclose, assert_array_equal

from lacforest.metrics import augmented_accuracy_score
from lacforest.neural import TrainingError
from lacforest.neural._training import pair_batches


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_batches_of_an_epoch(n_labeled, n_unlabeled, batch_size, seed):
    pairs = list(pair_batches(n_labeled, n_unlabeled, batch_size, [seed]))
    assert len(pairs) == math.ceil(max(n_labeled, n_unlabeled) / batch_size)
    for side, n_rows in ((0, n_labeled), (1, n_unlabeled)):
        sizes = [len(pair[side]) for pair in pairs]
        assert max(sizes) <= batch_size
        assert max(sizes) - min(sizes) <= 1
        seen = np.bincount(np.concatenate([pair[side] for pair in pairs]), minlength=n_rows)
        assert seen.max() - seen.min() <= 1  # every row occurs once before any row occurs twice
    larger = 0 if n_labeled >= n_unlabeled else 1
    rows = np.concatenate([pair[larger] for pair in pairs])
    assert_array_equal(np.sort(rows), np.arange(max(n_labeled, n_unlabeled)))


def test_all_parameters_are_trained():
    """Also the parameters of the trees, which the authors' program does not update."""
    states = []
    fitted_forest(
        epochs=2,
        weight_decay=0.0,
        callbacks=[
            lambda end: states.append(
                {name: value.detach().clone() for name, value in end.module.named_parameters()}
            )
        ],
    )
    before, after = states
    assert {name.split(".")[0] for name in before} == {"encoder", "forest", "head"}
    for name in before:
        assert not torch.equal(before[name], after[name]), name


def test_the_learning_rate_follows_a_cosine():
    forest = fitted_forest(epochs=10, learning_rate=0.1, final_learning_rate=0.02)
    rates = forest.history_["learning_rate"]
    expected = [0.02 + 0.04 * (1 + math.cos(math.pi * e / 10)) for e in range(10)]
    assert_allclose(rates, expected)


def test_the_loss_is_the_sum_of_its_parts():
    forest = fitted_forest(lambda_ce=0.3)
    history = {name: np.array(values) for name, values in forest.history_.items()}
    assert_allclose(history["loss"], history["gini"] + 0.3 * history["cross_entropy"], rtol=1e-5)
    assert history["loss"][-1] < history["loss"][0]


def test_a_callback_is_told_and_may_stop():
    told = []

    def stop_at_three(end):
        told.append((end.epoch, end.epochs, sorted(end.logs)))
        return end.epoch == 3

    forest = fitted_forest(epochs=9, callbacks=[stop_at_three])
    assert forest.n_epochs_ == 3
    assert [entry[:2] for entry in told] == [(1, 9), (2, 9), (3, 9)]
    assert told[0][2] == ["cross_entropy", "gini", "learning_rate", "loss"]


class KilledError(Exception):
    pass


def kill_after(epoch):
    def callback(end):
        if end.epoch == epoch:
            raise KilledError

    return callback


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("images", [False, True])
def test_resume_is_the_same_as_never_stopped(tmp_path, images, precision):
    rows = (IMAGES, IMAGE_LABELS, UNLABELED_IMAGES) if images else (X, y, U)
    data = dict(zip(("X", "y", "X_unlabeled"), rows, strict=True))
    parameters = {"epochs": 7, "early_stopping": True, "precision": precision}
    whole = small_forest(**parameters).fit(**data)
    parameters |= {"checkpoint": tmp_path / "run.safetensors", "checkpoint_every": 2}
    with pytest.raises(KilledError):
        small_forest(**parameters, callbacks=[kill_after(5)]).fit(**data)
    epochs = []
    resumed = small_forest(
        **parameters, resume=True, callbacks=[lambda end: epochs.append(end.epoch)]
    ).fit(**data)
    assert epochs == [5, 6, 7]
    assert resumed.history_ == whole.history_
    assert resumed.best_epoch_ == whole.best_epoch_
    for name, value in whole.module_.state_dict().items():
        assert torch.equal(resumed.module_.state_dict()[name], value), name
    assert_array_equal(resumed.leaf_proportions_, whole.leaf_proportions_)


def test_resume_without_a_seed_goes_on_with_that_of_the_run(tmp_path):
    parameters = {"checkpoint": tmp_path / "run", "checkpoint_every": 1, "random_state": None}
    with pytest.raises(KilledError):
        fitted_forest(**parameters, callbacks=[kill_after(3)])
    first = fitted_forest(**parameters, resume=True)
    again = fitted_forest(**parameters, resume=True)
    assert first.n_epochs_ == 4
    assert first.history_ == again.history_


def test_resume_without_a_file_starts_afresh(tmp_path):
    forest = fitted_forest(checkpoint=tmp_path / "run", resume=True)
    assert_array_equal(forest.predict_proba(U), fitted_forest().predict_proba(U))
    assert (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("parameters", "rows", "match"),
    [
        ({"learning_rate": 0.05}, X, "learning_rate=0.1 where this fit has 0.05"),
        ({"random_state": 1}, X, "entropy="),
        ({"theta": 0.3}, X, "theta=0.5 where this fit has 0.3"),
        ({}, X + 1.0, "labeled_checksum="),
    ],
)
def test_the_checkpoint_of_another_run_is_refused(tmp_path, parameters, rows, match):
    path = tmp_path / "run"
    fitted_forest(checkpoint=path)
    kept = path.read_bytes()
    forest = small_forest(checkpoint=path, resume=True, **parameters)
    with pytest.raises(ValueError, match=f"checkpoint of another run.*{match}"):
        forest.fit(rows, y, X_unlabeled=U)
    assert path.read_bytes() == kept


def test_interrupting_says_how_to_go_on(tmp_path):
    def interrupt(end):
        if end.epoch == 3:
            raise KeyboardInterrupt

    forest = small_forest(
        checkpoint=tmp_path / "run", checkpoint_every=2, callbacks=[interrupt], epochs=9
    )
    with pytest.raises(KeyboardInterrupt) as caught:
        forest.fit(X, y, X_unlabeled=U)
    assert "The state after epoch 2 is in" in caught.value.__notes__[0]
    assert not hasattr(forest, "module_")


class Poison(torch.nn.Module):
    """An encoder whose features become NaN in a given training call."""

    def __init__(self, at):
        super().__init__()
        self.linear, self.at, self.calls = torch.nn.Linear(3, 4), at, 0

    def forward(self, rows):
        self.calls += self.training
        return self.linear(rows) * (float("nan") if self.calls == self.at else 1.0)


def test_a_loss_that_becomes_nan_stops_and_keeps_the_last_checkpoint(tmp_path):
    path = tmp_path / "run"
    forest = fitted_forest()
    expected = forest.predict_proba(U)
    # With four batches per epoch, call 10 is batch 2 of epoch 3.
    forest.set_params(encoder=Poison(10), checkpoint=path, checkpoint_every=1, epochs=5)
    with pytest.raises(TrainingError, match=r"became nan in batch 2 of epoch 3.*after epoch 2 is"):
        forest.fit(X, y, X_unlabeled=U)
    assert path.exists()
    assert_array_equal(forest.predict_proba(U), expected)
    forest.set_params(encoder=Poison(2), checkpoint=tmp_path / "other")
    with pytest.raises(TrainingError, match=r"batch 2 of epoch 1.*No epoch has been kept in"):
        forest.fit(X, y, X_unlabeled=U)
    forest.set_params(checkpoint=None)
    with pytest.raises(TrainingError, match="No checkpoint was kept: set checkpoint"):
        forest.fit(X, y, X_unlabeled=U)


class Overflowing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values):
        return values.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * float("inf")


class BadGradient(torch.nn.Module):
    """An encoder with finite values but an invalid gradient in the last batch."""

    def __init__(self, at):
        super().__init__()
        self.linear, self.at, self.calls = torch.nn.Linear(3, 4), at, 0

    def forward(self, rows):
        self.calls += self.training
        features = self.linear(rows)
        return Overflowing.apply(features) if self.calls == self.at else features


def test_weights_that_are_not_finite_reach_no_checkpoint(tmp_path):
    forest = small_forest(encoder=BadGradient(8), checkpoint=tmp_path / "run", checkpoint_every=1)
    with pytest.raises(TrainingError, match="no longer finite after the last batch of epoch 2"):
        forest.fit(X, y, X_unlabeled=U)
    again = small_forest(
        encoder=BadGradient(0), checkpoint=tmp_path / "run", checkpoint_every=1, resume=True
    )
    assert np.isfinite(again.fit(X, y, X_unlabeled=U).predict_proba(U)).all()
    assert again.n_epochs_ == 4


def test_clipping_bounds_the_step():
    steps = []
    for norm in (None, 1e-3):
        start, end = [], []
        fitted_forest(
            epochs=1,
            batch_size=512,
            max_grad_norm=norm,
            weight_decay=0.0,
            encoder=_remembering(start),
            callbacks=[lambda told, end=end: end.append(told.module.encoder.weight.detach())],
        )
        steps.append(float((end[0] - start[0]).norm()))
    assert steps[1] <= 0.1 * 1e-3 * 1.001 < steps[0]


def _remembering(start):
    def make(shape):
        linear = torch.nn.Linear(shape[0], 8)
        start.append(linear.weight.detach().clone())
        return linear

    return make


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_mixed_precision_learns(precision):
    forest = fitted_forest(precision=precision, epochs=40)
    assert (forest.predict(U) == TRUTH).mean() > 0.9
    assert forest.module_.forest.linear.weight.dtype == torch.float32


def test_early_stopping_goes_back_to_the_best_epoch():
    forest = fitted_forest(epochs=200, early_stopping=True, patience=5)
    accuracy = forest.history_["accuracy"]
    assert forest.n_epochs_ == len(accuracy) < 200
    assert forest.best_epoch_ == int(np.argmax(accuracy)) + 1
    assert forest.n_epochs_ == forest.best_epoch_ + 5


def test_early_stopping_restores_the_weights_of_the_first_best_epoch(monkeypatch):
    accuracy = iter([0.5, 0.7, 0.6, 0.7, 0.4, 0.9])
    monkeypatch.setattr("lacforest.neural._training.Trainer._accuracy", lambda *_: next(accuracy))
    states = []
    forest = fitted_forest(
        epochs=6,
        early_stopping=True,
        patience=3,
        callbacks=[lambda end: states.append(copy.deepcopy(end.module.state_dict()))],
    )
    assert forest.history_["accuracy"] == [0.5, 0.7, 0.6, 0.7, 0.4]
    assert (forest.best_epoch_, forest.n_epochs_) == (2, 5)
    for name, value in forest.module_.state_dict().items():
        assert torch.equal(value, states[1][name]), name
    assert not all(torch.equal(states[1][name], states[4][name]) for name in states[1])


def test_validation_accuracy_is_the_estimate_without_new_labels():
    forest = small_forest(epochs=6)
    forest.fit(X, y, X_unlabeled=U, X_val=X[::2], y_val=y[::2], X_unlabeled_val=U[::2])
    predicted = forest.predict(np.vstack([X[::2], U[::2]]))
    expected = augmented_accuracy_score(
        np.append(y[::2], np.full(60, -5)),
        predicted,
        theta=0.5,
        new_label=-1,
        unlabeled_label=-5,
    )
    assert_allclose(forest.history_["accuracy"][-1], expected)


def test_validation_accuracy_by_labels_that_are_new():
    forest = small_forest(epochs=6).fit(
        X, y, X_unlabeled=U, X_val=U, y_val=np.where(TRUTH < 0, 9, TRUTH)
    )
    assert_allclose(forest.history_["accuracy"][-1], (forest.predict(U) == TRUTH).mean())


def test_progress_is_shown_if_wanted(capsys):
    fitted_forest(epochs=2, verbose=1)
    shown = capsys.readouterr().err
    assert "epoch 1 of 2: learning_rate 0.1, loss" in shown
    assert "cross_entropy" in shown
    fitted_forest(epochs=2)
    assert capsys.readouterr().err == ""


def test_progress_is_a_bar_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    fitted_forest(epochs=2, verbose=1, early_stopping=True)
    shown = capsys.readouterr().err
    assert "2/2" in shown
    assert "accuracy=" in shown


def test_a_failed_write_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "run"
    fitted_forest(checkpoint=path, epochs=2)
    kept = path.read_bytes()

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="no space left"):
        fitted_forest(checkpoint=path, epochs=3)
    assert path.read_bytes() == kept
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]
