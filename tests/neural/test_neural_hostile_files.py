"""Files of networks that were made to do harm: refused by name, before memory is taken."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import safetensors.torch
import torch
from neural_model_files import (
    is_neural_refused,
    neural_seeds,
    rewrite,
    training_run,
    write_neural_mutant,
)
from neural_toys import U, X, fitted_forest, y

from lacforest._model.container import ModelFileError
from lacforest.neural import DeepLACForestClassifier


@pytest.fixture(scope="module")
def intact(tmp_path_factory):
    path = tmp_path_factory.mktemp("intact") / "forest"
    fitted_forest().save(path)
    return path.read_bytes()


@pytest.fixture
def saved(tmp_path, intact):
    path = tmp_path / "forest"
    path.write_bytes(intact)
    return path


def header(**facts):
    return lambda entry, _: entry["header"].update(facts)


def parameter(**values):
    return lambda entry, _: entry["header"]["parameters"].update(values)


def layers(sizes):
    return lambda entry, _: entry["header"]["lists"].update(hidden=sizes)


def scalars(**values):
    return lambda entry, _: entry["header"]["scalars"].update(values)


def training(**facts):
    return lambda entry, _: entry["header"]["training"].update(facts)


def tensor(name, value):
    return lambda _, tensors: tensors.update({name: value(tensors[name])})


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def negative_shares(proportions):
    changed = proportions.clone()
    changed[..., 0], changed[..., 1], changed[..., 2] = -1, 1, 1
    return changed


CLASSES = {"dtype": "<i8", "items": [-1, 0, 7]}
HOSTILE = {
    "layers that fill memory": (layers([30000, 30000]), "'encoder.layers"),
    "layers beyond numbers": (layers([2**40, 2**40]), "'encoder.layers|RuntimeError"),
    "a million layers": (layers([1] * 10**6), "hidden has 1000000 layers"),
    "no layers": (layers(None), "hidden is not a list of positive"),
    "an empty list of layers": (layers([]), "hidden is not a list of positive"),
    "layers of text": (layers(["16"]), "hidden is not a list of positive"),
    "a layer of true": (layers([True]), "hidden is not a list of positive"),
    "nested layers": (layers(nested(900)), "hidden is not a list of positive"),
    "trees that fill memory": (parameter(n_estimators=2**40), "'forest.linear.*' have the shape"),
    "leaves that fill memory": (parameter(depth=16), "'forest.linear.*' have the shape"),
    "features that fill memory": (header(sizes=[2**40, 2]), "have the shape"),
    "a depth of one": (parameter(depth=1), "depth must be at least 2"),
    "three sizes": (header(sizes=[16, 2, 3]), "make no network"),
    "rows in two dimensions": (header(input_shape=[3, 1]), "make no network"),
    "rows of an image": (header(input_shape=[3, 1, 1]), "ValueError"),
    "rows of text": (header(input_shape="3"), "input_shape is not a list"),
    "a list for the new class": (header(new_class_index=[]), "new class is not among"),
    "contradicting classes": (header(classes=CLASSES), "contradict"),
    "a class twice": (header(classes={"dtype": "<i8", "items": [0, 0, 1]}), "twice"),
    "theta of seven": (header(theta=7), "theta is invalid"),
    "no theta": (header(theta=None), "theta is invalid"),
    "theta in a list": (header(theta=[0.5]), ""),
    "an unknown encoder": (
        parameter(encoder="system"),
        "encoder must be one of",
    ),
    "a number for the encoder": (
        parameter(encoder=3),
        "its encoder has no name",
    ),
    "parameters in a list": (header(parameters=[]), ""),
    "nested parameters": (header(parameters={"theta": nested(900)}), "list where a number"),
    "no features": (header(n_features=0), "number of features"),
    "negative leaf shares": (tensor("fitted.leaf_proportions", negative_shares), "are no shares"),
    "leaf shares of NaN": (
        tensor("fitted.leaf_proportions", lambda t: t * torch.nan),
        "are no shares",
    ),
    "no leaf shares": (
        lambda _, tensors: tensors.pop("fitted.leaf_proportions"),
        "missing, or not of",
    ),
    "leaf shares of other trees": (
        tensor("fitted.leaf_proportions", lambda t: t[:2]),
        "not of shape",
    ),
    "a scale of zero": (
        tensor("module.encoder.standardize.scale", torch.zeros_like),
        "standardize.scale' are zero",
    ),
    "a negative scale": (
        tensor("module.encoder.standardize.scale", lambda t: -t),
        "standardize.scale' are negative",
    ),
    "weights of another shape": (tensor("module.head.weight", lambda t: t[:1]), "have the shape"),
    "one tensor too many": (
        lambda _, tensors: tensors.update(extra=torch.zeros(2)),
        "'extra' are missing or unknown",
    ),
    "history of text": (training(history_="x"), "one number per epoch"),
    "history of other epochs": (training(history_={"loss": [1.0]}), "one number per epoch"),
    "epochs of text": (training(n_epochs_="4"), "number of epochs"),
    "a best epoch beyond the last": (training(best_epoch_=5), "best epoch is 5 of 4"),
    "training in a list": (header(training=[]), ""),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_forests(saved, kind):
    change, message = HOSTILE[kind]
    rewrite(saved, change)
    with pytest.raises(ModelFileError, match=rf"forest cannot be loaded: (?s:.*){message}"):
        DeepLACForestClassifier.load(saved, device="cpu")


@pytest.mark.parametrize("text", ["[" * 10**6, '{"kind": ' * 10**5, "", "null", "3", "\x00"])
def test_headers_that_are_no_headers(saved, text):
    safetensors.torch.save_file({"a": torch.zeros(1)}, saved, {"lacforest": text})
    with pytest.raises(ModelFileError, match="forest is a safetensors file, but not one"):
        DeepLACForestClassifier.load(saved, device="cpu")


def test_sizes_are_compared_before_memory_is_taken(saved):
    """A file of some kilobytes that asks for 3.6 GB is refused in a process that has less."""
    rewrite(saved, layers([30000, 30000]))
    code = f"""
        import resource, torch
        from lacforest._model.container import ModelFileError
        from lacforest.neural import DeepLACForestClassifier
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            DeepLACForestClassifier.load({str(saved)!r}, device="cpu")
        except ModelFileError:
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 200_000  # kilobytes


