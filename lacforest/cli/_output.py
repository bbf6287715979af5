"""Files that commands write: whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lacforest._atomic import atomic_file
from lacforest.tabular._errors import load_extra

# Decimals of scores in text files.
_DECIMALS = 6


class OutputError(Exception):
    """A file cannot be written; the message says why."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Errors of the system as errors of this file, whatever its temporary name is."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}") from error


def check_output(path: Path, inputs: Collection[Path]) -> None:
    """Complain about an output that cannot be written before the work starts, not after."""
    if path.is_dir():
        raise OutputError(f"{path} cannot be written: it is a folder")
    if path.exists() and not path.is_file():
        # The rename at the end would put a plain file in the place of, say, /dev/null.
        raise OutputError(f"{path} cannot be written: it is a device or a pipe, not a file")
    if not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path} cannot be written: no permission in folder {path.parent}")
    if any(path.exists() and other.exists() and path.samefile(other) for other in inputs):
        raise OutputError(f"{path} is an input: write to another file")


class _TextTable:
    """Frames as one CSV or TSV."""

    def __init__(self, file: Any, separator: str) -> None:
        self._file, self._separator = file, separator
        self._has_header = False

    def write(self, frame: Any) -> None:
        floats = frame.select_dtypes("float").columns
        text = frame.round(dict.fromkeys(floats, _DECIMALS)).to_csv(
            index=False, header=not self._has_header, sep=self._separator, lineterminator="\n"
        )
        self._has_header = True
        self._file.write(text.encode())

    def close(self) -> None:
        pass


class _ParquetTable:
    """Frames as one Parquet file; the first decides the types."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._writer: Any = None

    def write(self, frame: Any) -> None:
        arrow = load_extra("pyarrow")
        if self._writer is None:
            schema = arrow.Schema.from_pandas(frame, preserve_index=False).remove_metadata()
            for place, field in enumerate(schema):
                if arrow.types.is_null(field.type):  # no value so far: text holds any
                    schema = schema.set(place, field.with_type(arrow.string()))
            self._writer = load_extra("pyarrow.parquet").ParquetWriter(self._file, schema)
        table = arrow.Table.from_pandas(frame, self._writer.schema, preserve_index=False)
        self._writer.write_table(table)

    def close(self) -> None:
        self._writer.close()


class TableWriter:
    """Writes frames below each other into one table: CSV, TSV or Parquet by name, - to stdout.

    Parameters
    ----------
    path : Path
        ``Path("-")`` is CSV on standard output.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.is_stdout = str(path) == "-"
        suffix = ".csv" if self.is_stdout else path.suffix.lower()
        if suffix not in (".csv", ".tsv", ".parquet"):
            raise OutputError(f"{path}: the name of the output ends in .csv, .tsv or .parquet")
        self._suffix = suffix

    @contextmanager
    def open(self) -> Iterator[Any]:
        """A function that writes one frame."""
        if self.is_stdout:
            yield _TextTable(sys.stdout.buffer, ",").write
            sys.stdout.buffer.flush()
            return
        with atomic_file(self._path, lambda: writing(self._path)) as file:
            table: _TextTable | _ParquetTable
            if self._suffix == ".parquet":
                table = _ParquetTable(file)
            else:
                table = _TextTable(file, "\t" if self._suffix == ".tsv" else ",")

            def write(frame: Any) -> None:
                with writing(self._path):
                    table.write(frame)

            yield write
            with writing(self._path):
                table.close()
