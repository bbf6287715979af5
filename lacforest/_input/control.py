"""Control rows: a small labelled sample of the known classes from deployment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from lacforest._input.labels import as_labels, check_labels
from lacforest._input.tables import check_same_columns, reject_text
from lacforest._utils.frames import fill_masked

# Ranks among fewer rows say next to nothing.
LEAST_ROWS = 10


@dataclass(frozen=True)
class ControlRows:
    """Checked control rows.

    Attributes
    ----------
    table : array or sparse matrix of shape (n_control, n_features)
    codes : int array of shape (n_control,)
        Index of each row's label among the known classes.
    """

    table: Any
    codes: NDArray[np.intp]


def check_control(
    estimator: Any,
    control: Any,
    names: list[str] | None,
    known: NDArray[Any],
    options: dict[str, Any],
) -> ControlRows:
    """Check `control` of fit: the columns of X, and labels that y has.

    Parameters
    ----------
    estimator : estimator
        With `n_features_in_`.
    control : tuple of X_known and y_known
    names : list of str or None
        Column names of X.
    known : array
        The known classes, sorted.
    options : dict
        What tables of `estimator` may contain.
    """
    if not isinstance(control, tuple | list) or len(control) != 2:
        raise TypeError(
            "control must be a pair (X_known, y_known) of rows of known classes from deployment "
            f"and their labels, got {type(control).__name__}"
            + (f" of length {len(control)}" if isinstance(control, tuple | list) else "")
        )
    rows, labels = control
    reject_text(rows, "X_known of control")
    rows = fill_masked(rows)
    table = check_array(rows, input_name="X_known of control", estimator=estimator, **options)
    check_same_columns(table, rows, "X_known of control", estimator.n_features_in_, names)
    labels = check_labels(as_labels(labels, name="y_known of control"))
    if len(labels) != table.shape[0]:
        raise ValueError(
            f"y_known of control has {len(labels)} labels, but X_known has {table.shape[0]} rows"
        )
    if len(labels) < LEAST_ROWS:
        raise ValueError(
            f"control has {len(labels)} rows, and {LEAST_ROWS} are the least: unlabelled rows are "
            "ranked among them. A hundred or more give a useful theta."
        )
    is_known = np.isin(labels, known)
    if not is_known.all():
        strange = np.unique(labels[~is_known]).tolist()[:5]
        raise ValueError(
            f"control holds labels that y does not have: {strange}. Control rows belong to known "
            "classes: leave others out, or add rows of their class to X and y"
        )
    return ControlRows(table, np.searchsorted(known, labels))
