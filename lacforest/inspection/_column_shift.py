"""Which columns differ between labelled and unlabelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lacforest._contract.checks import feature_names as names_of
from lacforest._input.classifiers import find_classifier
from lacforest.ensemble.base import check_is_forest
from lacforest.mixture.column_shift import moved_share, shift_order


class ColumnShift(NamedTuple):
    """One column of the table that `column_shift` returns.

    Attributes
    ----------
    name : str
    unlabeled : float
        Chance that an unlabelled row has a larger value than a labelled one; 0.5 means no shift.
    taken_for_known : float
        The same for the unlabelled rows without a pseudo-label, which should look as labelled; NaN
        if all have one.
    is_categorical : bool
        Whether the column holds categories. These have no order: the chances are one half, and half
        of the share of rows by which other categories are more frequent.
    """

    name: str
    unlabeled: float
    taken_for_known: float
    is_categorical: bool = False

    @property
    def cells(self) -> tuple[str, str]:
        """Both shifts as texts: the chances, or the shares of rows with other categories."""
        first, second = (_cell(chance, self.is_categorical) for chance in self[1:3])
        return first, second


def _cell(chance: float, is_categorical: bool) -> str:
    if np.isnan(chance):
        return "-"
    return f"{moved_share(chance):.0%} of rows" if is_categorical else f"{chance:.2f}"


def column_shift(forest: Any, feature_names: Sequence[str] | None = None) -> list[ColumnShift]:
    """How far each column of the unlabelled rows of a fit lies from that of the labelled ones.

    New classes shift columns of the unlabelled rows too, but not by more than half of theta, and
    rows that are taken for known should look as labelled. A column beyond that has drifted: a time
    stamp, an id, a quantity in other units or from another season.

    Parameters
    ----------
    forest : LACForestClassifier or LACExtraTreesClassifier
        Fitted with unlabelled rows. A pipeline or search that contains one will do.
    feature_names : sequence of str, optional
        By default those of the fit, or x0, x1 and so on.

    Returns
    -------
    list of ColumnShift
        From the most shifted column to the least. Labelled rows are weighted to the shares of
        classes in deployment. Where the fit had control rows, these stand in for labelled ones.

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest import LACForestClassifier
    >>> from lacforest.inspection import column_shift
    >>> rng = np.random.default_rng(0)
    >>> known, deployed = rng.normal(size=(200, 2)), rng.normal(size=(300, 2))
    >>> deployed[:, 1] += 5  # drift
    >>> label = np.where(known[:, 0] > 0, "a", "b")
    >>> forest = LACForestClassifier(theta=0.2, random_state=0)
    >>> forest = forest.fit(known, label, X_unlabeled=deployed)
    >>> [(shift.name, round(shift.unlabeled, 1)) for shift in column_shift(forest)]
    [('x1', 1.0), ('x0', 0.5)]
    """
    found = find_classifier(forest)
    check_is_forest(found)
    check_is_fitted(found)
    if found.column_shift_ is None:
        raise ValueError(
            "this forest has no table of shifts: it was fitted without unlabelled rows, or its "
            "file is of an older version"
        )
    names = names_of(found) if feature_names is None else list(feature_names)
    if len(names) != len(found.column_shift_):
        raise ValueError(
            f"feature_names has {len(names)} entries, but the forest has "
            f"{len(found.column_shift_)} features"
        )
    is_categorical = found.is_categorical_
    return [
        ColumnShift(
            str(names[j]),
            float(found.column_shift_[j, 0]),
            float(found.column_shift_[j, 1]),
            is_categorical is not None and bool(is_categorical[j]),
        )
        for j in shift_order(found.column_shift_)
    ]
