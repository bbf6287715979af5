"""The rows of a fit, checked and stacked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets

from lacforest._input.categories import TableCategories, find_categories
from lacforest._input.control import ControlRows, check_control
from lacforest._input.labels import Labels, as_labels, check_labels, find_sentinel, make_labels
from lacforest._input.row_totals import RowTotals, WeightGroups
from lacforest._input.tables import (
    FOREST_TABLE,
    RowStack,
    by_column,
    check_training_table,
    check_unlabeled_table,
    column_names,
)
from lacforest._input.transformed import warn_if_untransformed
from lacforest._input.weights import labeled_weights

_MAX_KNOWN = 65_534
_MAX_ROWS = 2**32 - 1


@dataclass(frozen=True)
class StackedSource:
    """Labelled rows above unlabelled ones in a table that was coded before the fit.

    Stands for X, y and X_unlabeled of a fit.

    Attributes
    ----------
    table : object
        With the interface of a RowStack.
    known : array of shape (n_known,)
        The labels, sorted.
    codes : int array of shape (n_labeled,)
        Which of them each labelled row has.
    names : list of str
        Names of the columns.
    """

    table: Any
    known: NDArray[Any]
    codes: NDArray[np.intp]
    names: list[str]


@dataclass(frozen=True)
class TrainingRows:
    """Checked rows of a fit: labelled rows [0, n_labeled), then unlabelled ones.

    Attributes
    ----------
    table : RowStack
    classes : uint16 array of shape (n_rows,)
        Class codes; n_known marks unlabelled rows.
    weight : float64 array of shape (n_rows,) or None
        Weights of labelled rows, all positive.
    sampling_weight : float64 array of shape (n_labeled,) or None
        Weights of labelled rows without class weights: the number of rows that each represents.
    n_labeled, n_unlabeled, n_known : int
    class_factor : float64 array of shape (n_known,) or None
        Part of each class in `weight` that comes from its share in deployment: limits on the
        number of rows count without it.
    n_control : int
        How many of the labelled rows, the last ones, were given as a control from deployment.
    """

    table: RowStack
    classes: NDArray[np.uint16]
    weight: NDArray[np.float64] | None
    sampling_weight: NDArray[np.float64] | None
    n_labeled: int
    n_unlabeled: int
    n_known: int
    class_factor: NDArray[np.float64] | None = None
    n_control: int = 0

    @cached_property
    def totals(self) -> RowTotals:
        """What these rows add up to."""
        weight = None if self.weight is None else self.weight[: self.n_labeled]
        groups = WeightGroups.of(self.classes[: self.n_labeled], weight, self.n_known)
        return groups.totals(
            self.n_unlabeled, self.n_known, self.table.n_features, self.class_factor
        )

    @property
    def labeled_total(self) -> float:
        """n_l of Definition 1: the total weight of labelled rows."""
        return self.totals.labeled_total

    @property
    def labeled_shares(self) -> NDArray[np.float64]:
        """Shares of the known classes among labelled rows, by how many rows each stands for."""
        codes = self.classes[: self.n_labeled]
        totals = np.bincount(codes, self.sampling_weight, self.n_known).astype(np.float64)
        shares: NDArray[np.float64] = totals / totals.sum()
        return shares

    def with_class_factor(self, factor: NDArray[np.float64]) -> TrainingRows:
        """The same rows, each labelled one weighing the factor of its class more."""
        codes = self.classes[: self.n_labeled]
        weight = np.ones(self.table.n_rows) if self.weight is None else self.weight.copy()
        weight[: self.n_labeled] *= factor[codes]
        return replace(self, weight=weight, class_factor=factor)

    def with_control_factor(self, factor: float) -> TrainingRows:
        """The same rows, each control row counting as `factor` rows."""
        weight = np.ones(self.table.n_rows) if self.weight is None else self.weight.copy()
        sampling = (
            np.ones(self.n_labeled) if self.sampling_weight is None else self.sampling_weight.copy()
        )
        control = slice(self.n_labeled - self.n_control, self.n_labeled)
        weight[control] *= factor
        sampling[control] *= factor
        return replace(self, weight=weight, sampling_weight=sampling)

    def take(self, chosen: NDArray[np.intp], table: Any) -> TrainingRows:
        """Some rows in ascending order; `table` holds them. There must be no control rows."""
        n_labeled = int(np.searchsorted(chosen, self.n_labeled))
        sampling = self.sampling_weight
        return replace(
            self,
            table=table,
            classes=self.classes[chosen],
            weight=None if self.weight is None else self.weight[chosen],
            sampling_weight=None if sampling is None else sampling[chosen[:n_labeled]],
            n_labeled=n_labeled,
            n_unlabeled=len(chosen) - n_labeled,
        )

    def unlabeled_table(self) -> Any:
        """Features of the unlabelled rows, in the form that prediction takes."""
        return self.table.rows_from(self.n_labeled)


def check_training_labels(
    estimator: Any, y: Any, n_rows: int, has_unlabeled: bool
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Labels of the labelled rows, and which rows of X are marked as unlabelled.

    Parameters
    ----------
    estimator : estimator
        With the parameter `unlabeled_label`.
    y : array-like
        Labels of X.
    n_rows : int
        Rows of X.
    has_unlabeled : bool
        Whether unlabelled rows are given apart from X.
    """
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            "is None"
        )
    labels = as_labels(y, warn=True)
    if len(labels) != n_rows:
        raise ValueError(f"y has {len(labels)} labels, but X has {n_rows} rows")
    sentinel = estimator.unlabeled_label
    has_sentinel = sentinel is not None
    marked = find_sentinel(labels, sentinel) if has_sentinel else np.zeros(len(labels), dtype=bool)
    if has_sentinel and has_unlabeled:
        raise ValueError(
            "unlabelled rows are given twice, in X_unlabeled and by unlabeled_label: use one"
        )
    if marked.all():
        raise ValueError("y contains no label: every row is marked by unlabeled_label")
    labels = check_labels(labels[~marked])
    if labels.dtype.kind == "f":
        check_array(labels, ensure_2d=False, input_name="y")
    check_classification_targets(labels)
    return labels, marked


