"""NumPy archives as tables."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from lacforest._utils.extras import load_extra
from lacforest.tabular.errors import TableError


def read_npz(path: Path) -> Any:
    """Arrays of an archive as a frame.

    A one-dimensional array becomes a column of the same name. A two-dimensional array such as X
    becomes the columns X0, X1 and so on, unless the archive names them in ``feature_names``.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
            raise
        raise TableError(f"{path} cannot be read: {error}") from error
    names = arrays.pop("feature_names", None)
    columns: list[tuple[str, Any]] = []
    for key, array in arrays.items():
        if array.ndim == 1:
            columns.append((key, array))
        elif array.ndim == 2:
            own = [f"{key}{i}" for i in range(array.shape[1])]
            if names is not None and names.shape == (array.shape[1],):
                own = [str(name) for name in names]
            columns += zip(own, array.T, strict=True)
        else:
            raise TableError(
                f"{path}: the array {key!r} has shape {array.shape}, which is not that of a table"
            )
    if not columns:
        raise TableError(f"{path} is empty")
    n_rows = {len(values): name for name, values in columns}
    if len(n_rows) > 1:
        counts = ", ".join(f"{name!r} has {n}" for n, name in n_rows.items())
        raise TableError(f"{path}: its arrays have different numbers of rows: {counts}")
    twice = {name for name, _ in columns if [key for key, _ in columns].count(name) > 1}
    if twice:
        raise TableError(f"{path} has more than one column called {sorted(twice)[0]!r}")
    pandas = load_extra("pandas")
    return pandas.DataFrame(dict(columns))
