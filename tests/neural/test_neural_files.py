"""Model files: safetensors, checked when they are read."""

import numpy as np
import pandas as pd
import pytest
import safetensors.torch
import torch
from neural_model_files import rewrite
from neural_toys import IMAGE_LABELS, IMAGES, UNLABELED_IMAGES, U, X, fitted_forest, small_forest, y
from numpy.testing import assert_array_equal

from lacforest._model.container import ModelFileError
from lacforest.mixture import BestBin
from lacforest.neural import DeepLACForestClassifier


def test_round_trip_of_a_table_forest(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc"))
    forest = small_forest(theta=BestBin(n_bootstrap=10), checkpoint=tmp_path / "c")
    forest.fit(frame, np.where(y, "one", "zero"), X_unlabeled=pd.DataFrame(U, columns=list("abc")))
    forest.save(tmp_path / "forest.safetensors")
    loaded = DeepLACForestClassifier.load(tmp_path / "forest.safetensors", device="cpu")
    table = pd.DataFrame(U, columns=list("abc"))
    assert_array_equal(loaded.predict_proba(table), forest.predict_proba(table))
    assert_array_equal(loaded.predict(table), forest.predict(table))
    for name in ("history_", "theta_", "theta_interval_", "n_epochs_", "best_epoch_"):
        assert getattr(loaded, name) == getattr(forest, name)
    assert loaded.new_label_ == "<new>"
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c"]
    assert loaded.get_params()["hidden"] == (16,)
    assert loaded.theta_estimator_ is None
    loaded.fit(X, y, X_unlabeled=U)


def test_round_trip_of_an_image_forest(tmp_path):
    forest = small_forest(epochs=1).fit(IMAGES, IMAGE_LABELS, X_unlabeled=UNLABELED_IMAGES)
    forest.save(tmp_path / "forest")
    torch.manual_seed(3)
    before = torch.get_rng_state()
    loaded = DeepLACForestClassifier.load(tmp_path / "forest", device="cpu")
    assert torch.equal(torch.get_rng_state(), before)
    assert_array_equal(loaded.predict_proba(IMAGES), forest.predict_proba(IMAGES))


def test_plain_forest(tmp_path):
    forest = small_forest().fit(X, y)
    forest.save(tmp_path / "forest")
    loaded = DeepLACForestClassifier.load(tmp_path / "forest", device="cpu")
    assert loaded.theta_ is None
    assert_array_equal(loaded.predict_proba(X), forest.predict_proba(X))


def test_an_encoder_of_ones_own_must_be_given_again(tmp_path):
    forest = fitted_forest(encoder=torch.nn.Linear(3, 5))
    forest.save(tmp_path / "forest")
    load = DeepLACForestClassifier.load
    with pytest.raises(TypeError, match="an encoder of its own: pass that encoder"):
        load(tmp_path / "forest")
    loaded = load(tmp_path / "forest", encoder=torch.nn.Linear(3, 5), device="cpu")
    assert_array_equal(loaded.predict_proba(U), forest.predict_proba(U))
    with pytest.raises(ModelFileError, match=r"cannot be loaded: (?s:.*)encoder\.weight"):
        load(tmp_path / "forest", encoder=torch.nn.Linear(3, 6), device="cpu")
    fitted_forest().save(tmp_path / "named")
    with pytest.raises(TypeError, match="was fitted with the named encoder 'auto'"):
        load(tmp_path / "named", encoder=torch.nn.Linear(3, 5))


def test_tied_weights_can_be_saved(tmp_path):
    layer = torch.nn.Linear(3, 3)
    forest = fitted_forest(encoder=torch.nn.Sequential(layer, torch.nn.ReLU(), layer))
    forest.save(tmp_path / "forest")
    again = torch.nn.Linear(3, 3)
    loaded = DeepLACForestClassifier.load(
        tmp_path / "forest",
        encoder=torch.nn.Sequential(again, torch.nn.ReLU(), again),
        device="cpu",
    )
    assert_array_equal(loaded.predict_proba(U), forest.predict_proba(U))


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "forest"
    fitted_forest().save(path)
    return path


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda entry, _: entry.update(version=99), "has format version 99"),
        (lambda entry, _: entry.update(kind="checkpoint"), "is a checkpoint, where a deep forest"),
        (lambda entry, _: entry.update(header=3), "has a damaged header"),
        (lambda entry, _: entry.pop("header"), "not one that lacforest wrote"),
        (lambda entry, _: entry["header"].update(estimator="Tree"), "holds a Tree, not a Deep"),
        (lambda entry, _: entry["header"].update(input_shape=[5]), "do not have 3 features"),
        (lambda entry, _: entry["header"].update(theta=2.0), "theta is invalid"),
        (lambda entry, _: entry["header"].pop("lists"), "KeyError: 'lists'"),
        (lambda entry, _: entry["header"].pop("sizes"), "KeyError: 'sizes'"),
        (lambda entry, _: entry["header"].update(sizes=[16, 2, 3, 40]), "sizes .* make no network"),
        (lambda entry, _: entry["header"].update(sizes=[16, 3]), "sizes .* do not belong"),
        (
            lambda entry, _: entry["header"]["parameters"].update(depth=40),
            "cannot be loaded: .*depth must be at most 16",
        ),
        (
            lambda entry, _: entry["header"].update(new_class_index=None),
            "the number of classes",
        ),
        (lambda _, tensors: tensors.pop("module.head.bias"), "'head.bias' are missing"),
        (lambda _, tensors: tensors["fitted.leaf_proportions"].mul_(2), "are no shares"),
        (lambda _, tensors: tensors["module.head.bias"].fill_(torch.nan), "are not finite"),
    ],
)
def test_damaged_files(saved, change, match):
    rewrite(saved, change)
    with pytest.raises(ModelFileError, match=match):
        DeepLACForestClassifier.load(saved, device="cpu")


