"""Images in the files in which they are published, and their layout in npz files."""

import io as streams
import pickle
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import io

from lacforest import datasets
from lacforest.datasets._facts import FACTS, Facts

COLORS = np.random.default_rng(0).integers(0, 256, size=(12, 3, 32, 32), dtype=np.uint8)
LABELS = np.array([3, 1, 0, 2, 1, 5, 9, 9, 4, 6, 7, 8])


@pytest.fixture(autouse=True)
def no_folder_in_the_environment(monkeypatch):
    monkeypatch.delenv("LACFOREST_DATA", raising=False)


@pytest.fixture
def any_size(monkeypatch):
    """Datasets of the paper in any number of rows and of any brightness."""
    for check in ("accepts", "matches", "resembles"):
        monkeypatch.setattr(Facts, check, lambda *given: True)


def python_2_string(content):
    return b"T" + struct.pack("<i", len(content)) + content


def python_2_array(array, order):
    """The opcodes that Python 2 writes for an array of bytes."""
    content = array.tobytes(order)
    sizes = b"".join(b"M" + struct.pack("<H", size) for size in array.shape)
    return (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85U\x01b\x87R"
        b"(K\x01("
        + sizes
        + b"tcnumpy\ndtype\nU\x02u1K\0K\x01\x87R"
        + b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"
        + (b"\x89" if order == "C" else b"\x88")
        + python_2_string(content)
        + b"tb"
    )


def cifar_pickle(rows, labels, order="C"):
    numbers = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    pairs = [(b"data", python_2_array(rows, order)), (b"labels", numbers)]
    pairs.append((b"batch_label", python_2_string(b"training batch 1 of 5")))
    content = b"".join(python_2_string(key) + value for key, value in pairs)
    return b"\x80\x02}(" + content + b"u."


CIFAR_NAMES = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]


