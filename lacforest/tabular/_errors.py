"""What can be wrong with a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lacforest._utils.printable import shown

# Names that a message lists before it only counts the rest.
_LISTED = 8


class TableError(ValueError):
    """A table cannot be used; the message says which one, where the fault is and what to do."""


def listed(names: Iterable[Any]) -> str:
    """Names for a message, the first few of many."""
    every = [shown(name) for name in names]
    if len(every) <= _LISTED:
        return ", ".join(every)
    return ", ".join(every[:_LISTED]) + f" and {len(every) - _LISTED} more"
