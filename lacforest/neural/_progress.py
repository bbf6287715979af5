"""How far training is: a bar on a terminal, a line an epoch elsewhere."""

from __future__ import annotations

import importlib
import sys
from typing import Any, Protocol


class Progress(Protocol):
    """What training reports to."""

    def epoch(self, logs: dict[str, float]) -> None:
        """One more epoch is done."""

    def close(self) -> None:
        """No more will be done."""


class _Quiet:
    def epoch(self, logs: dict[str, float]) -> None:
        pass

    def close(self) -> None:
        pass


class _Lines:
    """For logs and pipes, and where tqdm is not installed."""

    def __init__(self, total: int, done: int) -> None:
        self._total, self._done = total, done

    def epoch(self, logs: dict[str, float]) -> None:
        self._done += 1
        figures = ", ".join(f"{name} {value:.4g}" for name, value in logs.items())
        print(f"epoch {self._done} of {self._total}: {figures}", file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


class _Bar:
    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def epoch(self, logs: dict[str, float]) -> None:
        self._bar.set_postfix({name: f"{value:.4g}" for name, value in logs.items()})
        self._bar.update()

    def close(self) -> None:
        self._bar.close()


def make_progress(total: int, done: int, verbose: int) -> Progress:
    """Progress of `total` epochs of which `done` were done before."""
    if verbose <= 0:
        return _Quiet()
    if sys.stderr.isatty():
        try:
            tqdm = importlib.import_module("tqdm").tqdm
        except ModuleNotFoundError:
            return _Lines(total, done)
        return _Bar(tqdm(total=total, initial=done, unit="epoch", file=sys.stderr))
    return _Lines(total, done)
