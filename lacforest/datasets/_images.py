"""Images in the files in which their authors publish them: idx, CIFAR-10, SVHN, Kuzushiji-MNIST."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import io

from lacforest.datasets._pickled_arrays import read_pickled_dict

ImageShape = tuple[int, int, int]  # channels, height, width

_COLOR: ImageShape = (3, 32, 32)
# A layout is recognised if its neighbouring pixels differ by less than this share of what they
# differ by in the other layout.
_CLEARLY_SMOOTHER = 0.9
_N_COMPARED = 200


class Images(NamedTuple):
    """Images as rows, channels first, with their labels."""

    rows: NDArray[Any]
    labels: NDArray[Any]
    shape: ImageShape


@dataclass(frozen=True)
class ImageFiles:
    """A set of files that holds a dataset.

    Attributes
    ----------
    description : str
    parts : tuple of tuple of str
        Names of the files of each part, training images first.
    read : callable
        Makes `Images` of the paths of one part.
    suffixes : tuple of str
        What may follow the names.
    subfolders : tuple of str
        Folders that the published archives unpack into.
    """

    description: str
    parts: tuple[tuple[str, ...], ...]
    read: Callable[..., Images]
    suffixes: tuple[str, ...] = ("",)
    subfolders: tuple[str, ...] = ()

    def find(self, folder: Path, name: str) -> Path | None:
        """The folder that has them: the subfolder `name`, the given folder, or an archive's own."""
        tops = (folder / name, folder)
        places = [*tops, *(top / below for top in tops for below in self.subfolders)]
        return next((place for place in places if any(self._present(place))), None)

    def _present(self, folder: Path) -> list[bool]:
        """Whether the first file of each part is in the folder."""
        return [self._path(folder, part[0]).is_file() for part in self.parts]

    def _path(self, folder: Path, name: str) -> Path:
        paths = [folder / f"{name}{suffix}" for suffix in self.suffixes]
        return next((path for path in paths if path.is_file()), paths[-1])

    def read_folder(self, folder: Path, whole: bool = True) -> Images:
        """Images of all parts, or of those that are in the folder if `whole` is False."""
        chosen = [
            part
            for part, present in zip(self.parts, self._present(folder), strict=True)
            if whole or present
        ]
        found = [self._read_part(folder, part) for part in chosen]
        shapes = {images.shape for images in found}
        if len(shapes) > 1:
            raise ValueError(f"the files in {folder} hold images of different shapes: {shapes}")
        return Images(
            np.concatenate([images.rows for images in found]),
            np.concatenate([images.labels for images in found]),
            found[0].shape,
        )

    def _read_part(self, folder: Path, part: Sequence[str]) -> Images:
        paths = [self._path(folder, name) for name in part]
        try:
            images = self.read(*paths)
            if images.labels.shape != (len(images.rows),):
                raise ValueError(
                    f"it has {images.labels.size} labels, but {len(images.rows)} images"
                )
        except (
            EOFError,
            IndexError,
            KeyError,
            NotImplementedError,
            OSError,
            TypeError,
            ValueError,
            zipfile.BadZipFile,
            zlib.error,
            io.matlab.MatReadError,
        ) as error:
            raise ValueError(
                f"{' and '.join(map(str, paths))} is not a valid {self.description}; reinstall the "
                f"package that it belongs to, or download it again: {error}"
            ) from error
        return images


def _grey(images: Any, labels: Any) -> Images:
    pixels, targets = np.asarray(images), np.asarray(labels)
    if pixels.ndim != 3 or pixels.dtype != np.uint8:
        raise ValueError(f"its images are an array of {pixels.ndim} dimensions, {pixels.dtype}")
    return Images(pixels.reshape(len(pixels), -1), targets, (1, *pixels.shape[1:]))