def code_categories(
    estimator: Any, X: Any, X_unlabeled: Any, control: Any
) -> tuple[TableCategories | None, tuple[Any, Any, Any]]:
    """The categories of a fit, and its tables with ranks in their place.

    Sets `_categories` of an estimator with the parameter `categorical_features`.
    """
    if not hasattr(estimator, "categorical_features"):
        return None, (X, X_unlabeled, control)
    tables = [("X", X)]
    if X_unlabeled is not None:
        tables.append(("X_unlabeled", X_unlabeled))
    is_pair = isinstance(control, tuple | list) and len(control) == 2
    if is_pair:
        tables.append(("X_known of control", control[0]))
    categories, coded = find_categories(estimator.categorical_features, tables)
    estimator._categories = categories
    X, X_unlabeled = coded["X"], coded.get("X_unlabeled")
    if is_pair:
        control = (coded["X_known of control"], control[1])
    return categories, (X, X_unlabeled, control)


def check_training_rows(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    X_unlabeled: Any,
    *,
    options: dict[str, Any] = FOREST_TABLE,
    always_new: bool = False,
    control: Any = None,
) -> tuple[TrainingRows, Labels]:
    """Stack labelled above unlabelled rows and code the labels.

    Labelled rows of weight zero are dropped, but their labels still count as classes. There is a
    new class if there are unlabelled rows, or if the method needs none to find it (`always_new`).
    Control rows, a pair of table and labels, follow the labelled ones.
    """
    if isinstance(X, StackedSource):
        return _rows_of_source(estimator, X)
    names = column_names(X)
    categories, (X, X_unlabeled, control) = code_categories(estimator, X, X_unlabeled, control)
    table = check_training_table(estimator, X, options)
    labels, marked = check_training_labels(estimator, y, table.shape[0], X_unlabeled is not None)

    known, codes = np.unique(labels, return_inverse=True)
    if len(known) > _MAX_KNOWN:
        raise ValueError(f"y has {len(known)} classes; at most {_MAX_KNOWN} are supported")
    weights = labeled_weights(estimator, sample_weight, marked, known, codes)
    kept = weights.kept

    parts = [table]
    if X_unlabeled is not None:
        parts.append(check_unlabeled_table(estimator, X_unlabeled, names, options))
        warn_if_untransformed(*parts)
    n_unlabeled = int(marked.sum()) if X_unlabeled is None else parts[1].shape[0]
    order = None
    if marked.any() or not kept.all():
        below = [] if X_unlabeled is None else [table.shape[0] + np.arange(n_unlabeled)]
        order = np.concatenate([np.flatnonzero(~marked)[kept], np.flatnonzero(marked), *below])
    n_labeled = int(kept.sum())
    if n_labeled + n_unlabeled > _MAX_ROWS:
        raise ValueError(f"at most {_MAX_ROWS} rows are supported")
    row_weight = None
    if weights.weight is not None:
        row_weight = np.concatenate([weights.weight, np.ones(n_unlabeled)])
    checked = None
    if control is not None:
        if n_unlabeled == 0:
            raise ValueError(
                "control is given without unlabelled rows: it says what known classes look like "
                "among them, so pass X_unlabeled, or add the rows to X and y"
            )
        checked = check_control(estimator, control, names, known, options)
    rows = TrainingRows(
        table=RowStack(
            [by_column(part) for part in parts],
            order,
            None if categories is None else categories.n_categories,
        ),
        classes=np.concatenate(
            [codes[kept], np.full(n_unlabeled, len(known))], dtype=np.uint16, casting="unsafe"
        ),
        weight=row_weight,
        sampling_weight=weights.sampling,
        n_labeled=n_labeled,
        n_unlabeled=n_unlabeled,
        n_known=len(known),
    )
    if checked is not None:
        rows = _insert_control(rows, checked, weights.class_factors)
    return rows, make_labels(known, estimator.new_label, always_new or n_unlabeled > 0)


