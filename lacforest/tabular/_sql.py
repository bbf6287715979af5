"""Rows of a query to a database, through SQLAlchemy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lacforest._utils.extras import MissingExtraError, load_extra
from lacforest.tabular.errors import TableError
from lacforest.tabular.places import QueryPlace


@contextmanager
def _connected(place: QueryPlace) -> Iterator[tuple[Any, Any]]:
    """A connection and the statement to execute; the table's name stands for all of its rows."""
    sqlalchemy = load_extra("sqlalchemy", "sql")
    _check_file(place)
    try:
        engine = sqlalchemy.create_engine(place.url, poolclass=sqlalchemy.pool.NullPool)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{place} needs the driver {error.name}, which is not installed: pip install "
            f"{error.name}"
        ) from error
    except sqlalchemy.exc.NoSuchModuleError as error:
        raise TableError(f"{place}: {error}") from error
    try:
        # Rows arrive in pieces instead of all at once, where the driver can do that.
        with engine.connect().execution_options(stream_results=True) as connection:
            if place.url.get_backend_name() == "sqlite":
                connection.exec_driver_sql("PRAGMA query_only = ON")
            if len(place.query.split()) == 1:
                yield connection, sqlalchemy.select("*").select_from(_table_of(place))
            else:
                yield connection, sqlalchemy.text(place.query)
    except sqlalchemy.exc.SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        raise TableError(f"{place}: {reason}") from error


def _check_file(place: QueryPlace) -> None:
    """Refuse a file that is not there: SQLite would create it, without tables."""
    path = place.url.database
    if place.url.get_backend_name() != "sqlite" or not path or path == ":memory:":
        return
    if not path.startswith("file:") and not Path(path).exists():
        raise TableError(f"{place}: there is no such file")


def _table_of(place: QueryPlace) -> Any:
    sqlalchemy = load_extra("sqlalchemy", "sql")
    schema, _, name = place.query.rpartition(".")
    return sqlalchemy.table(name, schema=schema or None)


def query_columns(place: QueryPlace) -> list[str]:
    """The names of the columns of a query."""
    with _connected(place) as (connection, statement):
        return list(connection.execute(statement).keys())


def query_pieces(place: QueryPlace, chunk_rows: int) -> Iterator[Any]:
    """All columns of a query, as frames of at most `chunk_rows` rows."""
    pandas = load_extra("pandas")
    with _connected(place) as (connection, statement):
        result = connection.execute(statement)
        names = list(result.keys())
        while rows := result.fetchmany(chunk_rows):
            yield pandas.DataFrame.from_records(rows, columns=names, coerce_float=True)
