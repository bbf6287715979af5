"""What can be wrong with a table."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from lacforest._utils.arguments import joined
from lacforest._utils.printable import shown

# Names that a message lists before it only counts the rest.
_LISTED = 8


class TableError(ValueError):
    """A table cannot be used; the message says which one, where the fault is and what to do.

    Parameters
    ----------
    *problems : str
        One sentence per problem.

    Attributes
    ----------
    problems : tuple of str
        As given.
    """

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        lines = problems if len(problems) == 1 else (self.heading, *problems)
        super().__init__("\n- ".join(lines))

    @property
    def heading(self) -> str:
        """The line above several problems."""
        return f"{len(self.problems)} problems:"


class Problems:
    """Collects the problems of a table, so that one run reports all of them."""

    def __init__(self) -> None:
        self._found: list[str] = []

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Keep a TableError of the block for later."""
        try:
            yield
        except TableError as error:
            self._found += error.problems

    def raise_if_any(self) -> None:
        """Raise one error with all problems so far; two tables may have the same one."""
        if self._found:
            raise TableError(*dict.fromkeys(self._found))


@dataclass(frozen=True)
class Advice:
    """How messages spell an option: as a parameter in Python, or as an option of the command."""

    is_command: bool = False

    def option(self, name: str, *values: str) -> str:
        """An option with its values, ready to be pasted."""
        if not self.is_command:
            return f"{name}={list(values)!r}"
        # A single text may mean a missing value; all other options take names of columns.
        text = values[0] if name == "missing" else joined(values)
        # Behind a space, a text with a dash would be taken for another option.
        return f"--{name}{'=' if text.startswith('-') else ' '}{shlex.quote(text)}"

    def flag(self, name: str) -> str:
        """An option without a value."""
        return f"--{name}" if self.is_command else f"{name}=True"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The one of several names that a mistyped one is likely to mean; None if none is like it."""
    plain: dict[str, str] = {}
    for candidate in names:
        plain.setdefault(candidate.strip().casefold(), candidate)
    found = get_close_matches(name.strip().casefold(), plain, n=1)
    return plain[found[0]] if found else None


def suggestion(absent: Iterable[str], names: Collection[str]) -> str:
    """In brackets, which names mistyped ones are likely to mean; nothing if none is like them."""
    meant = [near for name in absent if (near := nearest(name, names)) is not None]
    return f" (did you mean {listed(dict.fromkeys(meant))}?)" if meant else ""


def has_no_columns(
    source: str, absent: Collection[str], names: Collection[str], meant: str | None = None
) -> str:
    """The problem of a table that lacks columns; `meant` is the one that is likely meant."""
    word = "column" if len(absent) == 1 else "columns"
    near = suggestion(absent, names) if meant is None else f" (did you mean {shown(meant)}?)"
    return f"{source} has no {word} {listed(absent)}{near}; it has {listed(names)}"


def listed(names: Iterable[Any]) -> str:
    """Names for a message, the first few of many."""
    every = [shown(name) for name in names]
    if len(every) <= _LISTED:
        return ", ".join(every)
    return ", ".join(every[:_LISTED]) + f" and {len(every) - _LISTED} more"
