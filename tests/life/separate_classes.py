"""Rows of well separated classes, for tests of what happens after the first fit."""

import numpy as np

CENTRES = {"a": (0, 0, 0), "b": (8, 0, 0), "c": (0, 8, 0), "d": (8, 8, 8)}


def draw(rng, **counts):
    """So many rows of each class, mixed."""
    rows = [np.asarray(CENTRES[name]) + rng.normal(size=(n, 3)) for name, n in counts.items()]
    labels = np.repeat(list(counts), list(counts.values()))
    order = rng.permutation(len(labels))
    return np.concatenate(rows)[order], labels[order]
