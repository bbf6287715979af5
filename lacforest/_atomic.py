"""Files written whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any


@contextmanager
def atomic_file(
    path: str | os.PathLike[str],
    guard: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> Iterator[Any]:
    """A binary file under a temporary name, renamed to `path` at the end of the block.

    If the block raises, Ctrl-C included, the temporary file goes and an old file stays.

    Parameters
    ----------
    path : path
    guard : callable
        Makes a context for each step that is not the caller's block, to translate its errors.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.tmp")
    with guard():
        file = open(temporary, "xb")  # noqa: SIM115
    try:
        with file:
            yield file
            with guard():
                file.flush()
                os.fsync(file.fileno())
        with guard():
            os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            # A write that fails does not say where.
            error.filename = os.fspath(target)
        raise
