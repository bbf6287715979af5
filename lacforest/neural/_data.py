"""From what the user passed to `fit` and `predict` to checked rows and class codes."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import column_or_1d, validate_data

from lacforest._coding import RowStack
from lacforest._labels import Labels, make_labels
from lacforest._theta import Theta, find_theta
from lacforest._training_rows import TrainingRows as StackedRows
from lacforest._validation import (
    check_training_labels,
    check_unlabeled_table,
    column_names,
    reject_text,
)
from lacforest.mixture import KernelMeanEmbedding
from lacforest.neural._rows import (
    DatasetRows,
    Rows,
    RowSubset,
    is_table,
    iterate,
    rows_of,
    table_rows,
)
from lacforest.neural._training import TrainingRows, ValidationRows

_TABLE_OPTIONS: dict[str, Any] = {"dtype": [np.float64, np.float32]}
# Ten subsamples of a thousand rows need no more than this of either side.
_THETA_ROWS = 10_000


@dataclass(frozen=True)
class FitRows:
    """What a deep forest is fitted on.

    Attributes
    ----------
    labeled : Rows
    codes : int array of shape (n_labeled,)
        Codes of known classes.
    unlabeled : Rows or None
    labels : Labels
    """

    labeled: Rows
    codes: NDArray[np.intp]
    unlabeled: Rows | None
    labels: Labels

    def training(self, theta: float) -> TrainingRows:
        """As the trainer takes them."""
        codes = torch.from_numpy(self.codes.astype(np.int64))
        return TrainingRows(self.labeled, codes, self.unlabeled, theta)


def default_theta() -> KernelMeanEmbedding:
    """The paper's estimate for its neural forest: ten subsamples of 1,000 + 1,000 rows."""
    return KernelMeanEmbedding(subsample=1000, n_subsamples=10, n_bootstrap=0)


def check_fit_rows(estimator: Any, X: Any, y: Any, X_unlabeled: Any) -> FitRows:
    """Rows and class codes of a fit; sets n_features_in_, feature_names_in_ and input_shape_."""
    rows = _training_rows(estimator, X)
    if y is None and isinstance(rows, DatasetRows):
        y = np.array(rows.labels())
    labels, marked = check_training_labels(
        estimator, _as_array(y), len(rows), X_unlabeled is not None
    )
    unlabeled: Rows | None = None
    if X_unlabeled is not None:
        unlabeled = _other_rows(estimator, X, X_unlabeled, "X_unlabeled")
    elif marked.any():
        unlabeled = RowSubset(rows, np.flatnonzero(marked))
        rows = RowSubset(rows, np.flatnonzero(~marked))
    known, codes = np.unique(labels, return_inverse=True)
    if estimator.batch_size < len(known):
        raise ValueError(
            f"batch_size={estimator.batch_size} is less than the {len(known)} known classes: a "
            "batch must be able to hold a row of each. The paper takes 512."
        )
    classes = make_labels(known, estimator.new_label, unlabeled is not None)
    return FitRows(rows, codes, unlabeled, classes)


def _as_array(y: Any) -> Any:
    return y.detach().cpu().numpy() if isinstance(y, torch.Tensor) else y


def _training_rows(estimator: Any, X: Any) -> Rows:
    if is_table(X):
        reject_text(X, "X")
        table = validate_data(estimator, X, reset=True, **_TABLE_OPTIONS)
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
        return table_rows(validate_data(estimator, X, reset=False, **_TABLE_OPTIONS))
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
    return ValidationRows(rows, codes, unlabeled)


def hold_out(rows: FitRows, fraction: float, entropy: list[int]) -> tuple[FitRows, ValidationRows]:
    """Split rows off for validation: a share of each class, and of the unlabelled rows."""
    rng = np.random.default_rng(entropy)
    held = []
    for code in range(len(rows.labels.known)):
        members = rng.permutation(np.flatnonzero(rows.codes == code))
        # One row of each class must be left to learn from.
        held.append(members[: min(round(fraction * len(members)), len(members) - 1)])
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
    remaining = FitRows(
        RowSubset(rows.labeled, kept), rows.codes[kept], unlabeled_kept, rows.labels
    )
    subset = RowSubset(rows.labeled, labeled)
    return remaining, ValidationRows(subset, rows.codes[labeled], unlabeled_held)


def find_theta_of_rows(theta: Any, rows: FitRows, entropy: list[int]) -> Theta:
    """Theta as given, or estimated on flattened rows, at most 10,000 of either side."""
    if isinstance(theta, float) or rows.unlabeled is None:
        return Theta(theta if isinstance(theta, float) else 0.0)
    rng = np.random.default_rng([*entropy, 1])
    tables = []
    for side in (rows.labeled, rows.unlabeled):
        numbers = np.arange(len(side))
        if len(side) > _THETA_ROWS:
            numbers = np.sort(rng.choice(len(side), _THETA_ROWS, replace=False))
        tables.append(side.take(numbers).flatten(1).cpu().numpy())
    n_labeled, n_unlabeled = len(tables[0]), len(tables[1])
    stack = StackedRows(
        table=RowStack(tables),
        classes=np.zeros(0, dtype=np.uint16),
        weight=None,
        sampling_weight=None,
        n_labeled=n_labeled,
        n_unlabeled=n_unlabeled,
        n_known=len(rows.labels.known),
    )
    return find_theta(theta, stack, None, np.array(entropy, dtype=np.uint32), None)


def fingerprint(rows: Rows | None) -> int | None:
    """A checksum of rows in memory; None for datasets, which may give others each time."""
    if rows is None or not rows.fixed:
        return None
    checksum = 0
    for _, values in iterate(rows, 4096):
        checksum = zlib.crc32(values.cpu().contiguous().numpy().tobytes(), checksum)
    return checksum
