"""The engine on a Dask cluster: futures of pure tasks, nothing scattered, nothing pinned."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import numpy as np

from lacforest._utils.extras import load_extra
from lacforest._utils.progress import tell
from lacforest.dask.engine import Engine, Handle
from lacforest.dask.recipes import Recipe


class ClusterError(RuntimeError):
    """The cluster went away during a fit."""


class DaskEngine(Engine):
    """Submits tasks by a client; leaving the context releases or cancels all of them.

    Parameters
    ----------
    client : distributed.Client or None
        None takes the current client.
    """

    def __init__(self, client: Any = None) -> None:
        self._distributed = load_extra("distributed", "dask")
        self._dask = load_extra("dask", "dask")
        if client is None:
            try:
                client = self._distributed.get_client()
            except ValueError:
                raise ValueError(
                    "there is no Dask client: start one, for instance by client = "
                    "distributed.Client(), or pass it as the parameter client"
                ) from None
        if getattr(client, "asynchronous", False):
            raise ValueError("client is asynchronous: pass a client made with asynchronous=False")
        self.client = client
        self._started: weakref.WeakSet[Any] = weakref.WeakSet()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Also after an error or Ctrl-C: the scheduler drops tasks that no client wants. Not by
        # Client.cancel, which may end the connection where cancelled tasks depend on each other.
        for future in list(self._started):
            future.release()
        if isinstance(error, ClusterError) or error is None:
            return
        if isinstance(error, Exception) and self.client.status != "running":
            raise ClusterError(
                "the connection to the Dask scheduler was lost during the fit: check that the "
                "scheduler runs, make a new client, and fit again"
            ) from error

    @property
    def n_slots(self) -> int:
        """Threads of all workers."""
        n_threads: int = sum(self.client.nthreads().values())
        return max(1, n_threads)

    def map(
        self, function: Callable[..., Any], items: Sequence[tuple[Any, ...]], *shared: Any, to: str
    ) -> list[Handle]:
        """See `Engine`."""
        keys = [f"lacforest-{to}-{uuid4().hex}" for _ in items]
        if any(_is_lazy(value) for item in items for value in item):
            call = self._dask.delayed(run_task, pure=False)
            tasks = [
                call(function, *item, *shared, dask_key_name=key)
                for item, key in zip(items, keys, strict=True)
            ]
            futures = self.client.compute(tasks)
        else:
            futures = [
                self.client.submit(run_task, function, *item, *shared, key=key, pure=False)
                for item, key in zip(items, keys, strict=True)
            ]
        self._started.update(futures)
        return list(futures)

    def broadcast(
        self, function: Callable[..., Any], handles: Sequence[Handle], *shared: Any, to: str
    ) -> Handle:
        """See `Engine`."""
        return self.map(function, [(list(handles),)], *shared, to=to)[0]

    def gather(self, handles: Sequence[Handle], to: str) -> list[Any]:
        """See `Engine`; reports progress to the watcher, and stops at the first error."""
        cancelled = self._distributed.client.FutureCancelledError
        killed = self._distributed.scheduler.KilledWorker
        try:
            finished = self._distributed.as_completed(handles)
            for n_done, future in enumerate(finished, 1):
                tell(to, n_done, len(handles))
                if future.status != "finished":
                    break
            values: list[Any] = self.client.gather(list(handles))
        except killed as error:
            raise ClusterError(
                f"workers died again and again ({to}), most likely for want of memory: give them "
                "more of it, or use smaller partitions or fewer rows_per_tree"
            ) from error
        except (cancelled, OSError) as error:
            raise ClusterError(
                f"the Dask cluster dropped tasks of the fit ({to}): the scheduler stopped or lost "
                f"its connection, or the tasks were cancelled. Make a new client, and fit again "
                f"({error})"
            ) from error
        return values


def run_task(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function with arguments whose arrays are aligned, as the kernels need them.

    Recipes are read first, and stand for all of their values.
    """
    values: list[Any] = []
    for argument in arguments:
        values += argument.read() if isinstance(argument, Recipe) else [argument]
    return function(*(aligned(value) for value in values))


def aligned(value: Any) -> Any:
    """A value with all of its arrays aligned: those from other workers begin at any byte."""
    if isinstance(value, np.ndarray):
        # Not by numpy's own flag: it is always set for packed structures such as nodes.
        is_aligned = value.itemsize == 1 or value.ctypes.data % 8 == 0
        return value if is_aligned else value.copy()
    if type(value) in (list, tuple):
        return type(value)(aligned(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        own = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        return replace(value, **{name: aligned(item) for name, item in own.items()})
    return value


def _is_lazy(value: Any) -> bool:
    return hasattr(value, "__dask_graph__")
