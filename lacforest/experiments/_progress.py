"""Progress of a run: a bar on a terminal, nothing otherwise."""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any, Protocol

_SECONDS_BETWEEN_LINES = 5.0


class Progress(Protocol):
    """Receives the progress of a run; the method names are those of tqdm."""

    def update(self) -> Any:
        """Count one more finished job."""

    def close(self) -> Any:
        """End the display."""


class _Quiet:
    """Shows nothing, for logs and pipes."""

    def update(self) -> None:
        pass

    def close(self) -> None:
        pass


class _Lines:
    """Prints a line every few seconds, for terminals without tqdm."""

    def __init__(self, total: int, initial: int) -> None:
        self._total, self._done, self._initial = total, initial, initial
        self._started = self._printed = time.monotonic()

    def update(self) -> None:
        self._done += 1
        now = time.monotonic()
        if now - self._printed < _SECONDS_BETWEEN_LINES:
            return
        self._printed = now
        each = (now - self._started) / (self._done - self._initial)
        left = each * (self._total - self._done)
        print(f"{self._done} of {self._total} jobs, about {left:.0f} s left", file=sys.stderr)

    def close(self) -> None:
        pass


def make_progress(total: int, initial: int) -> Progress:
    """Progress of `total` jobs, of which `initial` are already finished."""
    if not sys.stderr.isatty():
        return _Quiet()
    try:
        tqdm = importlib.import_module("tqdm").tqdm
    except ModuleNotFoundError:
        return _Lines(total, initial)
    bar: Progress = tqdm(total=total, initial=initial, unit="job", file=sys.stderr)
    return bar
