"""Delimited text, read by Arrow; faults in a file are located with the csv module.

Arrow is fast and strict, but its errors do not name the line. A file that it rejects is therefore
read again with the csv module, which is slow but counts lines.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from lacforest._utils.extras import load_extra
from lacforest._utils.printable import counted
from lacforest.tabular.errors import TableError, listed
from lacforest.tabular.kinds import CONTENTS, Kind
from lacforest.tabular.places import Place

# Texts that mean a missing value, as in pandas.
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
# Texts of booleans, as Arrow accepts them.
TRUTH = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "1": 1.0}
TRUTH |= {"false": 0.0, "False": 0.0, "FALSE": 0.0, "0": 0.0}
_BLOCK_BYTES = 1 << 22
_QUOTED = re.compile(r'"[^"]*"')
_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class _CountedBytes:
    """A file for Arrow that counts quotes: if their number is odd, one is not closed.

    Arrow reads everything after an unclosed quote as one value, without an error.
    """

    closed = False

    def __init__(self, file: Any) -> None:
        self._file = file
        self.n_quotes = 0

    def read(self, size: int = -1) -> bytes:
        content: bytes = self._file.read(size)
        self.n_quotes += content.count(b'"')
        return content


class CsvFile:
    """A CSV or TSV file; the constructor reads the header.

    Parameters
    ----------
    place : Place
    encoding : str
    missing : collection of str
        Texts that mean a missing value, in addition to the usual ones.

    Attributes
    ----------
    columns : list of str
        Names in the header.
    """

    def __init__(self, place: Place, encoding: str, missing: Collection[str]) -> None:
        self._place = place
        self._encoding = _checked_encoding(encoding)
        self._missing = [*MISSING, *missing]
        self._separator, self.columns = self._read_header()

    # ------------------------------------------------------------------ reading

    def read(self, text: Collection[str]) -> Any:
        """All rows as an Arrow table; columns in `text` are read as text."""
        arrow, arrow_csv = load_extra("pyarrow"), load_extra("pyarrow.csv")
        types = {name: arrow.string() for name in text}
        with self._open_for_arrow({}) as file:
            table = arrow_csv.read_csv(file, **self._options(types, None))
        for field in table.schema:
            if arrow.types.is_binary(field.type):  # text that is not UTF-8
                raise TableError(*self._faults({}) or [self._refused("it is not UTF-8 text")])
        return self._refuse_points(table, text)

    def head(self, text: Collection[str]) -> Any:
        """The first megabytes as an Arrow table; columns in `text` are read as text."""
        arrow, arrow_csv = load_extra("pyarrow"), load_extra("pyarrow.csv")
        types = {name: arrow.string() for name in text}
        with self._open_for_arrow({}) as file:
            for batch in arrow_csv.open_csv(file, **self._options(types, None)):
                return self._refuse_points(arrow.Table.from_batches([batch]), text)
        raise TableError(f"{self._place} has no rows")

    def batches(self, kinds: Mapping[str, Kind]) -> Iterator[Any]:
        """The given columns as Arrow tables of a few megabytes each."""
        arrow, arrow_csv = load_extra("pyarrow"), load_extra("pyarrow.csv")
        of_kind = {"number": arrow.float64(), "boolean": arrow.bool_(), "text": arrow.string()}
        of_kind["date"] = arrow.string()  # the coder reads dates with or without a zone
        types = {name: of_kind[kind] for name, kind in kinds.items()}
        with self._open_for_arrow(kinds) as file:
            reader = arrow_csv.open_csv(file, **self._options(types, list(kinds)))
            for batch in reader:
                yield arrow.Table.from_batches([batch])

    def _options(self, types: Mapping[str, Any], columns: Sequence[str] | None) -> dict[str, Any]:
        arrow_csv = load_extra("pyarrow.csv")
        return {
            "read_options": arrow_csv.ReadOptions(block_size=_BLOCK_BYTES, encoding=self._encoding),
            "parse_options": arrow_csv.ParseOptions(
                delimiter=self._separator, newlines_in_values=True
            ),
            "convert_options": arrow_csv.ConvertOptions(
                column_types=types,
                include_columns=columns,
                null_values=self._missing,
                strings_can_be_null=True,
                decimal_point=self._place.decimal,
            ),
        }

    @contextmanager
    def _open_for_arrow(self, kinds: Mapping[str, Kind]) -> Iterator[_CountedBytes]:
        """Open the file; faults in it raise a TableError with the line."""
        arrow = load_extra("pyarrow")
        try:
            with self._place.refusing_damage(), self._place.open() as raw:
                file = _CountedBytes(raw)
                yield file
                odd = file.n_quotes % 2 == 1
        except (arrow.ArrowException, UnicodeDecodeError) as error:
            reason = str(error).partition("\n")[0]
            raise TableError(*self._faults(kinds) or [self._refused(reason)]) from error
        if odd:
            self.raise_faults(kinds)

    def _refused(self, reason: str) -> str:
        return f"{self._place} cannot be read: {reason}"

    # ------------------------------------------------------------------ header and faults

    def _read_header(self) -> tuple[str, list[str]]:
        with self._place.refusing_damage():
            with self._place.open() as raw:
                start: bytes = raw.read(2)
                if start in _UTF_16_MARKS:
                    raise TableError(f"{self._place} is UTF-16 text: save it as UTF-8")
            first = next((line for line in self._lines() if line.strip()), None)
        if first is None:
            raise TableError(f"{self._place} is empty")
        unquoted = _QUOTED.sub("", first)
        if "\r" in unquoted.rstrip("\r\n"):
            raise TableError(
                self._refused("its lines end in carriage returns alone; save it with line feeds")
            )
        separator = "\t"
        if self._place.form != "tsv":
            # Spreadsheets write semicolons in locales with a decimal comma.
            separator = max(",;\t|", key=unquoted.count)
        try:
            columns = next(row for row in self._rows(separator) if row)
        except csv.Error as error:
            raise TableError(self._refused(f"its header is broken ({error})")) from error
        twice = [name for name in dict.fromkeys(columns) if columns.count(name) > 1]
        if twice:
            raise TableError(f"{self._place} has more than one column called {listed(twice)}")
        return separator, columns

    def _lines(self) -> Iterator[str]:
        with self._place.open() as raw:
            for number, line in enumerate(raw, start=1):
                try:
                    text = line.decode(self._encoding)
                except UnicodeDecodeError as error:
                    raise TableError(
                        f"{self._place} is not {self._encoding.upper()} text: line {number} has "
                        f"the byte 0x{line[error.start]:02x}. Save it as UTF-8, or set the "
                        "option encoding, for instance to latin-1."
                    ) from None
                yield text.removeprefix("\ufeff") if number == 1 else text

    def _rows(self, separator: str) -> Any:
        return csv.reader(self._lines(), delimiter=separator, strict=True)

    def raise_faults(self, kinds: Mapping[str, Kind]) -> None:
        """Raise a TableError if the file has faults, or other contents than these kinds."""
        if faults := self._faults(kinds):
            raise TableError(*faults)

    def _faults(self, kinds: Mapping[str, Kind]) -> list[str]:
        """The faults that the csv module finds: the first of each sort, and how many there are."""
        rows = self._rows(self._separator)
        wanted = [(self.columns.index(name), name, kind) for name, kind in kinds.items()]
        first: dict[str | None, str] = {}  # by column; None for rows of another length
        counts: Counter[str | None] = Counter()
        line, is_header, end = 1, True, []
        try:
            for row in rows:
                if row and len(row) != len(self.columns):
                    counts[None] += 1
                    first.setdefault(
                        None,
                        f"{self._place}, line {line}: {counted(len(row), 'value')}, but the "
                        f"header has {counted(len(self.columns), 'column')}"
                        f"{self._hint(line, rows.line_num)}",
                    )
                elif row and not is_header:
                    for place, name, kind in wanted:
                        if not self._is_of_kind(row[place], kind):
                            counts[name] += 1
                            first.setdefault(
                                name,
                                f"{self._place}, line {line}: {row[place]!r} in column {name!r}, "
                                f"which must contain {CONTENTS[kind]}",
                            )
                line, is_header = rows.line_num + 1, is_header and not row
        except csv.Error as error:
            end = [f"{self._place}, line {line}: {error}{self._hint(line, rows.line_num)}"]
        more = {
            key: f" ({counted(n - 1, 'more such row')})" if n > 1 else ""
            for key, n in counts.items()
        }
        return [text + more[key] for key, text in first.items()] + end

    @staticmethod
    def _hint(first: int, last: int) -> str:
        if last <= first:
            return ""
        return f" (the row extends to line {last}: a quote may not be closed)"

    def _is_of_kind(self, value: str, kind: Kind) -> bool:
        if kind in ("text", "date") or value in self._missing:
            return True
        if kind == "boolean":
            return value.strip() in TRUTH
        return self._is_number(value)

    def _is_number(self, value: str) -> bool:
        if self._place.decimal == ",":
            value = "none" if "." in value else value.replace(",", ".")
        return _is_float(value)

    def _refuse_points(self, table: Any, text: Collection[str]) -> Any:
        """The table, unless a column of it holds numbers with points, as of thousands.

        Where decimals are separated by commas Arrow takes them for text, and others would read
        1.500 as one and a half.
        """
        if self._place.decimal == ".":
            return table
        arrow, problems = load_extra("pyarrow"), []
        for field in table.schema:
            if arrow.types.is_string(field.type) and field.name not in text:
                values = table[field.name].drop_null().to_pylist()
                if values and all(map(_is_float, values)):
                    example = next((value for value in values if "." in value), values[0])
                    problems.append(
                        f"column {field.name!r} of {self._place} contains numbers such as "
                        f"{example!r}, but decimals are to be separated by commas: remove points "
                        "between thousands, or read the column as text"
                    )
        if problems:
            raise TableError(*problems)
        return table


def _is_float(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _checked_encoding(encoding: str) -> str:
    """The name of an encoding that preserves ASCII: separators are searched for as bytes."""
    try:
        name = codecs.lookup(encoding).name
        plain = ",\n".encode(name) == b",\n"
    except (LookupError, UnicodeError):
        raise TableError(f"there is no text encoding called {encoding!r}") from None
    if not plain:
        raise TableError(f"tables in {name} are not supported: save them as UTF-8")
    return name
