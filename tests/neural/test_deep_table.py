"""The experiment with all deep methods, on synthetic images."""

import json

import numpy as np
import pytest

from lacforest.experiments import _deep_samples, _deep_table, command
from lacforest.experiments._deep import DeepOptions
from lacforest.experiments._deep_paper import FIGURES, METHODS, paper_figure


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(10), 20)
    X = rng.integers(0, 60, size=(len(y), 28, 28))
    for image, label in zip(X, y, strict=True):
        image[2 * label + 3 : 2 * label + 5] = 230
    np.savez(tmp_path / "toy.npz", X=X.reshape(len(y), -1), y=y)
    monkeypatch.setattr(_deep_table, "REDUCED_SIZES", (10, 4, 3))
    monkeypatch.setattr(_deep_table, "REDUCED_EPOCHS", 1)
    monkeypatch.setattr(_deep_table, "_HELD_OUT", 0.2)
    return tmp_path


def run(folder, *words):
    given = ["deep-table", "--reduced", "--datasets", "toy", "--choices", "1", "--theta", "true"]
    common = ["--data", str(folder), "--results", str(folder / "r.jsonl"), "--device", "cpu"]
    return command.main([*given, *common, *words])


def test_the_table_is_resumable_and_keeps_other_files(folder, capsys):
    other = folder / "r.somebody-else.safetensors"
    other.write_bytes(b"mine")
    assert run(folder, "--methods", "Softmax-T") == 0
    assert run(folder, "--methods", "Softmax-T,Deep-GLAC,Hybrid,Pixels", "--format", "json") == 0
    out = capsys.readouterr().out
    table = json.loads(out[out.index("{") :])["table"]
    assert [row["measure"] for row in table][:3] == ["Accuracy", "Macro-F1", "AUC of the new class"]
    assert {"Softmax-T", "Deep-GLAC", "Hybrid", "Pixels"} < set(table[0])
    assert len((folder / "r.jsonl").read_text().splitlines()) == 5
    assert other.read_bytes() == b"mine"


def test_sizes_and_epochs_may_be_given(folder):
    sizes = ["--labeled", "9", "--unlabeled", "5", "--epochs", "2"]
    assert run(folder, "--methods", "Softmax-T", *sizes) == 0
    header = json.loads((folder / "r.jsonl").read_text().splitlines()[0])["configuration"]
    assert header["sizes"] == [9, 5, 3]
    assert header["epochs"] == 2
    options = _deep_table.TableOptions(["mnist"], reduced=True, epochs=2, device="cpu")
    assert _deep_table.make_method("Hybrid", options, 0.4, 1).epochs == 2
    assert options.all_sizes == _deep_table.REDUCED_SIZES
    assert _deep_table.TableOptions(["mnist"]).all_sizes is None


def test_unknown_methods(folder, capsys):
    assert run(folder, "--methods", "Magic") == 2
    assert (
        "there is no method 'Magic': methods are Deep LACForest, Hybrid" in capsys.readouterr().err
    )


@pytest.mark.parametrize("reduced", [True, False])
@pytest.mark.parametrize("method", [*_deep_table.ALL_METHODS, "ARPL+CS"])
def test_every_method_can_be_made(method, reduced):
    options = _deep_table.TableOptions(["mnist"], reduced=reduced, device="cpu")
    made = _deep_table.make_method(method, options, 0.4, 1)
    assert made.random_state == 1
    if reduced and method != _deep_table.PIXELS:
        assert made.epochs == 10
    if "theta" in made.get_params():
        assert made.theta == 0.4
    if "confusing_samples" in made.get_params():
        assert made.confusing_samples == (method == "ARPL+CS")


def test_generated_images_are_shown_beside_real_ones(folder, capsys, monkeypatch):
    monkeypatch.setattr(_deep_samples, "_N_SHOWN", 5)
    figure = folder / "samples.png"
    words = ["--reduced", "--datasets", "toy", "--choices", "1", "--methods", "ARPL+CS"]
    words += ["--data", str(folder), "--results", str(folder / "s.jsonl"), "--device", "cpu"]
    given = ["deep-samples", *words, "--theta", "true", "--figure", str(figure)]
    assert command.main(given) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:4] == ["toy", "choice", "1", "ARPL+CS"]
    (line,) = (folder / "s.jsonl").read_text().splitlines()[1:]
    result = json.loads(line)["result"]
    assert np.array(result["images"]).shape == (5, 1, 28, 28)
    real = np.array(result["real_images"])
    assert real.max() == 255  # the brightest pixel; the toy's are below 256
    assert figure.stat().st_size > 5_000
    assert command.main([*given, "--methods", "Softmax-T"]) == 2
    assert "'Softmax-T' generates no images: methods are G-OpenMax" in capsys.readouterr().err


def test_distances_of_generated_images():
    rng = np.random.default_rng(0)
    labeled, real = (rng.random((50, 1, 4, 4)) for _ in range(2))
    found = _deep_samples._compare(real, real, labeled)
    assert found == {"variety": 1.0, "strangeness": 1.0}
    alike = np.repeat(real[:1], 50, axis=0)
    assert _deep_samples._compare(alike, real, labeled)["variety"] == 0.0
    assert _deep_samples._compare(labeled, real, labeled)["strangeness"] == 0.0
    assert _deep_samples._compare(3 * real, real, labeled)["strangeness"] > 2


def test_cells_have_a_deviation_where_there_are_several_choices():
    assert _deep_table._show([0.5], None) == "0.5000"
    assert _deep_table._show([0.5, 0.7], (0.9, 0.1)) == "0.6000±0.1000 (0.9000)"


def test_figures_of_the_paper():
    assert paper_figure("accuracy", "mnist", "Deep LACForest") == (0.9844, 0.0021)
    assert paper_figure("auc", "fmnist", "Deep LACForest") == (0.9784, 0.0061)
    assert paper_figure("accuracy", "mnist", "Hybrid") is None
    averages = {
        method: np.mean([rows[i][0] for rows in FIGURES["accuracy"].values()])
        for i, method in enumerate(METHODS)
    }
    assert round(averages["Deep LACForest"], 3) == 0.915
    # The table itself prints .9016 as the average of these five figures.
    assert round(averages["Deep-GLAC"], 4) == 0.9014
    assert round(averages["Softmax-T"], 3) == 0.732


def test_sizes_of_the_paper():
    options = DeepOptions(["svhn"])
    assert options.sizes_of("svhn") == (4500, 3000, 100)
    assert options.sizes_of("cifar10") == (5000, 900, 100)
    assert options.sizes_of("cifar10-subset") == (5000, 900, 100)
    assert options.sizes_of("fmnist") == (4000, 1000, 100)
    assert DeepOptions(["svhn"], sizes=(1, 2, 3)).sizes_of("svhn") == (1, 2, 3)
