"""Parquet and Feather files, and Arrow tables as frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from lacforest._utils.extras import load_extra
from lacforest.tabular.errors import TableError, listed
from lacforest.tabular.places import Place


class _ParquetFile:
    """A Parquet file, read in pieces."""

    def __init__(self, place: Place) -> None:
        self._file = load_extra("pyarrow.parquet").ParquetFile(place.path)
        self.columns: list[str] = list(self._file.schema_arrow.names)

    def read(self, columns: list[str]) -> Any:
        return self._file.read(columns=columns)

    def batches(self, columns: list[str], chunk_rows: int) -> Iterator[Any]:
        arrow = load_extra("pyarrow")
        for batch in self._file.iter_batches(batch_size=chunk_rows, columns=columns):
            if batch.num_rows:
                yield arrow.Table.from_batches([batch])

    def close(self) -> None:
        self._file.close()


class _FeatherFile:
    """A Feather file (the Arrow file format), mapped into memory."""

    def __init__(self, place: Place) -> None:
        self._map = load_extra("pyarrow").memory_map(str(place.path))
        self._file = load_extra("pyarrow.ipc").open_file(self._map)
        self.columns: list[str] = list(self._file.schema.names)

    def read(self, columns: list[str]) -> Any:
        return self._file.read_all().select(columns)

    def batches(self, columns: list[str], chunk_rows: int) -> Iterator[Any]:
        arrow = load_extra("pyarrow")
        parts = map(self._file.get_batch, range(self._file.num_record_batches))
        tables = (arrow.Table.from_batches([part]).select(columns) for part in parts)
        return regrouped(tables, chunk_rows)

    def close(self) -> None:
        self._map.close()


@contextmanager
def open_arrow(place: Place) -> Iterator[_ParquetFile | _FeatherFile]:
    """Open a Parquet or Feather file; raises TableError if it is damaged."""
    arrow = load_extra("pyarrow")
    try:
        file = _ParquetFile(place) if place.form == "parquet" else _FeatherFile(place)
    except arrow.ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise TableError(f"{place} cannot be read: {reason}") from error
    try:
        twice = sorted({name for name in file.columns if file.columns.count(name) > 1})
        if twice:
            raise TableError(f"{place} has more than one column called {listed(twice)}")
        yield file
    finally:
        file.close()


def to_frame(table: Any) -> Any:
    """An Arrow table as a frame, with decimals as floats."""
    load_extra("pandas")  # raise our own error instead of Arrow's
    arrow = load_extra("pyarrow")
    for place, field in enumerate(table.schema):
        if arrow.types.is_decimal(field.type):
            column = table.column(place).cast(arrow.float64())
            table = table.set_column(place, field.name, column)
    return table.to_pandas(date_as_object=False, ignore_metadata=True)


def regrouped(tables: Iterable[Any], n_rows: int) -> Iterator[Any]:
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
