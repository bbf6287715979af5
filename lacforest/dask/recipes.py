"""Partitions that are computed inside the tasks that read them, so that floats never move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from lacforest._utils.extras import load_extra
from lacforest.dask.reading import RowPlace

# X, y (None where all rows are unlabelled) and weights (or None) of a partition, and its place;
# or a recipe for the first three, and the place.
Part = tuple[Any, Any, Any, RowPlace] | tuple["Recipe", RowPlace]


class Recipe:
    """How to compute several values that belong together, in one task.

    Dask would make each of them a task of its own, whose result may move to another worker before
    it is read.

    Parameters
    ----------
    graph : dict
        Tasks by key.
    keys : sequence
        One key per value; None for a value that is None.
    """

    # Not a dataclass: Dask would look into its fields.
    def __init__(self, graph: dict[Any, Any], keys: Sequence[Any]) -> None:
        self.graph = graph
        self.keys = keys

    def read(self) -> list[Any]:
        """Compute the values."""
        given = [key for key in self.keys if key is not None]
        values = iter(load_extra("dask", "dask").get(self.graph, given))
        return [None if key is None else next(values) for key in self.keys]


def embed_reading(parts: Sequence[tuple[Any, Any, Any, RowPlace]]) -> list[Part]:
    """The same partitions, with recipes for those that share no step with another one.

    What has been persisted, and the results of a shuffle, stay tasks.
    """
    graphs: dict[int, Mapping[Any, Any]] = {}
    found = [_steps_of(part[:3], graphs) for part in parts]
    n_users = Counter(key for steps in found if steps is not None for key in steps)
    embedded: list[Part] = []
    for part, steps in zip(parts, found, strict=True):
        if steps is None or any(n_users[key] > 1 for key in steps):
            embedded.append(part)
        else:
            keys = [None if value is None else value.key for value in part[:3]]
            embedded.append((Recipe(steps, keys), part[3]))
    return embedded


def _steps_of(values: Sequence[Any], graphs: dict[int, Mapping[Any, Any]]) -> dict[Any, Any] | None:
    """All tasks that these delayed values need; None if one of them is not a plain task."""
    steps: dict[Any, Any] = {}
    for value in values:
        if value is None:
            continue
        # All partitions of a collection have the same graph.
        graph = graphs.setdefault(id(value.dask), value.dask)
        if not isinstance(graph, dict):
            graph = graphs[id(value.dask)] = dict(graph)
        waiting = [value.key]
        while waiting:
            key = waiting.pop()
            if key in steps:
                continue
            step = graph.get(key)
            needed = getattr(step, "dependencies", None)
            if needed is None:  # a future, or a graph in the form of older versions of Dask
                return None
            steps[key] = step
            waiting.extend(needed)
    return steps
