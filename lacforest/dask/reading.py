"""Reading one partition: checks, labelled and unlabelled rows apart, weights, a digest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from lacforest._input.labels import as_labels, check_labels, check_weight, find_sentinel
from lacforest._input.tables import check_same_columns, reject_text
from lacforest._utils.frames import fill_masked


@dataclass(frozen=True)
class ReadingRules:
    """How partitions are read, the same for all of them.

    Attributes
    ----------
    n_features : int
    names : list of str or None
        RowColumn names of X.
    unlabeled_label : object
    class_weight : dict or None
        Whole factors by label.
    max_bins : int
    """

    n_features: int
    names: list[str] | None
    unlabeled_label: Any
    class_weight: dict[Any, float] | None
    max_bins: int


@dataclass(frozen=True)
class RowPlace:
    """Which partition of which collection: for messages."""

    source: str
    index: int

    def __str__(self) -> str:
        return f"partition {self.index} of {self.source}"


@dataclass(frozen=True)
class ReadRows:
    """The rows of a partition, checked.

    Attributes
    ----------
    labeled : float array of shape (n_labeled, n_features)
        Without rows of weight zero.
    labels : array of shape (n_labeled,)
    every_label : array
        Distinct labels, those of rows of weight zero included.
    weight : float64 array of shape (n_labeled,) or None
        Whole numbers; None if neither rows nor classes carry weights.
    sampling : float64 array of shape (n_labeled,) or None
        Weights without the factors of classes.
    unlabeled : float array of shape (n_unlabeled, n_features)
    digest : str
        Of all values, labels and weights.
    """

    labeled: NDArray[Any]
    labels: NDArray[Any]
    every_label: NDArray[Any]
    weight: NDArray[np.float64] | None
    sampling: NDArray[np.float64] | None
    unlabeled: NDArray[Any]
    digest: str


def read_rows(X: Any, y: Any, weight: Any, place: RowPlace, rules: ReadingRules) -> ReadRows:
    """Check a partition; y is None where all rows are unlabelled."""
    try:
        return _read(X, y, weight, place, rules)
    except (TypeError, ValueError) as error:
        if str(place) in str(error):
            raise
        raise type(error)(f"{place}: {error}") from error


def _read(X: Any, y: Any, weight: Any, place: RowPlace, rules: ReadingRules) -> ReadRows:
    name = str(place)
    reject_text(X, name)
    table = check_array(
        fill_masked(X),
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
        ensure_min_samples=0,
        input_name=name,
    )
    check_same_columns(table, X, name, rules.n_features, rules.names)
    if y is None:
        no_labels: NDArray[Any] = np.zeros(0)
        digest = _digest(table, no_labels, None)
        return ReadRows(table[:0], no_labels, no_labels, None, None, table, digest)
    labels = as_labels(y)
    if len(labels) != len(table):
        raise ValueError(
            f"{name} has {len(table)} rows, but partition {place.index} of y has {len(labels)} "
            "labels: X and y must be divided at the same rows"
        )
    weights = check_weight(weight, len(labels))
    if weights is not None and not (weights == np.floor(weights)).all():
        raise ValueError(
            f"sample_weight has entries that are not whole numbers (partition {place.index}): "
            "a distributed fit takes whole weights only, for which sums do not depend on how rows "
            "are divided"
        )
    digest = _digest(table, labels, weights)
    marked = np.zeros(len(labels), dtype=bool)
    if rules.unlabeled_label is not None:
        marked = find_sentinel(labels, rules.unlabeled_label)
    labels = check_labels(labels[~marked])
    every_label, codes = np.unique(labels, return_inverse=True)
    sampling = None if weights is None else weights[~marked]
    total = sampling
    if rules.class_weight is not None:
        factors = [float(rules.class_weight.get(label, 1.0)) for label in every_label.tolist()]
        factor = np.array(factors)[codes] if factors else np.zeros(0)
        total = factor if total is None else total * factor
    labeled = table[~marked] if marked.any() else table
    if total is not None:
        kept = total > 0
        labeled, labels, total = labeled[kept], labels[kept], total[kept]
        sampling = None if sampling is None else sampling[kept]
    return ReadRows(labeled, labels, every_label, total, sampling, table[marked], digest)


def _digest(table: NDArray[Any], labels: NDArray[Any], weight: NDArray[Any] | None) -> str:
    """Digest of a partition, to notice input that changes when it is computed again."""
    found = hashlib.blake2b(digest_size=16)
    found.update(repr((table.shape, len(labels))).encode())
    found.update(np.ascontiguousarray(table).view(np.uint8).data if table.size else b"")
    if len(labels):
        if labels.dtype.kind == "O":
            found.update(repr(labels.tolist()).encode())
        else:
            found.update(np.ascontiguousarray(labels).tobytes())
    if weight is not None:
        found.update(weight.tobytes())
    return found.hexdigest()


def read_again(
    X: Any, y: Any, weight: Any, place: RowPlace, rules: ReadingRules, digest: str
) -> ReadRows:
    """Read a partition once more; its rows must be the same as before."""
    rows = read_rows(X, y, weight, place, rules)
    if rows.digest != digest:
        raise ValueError(
            f"{place} had other rows when it was computed again: a fit reads its input several "
            "times, so it must be reproducible. Seed random input, store shuffled input, or call "
            "persist() on it."
        )
    return rows
