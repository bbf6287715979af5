"""Output of a command: progress and notes for people, results for people or programs."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lacforest._utils.printable import counted, printable
from lacforest._utils.progress import watching

_CLEAR = "\r\x1b[K"
# Characters per line of a terminal that does not tell.
_WIDTH = 80


class _CountingLine:
    """Progress in one line of text, for want of tqdm."""

    def __init__(self, desc: str = "", total: int | None = None, unit: str = "", **_: Any) -> None:
        self._desc, self._total, self._unit = desc, total, unit
        self.n = 0

    def update(self, n_more: int) -> None:
        self.n += n_more
        of = "" if self._total is None else f" of {self._total:,}"
        text = f"{self._desc}: {self.n:,}{of}{self._unit}".removeprefix(": ")
        print(_CLEAR + text, end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        print(_CLEAR, end="", file=sys.stderr, flush=True)


def _make_bar(**options: Any) -> Any:
    """A transient progress bar."""
    try:
        tqdm = importlib.import_module("tqdm").tqdm
    except ModuleNotFoundError:
        return _CountingLine(**options)
    return tqdm(leave=False, file=sys.stderr, ncols=_given_width(), **options)


def _given_width() -> int | None:
    """A width for terminals that say they have none, where tqdm would draw nothing."""
    try:
        return None if os.get_terminal_size(sys.stderr.fileno()).columns else _WIDTH
    except (OSError, ValueError):
        return None


class Console:
    """Standard output and error of one command.

    Parameters
    ----------
    given : Namespace
        With ``quiet`` and ``json``.
    to_stderr : bool, default=False
        Print results to standard error, because standard output is used for a table.
    """

    def __init__(self, given: argparse.Namespace, to_stderr: bool = False) -> None:
        self._quiet, self._json = given.quiet, given.json
        self._to_stderr = to_stderr
        self._is_live = sys.stderr.isatty() and not given.quiet

    @contextmanager
    def activity(self, text: str) -> Iterator[None]:
        """Show on a terminal what the block does while it runs."""
        if self._is_live:
            print(f"{printable(text)} ...", end="", file=sys.stderr, flush=True)
        try:
            yield
        finally:
            if self._is_live:
                print(_CLEAR, end="", file=sys.stderr, flush=True)

    @contextmanager
    def counting(self, text: str, unit: str = "trees") -> Iterator[None]:
        """Like `activity`, with a progress bar for the trees that the block grows, or its tasks."""
        if not self._is_live:
            yield
            return
        bars: list[tuple[str, Any]] = []

        def show(what: str, n_done: int, n_total: int) -> None:
            if bars and (bars[-1][0] != what or n_done <= bars[-1][1].n):
                bars.pop()[1].close()
            if not bars:
                bar = _make_bar(desc=what, total=n_total, unit=f" {unit}")
                print(_CLEAR, end="", file=sys.stderr, flush=True)
                bars.append((what, bar))
            bars[-1][1].update(n_done - bars[-1][1].n)

        with self.activity(text), watching(show):
            try:
                yield
            finally:
                for _, bar in bars:
                    bar.close()

    def with_bar(self, frames: Iterable[Any]) -> Iterator[Any]:
        """The same frames, with a progress bar that counts their rows on a terminal."""
        bar = _make_bar(unit=" rows", unit_scale=True) if self._is_live else None
        try:
            for frame in frames:
                yield frame
                if bar is not None:
                    bar.update(len(frame))
        finally:
            if bar is not None:
                bar.close()

    def print_result(self, facts: dict[str, Any], lines: Sequence[str]) -> None:
        """Print the result: `facts` with --json, otherwise `lines`."""
        if self._json:
            text = json.dumps(facts, indent=2, allow_nan=False)
        elif self._quiet:
            return
        else:
            text = "\n".join(map(printable, lines))
        print(text, file=sys.stderr if self._to_stderr else sys.stdout)


def table_of(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Lines of two columns."""
    return [f"{title:<11} {text}" for title, text in rows]


def share(n: int, total: int, what: str) -> str:
    """A count and its share of the total."""
    return f"{n:,} of {counted(total, what)} ({n / total:.1%})"


def size_of(n_bytes: int) -> str:
    """A file size for people to read."""
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.1f} kB"