# ---------------------------------------------------------------------------- checkpoints


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    training_run(folder).fit(X, y, X_unlabeled=U)
    return (folder / "run").read_bytes()


def one_momentum_more(_, tensors):
    """The state of a parameter behind the last one."""
    numbers = {int(name.split(".")[1]) for name in tensors if name.startswith("optimizer.")}
    tensors[f"optimizer.{max(numbers) + 1}.momentum_buffer"] = torch.zeros(1)


HOSTILE_CHECKPOINTS = {
    "a negative epoch": (header(epoch=-1), "number of epochs is -1"),
    "an epoch of text": (header(epoch="3"), "number of epochs"),
    "an endless epoch": (header(epoch=2**40), "number of epochs"),
    "history of text": (header(history="x"), "one number per epoch"),
    "history of lists": (header(history={"loss": [[], [], []]}), "one number per epoch"),
    "stopped by text": (header(stopped="no"), "whether training has stopped"),
    "no best epoch": (header(best_epoch=None), "best accuracy"),
    "an accuracy of text": (header(best_accuracy="high"), "best accuracy"),
    "an infinite accuracy": (header(best_accuracy=float("inf")), "best accuracy"),
    "weights of NaN": (tensor("module.head.bias", lambda t: t * torch.nan), "not finite"),
    "best weights of NaN": (tensor("best.head.bias", lambda t: t * torch.nan), "not finite"),
    "best weights of another shape": (tensor("best.head.bias", lambda t: t[:1]), "have the shape"),
    "weights of another shape": (tensor("module.head.bias", lambda t: t[:1]), "have the shape"),
    "missing weights": (lambda _, t: t.pop("module.head.bias"), "are missing or unknown"),
    "missing best weights": (lambda _, t: t.pop("best.head.bias"), "are missing or unknown"),
    "momentum of another shape": (
        tensor("optimizer.0.momentum_buffer", lambda t: t[:1]),
        "optimiser has the shape",
    ),
    "momentum of no parameter": (one_momentum_more, "optimiser names the parameter"),
    "a number for momentum": (
        scalars(optimizer={"0.momentum_buffer": 3.0}),
        "optimiser has a number",
    ),
    "an optimiser of text": (scalars(optimizer="x"), "state of the optimiser"),
    "a list for scalars": (header(scalars=[]), ""),
    "a scaler of text": (scalars(scaler="x"), "state of the gradient scaler"),
}


@pytest.mark.parametrize("kind", HOSTILE_CHECKPOINTS)
def test_hostile_checkpoints(tmp_path, run, kind):
    change, message = HOSTILE_CHECKPOINTS[kind]
    path = tmp_path / "run"
    path.write_bytes(run)
    rewrite(path, change)
    with pytest.raises(ModelFileError, match=rf"run is no checkpoint of this run: .*{message}"):
        training_run(tmp_path, resume=True).fit(X, y, X_unlabeled=U)


@pytest.mark.parametrize("entropy", [None, "abc", [1.5], [-1], [[]], {}])
def test_seeds_of_a_checkpoint(tmp_path, run, entropy):
    path = tmp_path / "run"
    path.write_bytes(run)
    rewrite(path, lambda entry, _: entry["header"]["run"].update(entropy=entropy))
    with pytest.raises(ModelFileError, match="run does not hold the seeds of its run"):
        training_run(tmp_path, resume=True, random_state=None).fit(X, y, X_unlabeled=U)


# ---------------------------------------------------------------------------- mutants


@pytest.fixture(scope="module")
def seed_files(tmp_path_factory):
    return neural_seeds(tmp_path_factory.mktemp("seeds"))


@pytest.mark.filterwarnings("ignore")
def test_mutants(tmp_path, seed_files, global_random_seed):
    """A sample of tools/fuzz_model_files.py --neural."""
    path = tmp_path / "mutant"
    refused = []
    for number in range(300):
        is_checkpoint = write_neural_mutant(path, seed_files, global_random_seed, number)
        refused.append(is_neural_refused(path, is_checkpoint))
    assert 0.3 < np.mean(refused) < 0.99
