"""Files that commands write, completely or not at all."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lacforest._utils.atomic import atomic_file
from lacforest._utils.extras import load_extra

# Number of decimals of scores in text files.
_DECIMALS = 6
# First characters by which a spreadsheet takes a text for a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class OutputError(Exception):
    """A file cannot be written; the message gives the reason."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise system errors as errors of this file instead of its temporary name."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}") from error


def check_output(path: Path, inputs: Collection[Path]) -> None:
    """Raise if the output cannot be written, before the work starts."""
    if path.is_dir():
        raise OutputError(f"{path} cannot be written: it is a folder")
    if path.exists() and not path.is_file():
        # The final rename would replace a device such as /dev/null by a file.
        raise OutputError(f"{path} cannot be written: it is a device or a pipe, not a file")
    if not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path} cannot be written: no permission in folder {path.parent}")
    if any(path.exists() and other.exists() and path.samefile(other) for other in inputs):
        raise OutputError(f"{path} is also an input: write to another file")


def _without_formula(cell: Any) -> Any:
    """The cell, or its text behind an apostrophe if a spreadsheet would evaluate it."""
    if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS):
        return f"'{cell}"
    return cell


def with_formula(cell: Any) -> Any:
    """The cell without the apostrophe that `escape_formulas` put before it."""
    if isinstance(cell, str) and cell[:1] == "'" and cell[1:].startswith(_FORMULA_STARTS):
        return cell[1:]
    return cell


class _TextTable:
    """Writes frames into one CSV or TSV file."""

    def __init__(
        self, file: Any, separator: str, escape_formulas: bool, owns_file: bool = False
    ) -> None:
        self._file, self._separator, self._owns_file = file, separator, owns_file
        self._escape_formulas = escape_formulas
        self._has_header = False

    def write(self, frame: Any) -> None:
        if self._escape_formulas:
            frame = frame.map(_without_formula).rename(columns=_without_formula)
        floats = frame.select_dtypes("float").columns
        text = frame.round(dict.fromkeys(floats, _DECIMALS)).to_csv(
            index=False, header=not self._has_header, sep=self._separator, lineterminator="\n"
        )
        self._has_header = True
        self._file.write(text.encode())

    def close(self) -> None:
        if self._owns_file:
            self._file.close()


class _ParquetTable:
    """Writes frames into one Parquet file; the first frame determines the types."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._writer: Any = None

    def write(self, frame: Any) -> None:
        arrow = load_extra("pyarrow")
        if self._writer is None:
            schema = arrow.Schema.from_pandas(frame, preserve_index=False).remove_metadata()
            for place, field in enumerate(schema):
                if arrow.types.is_null(field.type):  # no value so far: text can represent any
                    schema = schema.set(place, field.with_type(arrow.string()))
            self._writer = load_extra("pyarrow.parquet").ParquetWriter(self._file, schema)
        table = arrow.Table.from_pandas(frame, self._writer.schema, preserve_index=False)
        self._writer.write_table(table)

    def close(self) -> None:
        self._writer.close()


class TableWriter:
    """Writes frames into one table: CSV, TSV or Parquet by its suffix; - is standard output.

    Parameters
    ----------
    path : Path
        ``Path("-")`` means CSV on standard output.
    escape_formulas : bool, default=False
        Put an apostrophe before texts that a spreadsheet would evaluate. Not in Parquet, which
        spreadsheets do not open.
    """

    def __init__(self, path: Path, escape_formulas: bool = False) -> None:
        self._path = path
        self._escape_formulas = escape_formulas
        self.is_stdout = str(path) == "-"
        self._is_gzipped = path.suffix.lower() == ".gz"
        name = path.with_suffix("") if self._is_gzipped else path
        suffix = ".csv" if self.is_stdout else name.suffix.lower()
        known = (".csv", ".tsv") if self._is_gzipped else (".csv", ".tsv", ".parquet")
        if suffix not in known:
            raise OutputError(
                f"{path}: the name of the output must end in .csv, .tsv, .csv.gz, .tsv.gz or "
                ".parquet"
            )
        self._suffix = suffix

    @contextmanager
    def open(self) -> Iterator[Any]:
        """Open the table; yields a function that writes one frame."""
        if self.is_stdout:
            yield _TextTable(sys.stdout.buffer, ",", self._escape_formulas).write
            sys.stdout.buffer.flush()
            return
        with atomic_file(self._path, lambda: writing(self._path)) as file:
            table: _TextTable | _ParquetTable
            if self._suffix == ".parquet":
                table = _ParquetTable(file)
            else:
                separator = "\t" if self._suffix == ".tsv" else ","
                if self._is_gzipped:
                    # Without a time stamp, so that the same rows give the same bytes.
                    file = gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)
                table = _TextTable(file, separator, self._escape_formulas, self._is_gzipped)

            def write(frame: Any) -> None:
                with writing(self._path):
                    table.write(frame)

            yield write
            with writing(self._path):
                table.close()
