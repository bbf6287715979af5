"""Weights of labelled rows, per row and per class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight

from lacforest._input.labels import reject_masked
from lacforest._input.parameters import is_real

# Largest sum of weights: the criteria add its squares, which must not overflow.
MAX_WEIGHT = 1e100


def check_weight(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Check the weights of rows; a number is the weight of every row."""
    if sample_weight is None:
        return None
    if is_real(sample_weight):
        sample_weight = np.full(n_rows, float(sample_weight))
    reject_masked(sample_weight, "sample_weight")
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
    """Raise if squares of the sum overflow or underflow: no cut would then reduce the impurity."""
    with np.errstate(over="ignore"):
        total = weight.sum()
    if total > MAX_WEIGHT:
        raise ValueError(
            f"{source} is too large: its sum is {total:.3g}, and the limit is {MAX_WEIGHT:g}. "
            "Scale it down."
        )
    if total < 1 / MAX_WEIGHT:
        raise ValueError(
            f"{source} is too small: its sum is {total:.3g}, and the limit is {1 / MAX_WEIGHT:g}. "
            "Scale it up."
        )


def class_weights(
    class_weight: Any, known: NDArray[Any], y: NDArray[Any], weight: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """One factor per known class."""
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
        raise ValueError(f"class_weight names labels that are not in y: {unknown}")
    for label, factor in class_weight.items():
        if not is_real(factor) or not 0.0 <= factor < np.inf:
            raise ValueError(
                f"class_weight of {label!r} must be finite and not negative, got {factor!r}"
            )
    by_label = {label: float(factor) for label, factor in class_weight.items()}
    return np.array([by_label.get(label, 1.0) for label in known.tolist()])


@dataclass(frozen=True)
class LabeledWeights:
    """Weights of the labelled rows that are left, those of weight zero being dropped.

    Attributes
    ----------
    kept : bool array of shape (n_given,)
        Which labelled rows are left.
    weight : float64 array of shape (n_labeled,) or None
        All positive; None if every weight is 1.
    sampling : float64 array of shape (n_labeled,) or None
        The same without the factors of classes: how many rows each row stands for.
    class_factors : float64 array of shape (n_known,) or None
        Factors by `class_weight`.
    """

    kept: NDArray[np.bool_]
    weight: NDArray[np.float64] | None
    sampling: NDArray[np.float64] | None
    class_factors: NDArray[np.float64] | None = None


def labeled_weights(
    estimator: Any,
    sample_weight: Any,
    marked: NDArray[np.bool_],
    known: NDArray[Any],
    codes: NDArray[np.intp],
) -> LabeledWeights:
    """Weights by row times weights by class.

    Parameters
    ----------
    estimator : estimator
        Its `class_weight` counts, if it has one.
    sample_weight : array-like or None
        Of all rows of X.
    marked : bool array
        Which rows of X are unlabelled; their weights are not used.
    known : array
        The known classes.
    codes : int array
        Index in `known` of each labelled row.
    """
    weight = check_weight(sample_weight, len(marked))
    weight = None if weight is None else weight[~marked]
    sampling = weight
    class_weight = getattr(estimator, "class_weight", None)
    factors = class_weights(class_weight, known, known[codes], weight)
    source = "sample_weight"
    if factors is not None:
        source = "class_weight" if weight is None else "sample_weight times class_weight"
        with np.errstate(over="ignore"):
            weight = factors[codes] if weight is None else weight * factors[codes]
    if weight is None:
        return LabeledWeights(np.ones(len(codes), dtype=bool), None, None)
    kept = weight > 0
    if not kept.any():
        raise ValueError(f"{source} is zero for every labelled row: nothing is left to learn")
    check_total(weight, source)
    sampling = None if sampling is None else sampling[kept]
    own = None if (weight[kept] == 1.0).all() else weight[kept]
    return LabeledWeights(kept, own, sampling, factors)
