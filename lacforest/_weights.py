"""Weights of labelled rows, by row and by class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight

from lacforest._parameters import is_real

# Sum of weights: the criteria add up squares of it, which must stay numbers.
MAX_WEIGHT = 1e100


def check_weight(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    if sample_weight is None:
        return None
    if is_real(sample_weight):
        sample_weight = np.full(n_rows, float(sample_weight))
    try:
        weight = check_array(
            sample_weight,
            ensure_2d=False,
            dtype=np.float64,
            ensure_min_samples=0,
            input_name="sample_weight",
        )
    except (TypeError, ValueError) as error:
        if "sample_weight" in str(error):
            raise
        raise ValueError(f"sample_weight must be numbers: {error}") from error
    weight = np.asarray(weight, dtype=np.float64)
    if weight.ndim != 1:
        raise ValueError(f"Sample weights must be 1D, got sample_weight of shape {weight.shape}")
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has {len(weight)} entries, but X has {n_rows} rows")
    if (weight < 0).any():
        where = int(np.flatnonzero(weight < 0)[0])
        raise ValueError(
            f"sample_weight must not be negative, but entry {where} is {weight[where]}"
        )
    return weight


def check_total(weight: NDArray[np.float64], source: str) -> None:
    """Refuse weights whose squares would overflow or vanish: no cut would look better than none."""
    with np.errstate(over="ignore"):
        total = weight.sum()
    if total > MAX_WEIGHT:
        raise ValueError(
            f"{source} is too large: its sum is {total:.3g}, and {MAX_WEIGHT:g} is the most. "
            "Scale it down."
        )
    if total < 1 / MAX_WEIGHT:
        raise ValueError(
            f"{source} is too small: its sum is {total:.3g}, and {1 / MAX_WEIGHT:g} is the least. "
            "Scale it up."
        )


def class_weights(
    class_weight: Any, known: NDArray[Any], y: NDArray[Any], weight: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """One factor a known class."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f'class_weight must be a dict, "balanced" or None, got {class_weight!r}'
            )
        factors: NDArray[np.float64] = compute_class_weight(
            "balanced", classes=known, y=y, sample_weight=weight
        )
        return factors
    if not isinstance(class_weight, dict):
        raise TypeError(f'class_weight must be a dict, "balanced" or None, got {class_weight!r}')
    unknown = [label for label in class_weight if label not in known]
    if unknown:
        raise ValueError(f"class_weight names labels that y does not have: {unknown}")
    for label, factor in class_weight.items():
        if not is_real(factor) or not 0.0 <= factor < np.inf:
            raise ValueError(
                f"class_weight of {label!r} must be finite and not negative, got {factor!r}"
            )
    by_label = {label: float(factor) for label, factor in class_weight.items()}
    return np.array([by_label.get(label, 1.0) for label in known.tolist()])