def _read_idx(path: Path) -> NDArray[np.uint8]:
    """Bytes in MNIST's format: two zeros, type 8, number of dimensions, dimensions, values."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    if content[:3] != b"\0\0\x08":
        raise ValueError(f"{path.name} begins with {content[:3]!r}")
    shape = np.frombuffer(content, dtype=">u4", count=content[3], offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)


def _read_idx_pair(images: Path, labels: Path) -> Images:
    return _grey(_read_idx(images), _read_idx(labels))


def _only_array(path: Path) -> NDArray[Any]:
    # Opened here, because NumPy does not close a broken file.
    with open(path, "rb") as raw, np.load(raw) as file:
        array: NDArray[Any] = file["arr_0"]
        return array


def _read_npz_pair(images: Path, labels: Path) -> Images:
    return _grey(_only_array(images), _only_array(labels))


def _read_cifar_pickle(path: Path) -> Images:
    stored = read_pickled_dict(path)
    rows, labels = stored[b"data"], stored[b"labels"]
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.shape[1] != 3072:
        raise ValueError("its data are not rows of 3072 bytes")
    if not isinstance(labels, list) or not all(type(label) is int for label in labels):
        raise ValueError("its labels are not a list of integers")
    return Images(rows, np.array(labels, dtype=np.intp), _COLOR)


def _read_cifar_binary(path: Path) -> Images:
    content = np.frombuffer(path.read_bytes(), np.uint8)
    if content.size == 0 or content.size % 3073:
        raise ValueError(f"its {content.size} bytes are not images of 1 + 3072 bytes")
    records = content.reshape(-1, 3073)
    return Images(records[:, 1:], records[:, 0].astype(np.intp), _COLOR)


def _read_svhn(path: Path) -> Images:
    stored = io.loadmat(path, variable_names=["X", "y"])
    pixels, labels = stored["X"], stored["y"]
    if pixels.shape[:3] != (32, 32, 3) or pixels.ndim != 4 or pixels.dtype != np.uint8:
        raise ValueError(f"X has the shape {pixels.shape} and the type {pixels.dtype}")
    # The digit 0 has the label 10.
    digits = labels.ravel().astype(np.intp) % 10
    return Images(pixels.transpose(3, 2, 0, 1).reshape(pixels.shape[3], -1), digits, _COLOR)


_CIFAR_PARTS = (*((f"data_batch_{number}",) for number in range(1, 6)), ("test_batch",))
IMAGE_FILES = {
    "idx": ImageFiles(
        "idx file of bytes",
        tuple(
            (f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte") for part in ("train", "t10k")
        ),
        _read_idx_pair,
        suffixes=("", ".gz"),
    ),
    "cifar": ImageFiles(
        "file of CIFAR-10 for Python",
        _CIFAR_PARTS,
        _read_cifar_pickle,
        subfolders=("cifar-10-batches-py",),
    ),
    "cifar binary": ImageFiles(
        "binary file of CIFAR-10",
        _CIFAR_PARTS,
        _read_cifar_binary,
        suffixes=(".bin",),
        subfolders=("cifar-10-batches-bin",),
    ),
    "svhn": ImageFiles(
        "file of SVHN with images of 32 x 32 pixels",
        (("train_32x32.mat",), ("test_32x32.mat",)),
        _read_svhn,
    ),
    "kmnist": ImageFiles(
        "npz file of Kuzushiji-MNIST",
        (
            ("kmnist-train-imgs.npz", "kmnist-train-labels.npz"),
            ("kmnist-test-imgs.npz", "kmnist-test-labels.npz"),
        ),
        _read_npz_pair,
    ),
}


def flatten(X: NDArray[Any], layout: str | None) -> tuple[NDArray[Any], ImageShape]:
    """Images of shape (n, height, width), or with channels first or last, as rows.

    Parameters
    ----------
    X : ndarray of 3 or 4 dimensions
    layout : str or None
        "NCHW" or "NHWC"; None recognises it where only one axis can be that of the channels.

    Returns
    -------
    rows : ndarray of shape (n, channels * height * width)
        Channels first.
    shape : tuple of int
        Channels, height and width.
    """
    if X.ndim == 3:
        X, layout = X[:, None], "NCHW"
    if layout is None:
        first, last = (X.shape[axis] in (1, 3) for axis in (1, 3))
        if first == last:
            raise ValueError(
                f"images of shape {X.shape[1:]} may have channels first or last: add an array "
                "named layout, 'NCHW' or 'NHWC', to the file"
            )
        layout = "NCHW" if first else "NHWC"
    if layout not in ("NCHW", "NHWC"):
        raise ValueError(f"layout must be 'NCHW' or 'NHWC', got {layout!r}")
    if layout == "NHWC":
        X = X.transpose(0, 3, 1, 2)
    channels, height, width = X.shape[1:]
    return np.ascontiguousarray(X).reshape(len(X), -1), (channels, height, width)


def channels_first(rows: NDArray[Any], shape: ImageShape) -> NDArray[Any]:
    """Rows of a table of colour images with channels first, whichever order they have.

    Tables do not state it. Neighbouring pixels of photographs are alike, so the layout in which
    neighbours differ less is the true one.
    """
    channels, height, width = shape
    if channels == 1:
        return rows
    some = rows[:_N_COMPARED].astype(np.float64)
    first = _roughness(some.reshape(-1, *shape))
    last = _roughness(some.reshape(-1, height, width, channels).transpose(0, 3, 1, 2))
    if first < _CLEARLY_SMOOTHER * last:
        return rows
    if last < _CLEARLY_SMOOTHER * first:
        return flatten(rows.reshape(-1, height, width, channels), "NHWC")[0]
    raise ValueError(
        f"its rows of {rows.shape[1]} values look like images neither with channels first nor with "
        "channels last: save X with the shape (n, channels, height, width)"
    )


def _roughness(images: NDArray[np.float64]) -> float:
    """Mean difference between pixels that are neighbours in a column or a row."""
    return float(sum(np.abs(np.diff(images, axis=axis)).mean() for axis in (2, 3)))
