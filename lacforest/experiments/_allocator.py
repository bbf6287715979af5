"""Memory of large tensors on glibc: kept in the process between steps of training."""

from __future__ import annotations

import ctypes
import platform

# Numbers of glibc's malloc.h, and the values that keep freed memory.
_KEEP = {-4: 0, -1: 2**31 - 1, -2: 2**28}  # M_MMAP_MAX, M_TRIM_THRESHOLD, M_TOP_PAD


def keep_freed_memory() -> bool:
    """Tell glibc to keep freed memory; returns whether this is glibc.

    By default it returns every large block to the system and requests it again in the next step,
    which takes a third of the time of a convolutional network on a CPU.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    return all(library.mallopt(option, value) == 1 for option, value in _KEEP.items())
