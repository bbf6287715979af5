"""Threads that share memory: all kernels release the GIL."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice, pairwise
from typing import Any

import numpy as np


def spans(n_items: int, n_blocks: int) -> list[tuple[int, int]]:
    """Divide range(n_items) into contiguous blocks of nearly equal size."""
    edges = np.linspace(0, n_items, n_blocks + 1).astype(int).tolist()
    return list(pairwise(edges))


def useful_threads(n_jobs: int, work: int, least_work: int) -> int:
    """Number of threads with at least `least_work` each."""
    return max(1, min(n_jobs, work // least_work))


def in_threads(
    function: Callable[..., Any],
    calls: Iterable[tuple[Any, ...]],
    n_threads: int,
    verbose: int = 0,
) -> Iterator[Any]:
    """Results of function(*arguments) for each call, in order, as they become available.

    With `verbose`, joblib runs the calls and tells how far they are. Otherwise threads wait for
    each other without polling.
    """
    if verbose:
        # joblib's own functions: those of scikit-learn set the warning filters in each call.
        # Filters are global to the process, and threads would overwrite each other's.
        from joblib import Parallel, delayed

        parallel = Parallel(
            n_jobs=n_threads, require="sharedmem", verbose=verbose, return_as="generator"
        )
        results: Iterator[Any] = parallel(delayed(function)(*arguments) for arguments in calls)
        return results
    if n_threads == 1:
        return (function(*arguments) for arguments in calls)
    return _in_executor(function, iter(calls), n_threads)


def _in_executor(
    function: Callable[..., Any], calls: Iterator[tuple[Any, ...]], n_threads: int
) -> Iterator[Any]:
    executor = ThreadPoolExecutor(n_threads)
    # Two calls per thread are enough to keep all busy; more would hold results that nobody reads.
    waiting: deque[Future[Any]] = deque(
        executor.submit(function, *arguments) for arguments in islice(calls, 2 * n_threads)
    )
    try:
        while waiting:
            result = waiting.popleft().result()
            for arguments in islice(calls, 1):
                waiting.append(executor.submit(function, *arguments))
            yield result
    finally:
        # The caller may have to tell running calls to stop: do not wait for them here.
        executor.shutdown(wait=False, cancel_futures=True)


def wait_for(results: Iterator[Any]) -> None:
    """Wait for calls that return nothing."""
    for _ in results:
        pass
