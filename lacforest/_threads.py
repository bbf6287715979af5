"""Threads by joblib: all kernels release the GIL, so every backend is asked for shared memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

# Not scikit-learn's, which set the filters of warnings anew in each call: these belong to the whole
# process, and threads would take them from each other.
from joblib import Parallel, delayed


def spans(n_items: int, n_blocks: int) -> list[tuple[int, int]]:
    """Cut range(n_items) into contiguous blocks of nearly equal size."""
    edges = np.linspace(0, n_items, n_blocks + 1).astype(int).tolist()
    return list(pairwise(edges))


def useful_threads(n_jobs: int, work: int, least_work: int) -> int:
    """Threads that get at least `least_work` each: joblib looks for results every 10 ms only."""
    return max(1, min(n_jobs, work // least_work))


def in_threads(
    function: Callable[..., Any],
    calls: Iterable[tuple[Any, ...]],
    n_threads: int,
    verbose: int = 0,
) -> Iterator[Any]:
    """Results of function(*arguments) for each call, in order, as they become ready."""
    if n_threads == 1 and not verbose:
        return (function(*arguments) for arguments in calls)
    parallel = Parallel(
        n_jobs=n_threads, require="sharedmem", verbose=verbose, return_as="generator"
    )
    results: Iterator[Any] = parallel(delayed(function)(*arguments) for arguments in calls)
    return results


def wait_for(results: Iterator[Any]) -> None:
    """Run calls that return nothing to their end."""
    for _ in results:
        pass
