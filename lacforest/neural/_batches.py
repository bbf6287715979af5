"""Batches of labelled and unlabelled rows for one epoch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


def shuffled_chunks(
    n_rows: int, batch_size: int, rng: np.random.Generator
) -> Iterator[NDArray[np.intp]]:
    """Endless batches, equal in size up to one row; rows come in a new order each time."""
    while True:
        yield from np.array_split(rng.permutation(n_rows), -(-n_rows // batch_size))


def count_batches(n_labeled: int, n_unlabeled: int, batch_size: int) -> int:
    """Steps of an epoch, which is one pass through the larger side."""
    return -(-max(n_labeled, n_unlabeled) // batch_size)


def pair_batches(
    n_labeled: int, n_unlabeled: int, batch_size: int, entropy: Sequence[int]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Batches of labelled and of unlabelled rows for one epoch.

    The epoch is one pass through the larger side; the smaller one is repeated as often as needed.
    Batches of a side are equal in size up to one row, because the impurity of a few rows would be
    noise.

    Parameters
    ----------
    n_labeled, n_unlabeled : int
    batch_size : int
        Maximum number of rows of either side.
    entropy : sequence of int
    """
    seeds = np.random.SeedSequence(entropy).spawn(2)
    sides = [
        shuffled_chunks(n_rows, batch_size, np.random.default_rng(seed))
        for n_rows, seed in zip((n_labeled, n_unlabeled), seeds, strict=True)
    ]
    for _ in range(count_batches(n_labeled, n_unlabeled, batch_size)):
        yield next(sides[0]), next(sides[1])
