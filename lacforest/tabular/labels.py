"""The labels of a table."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._input.parameters import check_known_shares, given_shares
from lacforest._utils.extras import load_extra
from lacforest._utils.printable import counted
from lacforest.tabular._columns import is_plain
from lacforest.tabular.errors import TableError, nearest


def meant_target(target: str, columns: Collection[str], others: Collection[str]) -> str | None:
    """The column of labels that a user means, for the checks that follow.

    Parameters
    ----------
    target : str
        As the user writes it.
    columns : collection of str
        Of the labelled rows.
    others : collection of str
        Columns that hold no labels: those of the unlabelled rows, and those to leave out.

    Returns
    -------
    str or None
        None where no column is called so, and it is unclear which one is meant.
    """
    if target in columns:
        return target
    alone = [name for name in columns if name not in others]
    return alone[0] if len(alone) == 1 else nearest(target, alone)


def lacks_label(values: Any) -> NDArray[np.bool_]:
    """Which labels are missing, or consist of spaces."""
    missing: NDArray[np.bool_] = values.isna().to_numpy()
    if is_plain(values):
        return missing
    blank = [isinstance(value, str) and not value.strip() for value in values]
    return missing | np.array(blank, dtype=np.bool_)


def require_labels(is_missing: NDArray[np.bool_], source: str, first_row: int = 0) -> None:
    """Raise if rows have no label; row `first_row` + 1 of the table is the first of these."""
    if is_missing.any():
        row = first_row + int(is_missing.argmax()) + 1
        raise TableError(
            f"{source} has no label in {counted(int(is_missing.sum()), 'row')} (the first is row "
            f"{row}): move them to the unlabelled rows, or label them"
        )


def _require_one_spelling(labels: list[Any], target: str, source: str) -> None:
    """Raise if two labels differ in nothing but spaces around them."""
    seen: dict[str, str] = {}
    for text in map(str, labels):
        other = seen.setdefault(text.strip(), text)
        if other != text:
            raise TableError(
                f"column {target!r} of {source} contains the labels {other!r} and {text!r}, which "
                "differ only in spaces: correct one of them"
            )


def check_labels(frame: Any, target: str, source: str) -> NDArray[Any]:
    """The labels of a frame: integers or text.

    Parameters
    ----------
    frame : pandas.DataFrame
    target : str
        The column of labels.
    source : str
        Name of the frame in messages.
    """
    values = frame[target]
    require_labels(lacks_label(values), source)
    _require_one_spelling(values.unique().tolist(), target, source)
    types = load_extra("pandas").api.types
    is_text = not is_plain(values) or types.is_bool_dtype(values)
    labels: NDArray[Any] | None = None if is_text else whole_numbers(values, target, source)
    n_classes = values.nunique()
    if n_classes == 1:
        raise TableError(
            f"column {target!r} of {source} contains a single class, {values.tolist()[0]!r}: "
            "labelled rows of at least two classes are needed"
        )
    if 2 * n_classes > len(values):
        raise TableError(
            f"column {target!r} of {source} contains {n_classes} different values in {len(values)} "
            "rows: it looks like an id or a measurement, not like a class"
        )
    if labels is None:
        return np.array([str(value) for value in values], dtype=object)
    return labels


def whole_numbers(values: Any, column: str, source: str) -> NDArray[np.int64]:
    """A column of numbers as integers that are equal to them.

    Parameters
    ----------
    values : pandas.Series
    column, source : str
        Names of the column and its table, for messages.
    """
    numbers = values.to_numpy()
    if not np.isfinite(numbers).all() or (numbers != np.floor(numbers)).any():
        raise TableError(
            f"column {column!r} of {source} contains numbers that are not integers, such as "
            f"{values.max()}: classes must be integers or text"
        )
    # Beyond this float64 holds some integers only, and the type int64 none.
    if numbers.dtype.kind == "f":
        large = numbers[np.abs(numbers) >= 2.0**53]
    else:
        large = numbers[numbers > np.iinfo(np.int64).max]
    if len(large):
        raise TableError(
            f"column {column!r} of {source} contains integers such as {int(large[0])}, too large "
            "to be told apart: read the column as text, or number the classes anew"
        )
    labels: NDArray[np.int64] = numbers.astype(np.int64)
    return labels


def check_shares(known_shares: Any, labels: NDArray[Any]) -> None:
    """Refuse shares of known classes that do not belong to the labels.

    Parameters
    ----------
    known_shares : "auto", "labeled", array or dict
    labels : array of shape (n_labeled,)
        From `check_labels`.
    """
    try:
        check_known_shares(known_shares)
        if not isinstance(known_shares, str):
            given_shares(known_shares, np.unique(labels))
    except (TypeError, ValueError) as error:
        raise TableError(str(error)) from error
