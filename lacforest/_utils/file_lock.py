"""A file that one process at a time may write."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

try:
    import fcntl
except ModuleNotFoundError:  # pragma: no cover
    fcntl = None  # type: ignore[assignment]


class LockedError(Exception):
    """Another process holds the lock; the message names it."""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of `path` as long as the block runs; it ends with the process in any case.

    The lock is a file beside `path` that names its holder. Systems without ``fcntl`` have no lock.
    """
    if fcntl is None:  # pragma: no cover
        yield
        return
    lock = path.with_name(f".{path.name}.lock")
    descriptor = _acquire(lock, path)
    try:
        yield
    finally:
        # While the lock is held, so that nobody acquires a file that has just been removed.
        with suppress(OSError):
            os.unlink(lock)
        os.close(descriptor)


def _acquire(lock: Path, path: Path) -> int:
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 1000).decode(errors="replace") or "another process"
            os.close(descriptor)
            raise LockedError(f"{path} is in use by {holder}") from None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(lock)):
                break
        os.close(descriptor)  # its holder removed it in between
    started = datetime.now().astimezone().isoformat(" ", "seconds")
    os.ftruncate(descriptor, 0)
    os.write(
        descriptor, f"process {os.getpid()} on {socket.gethostname()} since {started}".encode()
    )
    return descriptor
