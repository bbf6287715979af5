"""Progress of long computations, reported to a watcher."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# watcher(what, n_done, n_total)
Watcher = Callable[[str, int, int], None]

_watcher: ContextVar[Watcher | None] = ContextVar("lacforest_watcher", default=None)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Report the progress of fits in this block to `watcher`, in the thread that called fit."""
    before = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(before)


def current_watcher() -> Watcher | None:
    """The watcher of the innermost `watching` block, if there is one."""
    return _watcher.get()


def tell(what: str, n_done: int, n_total: int) -> None:
    """Report progress to the current watcher, if there is one."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(what, n_done, n_total)
