"""Shares of the known classes in deployment, as they are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._input.parameters import is_real

_CHOICES = ("auto", "labeled")
# What shares may miss 1 by: they are often typed with three digits.
_ROUNDING = 1e-3


def check_known_shares(known_shares: Any) -> None:
    """Refuse what can be no shares of classes, before any data is looked at."""
    if isinstance(known_shares, str):
        if known_shares in _CHOICES:
            return
        raise ValueError(
            'known_shares must be "auto", "labeled", an array or a dict, got ' + repr(known_shares)
        )
    if isinstance(known_shares, Mapping):
        values = list(known_shares.values())
    elif isinstance(known_shares, np.ndarray | list | tuple):
        values = list(known_shares)
    else:
        raise TypeError(
            f'known_shares must be "auto", "labeled", an array or a dict, got {known_shares!r}'
        )
    for value in values:
        if not is_real(value) or not 0.0 <= value < np.inf:
            raise ValueError(f"known_shares must be finite and not negative, got {value!r}")
    total = float(sum(values))
    if abs(total - 1.0) > _ROUNDING:
        raise ValueError(
            f"known_shares must sum to 1, but their sum is {total:.4g}: they are shares among the "
            "known rows of deployment, whatever theta is"
        )


def given_shares(known_shares: Any, known: NDArray[Any]) -> NDArray[np.float64]:
    """Shares in the order of the known classes.

    A text names the class whose label is written like it: command lines have no other keys.
    """
    if isinstance(known_shares, Mapping):
        labels = known.tolist()
        written = {str(label): label for label in labels}
        known_shares = {
            label if label in labels else written.get(label, label): share
            for label, share in known_shares.items()
        }
        unknown = [label for label in known_shares if label not in labels]
        missing = [label for label in labels if label not in known_shares]
        if unknown:
            raise ValueError(f"known_shares names labels that y does not have: {unknown}")
        if missing:
            raise ValueError(
                f"known_shares lacks the known classes {missing}: give each a share, 0 where it "
                "is absent in deployment"
            )
        shares = np.array([known_shares[label] for label in labels], dtype=np.float64)
    else:
        shares = np.asarray(known_shares, dtype=np.float64)
        if shares.shape != known.shape:
            raise ValueError(
                f"known_shares has {len(shares)} entries, but y has {len(known)} classes: "
                f"{known.tolist()}"
            )
    normalised: NDArray[np.float64] = shares / shares.sum()
    return normalised


def share_ratio(
    known: NDArray[np.float64], labeled: NDArray[np.float64], least_part: float
) -> NDArray[np.float64]:
    """Factor that brings labelled rows of each class to its share in deployment.

    A class without labelled rows has nothing to weigh and gets 1.

    Parameters
    ----------
    known : float64 array of shape (n_known,)
        Shares in deployment.
    labeled : float64 array of shape (n_known,)
        Shares among labelled rows.
    least_part : float
        Part of an equal share that every class keeps.
    """
    kept = np.maximum(known, least_part / len(known))
    return np.where(labeled > 0, kept / np.maximum(labeled, 1e-300), 1.0)


def weights_to_shares(
    labels: NDArray[Any], shares: Mapping[Any, float], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weights of labelled rows under which their classes have the given shares.

    Classes without rows are left out, and the others share their part.

    Parameters
    ----------
    labels : array of shape (n_rows,)
    shares : mapping from labels to shares
    weight : float64 array of shape (n_rows,)
        Weights of rows within their class.
    """
    if not isinstance(shares, Mapping):
        raise TypeError(f"known_shares must be a dict of shares by label, got {shares!r}")
    check_known_shares(shares)
    known, codes = np.unique(labels, return_inverse=True)
    missing = [label for label in known.tolist() if label not in shares]
    if missing:
        raise ValueError(
            f"known_shares lacks the classes {missing}: give each a share, 0 where it is absent "
            "in deployment"
        )
    totals = np.bincount(codes, weight, len(known))
    wanted = np.array([shares[label] for label in known.tolist()], dtype=np.float64)
    factor = np.divide(wanted, totals, out=np.zeros(len(known)), where=totals > 0)
    weighted: NDArray[np.float64] = weight * factor[codes]
    if not weighted.any():
        raise ValueError("known_shares is zero for every class that has labelled rows")
    return weighted
