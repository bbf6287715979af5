"""Arguments of `fit` and `predict` as checked rows and class codes."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import column_or_1d, validate_data

from lacforest._contract.deployment import Deployment, find_deployment
from lacforest._input.labels import check_training_labels, labeled_weights, make_labels
from lacforest._input.tables import RowStack, check_unlabeled_table, reject_text
from lacforest._input.training_data import TrainingRows
from lacforest._utils.classes import Labels
from lacforest._utils.frames import column_names, fill_masked
from lacforest.neural._network_rows import NetworkRows, ValidationRows
from lacforest.neural._rows import (
    DatasetRows,
    Rows,
    RowSubset,
    is_table,
    iterate,
    rows_of,
    table_rows,
)

_TABLE_OPTIONS: dict[str, Any] = {"dtype": [np.float64, np.float32]}
# Rows of either side that theta is estimated on: more would narrow its interval by little, and
# flattened images are large.
_THETA_ROWS = 10_000


@dataclass(frozen=True)
class FitRows:
    """What a deep forest is fitted on.

    Attributes
    ----------
    labeled : Rows
    codes : int array of shape (n_labeled,)
        Codes of known classes.
    weight : float64 array of shape (n_labeled,) or None
        Weights of labelled rows, all positive; None if all are 1.
    sampling_weight : float64 array of shape (n_labeled,) or None
        The same without the factors of classes.
    unlabeled : Rows or None
    labels : Labels
    """

    labeled: Rows
    codes: NDArray[np.intp]
    weight: NDArray[np.float64] | None
    sampling_weight: NDArray[np.float64] | None
    unlabeled: Rows | None
    labels: Labels

    def training(self, theta: float) -> NetworkRows:
        """In the form that the trainer takes; weights get the mean 1, which float32 can hold."""
        codes = torch.from_numpy(self.codes.astype(np.int64))
        weight = None
        if self.weight is not None:
            weight = torch.from_numpy(self.weight / self.weight.mean())
        n_classes = len(self.labels.known)
        return NetworkRows(self.labeled, codes, weight, self.unlabeled, theta, n_classes)

    def with_class_factor(self, factor: NDArray[np.float64]) -> FitRows:
        """The same rows, each labelled one weighing the factor of its class more."""
        weight = np.ones(len(self.codes)) if self.weight is None else self.weight
        return replace(self, weight=weight * factor[self.codes])

    def take(self, rows: NDArray[np.intp], unlabeled: Rows | None) -> FitRows:
        """Some labelled rows, and other unlabelled ones."""
        return FitRows(
            RowSubset(self.labeled, rows),
            self.codes[rows],
            None if self.weight is None else self.weight[rows],
            None if self.sampling_weight is None else self.sampling_weight[rows],
            unlabeled,
            self.labels,
        )


def check_fit_rows(estimator: Any, X: Any, y: Any, X_unlabeled: Any, sample_weight: Any) -> FitRows:
    """Rows and class codes of a fit; sets n_features_in_, feature_names_in_ and input_shape_."""
    rows = _training_rows(estimator, X)
    if y is None and isinstance(rows, DatasetRows):
        y = np.array(rows.labels())
    labels, marked = check_training_labels(
        estimator, _as_array(y), len(rows), X_unlabeled is not None
    )
    known, codes = np.unique(labels, return_inverse=True)
    weights = labeled_weights(estimator, sample_weight, marked, known, codes)
    unlabeled: Rows | None = None
    if X_unlabeled is not None:
        unlabeled = _other_rows(estimator, X, X_unlabeled, "X_unlabeled")
    elif marked.any():
        unlabeled = RowSubset(rows, np.flatnonzero(marked))
    if marked.any() or not weights.kept.all():
        rows = RowSubset(rows, np.flatnonzero(~marked)[weights.kept])
    if estimator.batch_size < len(known):
        raise ValueError(
            f"batch_size={estimator.batch_size} is less than the {len(known)} known classes: a "
            "batch must be able to hold a row of each. The paper takes 512."
        )
    has_new = unlabeled is not None or not estimator._uses_unlabeled
    classes = make_labels(known, estimator.new_label, has_new)
    return FitRows(rows, codes[weights.kept], weights.weight, weights.sampling, unlabeled, classes)


def _as_array(y: Any) -> Any:
    return y.detach().cpu().numpy() if isinstance(y, torch.Tensor) else y


def _training_rows(estimator: Any, X: Any) -> Rows:
    if is_table(X):
        reject_text(X, "X")
        table = validate_data(estimator, fill_masked(X), reset=True, **_TABLE_OPTIONS)
        rows: Rows = table_rows(table)
    else:
        rows = rows_of(X, "X")
        estimator.n_features_in_ = math.prod(rows.shape)
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    estimator.input_shape_ = rows.shape
    return rows


def _other_rows(estimator: Any, X: Any, others: Any, name: str) -> Rows:
    """Rows that must look like those of X."""
    if is_table(others) and len(estimator.input_shape_) == 1:
        if sparse.issparse(others):
            raise TypeError(f"{name} is sparse: a network takes dense rows, {name}.toarray()")
        names = column_names(X) if is_table(X) else None
        table = check_unlabeled_table(estimator, others, names)
        assert_all_finite(table, input_name=name)
        return table_rows(table)
    rows = rows_of(others, name)
    if rows.shape != estimator.input_shape_:
        raise ValueError(
            f"{name} has rows of shape {rows.shape}, but X has {estimator.input_shape_}: both "
            "need the same shape"
        )
    return rows


def check_prediction_rows(estimator: Any, X: Any) -> Rows:
    """Rows of the shape that the forest was fitted on."""
    wanted = estimator.input_shape_
    if is_table(X) and len(wanted) == 1:
        reject_text(X, "X")
        return table_rows(validate_data(estimator, fill_masked(X), reset=False, **_TABLE_OPTIONS))
    rows = rows_of(X, "X")
    if rows.shape != wanted:
        raise ValueError(
            f"X has rows of shape {rows.shape}, but {type(estimator).__name__} was fitted on rows "
            f"of shape {wanted}"
        )
    return rows


def check_validation_rows(
    estimator: Any, X: Any, labels: Labels, X_val: Any, y_val: Any, X_unlabeled_val: Any
) -> ValidationRows | None:
    """Validation rows that the user gave, or None."""
    if X_val is None:
        if y_val is not None or X_unlabeled_val is not None:
            raise ValueError("y_val and X_unlabeled_val go with X_val, which is None")
        return None
    rows = _other_rows(estimator, X, X_val, "X_val")
    if y_val is None and isinstance(rows, DatasetRows):
        y_val = np.array(rows.labels())
    if y_val is None:
        raise ValueError("X_val needs its labels: pass y_val")
    given = column_or_1d(_as_array(y_val))
    if len(given) != len(rows):
        raise ValueError(f"y_val has {len(given)} labels, but X_val has {len(rows)} rows")
    n_known = len(labels.known)
    place = {label: code for code, label in enumerate(labels.known.tolist())}
    codes = np.array([place.get(label, n_known) for label in given.tolist()])
    strangers = given[codes == n_known].tolist()
    if labels.new_label is None and strangers:
        raise ValueError(
            f"y_val holds {strangers[0]!r}, which is no label of y, and without "
            "unlabelled rows the forest has no new class"
        )
    unlabeled = None
    if X_unlabeled_val is not None:
        if labels.new_label is None:
            raise ValueError("X_unlabeled_val is given, but the fit has no unlabelled rows")
        unlabeled = _other_rows(estimator, X, X_unlabeled_val, "X_unlabeled_val")
        if strangers:
            raise ValueError(
                f"y_val holds {strangers[0]!r}, which is no label of y: with "
                "X_unlabeled_val, X_val holds rows of known classes only"
            )
    return ValidationRows(rows, codes, None, unlabeled)


def hold_out(rows: FitRows, fraction: float, entropy: list[int]) -> tuple[FitRows, ValidationRows]:
    """Hold rows out for validation: a share of each class, and of the unlabelled rows."""
    rng = np.random.default_rng(entropy)
    held = []
    for code in range(len(rows.labels.known)):
        members = rng.permutation(np.flatnonzero(rows.codes == code))
        # At least one row of each class stays.
        held.append(members[: max(0, min(round(fraction * len(members)), len(members) - 1))])
    labeled = np.sort(np.concatenate(held))
    if len(labeled) == 0:
        raise ValueError(
            f"validation_fraction={fraction} holds out no labelled row of the {len(rows.codes)}: "
            "raise it, or pass X_val"
        )
    kept = np.setdiff1d(np.arange(len(rows.codes)), labeled)
    unlabeled_kept, unlabeled_held = rows.unlabeled, None
    if rows.unlabeled is not None:
        order = rng.permutation(len(rows.unlabeled))
        n_held = round(fraction * len(order))
        if not 0 < n_held < len(order):
            raise ValueError(
                f"validation_fraction={fraction} holds out {n_held} of {len(order)} unlabelled "
                "rows: some must be held out and some be left; pass X_val and X_unlabeled_val"
            )
        unlabeled_held = RowSubset(rows.unlabeled, np.sort(order[:n_held]))
        unlabeled_kept = RowSubset(rows.unlabeled, np.sort(order[n_held:]))
    held_out = rows.take(labeled, unlabeled_held)
    validation = ValidationRows(
        held_out.labeled, held_out.codes, held_out.weight, held_out.unlabeled
    )
    return rows.take(kept, unlabeled_kept), validation


def weigh_validation(
    validation: ValidationRows | None, factor: NDArray[np.float64]
) -> ValidationRows | None:
    """Given validation rows, those of known classes weighted to their shares in deployment.

    Only an estimate of the accuracy needs this: where all rows have labels, they are what they are.
    """
    if validation is None or validation.unlabeled is None:
        return validation
    weight = np.ones(len(validation.codes)) if validation.weight is None else validation.weight
    return replace(validation, weight=weight * factor[validation.codes])


def find_deployment_of_rows(
    theta: Any, known_shares: Any, rows: FitRows, entropy: list[int]
) -> Deployment | None:
    """Theta and shares of known classes, on flattened rows, at most 10,000 of either side.

    None without unlabelled rows.
    """
    if rows.unlabeled is None:
        return None
    sides = (rows.labeled, rows.unlabeled)
    is_given = isinstance(theta, float) and isinstance(known_shares, str)
    if is_given and known_shares == "labeled":
        # Nothing is estimated, so no row is read.
        chosen = [np.arange(len(rows.labeled)), np.arange(0)]
        tables = [np.zeros((len(numbers), 1)) for numbers in chosen]
    else:
        rng = np.random.default_rng([*entropy, 1])
        chosen = [
            np.arange(len(side))
            if len(side) <= _THETA_ROWS
            else np.sort(rng.choice(len(side), _THETA_ROWS, replace=False))
            for side in sides
        ]
        tables = [
            side.take(numbers).flatten(1).cpu().numpy()
            for side, numbers in zip(sides, chosen, strict=True)
        ]
    weight, n_known = rows.sampling_weight, len(rows.labels.known)
    codes = np.append(rows.codes[chosen[0]], np.full(len(chosen[1]), n_known))
    stack = TrainingRows(
        table=RowStack(tables),
        classes=codes.astype(np.uint16),
        weight=None,
        sampling_weight=None if weight is None else weight[chosen[0]],
        n_labeled=len(chosen[0]),
        n_unlabeled=len(chosen[1]),
        n_known=n_known,
    )
    words = np.array(entropy, dtype=np.uint32)
    return find_deployment(theta, known_shares, stack, rows.labels.known, None, words, None)


def fingerprint(rows: Rows | None) -> int | None:
    """Checksum of rows in memory; None for datasets, whose rows may differ each time."""
    if rows is None or not rows.fixed:
        return None
    checksum = 0
    for _, values in iterate(rows, 4096):
        checksum = zlib.crc32(values.cpu().contiguous().numpy().tobytes(), checksum)
    return checksum
