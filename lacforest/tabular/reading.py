"""Tables from files, standard input and databases, at once or in pieces."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from lacforest._utils.extras import load_extra
from lacforest.tabular._arrow_files import open_arrow, regrouped, to_frame
from lacforest.tabular._csv import CsvFile
from lacforest.tabular._json_lines import json_columns, json_pieces
from lacforest.tabular._npz import read_npz
from lacforest.tabular._sql import query_columns, query_pieces
from lacforest.tabular.errors import Problems, TableError, has_no_columns, listed
from lacforest.tabular.kinds import Kind
from lacforest.tabular.places import Place, QueryPlace, TableLike, find_places

# The name of an unnamed index in Parquet files of pandas: row numbers, not data.
_INDEX = re.compile(r"__index_level_\d+__")
_ROWS_PER_PIECE = 100_000
# Rows that show the kinds of columns.
_HEAD_ROWS = 50_000


def read_table(
    table: TableLike | Place | Sequence[TableLike | Place],
    *,
    text: Collection[str] = (),
    missing: Collection[str] = (),
    encoding: str = "utf-8",
) -> Any:
    """Read a table from one or several files, standard input or a database.

    Parameters
    ----------
    table : str or path-like, or a sequence of them
        A file whose name ends in .csv, .tsv or .jsonl (also compressed: .gz, .bz2, .xz, .zip), or
        in .parquet, .feather, .xlsx or .npz; a pattern such as ``rows-*.csv``; ``-`` for CSV from
        standard input; or an address and a query, ``sqlite:///shop.db#SELECT * FROM orders``. The
        rows of several tables with the same columns are joined. The columns of a CSV file may also
        be divided by semicolons, tabs or bars, whichever is most frequent in its header.
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
    places = places_of(table)
    problems, frames = Problems(), []
    for place in places:
        with problems.collecting():
            frames.append(_read_place(place, text, missing, encoding))
    problems.raise_if_any()
    if len(frames) == 1:
        return frames[0]
    first = list(frames[0].columns)
    for place, frame in zip(places, frames, strict=True):
        with problems.collecting():
            _require_same_columns(place, list(frame.columns), places[0], first)
    problems.raise_if_any()
    again = [name for name in _of_several_types(frames) if name not in text]
    if again:
        # A column of numbers in one file and of text in another is read as text from all.
        return read_table(places, text=[*text, *again], missing=missing, encoding=encoding)
    return load_extra("pandas").concat(frames, ignore_index=True)


def table_columns(table: TableLike | Place, encoding: str = "utf-8") -> list[str]:
    """The names of the columns of a table, read without its rows where the format allows it."""
    (place,) = places_of(table)
    if place.form in ("csv", "tsv"):
        return CsvFile(place, encoding, ()).columns
    if place.form == "jsonl":
        return json_columns(place)
    if isinstance(place, QueryPlace):
        return query_columns(place)
    if place.form in ("parquet", "feather"):
        with open_arrow(place) as file:
            return _without_index(file.columns)
    return list(_read_place(place, (), (), encoding).columns)


def read_head(
    place: Place,
    *,
    text: Collection[str] = (),
    missing: Collection[str] = (),
    encoding: str = "utf-8",
) -> Any:
    """The first rows of a table, as many as one piece of its file holds.

    Parameters
    ----------
    place : Place
    text, missing, encoding
        As in `read_table`.

    Returns
    -------
    pandas.DataFrame
    """
    if place.form in ("csv", "tsv"):
        csv_file = CsvFile(place, encoding, missing)
        return to_frame(csv_file.head([name for name in text if name in csv_file.columns]))
    if place.form in ("npz", "excel"):
        return _read_place(place, text, missing, encoding)
    if place.form in ("parquet", "feather"):
        with open_arrow(place) as file:
            for batch in file.batches(_without_index(file.columns), _HEAD_ROWS):
                return to_frame(batch)
    else:
        for piece in _loose_pieces(place, _HEAD_ROWS):
            return piece
    raise TableError(f"{place} has no rows")


