"""Threads of joblib: all kernels release the GIL, so shared memory is required of any backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

# joblib's own functions: those of scikit-learn set the warning filters in each call. Filters are
# global to the process, and threads would overwrite each other's.
from joblib import Parallel, delayed


def spans(n_items: int, n_blocks: int) -> list[tuple[int, int]]:
    """Divide range(n_items) into contiguous blocks of nearly equal size."""
    edges = np.linspace(0, n_items, n_blocks + 1).astype(int).tolist()
    return list(pairwise(edges))


def useful_threads(n_jobs: int, work: int, least_work: int) -> int:
    """Number of threads with at least `least_work` each: joblib polls for results every 10 ms."""
    return max(1, min(n_jobs, work // least_work))


def in_threads(
    function: Callable[..., Any],
    calls: Iterable[tuple[Any, ...]],
    n_threads: int,
    verbose: int = 0,
) -> Iterator[Any]:
    """Results of function(*arguments) for each call, in order, as they become available."""
    if n_threads == 1 and not verbose:
        return (function(*arguments) for arguments in calls)
    parallel = Parallel(
        n_jobs=n_threads, require="sharedmem", verbose=verbose, return_as="generator"
    )
    results: Iterator[Any] = parallel(delayed(function)(*arguments) for arguments in calls)
    return results


def wait_for(results: Iterator[Any]) -> None:
    """Wait for calls that return nothing."""
    for _ in results:
        pass
