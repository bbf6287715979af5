"""Progress of training: a bar on a terminal, one line per epoch elsewhere."""

from __future__ import annotations

import importlib
import sys
from typing import Any, Protocol


class EpochProgress(Protocol):
    """Receives a report after each epoch."""

    def epoch(self, logs: dict[str, float]) -> None:
        """Report one more epoch."""

    def close(self) -> None:
        """End the display."""


class _NoProgress:
    def epoch(self, logs: dict[str, float]) -> None:
        pass

    def close(self) -> None:
        pass


class _EpochLines:
    """Lines on stderr, for logs and pipes, and where tqdm is not installed."""

    def __init__(self, total: int, done: int) -> None:
        self._total, self._done = total, done

    def epoch(self, logs: dict[str, float]) -> None:
        self._done += 1
        figures = ", ".join(f"{name} {value:.4g}" for name, value in logs.items())
        print(f"epoch {self._done} of {self._total}: {figures}", file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


class _EpochBar:
    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def epoch(self, logs: dict[str, float]) -> None:
        self._bar.set_postfix({name: f"{value:.4g}" for name, value in logs.items()})
        self._bar.update()

    def close(self) -> None:
        self._bar.close()


def make_progress(total: int, done: int, verbose: int) -> EpochProgress:
    """Display for `total` epochs, of which `done` are done."""
    if verbose <= 0:
        return _NoProgress()
    if sys.stderr.isatty():
        try:
            tqdm = importlib.import_module("tqdm").tqdm
        except ModuleNotFoundError:
            return _EpochLines(total, done)
        return _EpochBar(tqdm(total=total, initial=done, unit="epoch", file=sys.stderr))
    return _EpochLines(total, done)
