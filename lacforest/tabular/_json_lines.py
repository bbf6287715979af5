"""One JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from lacforest._utils.extras import load_extra
from lacforest.tabular.errors import TableError
from lacforest.tabular.places import Place


def _objects(place: Place) -> Iterator[dict[str, Any]]:
    with place.refusing_damage(), place.open() as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except (json.JSONDecodeError, UnicodeDecodeError) as error:
                raise TableError(f"{place}, line {number}: {error}") from error
            if not isinstance(found, dict):
                raise TableError(f"{place}, line {number}: not an object in braces")
            nested = [name for name, value in found.items() if isinstance(value, dict | list)]
            if nested:
                raise TableError(
                    f"{place}, line {number}: {nested[0]!r} contains further values; only numbers, "
                    "text, true, false and null can be read"
                )
            yield found


def json_columns(place: Place) -> list[str]:
    """The names of the first object."""
    return list(next(_objects(place), {}))


def json_pieces(place: Place, chunk_rows: int) -> Iterator[Any]:
    """Frames of at most `chunk_rows` rows; names that an object lacks are missing values."""
    pandas = load_extra("pandas")
    objects = _objects(place)
    while rows := list(islice(objects, chunk_rows)):
        yield pandas.DataFrame.from_records(rows)
