"""Files that are written completely or not at all."""

from __future__ import annotations

import errno
import os
import signal
import stat
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

# Bytes that most file systems allow for a name, without room for the rest of a temporary name.
_MAX_STEM = 200


@contextmanager
def atomic_file(
    path: str | os.PathLike[str],
    guard: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> Iterator[Any]:
    """A binary file under a temporary name, renamed to `path` at the end of the block.

    If the block raises, Ctrl-C included, the temporary file is removed and an existing file kept.
    SIGTERM removes it as well if the block runs in the main thread and the process has no handler
    of its own. The permissions of an existing file are kept, and a symbolic link remains one: the
    file that it points to is replaced. What is not a regular file is never replaced.

    Parameters
    ----------
    path : path
    guard : callable
        Returns a context for each step outside of the caller's block, to translate its errors.
    """
    target = Path(os.path.realpath(path))
    stem = os.fsdecode(os.fsencode(target.name)[:_MAX_STEM])
    temporary = target.with_name(f".{stem}.{uuid.uuid4().hex[:8]}.tmp")
    with guard():
        mode = _mode_of(target)
        try:
            file = open(temporary, "xb")  # noqa: SIM115
        except OSError as error:
            error.filename = os.fspath(path)  # nobody knows the temporary name
            raise
    try:
        with file, _removed_on_sigterm(temporary):
            if mode is not None:
                os.chmod(temporary, mode)
            yield file
            with guard():
                file.flush()
                os.fsync(file.fileno())
            with guard():
                os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            # The error of a failed write does not name the file.
            error.filename = os.fspath(path)
        raise


def _mode_of(target: Path) -> int | None:
    """Permissions of an existing file; None if there is none."""
    try:
        found = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(target))
    if not stat.S_ISREG(found):
        raise OSError(errno.EINVAL, "it is a device, a pipe or a socket, not a file", str(target))
    return stat.S_IMODE(found)


@contextmanager
def _removed_on_sigterm(temporary: Path) -> Iterator[None]:
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield
        return

    def remove_and_end(number: int, _: Any) -> None:
        temporary.unlink(missing_ok=True)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    signal.signal(signal.SIGTERM, remove_and_end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
