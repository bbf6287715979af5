"""A table that exists in codes of one byte only, in a file that the fit maps into memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._coding.bins import ColumnBins
from lacforest._input.tables import RowStack


@dataclass(frozen=True)
class DecodedRows:
    """Rows of a stored table that become floats piece by piece, as sparse ones become dense."""

    codes: NDArray[np.uint8]
    bins: Sequence[ColumnBins]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.codes.shape[1], self.codes.shape[0]

    def __getitem__(self, rows: Any) -> DecodedRows:
        return DecodedRows(self.codes[:, rows], self.bins)

    def toarray(self) -> NDArray[np.float64]:
        """A value of each bin in place of the codes; trees send it where they send the codes."""
        columns = [
            np.append(bins.values, np.nan)[codes]
            for bins, codes in zip(self.bins, self.codes, strict=True)
        ]
        return np.stack(columns, axis=1)


@dataclass(frozen=True)
class StoredTable:
    """Codes of all rows, with the interface of a RowStack.

    Attributes
    ----------
    codes : uint8 array of shape (n_features, n_rows)
    bins : sequence of ColumnBins
    has_missing : list of bool
    n_categories : tuple of int
        Categories of each column, whose bins are their ranks; 0 where it holds numbers.
    """

    codes: NDArray[np.uint8]
    bins: Sequence[ColumnBins]
    has_missing: Sequence[bool]
    n_categories: tuple[int, ...]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[1])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.codes.shape[0])

    def take(self, rows: NDArray[np.intp]) -> RowStack:
        """The given rows, with a value of each bin in place of the codes."""
        decoded = DecodedRows(self.codes[:, rows], self.bins).toarray()
        return RowStack([decoded], categories=self.n_categories)

    def rows_from(self, first: int) -> DecodedRows:
        """Rows [first, n_rows), in the form that prediction takes."""
        return DecodedRows(self.codes[:, first:], self.bins)


class CodeFile:
    """Codes in a file without a name: nothing is left of it, however the process ends.

    Parameters
    ----------
    folder : str, path-like or None
        Where to write; None is the folder for temporary files.
    n_features, n_rows : int

    Raises
    ------
    OSError
        If the disk has no room for all codes. This is found out before any is written.
    """

    def __init__(self, folder: Any, n_features: int, n_rows: int) -> None:
        n_bytes = n_features * n_rows
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed by close)
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(self._file.fileno(), 0, n_bytes)
            self.codes: NDArray[np.uint8] = np.memmap(
                self._file, dtype=np.uint8, mode="r+", shape=(n_features, n_rows)
            )
        except OSError as error:
            self._file.close()
            place = tempfile.gettempdir() if folder is None else folder
            raise OSError(
                error.errno,
                f"no room for {n_bytes / 2**20:.0f} MiB of codes in {place}: {error.strerror}. "
                "Name another folder",
            ) from error

    def write(self, first: int, X: NDArray[np.float64], bins: Sequence[ColumnBins]) -> list[bool]:
        """Code rows from `first` on; return which columns miss values in them."""
        missing = []
        for feature, column in enumerate(bins):
            codes, n_missing = column.encode(X[:, feature])
            self.codes[feature, first : first + len(X)] = codes
            missing.append(n_missing > 0)
        return missing

    def close(self) -> None:
        """Give the disk space back once nothing maps the file any more."""
        del self.codes
        self._file.close()
