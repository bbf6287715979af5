"""From groups that a person recognised to the parameters of the next fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._input.labels import as_labels, check_labels
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


def plain_labels(labels: Any, n_rows: int) -> list[Any]:
    """Labels of verified rows as Python values, one per row."""
    found = check_labels(as_labels(labels, name="labels"))
    if len(found) != n_rows:
        raise ValueError(f"labels must have one label for each of the {n_rows} rows")
    values: list[Any] = found.tolist()
    return values


def labels_by_group(
    verified: Mapping[int, Any],
    group_names: Sequence[str],
    groups: NDArray[np.intp],
    promoted: Mapping[str, Any],
) -> list[list[Any]]:
    """Labels of the verified rows of each group; of a group named earlier, its name alone."""
    found: list[list[Any]] = [[] for _ in group_names]
    for row, label in verified.items():
        found[groups[row]].append(label)
    for name, own in zip(group_names, found, strict=True):
        if not own and name in promoted:
            own += plain_labels([promoted[name]], 1)
    return found


def sizes_by_label(group_sizes: Iterable[int], labels: Iterable[Sequence[Any]]) -> dict[Any, float]:
    """Rows of each label, where every group is divided as its verified rows are.

    Parameters
    ----------
    group_sizes : iterable of int
    labels : iterable of sequences
        Labels of the verified rows of each group, new or known; groups without any are left out.

    Returns
    -------
    dict of label to float

    Examples
    --------
    >>> from lacforest.discovery import sizes_by_label
    >>> sizes_by_label([60, 30], [["fraud", "fraud", "scam"], []])
    {'fraud': 40.0, 'scam': 20.0}
    """
    sizes: dict[Any, float] = {}
    for size, own in zip(group_sizes, labels, strict=True):
        for label, count in Counter(own).items():
            sizes[label] = sizes.get(label, 0.0) + size * count / len(own)
    return sizes


def next_shares(
    forest: Any, sizes: Mapping[Any, float], n_flagged: int
) -> tuple[float, dict[Any, float]]:
    """Theta and shares of known classes once some groups are known classes too.

    Parameters
    ----------
    forest : classifier
        Fitted, with `theta_` and `known_shares_`.
    sizes : dict of label to float
        Rows called new that have this label, which may be a known class.
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