def test_files_that_are_not_ours(tmp_path, saved):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        DeepLACForestClassifier.load(tmp_path / "absent")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ModelFileError, match="no safetensors file, or a damaged one"):
        DeepLACForestClassifier.load(tmp_path / "text")
    safetensors.torch.save_file({"a": torch.zeros(1)}, tmp_path / "other")
    with pytest.raises(ModelFileError, match="but not one that lacforest wrote"):
        DeepLACForestClassifier.load(tmp_path / "other")
    content = saved.read_bytes()
    saved.write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelFileError, match="damaged"):
        DeepLACForestClassifier.load(saved)


def test_a_checkpoint_that_is_none(tmp_path, saved):
    forest = small_forest(checkpoint=saved, resume=True)
    with pytest.raises(ModelFileError, match="is a deep forest, where a checkpoint is wanted"):
        forest.fit(X, y, X_unlabeled=U)
    path = tmp_path / "run"
    fitted_forest(checkpoint=path)
    rewrite(path, lambda entry, _: entry["header"].pop("epoch"))
    with pytest.raises(ModelFileError, match="is no checkpoint of this run"):
        fitted_forest(checkpoint=path, resume=True)
    rewrite(path, lambda entry, _: entry["header"].update(run=None))
    for seed in (0, None):
        with pytest.raises(ModelFileError, match="does not say which run it belongs to"):
            fitted_forest(checkpoint=path, resume=True, random_state=seed)


def test_a_failed_save_leaves_the_old_file(saved, monkeypatch):
    kept = saved.read_bytes()
    monkeypatch.setattr("os.fsync", _fail)
    with pytest.raises(OSError, match="no space left"):
        fitted_forest(random_state=5).save(saved)
    assert saved.read_bytes() == kept
    assert [entry.name for entry in saved.parent.iterdir()] == ["forest"]


def _fail(*_):
    raise OSError("no space left")
