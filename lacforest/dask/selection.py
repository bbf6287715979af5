"""The rows with the highest scores, found digit by digit without moving scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lacforest.dask.engine import Engine, Handle

# Shift and width of each digit of a score's bits, from the top.
_DIGITS = ((53, 11), (42, 11), (31, 11), (20, 11), (9, 11), (0, 9))


def _bits(scores: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Bits of scores that are not negative: they are in the order of the scores."""
    bits: NDArray[np.uint64] = (scores + 0.0).view(np.uint64)
    return bits


def count_digits(
    scores: NDArray[np.float64], prefix: int, shift: int, width: int
) -> NDArray[np.int64]:
    """How often each digit occurs in scores whose higher bits are `prefix`."""
    bits = _bits(scores)
    # Two shifts: by 64 bits at once is not defined.
    above = (bits >> np.uint64(shift)) >> np.uint64(width)
    digits = (bits[above == np.uint64(prefix)] >> np.uint64(shift)) & np.uint64((1 << width) - 1)
    return np.bincount(digits.astype(np.int64), minlength=1 << width)


def count_ties(scores: NDArray[np.float64], threshold: int) -> int:
    """How many scores have exactly these bits."""
    return int((_bits(scores) == np.uint64(threshold)).sum())


def mark_part(scores: NDArray[np.float64], n_ties: int, threshold: int) -> NDArray[np.bool_]:
    """Scores above the threshold, and the first `n_ties` that equal it."""
    bits = _bits(scores)
    marked: NDArray[np.bool_] = bits > np.uint64(threshold)
    marked[np.flatnonzero(bits == np.uint64(threshold))[:n_ties]] = True
    return marked


def _add(one: NDArray[np.int64], two: NDArray[np.int64]) -> NDArray[np.int64]:
    return one + two


def mark_highest(engine: Engine, scores: Sequence[Handle], n_marked: int) -> list[Handle]:
    """Marks of the `n_marked` highest scores of all partitions; ties go to the earlier row."""
    items = [(handle,) for handle in scores]
    prefix, left = 0, n_marked
    for shift, width in _DIGITS:
        counted = engine.map(count_digits, items, prefix, shift, width, to="count")
        (counts,) = engine.gather([engine.reduce(_add, counted, to="count")], "selecting rows")
        # With nothing to mark the threshold becomes the largest number, which no score exceeds.
        n_above = np.cumsum(counts[::-1])
        place = int(np.searchsorted(n_above, left)) if left > 0 else 0
        left -= int(n_above[place - 1]) if place > 0 else 0
        prefix = (prefix << width) | (len(counts) - 1 - place)
    ties = engine.gather(engine.map(count_ties, items, prefix, to="count"), "selecting rows")
    n_before = np.concatenate([[0], np.cumsum(ties)[:-1]])
    taken = np.clip(left - n_before, 0, ties)
    quotas = [(handle, int(n)) for handle, n in zip(scores, taken, strict=True)]
    return engine.map(mark_part, quotas, prefix, to="mark")
