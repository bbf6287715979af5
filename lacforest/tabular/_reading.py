"""Tables from files, at once or in pieces. The suffix of a file determines its format."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lacforest._utils.extras import load_extra
from lacforest.tabular._csv import CsvFile
from lacforest.tabular._errors import TableError, listed
from lacforest.tabular._npz import read_npz
from lacforest.tabular.kinds import Kind

# The name of an unnamed index in Parquet files of pandas: row numbers, not data.
_INDEX = re.compile(r"__index_level_\d+__")
# Rows of a Parquet file that show the kinds of its columns.
_HEAD_ROWS = 50_000


def _format_of(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes = suffixes[:-1] if suffixes[-2:-1] in ([".csv"], [".tsv"]) else []
    known = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".npz": "npz"}
    if not suffixes or suffixes[-1] not in known:
        raise TableError(
            f"{path}: the name of a table must end in .csv, .tsv, .csv.gz, .tsv.gz, .parquet or "
            ".npz"
        )
    return known[suffixes[-1]]


def _open_parquet(path: Path) -> Any:
    arrow, parquet = load_extra("pyarrow"), load_extra("pyarrow.parquet")
    try:
        file = parquet.ParquetFile(path)
    except arrow.ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise TableError(f"{path} cannot be read: {reason}") from error
    names = file.schema_arrow.names
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        file.close()
        raise TableError(f"{path} has more than one column called {listed(twice)}")
    return file


def _to_frame(table: Any) -> Any:
    """An Arrow table as a frame, with decimals as floats."""
    load_extra("pandas")  # raise our own error instead of Arrow's
    arrow = load_extra("pyarrow")
    for place, field in enumerate(table.schema):
        if arrow.types.is_decimal(field.type):
            column = table.column(place).cast(arrow.float64())
            table = table.set_column(place, field.name, column)
    return table.to_pandas(date_as_object=False, ignore_metadata=True)


def _require_columns(path: Path, wanted: Iterable[str], present: Collection[str]) -> None:
    absent = [name for name in wanted if name not in present]
    if absent:
        word = "column" if len(absent) == 1 else "columns"
        raise TableError(f"{path} has no {word} {listed(absent)}; it has {listed(present)}")


def read_table(
    path: str | os.PathLike[str],
    *,
    text: Collection[str] = (),
    missing: Collection[str] = (),
    encoding: str = "utf-8",
) -> Any:
    """Read a table from a file.

    Parameters
    ----------
    path : str or path-like
        A file whose name ends in .csv, .tsv, .csv.gz, .tsv.gz, .parquet or .npz. A CSV file
        without a comma in its header may use semicolons or tabs instead.
    text : collection of str
        Columns to read as text from a CSV file, even if they look like numbers, dates or booleans;
        columns that the file does not have are ignored.
    missing : collection of str
        Texts that mean a missing value in a CSV file, in addition to NA and similar ones.
    encoding : str, default="utf-8"
        Encoding of a CSV file.

    Returns
    -------
    pandas.DataFrame
    """
    place = Path(path)
    form = _format_of(place)
    if form == "npz":
        frame = read_npz(place)
    elif form == "parquet":
        with _open_parquet(place) as file:
            kept = [name for name in file.schema_arrow.names if not _INDEX.fullmatch(name)]
            frame = _to_frame(file.read(columns=kept))
    else:
        csv_file = CsvFile(place, encoding, missing)
        frame = _to_frame(csv_file.read([name for name in text if name in csv_file.columns]))
    if len(frame) == 0:
        raise TableError(f"{place} has no rows")
    return frame


def read_head(
    path: str | os.PathLike[str],
    *,
    text: Collection[str] = (),
    missing: Collection[str] = (),
    encoding: str = "utf-8",
) -> Any:
    """The first rows of a table, as many as one piece of its file holds.

    Parameters
    ----------
    path, text, missing, encoding
        As in `read_table`.

    Returns
    -------
    pandas.DataFrame
    """
    place = Path(path)
    form = _format_of(place)
    if form == "npz":
        return read_table(place)
    if form == "csv":
        csv_file = CsvFile(place, encoding, missing)
        return _to_frame(csv_file.head([name for name in text if name in csv_file.columns]))
    with _open_parquet(place) as file:
        kept = [name for name in file.schema_arrow.names if not _INDEX.fullmatch(name)]
    return next(_parquet_pieces(place, kept, _HEAD_ROWS))


def iter_table(
    path: str | os.PathLike[str],
    kinds: Mapping[str, Kind],
    *,
    chunk_rows: int = 100_000,
    missing: Collection[str] = (),
    encoding: str = "utf-8",
) -> Iterator[Any]:
    """Read some columns of a table in pieces; the file may be larger than memory.

    Parameters
    ----------
    path : str or path-like
        As in `read_table`. An NPZ file is read at once.
    kinds : dict of str to {"number", "boolean", "text"}
        The columns to read and their kinds in a CSV file, where a single piece does not determine
        them. Other formats store the types of their columns.
    chunk_rows : int, default=100_000
        Number of rows per piece; the last may have fewer.
    missing, encoding
        As in `read_table`.

    Yields
    ------
    pandas.DataFrame
    """
    place = Path(path)
    form = _format_of(place)
    pieces: Iterator[Any]
    if form == "npz":
        frame = read_npz(place)
        _require_columns(place, kinds, list(frame.columns))
        frame = frame[list(kinds)]
        pieces = (frame[first : first + chunk_rows] for first in range(0, len(frame), chunk_rows))
    elif form == "parquet":
        pieces = _parquet_pieces(place, list(kinds), chunk_rows)
    else:
        csv_file = CsvFile(place, encoding, missing)
        _require_columns(place, kinds, csv_file.columns)
        pieces = map(_to_frame, _regrouped(csv_file.batches(kinds), chunk_rows))
    found = False
    for piece in pieces:
        found = True
        yield piece
    if not found:
        raise TableError(f"{place} has no rows")


def _parquet_pieces(path: Path, columns: list[str], chunk_rows: int) -> Iterator[Any]:
    arrow = load_extra("pyarrow")
    with _open_parquet(path) as file:
        _require_columns(path, columns, file.schema_arrow.names)
        for batch in file.iter_batches(batch_size=chunk_rows, columns=columns):
            if batch.num_rows:
                yield _to_frame(arrow.Table.from_batches([batch]))


def _regrouped(tables: Iterable[Any], n_rows: int) -> Iterator[Any]:
    """The same rows in tables of n_rows rows; the last may have fewer."""
    arrow = load_extra("pyarrow")
    waiting: list[Any] = []
    n_waiting = 0
    for table in tables:
        waiting.append(table)
        n_waiting += table.num_rows
        if n_waiting < n_rows:
            continue
        whole = arrow.concat_tables(waiting)
        n_ready = n_waiting - n_waiting % n_rows
        for first in range(0, n_ready, n_rows):
            yield whole.slice(first, n_rows)
        waiting, n_waiting = [whole.slice(n_ready)], n_waiting - n_ready
    if n_waiting:
        yield arrow.concat_tables(waiting)
