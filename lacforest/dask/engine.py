"""Four verbs that a distributed fit is written in, and the engine that runs them in process."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

# What a verb returns for a value that may be elsewhere.
Handle = Any
# Handles that one task of a reduction merges.
FAN_IN = 8


class Engine(ABC):
    """Runs pure functions on values that stay where they were computed.

    A function must not change its arguments, and must return the same bits for the same arguments:
    what is lost with a worker is computed again.
    """

    @property
    @abstractmethod
    def n_slots(self) -> int:
        """Tasks that run at the same time."""

    @abstractmethod
    def map(
        self, function: Callable[..., Any], items: Sequence[tuple[Any, ...]], *shared: Any, to: str
    ) -> list[Handle]:
        """``function(*item, *shared)`` of every item.

        Parameters
        ----------
        function : callable
        items : sequence of tuples
            Arguments of each task: values, handles or lists of handles.
        *shared : values or handles
            Further arguments of all tasks. What is large should be a handle from `broadcast`.
        to : str
            What is done, one word for the names of tasks.
        """

    @abstractmethod
    def broadcast(
        self, function: Callable[..., Any], handles: Sequence[Handle], *shared: Any, to: str
    ) -> Handle:
        """``function(values, *shared)`` of all values in one task, for all later tasks to read."""

    @abstractmethod
    def gather(self, handles: Sequence[Handle], to: str) -> list[Any]:
        """The values, here."""

    def reduce(
        self, merge: Callable[[Any, Any], Any], handles: Sequence[Handle], *, to: str
    ) -> Handle:
        """The values merged in pairs, neighbours first, by an associative function."""
        level = list(handles)
        while len(level) > 1:
            blocks = [level[first : first + FAN_IN] for first in range(0, len(level), FAN_IN)]
            level = self.map(merge_all, [(block,) for block in blocks], merge, to=to)
        return level[0]


def merge_all(values: Sequence[Any], merge: Callable[[Any, Any], Any]) -> Any:
    """Merge a few values in order."""
    return reduce(merge, values)


def same(values: Sequence[Any], value: Any) -> Any:
    """A value as it is; makes a handle of it by `Engine.broadcast`."""
    return value


class InProcessEngine(Engine):
    """Runs every task at once in this process, its result sent through pickle as on a cluster."""

    @property
    def n_slots(self) -> int:
        """One task at a time, but groups of trees as for two."""
        return 2

    def map(
        self, function: Callable[..., Any], items: Sequence[tuple[Any, ...]], *shared: Any, to: str
    ) -> list[Handle]:
        """See `Engine`."""
        return [_sent(function(*item, *shared)) for item in items]

    def broadcast(
        self, function: Callable[..., Any], handles: Sequence[Handle], *shared: Any, to: str
    ) -> Handle:
        """See `Engine`."""
        return _sent(function(list(handles), *shared))

    def gather(self, handles: Sequence[Handle], to: str) -> list[Any]:
        """See `Engine`."""
        return [_sent(value) for value in handles]


def _sent(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value, protocol=5))