def iter_table(
    table: TableLike | Place,
    kinds: Mapping[str, Kind],
    *,
    chunk_rows: int = _ROWS_PER_PIECE,
    missing: Collection[str] = (),
    encoding: str = "utf-8",
) -> Iterator[Any]:
    """Read some columns of a table in pieces; the file may be larger than memory.

    Parameters
    ----------
    table : str or path-like
        As in `read_table`, but a single table. Excel and NPZ files are read at once.
    kinds : dict of str to {"number", "boolean", "text", "date"}
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
    (place,) = places_of(table)
    found = False
    for piece in _pieces(place, kinds, chunk_rows, missing, encoding):
        found = True
        yield piece
    if not found:
        raise TableError(f"{place} has no rows")


def places_of(table: Any) -> list[Place]:
    """The tables that a user names, or those that were found already."""
    tables = [table] if isinstance(table, Place) else table
    if not isinstance(tables, str) and isinstance(tables, Sequence):
        places = []
        for entry in tables:
            places += [entry] if isinstance(entry, Place) else find_places(entry)
        if not places:
            raise TableError("no table is named: the list is empty")
        return places
    return find_places(tables)


def _read_place(
    place: Place, text: Collection[str], missing: Collection[str], encoding: str
) -> Any:
    if place.form == "npz":
        frame = read_npz(place.path)
    elif place.form == "excel":
        frame = _read_excel(place)
    elif place.form in ("parquet", "feather"):
        with open_arrow(place) as file:
            frame = to_frame(file.read(_without_index(file.columns)))
    elif place.form in ("csv", "tsv"):
        csv_file = CsvFile(place, encoding, missing)
        frame = to_frame(csv_file.read([name for name in text if name in csv_file.columns]))
    else:
        pieces = list(_loose_pieces(place, _ROWS_PER_PIECE))
        if not pieces:
            raise TableError(f"{place} has no rows")
        frame = load_extra("pandas").concat(pieces, ignore_index=True)
    if len(frame) == 0:
        raise TableError(f"{place} has no rows")
    return frame


def _pieces(
    place: Place,
    kinds: Mapping[str, Kind],
    chunk_rows: int,
    missing: Collection[str],
    encoding: str,
) -> Iterator[Any]:
    names = list(kinds)
    if place.form in ("csv", "tsv"):
        csv_file = CsvFile(place, encoding, missing)
        problems = Problems()
        with problems.collecting():
            _require_columns(place, names, csv_file.columns)
            names = []
        if names:  # columns are missing: look for faults in the others
            there = {name: kind for name, kind in kinds.items() if name in csv_file.columns}
            with problems.collecting():
                csv_file.raise_faults(there)
        problems.raise_if_any()
        yield from map(to_frame, regrouped(csv_file.batches(kinds), chunk_rows))
    elif place.form in ("parquet", "feather"):
        with open_arrow(place) as file:
            _require_columns(place, names, file.columns)
            yield from map(to_frame, file.batches(names, chunk_rows))
    elif place.form in ("npz", "excel"):
        frame = _read_place(place, (), (), encoding)
        _require_columns(place, names, list(frame.columns))
        for first in range(0, len(frame), chunk_rows):
            yield frame[names][first : first + chunk_rows]
    else:
        for piece in _loose_pieces(place, chunk_rows):
            if place.form == "jsonl":  # an object may lack names that others have
                piece = piece.reindex(columns=[*dict.fromkeys([*piece.columns, *names])])
            _require_columns(place, names, list(piece.columns))
            yield piece[names]


def _loose_pieces(place: Place, chunk_rows: int) -> Iterator[Any]:
    """Pieces of a table whose values, not columns, have types."""
    if isinstance(place, QueryPlace):
        return query_pieces(place, chunk_rows)
    return json_pieces(place, chunk_rows)


def _without_index(names: Collection[str]) -> list[str]:
    return [name for name in names if not _INDEX.fullmatch(name)]


def _of_several_types(frames: Sequence[Any]) -> list[str]:
    """Columns that are numbers or booleans in one frame and something else in another."""
    types = load_extra("pandas").api.types

    def kind(values: Any) -> str:
        if values.isna().all():
            return "empty"
        if types.is_bool_dtype(values):
            return "boolean"
        if types.is_numeric_dtype(values):
            return "number"
        return "date" if types.is_datetime64_any_dtype(values) else "text"

    return [
        name
        for name in frames[0].columns
        if len({kind(frame[name]) for frame in frames} - {"empty"}) > 1
    ]


def _require_same_columns(
    place: Place, names: list[str], first_place: Place, first: list[str]
) -> None:
    for here, there, columns, others in (
        (place, first_place, names, first),
        (first_place, place, first, names),
    ):
        alone = [name for name in columns if name not in others]
        if alone:
            word = "column" if len(alone) == 1 else "columns"
            raise TableError(f"{here} has the {word} {listed(alone)}, but {there} does not")


def _require_columns(place: Place, wanted: Iterable[str], present: Collection[str]) -> None:
    """Raise if a table lacks columns."""
    absent = [name for name in wanted if name not in present]
    if absent:
        raise TableError(has_no_columns(str(place), absent, present))


def _read_excel(place: Place) -> Any:
    """The first sheet of a workbook."""
    pandas = load_extra("pandas")
    load_extra("openpyxl", "excel")
    try:
        return pandas.read_excel(place.path, engine="openpyxl")
    except Exception as error:  # openpyxl raises whatever its XML and ZIP readers raise
        if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
            raise
        raise TableError(f"{place} cannot be read: {error}") from error
