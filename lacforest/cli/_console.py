"""What a command tells: progress and notes to people, results to people or programs."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_CLEAR = "\r\x1b[K"


class Console:
    """Standard output and error of one command.

    Parameters
    ----------
    given : Namespace
        With ``quiet`` and ``json``.
    to_stderr : bool, default=False
        Whether results go there because standard output holds a table.
    """

    def __init__(self, given: argparse.Namespace, to_stderr: bool = False) -> None:
        self._quiet, self._json = given.quiet, given.json
        self._to_stderr = to_stderr
        self._is_live = sys.stderr.isatty() and not given.quiet

    @contextmanager
    def stage(self, text: str) -> Iterator[None]:
        """Show on a terminal what is going on as long as the block runs."""
        if self._is_live:
            print(f"{text} ...", end="", file=sys.stderr, flush=True)
        try:
            yield
        finally:
            if self._is_live:
                print(_CLEAR, end="", file=sys.stderr, flush=True)

    def with_bar(self, frames: Iterable[Any]) -> Iterator[Any]:
        """The same frames, their rows counted by a bar on a terminal."""
        bar = None
        if self._is_live:
            try:
                tqdm = importlib.import_module("tqdm").tqdm
            except ModuleNotFoundError:
                tqdm = None  # rows pass without a bar as well
            bar = tqdm and tqdm(unit=" rows", unit_scale=True, leave=False, file=sys.stderr)
        try:
            for frame in frames:
                yield frame
                if bar is not None:
                    bar.update(len(frame))
        finally:
            if bar is not None:
                bar.close()

    def tell(self, facts: dict[str, Any], lines: Sequence[str]) -> None:
        """Print the result: `facts` as JSON if that was asked for, else `lines`."""
        if self._json:
            text = json.dumps(facts, indent=2, allow_nan=False)
        elif self._quiet:
            return
        else:
            text = "\n".join(lines)
        print(text, file=sys.stderr if self._to_stderr else sys.stdout)


def table_of(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Lines of two columns."""
    return [f"{title:<12}{text}" for title, text in rows]


def share(n: int, total: int, what: str) -> str:
    """A count and its share of a total."""
    return f"{n:,} of {total:,} {what} ({n / total:.1%})"


def size_of(n_bytes: int) -> str:
    """A file size for people."""
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.1f} kB"