def _rows_of_source(estimator: Any, source: StackedSource) -> tuple[TrainingRows, Labels]:
    """The rows of a source; weights come from the classes alone."""
    n_labeled = len(source.codes)
    n_unlabeled = source.table.n_rows - n_labeled
    none_marked = np.zeros(n_labeled, dtype=bool)
    weights = labeled_weights(estimator, None, none_marked, source.known, source.codes)
    if not weights.kept.all():
        raise ValueError("class_weight must not be 0 where rows are read from files")
    estimator.n_features_in_ = source.table.n_features
    estimator.feature_names_in_ = np.array(source.names, dtype=object)
    estimator._categories = TableCategories.of_ranks(source.table.n_categories)
    weight = weights.weight
    rows = TrainingRows(
        table=source.table,
        classes=np.concatenate(
            [source.codes, np.full(n_unlabeled, len(source.known))],
            dtype=np.uint16,
            casting="unsafe",
        ),
        weight=None if weight is None else np.concatenate([weight, np.ones(n_unlabeled)]),
        sampling_weight=weights.sampling,
        n_labeled=n_labeled,
        n_unlabeled=n_unlabeled,
        n_known=len(source.known),
    )
    return rows, make_labels(source.known, estimator.new_label, n_unlabeled > 0)


def _insert_control(
    rows: TrainingRows, control: ControlRows, factors: NDArray[np.float64] | None
) -> TrainingRows:
    """Control rows between labelled and unlabelled ones; those of a class of weight 0 left out."""
    codes, stack, n_labeled = control.codes, rows.table, rows.n_labeled
    added = np.ones(len(codes)) if factors is None else factors[codes]
    kept = np.flatnonzero(added)
    codes, added = codes[kept], added[kept]
    order = np.arange(stack.n_rows) if stack.order is None else stack.order
    first = sum(part.shape[0] for part in stack.parts)
    order = np.insert(order, n_labeled, first + kept)
    weight, sampling = rows.weight, rows.sampling_weight
    if weight is not None or (added != 1.0).any():
        weight = np.ones(stack.n_rows) if weight is None else weight
        weight = np.insert(weight, n_labeled, added)
    if sampling is not None:
        sampling = np.append(sampling, np.ones(len(codes)))
    return replace(
        rows,
        table=RowStack([*stack.parts, by_column(control.table)], order, stack.categories),
        classes=np.insert(rows.classes, n_labeled, codes.astype(np.uint16)),
        weight=weight,
        sampling_weight=sampling,
        n_labeled=n_labeled + len(codes),
        n_control=len(codes),
    )
