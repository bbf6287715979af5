"""The image experiments, on synthetic data that train in seconds."""

import gzip
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lacforest.datasets import load
from lacforest.datasets._facts import Facts
from lacforest.experiments import _deep, command
from lacforest.experiments._deep import DEPTH, LAMBDA, DeepExperiment, DeepJob, DeepOptions, Point
from lacforest.experiments._deep_tables import PAPER, deep_rows, deep_sweep_rows, draw_deep_sweep

SIZES = (8, 4, 3)


def images(n_each):
    """Images in which each class has a different bright row."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(10), n_each)
    X = rng.integers(0, 60, size=(len(y), 28, 28))
    for image, label in zip(X, y, strict=True):
        image[2 * label + 3 : 2 * label + 5] = 230
    return X.reshape(len(y), -1), y


@pytest.fixture
def folder(tmp_path):
    X, y = images(20)
    np.savez(tmp_path / "toy.npz", X=X, y=y)
    return tmp_path


def options(folder, **changed):
    given = {"datasets": ["toy"], "n_choices": 1, "sizes": SIZES, "epochs": 2}
    given |= {"learning_rate": 0.1, "estimate_theta": False, "device": "cpu", "folder": folder}
    return DeepOptions(**given | changed)


def test_splits_follow_the_protocol(folder):
    experiment = DeepExperiment(options(folder))
    split, seed = experiment.draw(DeepJob("toy", 0, Point()))
    assert split.labeled.shape == (48, 1, 28, 28)
    assert split.unlabeled.shape == (40, 1, 28, 28)
    assert split.test.shape == (30, 1, 28, 28)
    assert split.theta == 0.4
    assert_array_equal(np.unique(split.y_labeled, return_counts=True)[1], [8] * 6)
    assert (split.y_test == -1).sum() == 12
    assert set(split.y_test) == {-1, *split.y_labeled}
    every = np.concatenate([split.labeled, split.unlabeled, split.test]).reshape(118, -1)
    assert len(np.unique(every, axis=0)) == 118  # no image is used twice
    again, same = experiment.draw(DeepJob("toy", 0, Point(depth=3)))
    assert_array_equal(again.labeled, split.labeled)
    assert same == seed
    other, _ = experiment.draw(DeepJob("toy", 1, Point()))
    assert set(other.y_labeled) != set(split.y_labeled)


def test_bytes_stay_bytes_and_colours_keep_their_layout(tmp_path):
    X, y = images(20)
    colors = np.stack([X.reshape(-1, 28, 28), 0 * X.reshape(-1, 28, 28)], axis=-1)
    colors = np.concatenate([colors, colors[..., :1] // 2], axis=-1).astype(np.uint8)
    np.savez(tmp_path / "toy.npz", X=colors, y=y)
    split, _ = DeepExperiment(options(tmp_path)).draw(DeepJob("toy", 0, Point()))
    assert split.labeled.dtype == np.uint8
    assert split.labeled.shape == (48, 3, 28, 28)
    assert not split.labeled[:, 1].any()
    assert_array_equal(split.labeled[:, 2], split.labeled[:, 0] // 2)


def test_svhn_has_classes_below_the_sizes_of_the_paper(tmp_path, monkeypatch):
    monkeypatch.setitem(_deep.SIZES, "svhn", (15, 4, 3))
    for check in ("accepts", "matches", "resembles"):
        monkeypatch.setattr(Facts, check, lambda *given: True)
    pixels = np.arange(200 * 3072, dtype=np.float64).reshape(200, 3, 32, 32)
    np.savez(tmp_path / "svhn.npz", X=pixels, y=np.repeat(np.arange(10), 20))
    split, _ = DeepExperiment(options(tmp_path, datasets=["svhn"], sizes=None)).draw(
        DeepJob("svhn", 0, Point())
    )
    assert_array_equal(np.unique(split.y_labeled, return_counts=True)[1], [13] * 6)
    with pytest.raises(ValueError, match="classes with 22 images each are needed"):
        DeepExperiment(options(tmp_path, datasets=["svhn"], sizes=(15, 4, 3)))


def run(folder, *words):
    results = folder / "out" / "results.jsonl"
    sizes = ["--labeled", "8", "--unlabeled", "4", "--test", "3", "--device", "cpu"]
    common = ["--data", str(folder), "--results", str(results), "--datasets", "toy"]
    return command.main([*words, *sizes, *common, "--theta", "true"]), results


def test_the_command_runs_and_goes_on(folder, capsys, monkeypatch):
    words = ["deep", "--epochs", "3", "--choices", "2", "--learning-rate", "0.1"]
    started = []
    original = DeepExperiment.run_job

    def stop_in_the_second_job(self, job, checkpoint):
        started.append(job.key)
        if len(started) == 2:
            from lacforest.neural import _training

            step = _training.Trainer._one_epoch

            def stop(trainer, epoch):
                if epoch == 1:
                    raise KeyboardInterrupt
                return step(trainer, epoch)

            with monkeypatch.context() as patch:
                patch.setattr(_training.Trainer, "_one_epoch", stop)
                return original(self, job, checkpoint)
        return original(self, job, checkpoint)

    monkeypatch.setattr(DeepExperiment, "run_job", stop_in_the_second_job)
    others = [folder / "out" / f"results.{name}.safetensors" for name in ("toy-0-1-5", "mine")]
    others[0].parent.mkdir()
    for other in others:
        other.write_bytes(b"mine")
    code, results = run(folder, *words)
    assert code == 130
    assert "stopped after 1 of 2 jobs" in capsys.readouterr().err
    kept = {path.name for path in results.parent.glob("*.safetensors")}
    assert kept == {"results.toy-1-1-6.safetensors", *(other.name for other in others)}
    code, _ = run(folder, *words, "--format", "json")
    assert code == 0
    shown = capsys.readouterr()
    table = json.loads(shown.out)["table"]
    assert [row["choice"] for row in table] == ["choice 1", "choice 2", "mean", "deviation"]
    assert_allclose(table[2]["accuracy"], (table[0]["accuracy"] + table[1]["accuracy"]) / 2)
    # The first job is not repeated, and the second continues after its first epoch.
    assert started == ["toy/0/1/6", "toy/1/1/6", "toy/1/1/6"]
    assert "epoch 1 of 3" not in shown.err
    assert sorted(results.parent.glob("*.safetensors")) == sorted(others)

    # A run that trains nothing deletes nothing, whatever the name of a file.
    like_a_checkpoint = results.with_name("results.toy-0-1-6.safetensors")
    like_a_checkpoint.write_bytes(b"mine")
    assert run(folder, *words)[0] == 0
    assert like_a_checkpoint.read_bytes() == b"mine"
    like_a_checkpoint.unlink()
    capsys.readouterr()

    fresh, _ = run(folder, *words, "--format", "json", "--fresh")
    again = json.loads(capsys.readouterr().out)["table"]
    assert fresh == 0
    for row, other in zip(table, again, strict=True):
        assert row["accuracy"] == other["accuracy"]
        assert row["auc"] == other["auc"]


def test_sweeps_and_their_figure(folder, capsys):
    figure = folder / "depth.png"
    code, _ = run(folder, "deep-depth", "--epochs", "1", "--choices", "1", "--figure", str(figure))
    assert code == 0
    assert figure.stat().st_size > 5_000
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["2", "3", "4", "5", "6", "7", "8"]


def test_a_sweep_at_some_values_shares_the_results_of_the_table(folder, capsys):
    short = ["--fast", "--epochs", "1", "--choices", "1"]
    assert run(folder, "deep", *short)[0] == 0
    code, results = run(folder, "deep-lambda", *short, "--values", "2,1")
    assert code == 0
    lines = results.read_text().splitlines()
    assert [json.loads(line)["key"] for line in lines[1:]] == ["toy/0/1/6", "toy/0/2/6"]
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in shown[-2:]] == ["1", "2"]
    assert run(folder, "deep-depth", *short, "--values", "6,9")[0] == 2
    expected = "deep-depth has no value 9: its values are 2, 3, 4, 5, 6, 7, 8"
    assert expected in capsys.readouterr().err


def fake(dataset, choice, point, accuracy):
    result = {"accuracy": accuracy, "macro_f1": 0.8, "auc": 0.9, "theta_used": 0.4}
    result["cpu_seconds"] = 60
    return DeepJob(dataset, choice, point), result


def test_the_table_has_the_figures_of_the_paper():
    columns, rows = deep_rows([fake("fmnist", i, Point(), 0.8 + 0.1 * i) for i in range(2)])
    by_name = {row["choice"]: row for row in rows}
    assert_allclose(by_name["mean"]["accuracy"], 0.85)
    assert_allclose(by_name["deviation"]["accuracy"], 0.05)
    assert by_name["paper, 500 epochs"]["accuracy"] == 0.9024
    assert by_name["paper, 500 epochs"]["macro_f1"] == 0.8986
    assert by_name["paper, 500 epochs"]["auc"] == 0.9784
    assert {column.key for column in columns} <= set(rows[0])
    assert set(PAPER) == {"mnist", "fmnist", "kuzushiji", "svhn", "cifar10"}


def test_fast_settings(folder, capsys):
    code, results = run(folder, "deep", "--fast", "--epochs", "1", "--choices", "1")
    assert code == 0
    header = json.loads(results.read_text().splitlines()[0])["configuration"]
    assert header["fast"] is True
    assert header["learning_rate"] is None
    assert header["sizes"] == [8, 4, 3]
    capsys.readouterr()


def test_sweep_rows_are_means(tmp_path):
    results = [
        fake("fmnist", i, point, 0.1 * i + point.lambda_ce / 10)
        for point in LAMBDA.points
        for i in range(2)
    ]
    _, rows = deep_sweep_rows(results, LAMBDA)
    assert [row["value"] for row in rows] == [0.2, 0.5, 1.0, 1.5, 2.0]
    assert_allclose([row["accuracy"] for row in rows], [0.07, 0.1, 0.15, 0.2, 0.25])
    assert_allclose([row["deviation"] for row in rows], 0.05)
    draw_deep_sweep(results, LAMBDA, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 5_000
    assert [DEPTH.value(point) for point in DEPTH.points] == [2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["--labeled", "50"], "more than 4 classes with 57 images each are needed"),
        (["--datasets", "narrow"], "narrow is a table of 3 features, which do not match images"),
        (["--datasets", "absent"], "dataset 'absent' was not found"),
    ],
)
def test_mistakes(folder, capsys, words, match):
    np.savez(folder / "narrow.npz", X=np.zeros((40, 3)), y=np.repeat([0, 1], 20))
    sizes = ["--labeled", "8", "--unlabeled", "4", "--test", "3"]
    given = ["deep", "--datasets", "toy", *sizes, "--data", str(folder), *words]
    assert command.main([*given, "--results", str(folder / "r.jsonl")]) == 2
    assert match in capsys.readouterr().err


def test_bad_learning_rates(capsys):
    for text, match in (("fast", "'fast' is not a number"), ("0", "0 is not a positive number")):
        with pytest.raises(SystemExit):
            command.main(["deep", "--learning-rate", text])
        assert match in capsys.readouterr().err


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("below", ["", "own"])
def test_folders_of_idx_files(tmp_path, packed, below):
    X, y = images(2)
    place = tmp_path / below
    place.mkdir(exist_ok=True)
    for part, rows in (("train", slice(0, 15)), ("t10k", slice(15, 20))):
        for kind, values in (("images-idx3", X.reshape(-1, 28, 28)), ("labels-idx1", y)):
            values = values[rows].astype(np.uint8)
            header = bytes([0, 0, 8, values.ndim])
            header += b"".join(int(size).to_bytes(4, "big") for size in values.shape)
            content = header + values.tobytes()
            name = f"{part}-{kind}-ubyte"
            if packed:
                (place / f"{name}.gz").write_bytes(gzip.compress(content))
            else:
                (place / name).write_bytes(content)
    own = load("own", tmp_path, scale=False)
    assert_array_equal(own.data, X)
    assert_array_equal(own.target, y)
    assert own.source == str(place)
    assert own.data.dtype == np.uint8
    assert own.image_shape == (1, 28, 28)
