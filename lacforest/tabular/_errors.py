"""What can be wrong with a table, and the packages that reading one needs."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

# Column names that a message lists before it says how many more there are.
_LISTED = 8


class TableError(ValueError):
    """A table cannot be used; the message says which, where and what to do."""


class MissingExtraError(ImportError):
    """A package of the extra ``cli`` is not installed."""


def load_extra(name: str) -> Any:
    """A module of a package that only the extra ``cli`` brings.

    Parameters
    ----------
    name : str
        Like "pandas" or "pyarrow.csv".
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        raise MissingExtraError(
            f"{package} is needed for this and is not installed: pip install 'lacforest[cli]' "
            "(in a checkout: pip install '.[cli]')"
        ) from error


def listed(names: Iterable[Any]) -> str:
    """Names for a message, the first few of many."""
    every = [repr(name) for name in names]
    if len(every) <= _LISTED:
        return ", ".join(every)
    return ", ".join(every[:_LISTED]) + f" and {len(every) - _LISTED} more"
