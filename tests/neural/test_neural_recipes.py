"""The fast preset, optimisers and schedules, features, and the hybrid forest."""

import inspect

import numpy as np
import pytest
import torch
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

from lacforest.neural import DeepLACForestClassifier, HybridLACForestClassifier
from lacforest.neural._encoders import make_encoder
from lacforest.neural._optimizers import find_precision


def test_the_fast_preset_shows_its_values():
    given = DeepLACForestClassifier.fast(epochs=3).get_params()
    changed = {
        name: value
        for name, value in given.items()
        if value != DeepLACForestClassifier().get_params()[name]
    }
    assert changed == {
        "batch_norm": True,
        "batch_size": 64,
        "epochs": 3,
        "leaf_memory": 0.9,
        "learning_rate": 0.1,
        "optimizer": "nesterov",
        "precision": "auto",
        "schedule": "step",
    }


def test_the_defaults_are_the_papers():
    found = DeepLACForestClassifier().get_params()
    expected = {"n_estimators": 3, "depth": 6, "epochs": 500, "batch_size": 512, "leaf_memory": 0.0}
    expected |= {"optimizer": "sgd", "learning_rate": 1e-2, "final_learning_rate": 1e-3}
    expected |= {"weight_decay": 5e-3, "lambda_ce": 1.0, "batch_norm": False}
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("images", [False, True])
def test_the_fast_preset_learns(images):
    forest = DeepLACForestClassifier.fast(theta=0.5, hidden=(32,), epochs=60, batch_size=16)
    forest.set_params(random_state=0, device="cpu")
    if images:
        forest.fit(IMAGES, IMAGE_LABELS, X_unlabeled=UNLABELED_IMAGES)
        truth = np.where(TRUTH < 0, "<new>", np.array(["flat", "tall"])[TRUTH])
        assert (forest.predict(UNLABELED_IMAGES) == truth).mean() > 0.9
    else:
        assert (forest.fit(X, y, X_unlabeled=U).predict(U) == TRUTH).mean() > 0.9


def test_a_schedule_by_step_reaches_the_final_rate():
    rates = []

    def optimizer(parameters, rate):
        made = torch.optim.SGD(parameters, lr=rate)
        made.register_step_pre_hook(lambda o, *_: rates.append(o.param_groups[0]["lr"]))
        return made

    forest = fitted_forest(optimizer=optimizer, schedule="step", final_learning_rate=0.01)
    assert len(rates) == 4 * 4  # epochs of four batches
    progress = np.arange(16) / 15
    assert_allclose(rates, 0.01 + 0.09 * (1 + np.cos(np.pi * progress)) / 2)
    assert_allclose(rates[-1], 0.01)
    assert forest.history_["learning_rate"][-1] == rates[-1]


@pytest.mark.parametrize("optimizer", ["sgd", "nesterov", "adam", "adamw"])
def test_resume_keeps_the_optimiser_and_the_leaf_memory(optimizer, tmp_path):
    parameters = {"optimizer": optimizer, "leaf_memory": 0.9, "batch_norm": True}
    parameters |= {"schedule": "step", "learning_rate": 1e-2, "epochs": 4}
    whole = fitted_forest(**parameters)
    parameters |= {"checkpoint": tmp_path / "run", "checkpoint_every": 1}

    def stop(end):
        if end.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted_forest(**parameters, callbacks=[stop])
    resumed = fitted_forest(**parameters, resume=True)
    assert resumed.history_ == whole.history_
    assert_array_equal(resumed.leaf_proportions_, whole.leaf_proportions_)


def test_the_leaf_memory_changes_training():
    assert fitted_forest().history_ != fitted_forest(leaf_memory=0.9).history_
    assert (
        fitted_forest().history_["loss"][0] != fitted_forest(optimizer="adam").history_["loss"][0]
    )


@pytest.mark.parametrize("value", [1.0, -0.1])
def test_bad_leaf_memory(value):
    with pytest.raises(ValueError, match="leaf_memory must be"):
        fitted_forest(leaf_memory=value)


def test_precision_by_device():
    cpu = torch.device("cpu")
    assert find_precision("float32", cpu) is None
    assert find_precision("bfloat16", cpu) == torch.bfloat16
    assert find_precision("auto", cpu) in (None, torch.bfloat16)


@pytest.mark.parametrize("channels", [1, 3])
def test_convolutions_run_channels_last(channels):
    """Also with one channel, for which torch takes both orders for the same."""
    encoder = make_encoder("cnn", (channels, 8, 8), ())
    images = torch.rand(4, channels, 8, 8)
    assert encoder.layers[0](images).is_contiguous(memory_format=torch.channels_last)


def test_features_are_those_of_the_encoder():
    forest = fitted_forest()
    features = forest.transform(U)
    assert features.shape == (120, 16)
    with torch.no_grad():
        expected = forest.module_.encoder(torch.tensor(U))
    assert_allclose(features, expected, rtol=1e-5, atol=1e-6)
    assert_array_equal(features[:3], forest.transform(U[:3]))


def test_signatures_list_all_parameters():
    for cls in (DeepLACForestClassifier, HybridLACForestClassifier):
        names = list(inspect.signature(cls).parameters)
        assert names[0] == "n_estimators"
        assert {"epochs", "leaf_memory", "verbose"} < set(names)
        assert "training" not in names
        assert "epochs : int, default=" in cls.__doc__
        assert "<training" not in cls.__doc__
    assert inspect.signature(HybridLACForestClassifier).parameters["epochs"].default == 6
    with pytest.raises(TypeError, match="unexpected keyword argument 'epoch'"):
        DeepLACForestClassifier(epoch=3)


def test_the_hybrid_predicts_by_a_forest_on_features():
    hybrid = HybridLACForestClassifier(
        theta=0.5, hidden=(16,), epochs=10, batch_size=32, n_grown_trees=20, random_state=0
    ).fit(X, y, X_unlabeled=U)
    assert (hybrid.predict(U) == TRUTH).mean() > 0.9
    shares = hybrid.forest_.predict_proba(hybrid.transform(U))
    assert_array_equal(hybrid.predict_proba(U), shares[:, [2, 0, 1]])
    assert hybrid.forest_.theta_ == hybrid.theta_ == 0.5
    with pytest.raises(ValueError, match="n_grown_trees"):
        hybrid.set_params(n_grown_trees=0).fit(X, y, X_unlabeled=U)


def test_an_optimiser_of_ones_own_is_not_kept_in_files(tmp_path):
    forest = small_forest(
        optimizer=lambda p, rate: torch.optim.Adam(p, lr=rate), learning_rate=0.01
    )
    forest.fit(X, y, X_unlabeled=U).save(tmp_path / "forest")
    loaded = DeepLACForestClassifier.load(tmp_path / "forest", device="cpu")
    assert loaded.optimizer == "sgd"
    assert_array_equal(loaded.predict_proba(U), forest.predict_proba(U))
