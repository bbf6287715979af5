"""Sections of a report about the rows that look new: what they are, which, why, and what now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._utils.frames import are_equal, take_rows
from lacforest._utils.printable import printable
from lacforest.calibration.scores import ranking_score
from lacforest.discovery import NewClassGroups
from lacforest.ensemble.base import BaseLACForest
from lacforest.inspection import explain
from lacforest.report._html import Section, Table

_MOST_ROWS = 10
_REASONS = 3
_FEWEST_FLAGGED = 8
# Letters of a cell that are shown.
_MOST_LETTERS = 100


def _own_columns(X: Any, rows: NDArray[np.intp]) -> dict[str, list[str]]:
    """The named columns of the index of a frame, as texts; empty where a value is missing."""
    if not hasattr(X, "iloc"):
        return {}
    index = X.index[rows]
    return {
        str(name): [_shortened(value) for value in index.get_level_values(level)]
        for level, name in enumerate(index.names)
        if name is not None
    }


def _shortened(value: Any) -> str:
    text = "" if value is None or not are_equal(value, value) else printable(str(value))
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 3]}..."


def groups_section(
    forest: BaseLACForest,
    X: Any,
    is_new: NDArray[np.bool_],
    training: tuple[Any, Any, Any] | None,
    feature_names: Sequence[str] | None,
    codes: Mapping[str, Sequence[str]],
) -> Section | None:
    """Groups of the rows called new; they need the labelled rows of the fit. `codes` as below."""
    flagged = np.flatnonzero(is_new)
    if training is None or len(flagged) < _FEWEST_FLAGGED:
        return None
    rows = take_rows(X, flagged)
    groups = NewClassGroups().fit(
        rows,
        X_labeled=training[0],
        y_labeled=training[1],
        score=forest.novelty_score(rows),
    )
    table = [
        (
            group.name,
            str(group.size),
            ", ".join(str(flagged[row] + 1) for row in group.rows),
            ", ".join(map(str, group.from_known)),
        )
        for group in groups.describe(feature_names=feature_names, categories=codes)
    ]
    return Section(
        "What is it?",
        text="Rows called new, in groups. Their number is a guess: groups may be parts of one "
        "class. Columns of numbers are given with the mean of the group, the mean of labelled "
        "rows, and the difference in standard deviations; others with the category that stands "
        "out, its share of the group, and its share of labelled rows.",
        table=Table(("group", "rows", "typical rows", "what sets it apart"), table),
    )


def newest_section(
    forest: BaseLACForest,
    X: Any,
    predicted: NDArray[Any],
    took_part: bool,
    feature_names: Sequence[str] | None,
    codes: Mapping[str, Sequence[str]],
) -> Section:
    """The rows that look newest, with the columns that made them so; `codes` as in `explain`.

    The index of a frame leads from here to the rows elsewhere. Rows that took part in the fit are
    ordered by Step I, whose trees know no pseudo-label: the labels of Step II raise scores of the
    rows that have them. The measured difference is in docs/guide/scores.rst.
    """
    name, text = "novelty score", "The rows with the highest novelty scores: inspect these first."
    if took_part:
        name = "first score"
        text = (
            "The rows that look newest: inspect these first. They took part in the fit and are "
            "ordered by its first step, which knew no labels of new rows."
        )
        scores = forest.novelty_score(X, stage="exploration")
    else:
        scores = ranking_score(forest, X)
    order = np.argsort(-scores, kind="stable")[:_MOST_ROWS]
    names = None if hasattr(forest, "feature_names_in_") else feature_names
    reasons = explain(forest, take_rows(X, order), _REASONS, feature_names=names, categories=codes)
    own = _own_columns(X, order)
    rows = [
        (
            str(i + 1),
            *(values[place] for values in own.values()),
            f"{min(scores[i], 1.0):.3f}",
            str(predicted[i]),
            ", ".join(map(str, reason.reasons)),
        )
        for place, (i, reason) in enumerate(zip(order, reasons, strict=True))
    ]
    return Section(
        "Which rows, and why?",
        text=f"{text} Behind each value stands what it adds to the probability of being new.",
        table=Table(("row", *own, name, "prediction", "reasons"), rows),
    )


def next_section(is_new: NDArray[np.bool_], training: tuple[Any, Any, Any] | None) -> Section:
    """What a reader can do; without the training data, also how to see more here."""
    if not is_new.any():
        steps = [("ok", "No row is called new. Follow later tables with lacforest watch.")]
    else:
        steps = [
            ("ok", "Look at the rows above, and decide whether the new class is real."),
            ("ok", "lacforest groups writes all rows called new, in groups, for labelling."),
            ("ok", "lacforest promote adds the rows that you labelled to the labelled table."),
            ("ok", "lacforest watch follows the share of new rows from table to table."),
        ]
    if training is None or training[2] is None:
        steps.append(
            (
                "ok",
                "lacforest report with the tables of the fit (--labelled and --unlabeled) also "
                "shows groups of new rows, and how the number of new rows depends on theta.",
            )
        )
    return Section("What now?", findings=steps)
