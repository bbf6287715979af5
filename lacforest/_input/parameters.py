"""Checks of parameters that need no data, and shares of classes as they are given."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Codes of bins take one byte, and one code is for missing values.
MOST_BINS = 255
# Largest sum of weights: the criteria add its squares, which must not overflow.
MAX_WEIGHT = 1e100
_SHARE_CHOICES = ("auto", "labeled")
# What shares may miss 1 by: they are often typed with three digits.
_SHARE_ROUNDING = 1e-3


def is_int(value: Any) -> bool:
    """Whether a value is an integer; True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def is_real(value: Any) -> bool:
    """Whether a value is a real number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def check_int(name: str, value: Any, low: int, *, none_allowed: bool = False) -> None:
    """Raise unless the value is an integer of at least `low`."""
    if none_allowed and value is None:
        return
    if not is_int(value):
        or_none = " or None" if none_allowed else ""
        raise TypeError(f"{name} must be an integer{or_none}, got {value!r}")
    if value < low:
        raise ValueError(f"{name} must be at least {low}, got {value!r}")


def check_bool(name: str, value: Any) -> None:
    """Raise unless the value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")


def check_level(level: Any) -> None:
    """Refuse what is no level of an interval."""
    if not is_real(level):
        raise TypeError(f"level must be a number in (0, 1), got {level!r}")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level!r}")


def check_share(theta: Any) -> float:
    """Check a share of new rows in [0, 1]."""
    if not is_real(theta):
        raise TypeError(f"theta must be a number in [0, 1], got {theta!r}")
    if not 0.0 <= theta <= 1.0:
        raise ValueError(f"theta must lie in [0, 1], got {theta!r}: it is the share of new rows")
    return float(theta)


def check_gamma(gamma: Any) -> float:
    """Check gamma of Eqns 5 and 6."""
    if not is_real(gamma):
        raise TypeError(f"gamma must be a number in [0, 0.5], got {gamma!r}")
    if not 0.0 <= gamma <= 0.5:
        raise ValueError(
            f"gamma must lie in [0, 0.5], got {gamma!r}: each of two children keeps at least that "
            "share of all labelled and of all unlabelled rows"
        )
    return float(gamma)


def check_max_features(
    max_features: Any, n_features: int, name: str = "max_features", also: str = ""
) -> int:
    """Number of features to draw per node, tau in the paper.

    `also` names further values that the parameter may take.
    """
    if max_features is None:
        return n_features
    if isinstance(max_features, str):
        if max_features == "sqrt":
            return max(1, int(np.sqrt(n_features)))
        if max_features == "log2":
            return max(1, int(np.log2(n_features)))
    elif is_int(max_features):
        if 1 <= max_features <= n_features:
            return int(max_features)
        raise ValueError(
            f"{name} must lie between 1 and the number of features, {n_features}, "
            f"got {max_features!r}"
        )
    elif is_real(max_features) and 0.0 < max_features <= 1.0:
        return max(1, int(max_features * n_features))
    raise ValueError(
        f'{name} must be {also}"sqrt", "log2", None, an integer, or a share in (0, 1], '
        f"got {max_features!r}"
    )


def check_pseudo_cap(pseudo_cap: Any) -> None:
    """Check the most pseudo-labelled rows of a tree, relative to its labelled rows."""
    if pseudo_cap is not None and not (is_real(pseudo_cap) and 0.0 < pseudo_cap < np.inf):
        raise ValueError(
            "pseudo_cap must be a positive number or None: the most pseudo-labelled rows of a "
            f"tree in multiples of n_l * theta / (1 - theta), got {pseudo_cap!r}"
        )


def check_max_samples(max_samples: Any) -> None:
    """Check the rows of a tree: a number of them, or a share of all."""
    if max_samples is None or (is_int(max_samples) and max_samples >= 1):
        return
    if not is_int(max_samples) and is_real(max_samples) and 0.0 < max_samples <= 1.0:
        return
    raise ValueError(
        "max_samples must be None (all rows), an integer of at least 1 (rows of a tree) or a share "
        f"of the rows in (0, 1], got {max_samples!r}"
    )


def check_max_bins(max_bins: Any) -> None:
    """Refuse what is no number of bins."""
    is_auto = isinstance(max_bins, str) and max_bins == "auto"
    if max_bins is None or is_auto:
        return
    if not (is_int(max_bins) and 2 <= max_bins <= MOST_BINS):
        raise ValueError(
            f'max_bins must be "auto", None (every distinct value apart) or an integer from 2 to '
            f"{MOST_BINS}, got {max_bins!r}"
        )


def check_n_jobs(n_jobs: Any) -> None:
    """Check a number of threads as in joblib."""
    if not isinstance(n_jobs, Integral | None):
        raise TypeError(f"n_jobs must be an integer or None, got {n_jobs!r}")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: pass a number of threads, or -1 for all cores")


def check_tree_parameters(estimator: Any) -> None:
    """Check the parameters of trees that can be checked without data.

    The number of trees may be "auto" where that is the default.
    """
    n_trees = estimator.n_estimators
    if not (isinstance(n_trees, str) and n_trees == "auto" == type(estimator)().n_estimators):
        check_int("n_estimators", n_trees, 1)
    check_int("max_depth", estimator.max_depth, 1, none_allowed=True)
    check_int("min_samples_split", estimator.min_samples_split, 2)
    check_int("min_samples_leaf", estimator.min_samples_leaf, 1)
    check_max_samples(estimator.max_samples)
    check_n_jobs(estimator.n_jobs)
    if not isinstance(estimator.verbose, Integral):
        raise TypeError(f"verbose must be an integer, got {estimator.verbose!r}")


def check_known_shares(known_shares: Any) -> None:
    """Refuse what can be no shares of classes, before any data is looked at."""
    if isinstance(known_shares, str):
        if known_shares in _SHARE_CHOICES:
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
    if abs(total - 1.0) > _SHARE_ROUNDING:
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
        n_given = len(known_shares)
        known_shares = {
            label if label in labels else written.get(label, label): share
            for label, share in known_shares.items()
        }
        if len(known_shares) < n_given:
            raise ValueError(
                "known_shares gives a class two shares, by its label and by its label as text: "
                "leave one of them out"
            )
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
