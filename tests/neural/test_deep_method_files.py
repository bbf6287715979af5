"""Files of the compared methods and of the hybrid: checked like those of deep forests."""

import pytest
import torch
from neural_model_files import rewrite
from neural_toys import U, X, fitted_forest, small_forest, y

from lacforest._model.container import ModelFileError
from lacforest.neural import HybridLACForestClassifier, baselines

GENERATOR = {"threshold": 0.5, "generator_epochs": 1, "n_generated": 20, "tuning_epochs": 1}
CLASSES = {
    "SoftmaxThresholdClassifier": {"threshold": 0.5},
    "OpenMaxClassifier": {"threshold": "argmax"},
    "GOpenMaxClassifier": GENERATOR,
    "OSRCIClassifier": GENERATOR | {"n_steps": 2},
    "ARPLClassifier": {"threshold": 0.5},
    "DeepGLACClassifier": {"theta": 0.5},
    "DeepEULACClassifier": {"theta": 0.5},
    "HybridLACForestClassifier": {"theta": 0.5, "n_grown_trees": 3},
}
SMALL = {"hidden": (4,), "epochs": 1, "random_state": 0, "device": "cpu"}


def class_of(name):
    return getattr(baselines, name, HybridLACForestClassifier)


@pytest.fixture(scope="module", params=CLASSES)
def kept(request, tmp_path_factory):
    cls = class_of(request.param)
    path = tmp_path_factory.mktemp("kept") / "model"
    cls(**SMALL | CLASSES[request.param]).fit(X, y, X_unlabeled=U).save(path)
    return cls, path.read_bytes()


CHANGES = {
    "layers that fill memory": (
        lambda entry, _: entry["header"]["lists"].update(hidden=[30000, 30000]),
        "'encoder.layers",
    ),
    "a million layers": (
        lambda entry, _: entry["header"]["lists"].update(hidden=[1] * 10**6),
        "hidden has 1000000 layers",
    ),
    "features that fill memory": (
        lambda entry, _: entry["header"].update(sizes=[2**40, 2]),
        "have the shape",
    ),
    "weights of NaN": (
        lambda _, tensors: tensors["module.encoder.layers.0.weight"].fill_(torch.nan),
        "are not finite",
    ),
    "history of text": (
        lambda entry, _: entry["header"]["training"].update(history_="x"),
        "one number per epoch",
    ),
    "a list for the lists": (lambda entry, _: entry["header"].update(lists=[]), "TypeError"),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_hostile_files(tmp_path, kept, kind):
    cls, content = kept
    change, message = CHANGES[kind]
    path = tmp_path / "model"
    path.write_bytes(content)
    assert cls.load(path, device="cpu").predict(X).shape == (len(X),)
    rewrite(path, change)
    with pytest.raises(ModelFileError, match=rf"model cannot be loaded: (?s:.*){message}"):
        cls.load(path, device="cpu")


def test_a_grown_forest_of_another_network(tmp_path):
    for size in (4, 5):
        hybrid = HybridLACForestClassifier(**SMALL | {"theta": 0.5, "hidden": (size,)})
        hybrid.set_params(n_grown_trees=3).fit(X, y, X_unlabeled=U).save(tmp_path / str(size))
    kept = {}
    rewrite(tmp_path / "4", lambda _, tensors: kept.update(tensors))
    rewrite(tmp_path / "5", lambda _, t: t.update({"fitted.forest": kept["fitted.forest"]}))
    with pytest.raises(ModelFileError, match="does not belong to this network"):
        HybridLACForestClassifier.load(tmp_path / "5", device="cpu")


ADAM = {
    "no second moment": (lambda t: t.pop("optimizer.0.exp_avg_sq"), "lacks parts of 0"),
    "a negative second moment": (
        lambda t: t["optimizer.0.exp_avg_sq"].fill_(-1.0),
        "a negative exp_avg_sq",
    ),
    "a negative step": (lambda t: t["optimizer.0.step"].fill_(-5.0), "a negative step"),
    "steps per weight": (
        lambda t: t.update({"optimizer.0.step": torch.ones(2)}),
        "optimiser has the shape",
    ),
}


@pytest.mark.parametrize("kind", ADAM)
def test_checkpoints_of_adam(tmp_path, kind):
    change, message = ADAM[kind]
    run = {"optimizer": "adam", "checkpoint": tmp_path / "run"}
    fitted_forest(**run)
    rewrite(tmp_path / "run", lambda _, tensors: change(tensors))
    with pytest.raises(ModelFileError, match=rf"run is no checkpoint of this run: .*{message}"):
        small_forest(**run, resume=True).fit(X, y, X_unlabeled=U)
