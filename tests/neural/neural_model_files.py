"""Files of networks, taken apart, changed and written anew."""

import copy
import json

import numpy as np
import safetensors.torch
import torch
from mutating import change_array, change_value, damage, pick
from neural_toys import IMAGE_LABELS, IMAGES, UNLABELED_IMAGES, U, X, small_forest, y

from lacforest._model.container import ModelFileError
from lacforest.neural import DeepLACForestClassifier


def read_parts(path):
    """The JSON entry and the tensors of a file."""
    with safetensors.safe_open(str(path), framework="pt") as file:
        entry = json.loads(file.metadata()["lacforest"])
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    return entry, tensors


def rewrite(path, change):
    """Change the header or the tensors of a file."""
    entry, tensors = read_parts(path)
    change(entry, tensors)
    text = entry if isinstance(entry, str) else json.dumps(entry)
    safetensors.torch.save_file(tensors, path, {"lacforest": text})


# ---------------------------------------------------------------------------- mutants


def training_run(folder, **parameters):
    """A forest that stops early and resumes from a checkpoint in the folder.

    Shares are given: estimating them took most of the time, and no checkpoint holds them.
    """
    return small_forest(
        epochs=3,
        hidden=(4,),
        checkpoint=folder / "run",
        early_stopping=True,
        known_shares="labeled",
        **parameters,
    )


def neural_seeds(folder):
    """Intact files: three kinds of forests, and a checkpoint."""
    rows = {"X_unlabeled": U}
    forests = [
        small_forest(epochs=2, hidden=(4,), n_estimators=2).fit(X, y, **rows),
        small_forest(epochs=1, hidden=(3, 4), depth=2).fit(X, np.array(["ham", "spam"])[y]),
        small_forest(epochs=1).fit(IMAGES, IMAGE_LABELS, X_unlabeled=UNLABELED_IMAGES),
    ]
    paths = [folder / f"forest {number}" for number in range(len(forests))]
    for forest, path in zip(forests, paths, strict=True):
        forest.save(path)
    training_run(folder).fit(X, y, **rows)
    return [(path.read_bytes(), *read_parts(path)) for path in [*paths, folder / "run"]]


def write_neural_mutant(path, seed_files, *seed):
    """Write the mutant of a seed to `path`; return whether it comes from a checkpoint."""
    rng = np.random.default_rng(seed)
    content, entry, tensors = pick(rng, seed_files)
    is_checkpoint = entry["kind"] == "checkpoint"
    kind = rng.random()
    if kind < 0.2:
        path.write_bytes(damage(rng, content))
        return is_checkpoint
    entry = copy.deepcopy(entry)
    arrays = {name: tensor.numpy().copy() for name, tensor in tensors.items()}
    if kind < 0.65:
        for _ in range(int(rng.integers(1, 4))):
            change_value(rng, entry)
    if kind > 0.55:
        for _ in range(int(rng.integers(1, 4))):
            change_array(rng, arrays)
    changed = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    text = json.dumps(entry)
    safetensors.torch.save_file(changed, path, {"lacforest": text})
    return is_checkpoint


# Errors beside ModelFileError: another run, an encoder that the mutant names its own, and finite
# weights whose products overflow.
_ALLOWED = ("checkpoint of another run", "an encoder of its own: pass that encoder", "overflow")


def is_neural_refused(path, is_checkpoint):
    """Whether a file is rejected with an error that names it; otherwise check that it works."""
    model, refusal = None, ""
    try:
        if is_checkpoint:
            model = training_run(path.parent, resume=True).set_params(checkpoint=path)
            model.set_params(epochs=4).fit(X, y, X_unlabeled=U)
        else:
            model = DeepLACForestClassifier.load(path, device="cpu")
        rows = np.random.default_rng(0).normal(size=(5, *model.input_shape_))
        shares, labels = model.predict_proba(rows), model.predict(rows)
    except ModelFileError as error:
        refusal = str(error)
        assert model is None or is_checkpoint
    except (TypeError, ValueError) as error:
        if not any(words in str(error) for words in _ALLOWED):
            raise
        return True
    if refusal:
        assert str(path) in refusal
        return True
    assert shares.shape == (5, len(model.classes_))
    assert (shares >= 0).all()
    assert np.allclose(shares.sum(axis=1), 1.0)
    assert np.isin(labels, model.classes_).all()
    repr(model)
    return False
