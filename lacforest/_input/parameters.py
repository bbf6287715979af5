"""Checks of parameters that need no data."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np


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