def write_cifar(folder, order="C"):
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(CIFAR_NAMES):
        some = slice(2 * number, 2 * number + 2)
        content = cifar_pickle(COLORS[some].reshape(2, -1), LABELS[some], order)
        (folder / name).write_bytes(content)


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("below", ["", "cifar10", "cifar-10-batches-py"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_python_files_of_cifar(tmp_path, below, order):
    write_cifar(tmp_path / below, order)
    found = datasets.load("cifar10", tmp_path, scale=False)
    assert found.data.dtype == np.uint8
    assert_array_equal(found.data.reshape(COLORS.shape), COLORS)
    assert_array_equal(found.target, LABELS)
    assert found.image_shape == (3, 32, 32)


def test_the_opcodes_are_those_of_python_2(tmp_path):
    """pickle itself reads them as a dictionary with NumPy's own array."""
    read = pickle.loads(cifar_pickle(COLORS[:2].reshape(2, -1), [1, 2]), encoding="bytes")
    assert_array_equal(read[b"data"], COLORS[:2].reshape(2, -1))
    assert read[b"labels"] == [1, 2]


@pytest.mark.usefixtures("any_size")
def test_binary_files_of_cifar(tmp_path):
    for number, name in enumerate(CIFAR_NAMES):
        some = slice(2 * number, 2 * number + 2)
        records = np.column_stack([LABELS[some], COLORS[some].reshape(2, -1)]).astype(np.uint8)
        (tmp_path / f"{name}.bin").write_bytes(records.tobytes())
    found = datasets.load("cifar10", tmp_path, scale=False)
    assert_array_equal(found.data.reshape(COLORS.shape), COLORS)
    assert_array_equal(found.target, LABELS)
    (tmp_path / "test_batch.bin").write_bytes(bytes(3072))
    with pytest.raises(ValueError, match=r"test_batch\.bin is not a valid binary .*3072 bytes are"):
        datasets.load("cifar10", tmp_path)


class Malicious:
    def __reduce__(self):
        return (open, ("made-by-a-pickle", "w"))


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps({b"data": Malicious()}), r"it asks for io\.open"),
        (b"cos\nsystem\n(S'touch made-by-a-pickle'\ntR.", r"it asks for os\.system"),
        (b"", "exhausted before seeing STOP"),
        (b"}r\xff\xff\xff\xff.", "refers to place 4294967295"),
        (b"text", "could not find MARK|unknown opcode|opcode"),
        (pickle.dumps([1]), "it does not hold a dictionary"),
        (pickle.dumps({b"a": 1}, protocol=3), "b'data'"),
        (cifar_pickle(COLORS[:2].reshape(2, -1), [1]), "it has 1 labels, but 2 images"),
        (cifar_pickle(COLORS[:2, 0].reshape(2, -1), [1, 2]), "not rows of 3072 bytes"),
        (
            cifar_pickle(COLORS[:2].reshape(2, -1), [1, 2])[:-400],
            "truncated|exhausted|Ran out|expected .* bytes",
        ),
        (
            cifar_pickle(COLORS[:2].reshape(2, -1), [1, 2]).replace(b"u1", b"O8"),
            "an array does not hold bytes",
        ),
        (
            cifar_pickle(COLORS[:2].reshape(2, -1), [1, 2]).replace(
                b"](K\x01K\x02e", b"(K\x01K\x02t"
            ),
            "labels are not a list",
        ),
        (b"\x80\x02}(U\x04datacnumpy.core.multiarray\n_reconstruct\n)Ru.", "array is incomplete"),
    ],
    ids=[
        "reduce",
        "global",
        "empty",
        "memo",
        "text",
        "list",
        "keys",
        "labels",
        "columns",
        "cut off",
        "objects",
        "tuple",
        "no state",
    ],
)
def test_pickles_that_are_not_cifar(tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    write_cifar(tmp_path)
    (tmp_path / "data_batch_3").write_bytes(content)
    with pytest.raises(ValueError, match=rf"(?s)data_batch_3 is not a valid.*({message})"):
        datasets.load("cifar10", tmp_path)
    assert not (tmp_path / "made-by-a-pickle").exists()


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_damaged_pickles_only_raise_value_errors(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("cifar")
    content = bytearray(cifar_pickle(COLORS[:1].reshape(1, -1), [1]))
    # Most places are pixels: change the others.
    n_changes = data.draw(st.integers(1, 4))
    for _ in range(n_changes):
        place = data.draw(st.integers(0, 140) | st.integers(-60, -1))
        content[place] = data.draw(st.integers(0, 255))
    write_cifar(folder)
    (folder / "data_batch_1").write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"cifar10|CIFAR-10"):
        datasets.load("cifar10", folder)


def write_svhn(folder):
    for name, some in (("train", slice(0, 7)), ("test", slice(7, 12))):
        labels = np.where(LABELS[some] == 0, 10, LABELS[some]).astype(np.uint8)
        content = {"X": COLORS[some].transpose(2, 3, 1, 0), "y": labels[:, None]}
        io.savemat(folder / f"{name}_32x32.mat", content, do_compression=True)


@pytest.mark.usefixtures("any_size")
def test_files_of_svhn(tmp_path):
    write_svhn(tmp_path)
    found = datasets.load("svhn", tmp_path, scale=False)
    assert found.data.dtype == np.uint8
    assert_array_equal(found.data.reshape(COLORS.shape), COLORS)
    assert_array_equal(found.target, LABELS)
    assert found.image_shape == (3, 32, 32)
    io.savemat(tmp_path / "test_32x32.mat", {"X": np.zeros((3, 2)), "y": [1]})
    with pytest.raises(ValueError, match=r"test_32x32\.mat is not a valid file of SVHN.*\(3, 2\)"):
        datasets.load("svhn", tmp_path)
    for content in (b"", b"text" * 50):
        (tmp_path / "test_32x32.mat").write_bytes(content)
        with pytest.raises(ValueError, match=r"test_32x32\.mat is not a valid file of SVHN"):
            datasets.load("svhn", tmp_path)


def write_kmnist(folder, prefix="kmnist"):
    for name, some in (("train", slice(0, 7)), ("test", slice(7, 12))):
        np.savez_compressed(folder / f"{prefix}-{name}-imgs.npz", COLORS[some, 0, :28, :28])
        np.savez_compressed(folder / f"{prefix}-{name}-labels.npz", LABELS[some])


@pytest.mark.usefixtures("any_size")
def test_files_of_kuzushiji(tmp_path):
    write_kmnist(tmp_path)
    found = datasets.load("kuzushiji", tmp_path, scale=False)
    assert found.data.dtype == np.uint8
    assert_array_equal(found.data.reshape(-1, 28, 28), COLORS[:, 0, :28, :28])
    assert_array_equal(found.target, LABELS)
    assert found.image_shape == (1, 28, 28)
    (tmp_path / "kmnist-test-labels.npz").unlink()
    with pytest.raises(ValueError, match=r"kmnist-test-labels\.npz is not a valid npz file of Kuz"):
        datasets.load("kuzushiji", tmp_path)
    with zipfile.ZipFile(tmp_path / "kmnist-test-labels.npz", "w") as file:
        file.writestr("other.npy", b"")
    with pytest.raises(ValueError, match=r"npz file of Kuzushiji-MNIST.*arr_0"):
        datasets.load("kuzushiji", tmp_path)


# ---------------------------------------------------------------------------- subsets and names


def test_a_part_of_a_dataset_has_a_name_of_its_own(tmp_path):
    images = np.full((12, 28, 28), 33, dtype=np.uint8)
    images[:, 0, 0] = 255  # the mean is about .13, as on MNIST
    np.savez(tmp_path / "mnist.npz", X=images, y=LABELS)
    np.savez(tmp_path / "mnist-subset.npz", X=images, y=LABELS)
    with pytest.raises(ValueError, match=r"12 rows.*a part of it as mnist-subset\.npz"):
        datasets.load("mnist", tmp_path)
    found = datasets.load("mnist-subset", tmp_path, scale=False)
    assert found.name == "mnist-subset"
    assert_array_equal(found.data.reshape(images.shape), images)
    np.savez(tmp_path / "fmnist-subset.npz", X=images, y=LABELS)
    with pytest.raises(ValueError, match=r"another dataset than fmnist-subset.*0\.131.* 0\.286"):
        datasets.load("fmnist-subset", tmp_path)
    np.savez(tmp_path / "usps-subset.npz", X=np.zeros((3, 9)), y=[0, 1, 2])
    with pytest.raises(ValueError, match=r"9 features.*usps-subset has at most .*name of its own"):
        datasets.load("usps-subset", tmp_path)
    with pytest.raises(FileNotFoundError, match="a subset is read from a folder only"):
        datasets.load("segment-subset", tmp_path)


def test_a_subset_may_lack_files(tmp_path, monkeypatch):
    monkeypatch.setattr(Facts, "resembles", lambda *given: True)
    write_cifar(tmp_path)
    for name in CIFAR_NAMES[1:]:
        (tmp_path / name).unlink()
    found = datasets.load("cifar10-subset", tmp_path, scale=False)
    assert_array_equal(found.data.reshape(-1, 3, 32, 32), COLORS[:2])
    with pytest.raises(ValueError, match="data_batch_2 is not a valid file of CIFAR-10"):
        datasets.load("cifar10", tmp_path)


def test_equal_shapes_and_classes_are_told_apart_by_their_pixels(tmp_path):
    y = np.repeat(np.arange(10), 7000).astype(np.uint8)
    X = np.full((70000, 784), 73, dtype=np.uint8)
    X[:, 0] = 255  # the mean is about .286, as on Fashion-MNIST
    np.savez_compressed(tmp_path / "kuzushiji.npz", X=X, y=y)
    with pytest.raises(ValueError, match=r"another dataset than kuzushiji.*0\.287.* 0\.192"):
        datasets.load("kuzushiji", tmp_path, scale=False)
    (tmp_path / "kuzushiji.npz").rename(tmp_path / "fmnist.npz")
    found = datasets.load("fmnist", tmp_path, scale=False)
    assert found.data.dtype == np.uint8
    assert found.image_shape == (1, 28, 28)


def test_published_facts_are_consistent():
    for name in ("mnist", "fmnist", "kuzushiji", "svhn", "cifar10"):
        facts = FACTS[name]
        assert sum(facts.class_counts) == facts.n_rows
        assert np.prod(facts.image) == facts.n_features


# ---------------------------------------------------------------------------- layout


def save(folder, X, **others):
    np.savez(folder / "own.npz", X=X, y=np.arange(len(X)) % 3, **others)


@pytest.mark.parametrize("layout", [None, "NCHW", "NHWC"])
@pytest.mark.parametrize("last", [False, True])
def test_layouts_of_npz_files(tmp_path, layout, last):
    if layout is not None and (layout == "NHWC") != last:
        return
    images = COLORS[:, :, :20]
    stored = images.transpose(0, 2, 3, 1) if last else images
    save(tmp_path, stored, **({} if layout is None else {"layout": layout}))
    found = datasets.load("own", tmp_path, scale=False)
    assert found.image_shape == (3, 20, 32)
    assert_array_equal(found.data.reshape(images.shape), images)


def test_layouts_that_cannot_be_known(tmp_path):
    save(tmp_path, COLORS[:, :, :, :3])
    with pytest.raises(ValueError, match=r"own\.npz cannot be used: .*may have channels first or"):
        datasets.load("own", tmp_path)
    save(tmp_path, COLORS[:, :, :, :3], layout="NCHW")
    assert datasets.load("own", tmp_path).image_shape == (3, 32, 3)
    save(tmp_path, COLORS, layout="CHWN")
    with pytest.raises(ValueError, match="layout must be 'NCHW' or 'NHWC', got 'CHWN'"):
        datasets.load("own", tmp_path)


def smooth_images():
    """Colours that change slowly from pixel to pixel."""
    y, x = np.mgrid[:32, :32] / 5.0
    shifts = np.arange(36.0).reshape(12, 3, 1, 1)
    return (127 + 120 * np.sin(x + shifts) * np.cos(y - shifts)).astype(np.uint8)


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("name", ["svhn", "cifar10"])
def test_tables_of_colour_images_in_either_order(tmp_path, name):
    images = smooth_images()
    for stored in (images, images.transpose(0, 2, 3, 1)):
        np.savez(tmp_path / f"{name}.npz", X=stored.reshape(12, -1), y=LABELS)
        found = datasets.load(name, tmp_path, scale=False)
        assert found.image_shape == (3, 32, 32)
        assert_array_equal(found.data.reshape(images.shape), images)
    np.savez(tmp_path / f"{name}.npz", X=COLORS.reshape(12, -1), y=LABELS)
    with pytest.raises(ValueError, match="neither with channels first nor with channels last"):
        datasets.load(name, tmp_path)


def test_bytes_become_floats_where_they_are_scaled(tmp_path):
    save(tmp_path, COLORS)
    found = datasets.load("own", tmp_path)
    assert found.data.dtype == np.float64
    assert found.data.max() == 1.0
    assert datasets.load("own", tmp_path, scale=False).data.dtype == np.uint8
    buffer = streams.BytesIO()
    np.savez(buffer, X=COLORS.astype(np.int16), y=LABELS)
    (tmp_path / "own.npz").write_bytes(buffer.getvalue())
    assert datasets.load("own", tmp_path, scale=False).data.dtype == np.float64
