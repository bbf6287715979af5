"""From groups that a person recognised to the parameters of the next fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._input.parameters import is_real

# A fit needs a share of new rows strictly between 0 and 1.
_LEAST_THETA = 0.001


def check_verified(
    names: Mapping[str, Any],
    rows: Iterable[int],
    group_names: Sequence[str],
    groups: NDArray[np.intp],
) -> NDArray[np.intp]:
    """Positions of verified rows, all of which belong to groups that have a label."""
    if not isinstance(names, Mapping):
        raise TypeError(f"names must be a dict of labels by group, got {names!r}")
    unknown = [name for name in names if name not in group_names]
    if unknown:
        raise ValueError(
            f"there is no group {unknown[0]!r}: the groups are {', '.join(group_names)}"
        )
    for name, label in names.items():
        if not (isinstance(label, str) or is_real(label)) or label != label:
            raise ValueError(f"group {name!r} has the label {label!r}: give it a text or a number")
    verified = np.array(list(rows))
    if not len(verified):
        raise ValueError("rows is empty: promote needs rows that a person has verified")
    if verified.ndim != 1 or verified.dtype.kind not in "iu":
        raise TypeError(
            "rows must be positions of rows in the latest batch, which are integers; of a mask "
            "pass numpy.flatnonzero(mask)"
        )
    if verified.min() < 0 or verified.max() >= len(groups):
        raise ValueError(f"rows must lie between 0 and {len(groups) - 1}")
    for row in verified.tolist():
        name = group_names[groups[row]]
        if name not in names:
            raise ValueError(f"row {row} belongs to group {name!r}, which names does not mention")
    return verified.astype(np.intp)


def next_shares(
    forest: Any, sizes: Mapping[Any, int], n_flagged: int
) -> tuple[float, dict[Any, float]]:
    """Theta and shares of known classes once some groups are known classes too.

    Parameters
    ----------
    forest : classifier
        Fitted, with `theta_` and `known_shares_`.
    sizes : dict of label to int
        Rows of the groups that have this label.
    n_flagged : int
        Rows of all groups.
    """
    of_all = forest._class_shares()
    shares = dict(zip(forest.known_classes_.tolist(), of_all[:-1].tolist(), strict=True))
    for label, size in sizes.items():
        shares[label] = shares.get(label, 0.0) + forest.theta_ * size / n_flagged
    total = sum(shares.values())
    theta = float(np.clip(1.0 - total, _LEAST_THETA, 1.0 - _LEAST_THETA))
    return theta, {label: share / total for label, share in shares.items()}
