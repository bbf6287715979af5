"""Sets of categories of nodes: their codes, and how they are written in text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._tree.sets import CategorySets

# Categories that a text names.
_MOST_NAMED = 6


def set_codes(sets: CategorySets, tree: int, place: int) -> NDArray[np.intp]:
    """Codes in the set that begins at a place of a tree, in ascending order.

    They go to the other side than missing values; see `lacforest/_tree/sets.pxd` for the form.
    """
    at = int(sets.tree_start[tree]) + place
    first, n_words = (int(part) for part in sets.words[at : at + 1].astype("<u8").view("<u4"))
    words = sets.words[at + 1 : at + 1 + n_words].astype("<u8")
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    return 64 * first + np.flatnonzero(bits)


def written_set(codes: NDArray[np.intp], categories: Sequence[Any] | None) -> str:
    """A set in braces, by the names of its categories or, without them, by their codes."""
    chosen = codes[:_MOST_NAMED].tolist()
    names = [f"{code}" if categories is None else f"{categories[code]}" for code in chosen]
    if len(codes) > _MOST_NAMED:
        names.append(f"{len(codes) - _MOST_NAMED} more")
    return "{" + ", ".join(names) + "}"
