"""Where tables are: files, patterns of files, standard input or a query to a database."""

from __future__ import annotations

import bz2
import glob
import gzip
import lzma
import os
import shutil
import sys
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from lacforest._utils.extras import load_extra
from lacforest.tabular.errors import TableError

TableLike = str | os.PathLike[str]

_TEXT = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_BINARY = {".parquet": "parquet", ".feather": "feather", ".arrow": "feather", ".npz": "npz"}
_BINARY |= {".xlsx": "excel"}
_PACKED = (".gz", ".bz2", ".xz", ".zip")
# The beginning of an address such as postgresql://host/database.
_URL = "://"


@dataclass(frozen=True)
class Place:
    """One table to read.

    Attributes
    ----------
    path : Path
        The file; for a query, the address with its password hidden.
    form : {"csv", "tsv", "jsonl", "parquet", "feather", "npz", "excel", "sql"}
    packing : str
        The suffix of a compressed file, or an empty text.
    name : str
        What messages call the table.
    decimal : {".", ","}
        What separates the decimals of numbers in a CSV file.
    """

    path: Path
    form: str
    packing: str
    name: str
    decimal: str = field(default=".", kw_only=True)

    def __str__(self) -> str:
        return self.name

    def open(self) -> IO[bytes]:
        """Open a file for reading, decompressed."""
        if self.packing == ".gz":
            return gzip.open(self.path)  # type: ignore[return-value]
        if self.packing == ".bz2":
            return bz2.open(self.path)
        if self.packing == ".xz":
            return lzma.open(self.path)
        if self.packing == ".zip":
            with zipfile.ZipFile(self.path) as archive:
                return archive.open(_only_member(archive, self.path))
        return open(self.path, "rb")

    @contextmanager
    def refusing_damage(self) -> Iterator[None]:
        """Raise a TableError if the file is not what its suffix says, or was cut off."""
        try:
            yield
        except (
            EOFError,
            gzip.BadGzipFile,
            lzma.LZMAError,
            zipfile.BadZipFile,
            zlib.error,
        ) as error:
            raise TableError(f"{self} cannot be read: {error}") from error
        except OSError as error:
            if error.errno is not None:  # bz2 raises OSError for damage, but without a number
                raise
            raise TableError(f"{self} cannot be read: {error}") from error


@dataclass(frozen=True)
class QueryPlace(Place):
    """Rows of a query; `url` may contain a password and is never printed."""

    url: Any
    query: str


def find_places(
    tables: TableLike | Sequence[TableLike], stdin_format: str = "csv", decimal: str = "."
) -> list[Place]:
    """The tables that a user names.

    Parameters
    ----------
    tables : str, path-like, or a sequence of them
        A file; a pattern such as ``rows-*.csv``; ``-`` for standard input; or the address of a
        database and a query, as in ``sqlite:///shop.db#SELECT * FROM orders``, where the name of a
        table may stand for a query.
    stdin_format : str, default="csv"
        The suffix that a file with the content of standard input would have.
    decimal : {".", ","}, default="."
        What separates the decimals of numbers in CSV files.
    """
    if not isinstance(tables, str | os.PathLike | Sequence):
        raise TypeError(
            f"a table is read by its name, or several by a list of names, not from a "
            f"{type(tables).__name__}"
        )
    places: list[Place] = []
    for table in [tables] if isinstance(tables, str | os.PathLike) else tables:
        places += _expand(table, stdin_format, decimal)
    return places


def joint_name(places: Sequence[Place]) -> str:
    """What messages call several tables that are read as one."""
    if len(places) == 1:
        return str(places[0])
    return f"{places[0]} and {len(places) - 1} more"


def _expand(table: TableLike, stdin_format: str, decimal: str) -> list[Place]:
    text = os.fspath(table)
    if text == "-":
        return [_from_stdin(stdin_format, decimal)]
    if _URL in text:
        return [_from_address(text)]
    if not glob.has_magic(text) or os.path.exists(text):
        return [_of_file(Path(text), text, decimal)]
    found = sorted(glob.glob(text))
    if not found:
        raise TableError(f"no file matches {text!r}")
    return [_of_file(Path(path), path, decimal) for path in found]


def _of_file(path: Path, name: str, decimal: str, like: str | None = None) -> Place:
    """A file; its name, or `like` in place of it, determines the format."""
    suffixes = [suffix.lower() for suffix in Path(like or path).suffixes]
    packing = suffixes.pop() if suffixes and suffixes[-1] in _PACKED else ""
    named = name
    if packing == ".zip" and not (suffixes and suffixes[-1] in _TEXT) and path.exists():
        try:
            with zipfile.ZipFile(path) as archive:
                member = _only_member(archive, path)
            suffixes, named = [Path(member).suffix.lower()], f"{member!r} in {name}"
        except zipfile.BadZipFile as error:
            raise TableError(f"{name} cannot be read: {error}") from error
    known = _TEXT if packing else _TEXT | _BINARY
    if not suffixes or suffixes[-1] not in known:
        raise TableError(
            f"{named}: the name of a table must end in .csv, .tsv or .jsonl (also followed by .gz, "
            ".bz2, .xz or .zip), or in .parquet, .feather, .xlsx or .npz"
        )
    return Place(path, known[suffixes[-1]], packing, name, decimal=decimal)


def _only_member(archive: zipfile.ZipFile, path: Path) -> str:
    members = [member.filename for member in archive.infolist() if not member.is_dir()]
    if len(members) != 1:
        raise TableError(f"{path} contains {len(members)} files, but must contain one table")
    return members[0]


def _from_stdin(suffix: str, decimal: str) -> Place:
    """A copy of standard input, because a table is read more than once."""
    number, copy = tempfile.mkstemp(prefix="lacforest-")
    with open(number, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    place = _of_file(Path(copy), "standard input", decimal, like=f"table.{suffix.lstrip('.')}")
    weakref.finalize(place, os.unlink, copy)
    return place


def _from_address(text: str) -> Place:
    address, _, query = text.partition("#")
    sqlalchemy = load_extra("sqlalchemy", "sql")
    try:
        url = sqlalchemy.engine.make_url(address)
    except sqlalchemy.exc.ArgumentError:
        raise TableError(
            "the address of a database cannot be read: it must be like "
            "postgresql://user@host/database#QUERY (percent-encode @ : / # in a password)"
        ) from None
    name = url.render_as_string(hide_password=True)
    if not query.strip():
        raise TableError(f"{name}: add # and a query or the name of a table")
    return QueryPlace(Path(name), "sql", "", name, url, query.strip())
