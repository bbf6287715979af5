"""How far each column of the unlabelled rows lies from that of the labelled ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lacforest._tree.coded_columns import CodedColumns
from lacforest._utils.findings import Finding

# Rows of either side that are compared: more make the table slower and hardly more exact.
MOST_ROWS = 20_000
# From this estimate on, or if an estimate above one half may be as large as the second value, drift
# is likelier than that nearly every row is new.
_NEARLY_ALL = 0.9
_PERHAPS_ALL = 0.95
# An area under the curve this far from 1/2 sets a column apart ...
_APART = 0.1
# ... and this far separates the tables by itself: other columns cannot be judged beside it.
_SEPARATES = 0.45
# Share of rows beyond a given theta that a column must show to differ.
_BEYOND_THETA = 0.1
# The same among rows that are taken for known, which should look as labelled. With a truly new
# class both stayed below .1 and 4; see docs/guide/drift.rst.
_KNOWN_APART = 0.12
_Z_APART = 6.0
# A category counts as more or less frequent from this many standard deviations on: the noise of
# hundreds of categories then adds up to less than what sets a column apart.
_CLEARLY = 2.0
# Columns that a message names.
_MOST_NAMED = 6
ADVICE = (
    "drop these columns, or pass control=(X_known, y_known): rows of known classes from "
    "deployment with their labels"
)


def column_aucs(
    columns: CodedColumns,
    reference: NDArray[np.intp],
    weight: NDArray[np.float64] | None,
    compared: Sequence[NDArray[np.intp]],
) -> NDArray[np.float64]:
    """Chance that a compared row has a larger value of a column than a reference row.

    Ties count one half, and missing values as the largest. 1/2 means no shift in location.
    Categories have no order: there the chance is one half, and half of the share of rows by which
    some categories are clearly more frequent among compared rows, or others clearly less.

    Parameters
    ----------
    columns : CodedColumns
    reference : int array
        Rows to compare with.
    weight : float64 array of shape (n_reference,) or None
    compared : sequence of int arrays
        Groups of rows.

    Returns
    -------
    float64 array of shape (n_features, n_groups)
        NaN for a group without rows.
    """
    kept = _some_rows(np.arange(len(reference)))
    own_weight = None if weight is None else weight[kept]
    reference, groups = reference[kept], [_some_rows(rows) for rows in compared]
    found = np.full((len(columns.columns), len(groups)), np.nan)
    for j, (codes, n_codes) in enumerate(zip(columns.columns, columns.n_codes, strict=True)):
        counts = np.bincount(codes[reference], own_weight, int(n_codes) + 1).astype(np.float64)
        below = (counts.cumsum() - 0.5 * counts) / counts.sum()
        for group, rows in enumerate(groups):
            if not len(rows):
                continue
            if columns.is_categorical[j]:
                compared_shares = np.bincount(codes[rows], minlength=len(counts)) / len(rows)
                noise = 1.0 / information(own_weight, len(reference)) + 1.0 / len(rows)
                moved = _share_moved(counts / counts.sum(), compared_shares, noise)
                found[j, group] = 0.5 + 0.5 * moved
            else:
                found[j, group] = below[codes[rows]].mean()
    return found


def _share_moved(
    reference: NDArray[np.float64], compared: NDArray[np.float64], noise: float
) -> float:
    """Share of rows that moved to categories that are more frequent, or from less frequent ones."""
    change = compared - reference
    pooled = 0.5 * (reference + compared)
    limit = _CLEARLY * np.sqrt(pooled * (1.0 - pooled) * noise)
    return float(max(change[change > limit].sum(), -change[change < -limit].sum()))


def information(weight: NDArray[np.float64] | None, n_rows: int) -> float:
    """How many equally weighted rows say as much (Kish)."""
    return n_rows if weight is None else float(weight.sum() ** 2 / (weight**2).sum())


def _some_rows(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """At most `MOST_ROWS` of the rows, evenly spaced."""
    if len(rows) <= MOST_ROWS:
        return rows
    return rows[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(np.intp)]


def shift_order(shift: NDArray[np.float64]) -> NDArray[np.intp]:
    """Columns from the most shifted one to the least, by the comparison with all rows."""
    order: NDArray[np.intp] = np.argsort(-np.abs(shift[:, 0] - 0.5), kind="stable")
    return order


def drift_finding(
    shift: NDArray[np.float64],
    theta: float,
    interval: tuple[float, float] | None,
    sizes: tuple[float, int, int],
    names: Sequence[str],
    is_categorical: Sequence[bool] | None = None,
) -> Finding:
    """Whether single columns suggest that known classes have changed, and which.

    Parameters
    ----------
    shift : float64 array of shape (n_features, 2)
        From `column_aucs`: all unlabelled rows, and those taken for known.
    theta : float
    interval : tuple of float or None
        Interval of an estimated theta; None where it was given.
    sizes : tuple
        Labelled rows by information, unlabelled rows, and those taken for known.
    names : sequence of str
    is_categorical : sequence of bool, optional
        Which columns hold categories.
    """
    named = _Namer(names, is_categorical)
    n_labeled, n_unlabeled, n_known = sizes
    is_estimate = interval is not None
    away = np.abs(shift - 0.5)
    noise = _noise(n_labeled, n_unlabeled)
    order = shift_order(shift)
    # A share theta of new rows moves no column by more than theta / 2.
    limit = _APART if is_estimate else 0.5 * (theta + _BEYOND_THETA)
    apart = order[away[order, 0] >= max(limit, 4.0 * noise)]
    if interval is not None and (
        theta > _NEARLY_ALL or (theta > 0.5 and interval[1] > _PERHAPS_ALL)
    ):
        all_new = (
            f"nearly all unlabelled rows may be new (theta {theta:.3f}, up to {interval[1]:.3f})"
        )
        separating = apart[away[apart, 0] >= _SEPARATES]
        apart = separating if len(separating) else apart
        if len(apart) == 0:
            return Finding(
                "drift",
                "problem",
                f"{all_new}, although no single column differs much. Known classes may look "
                "different in deployment. If some of these rows are of known classes, pass "
                "control=(X_known, y_known): such rows with "
                "their labels.",
            )
        return Finding(
            "drift",
            "problem",
            f"{all_new}, and these columns differ between the tables: "
            f"{named.told(shift[:, 0], apart)}. This looks like drift (a "
            "time stamp, an id, other units, another season) rather than like new classes: "
            f"{ADVICE}.",
            named.of(apart),
        )
    # Whoever gives theta is told, but not warned.
    level: Literal["caution", "problem"] = "problem" if is_estimate else "caution"
    if not is_estimate and len(apart):
        return Finding(
            "drift",
            level,
            f"these columns differ by more than theta = {theta:.3f} of new rows can explain: "
            f"{named.told(shift[:, 0], apart)}. Either theta is too low, or known classes look "
            "different in deployment (drift: a time stamp, an id, other units, another season): "
            f"{ADVICE}.",
            named.of(apart),
        )
    known_order = np.argsort(-away[:, 1], kind="stable")
    odd = known_order[
        away[known_order, 1] >= max(_KNOWN_APART, _Z_APART * _noise(n_labeled, n_known))
    ]
    if len(odd):
        suspects = order[away[order, 0] >= max(_APART, 4.0 * noise)]
        told = f"rows taken for known do not look as labelled: {named.told(shift[:, 1], odd)}."
        if len(suspects):
            advice = (
                f" All unlabelled rows differ most in {named.told(shift[:, 0], suspects)}: "
                f"{ADVICE}."
            )
        else:
            advice = (
                " No single column is to blame: pass control=(X_known, y_known), rows of known "
                "classes from deployment with their labels."
            )
        return Finding(
            "drift",
            level,
            f"{told} Known classes may have changed (drift), and theta = {theta:.3f} may be "
            f"wrong.{advice}",
            named.of(suspects),
        )
    first = int(order[0])
    return Finding(
        "drift",
        "ok",
        "rows taken for known look as labelled. Of all columns, "
        f"{named.told(shift[:, 0], order[:1])} differs most between unlabelled and labelled "
        "rows."
        if away[first, 0] > 0
        else "no column differs between the tables.",
    )


def control_finding(
    aucs: NDArray[np.float64],
    n_labeled: int,
    n_control: int,
    names: Sequence[str],
    is_categorical: Sequence[bool] | None = None,
) -> Finding:
    """Whether known rows of deployment, as a control shows them, look as labelled.

    Parameters
    ----------
    aucs : float64 array of shape (n_features,)
        Of control rows against labelled ones.
    n_labeled, n_control : int
    names : sequence of str
    is_categorical : sequence of bool, optional
        Which columns hold categories.
    """
    named = _Namer(names, is_categorical)
    away = np.abs(aucs - 0.5)
    order = np.argsort(-away, kind="stable")
    apart = order[away[order] >= max(_APART, 4.0 * _noise(n_labeled, n_control))]
    if len(apart):
        return Finding(
            "control",
            "caution",
            f"known classes look different in deployment: {named.told(aucs, apart)}. Theta "
            f"comes from the {n_control} control rows, which also count for as much as all "
            "labelled rows.",
            named.of(apart),
        )
    return Finding(
        "control",
        "ok",
        f"in no single column do the {n_control} control rows differ from the labelled ones.",
    )


def _noise(n_labeled: float, n_other: int) -> float:
    """Standard deviation of the chance where nothing has moved."""
    return float(np.sqrt((1.0 / max(n_labeled, 1.0) + 1.0 / max(n_other, 1)) / 12.0))


@dataclass(frozen=True)
class _Namer:
    """Columns in words; `is_categorical` says which of them hold categories, None for none."""

    names: Sequence[str]
    is_categorical: Sequence[bool] | None

    def of(self, which: NDArray[np.intp]) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.names[j] for j in which)

    def told(self, chance: NDArray[np.float64], which: NDArray[np.intp]) -> str:
        """The first of them, with their shifts."""
        told = [
            f"{self.names[j]} ({self._shift(j, float(chance[j]))})" for j in which[:_MOST_NAMED]
        ]
        more = f" and {len(which) - _MOST_NAMED} more" if len(which) > _MOST_NAMED else ""
        return ", ".join(told) + more

    def _shift(self, column: int, chance: float) -> str:
        if self.is_categorical is not None and self.is_categorical[column]:
            return f"other categories in {moved_share(chance):.0%} of rows"
        if chance < 0.5:
            return f"smaller in {1.0 - chance:.0%} of pairs"
        return f"larger in {chance:.0%} of pairs"


def moved_share(chance: float) -> float:
    """Share of rows with other categories, from what `column_aucs` finds of a column of them."""
    return 2.0 * chance - 1.0
