"""Options of predict that decide which rows are called new, and why."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lacforest._utils.arguments import at_least
from lacforest.cli._output import OutputError
from lacforest.tabular.scorer import TableScorer

if TYPE_CHECKING:
    from lacforest.calibration import NoveltyCalibrator

P_VALUE, REASONS = "p_value", "reasons"


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"{text} must lie strictly between 0 and 1")
    return value


def add_rules(parser: argparse.ArgumentParser) -> None:
    """The options."""
    group = parser.add_argument_group(
        "decisions", "for models of fit --calibrate; without one, the likeliest class is predicted"
    )
    rules = group.add_mutually_exclusive_group()
    rules.add_argument(
        "--max-fpr",
        type=_rate,
        metavar="A",
        help="call rows new so that at most this share of known rows is",
    )
    rules.add_argument(
        "--fdr",
        type=_rate,
        metavar="A",
        help="call rows new so that on average at most this share of them is known",
    )
    rules.add_argument(
        "--budget", type=at_least(1), metavar="N", help="call exactly the N newest rows new"
    )
    group.add_argument(
        "--confidence",
        type=_rate,
        metavar="C",
        help="with --max-fpr: keep it with this probability, not only on average",
    )
    group.add_argument(
        "--explain",
        type=at_least(1),
        metavar="N",
        help="add a column with the N columns that matter most, for rows called new",
    )


def has_rules(given: argparse.Namespace) -> bool:
    """Whether an option asks for more than scores and the likeliest class."""
    asked = (given.max_fpr, given.fdr, given.budget, given.confidence, given.explain)
    return any(option is not None for option in asked)


@dataclass(frozen=True)
class Rule:
    """Which rows of a table are called new."""

    calibrator: NoveltyCalibrator
    threshold: float
    chosen: NDArray[np.bool_] | None
    note: str

    def apply(self, model: TableScorer, X: NDArray[np.float64], first: int, scored: Any) -> None:
        """Set labels and p-values of a piece of the table that begins with row `first`."""
        # Imported here, because most calls of the command have no rule and start faster without.
        from lacforest.calibration.scores import label_rows

        _, p_values, _ = self.calibrator.judge(X)
        if self.chosen is None:
            is_new = p_values <= self.threshold
        else:
            is_new = self.chosen[first : first + len(X)]
        scored["predicted_label"] = label_rows(model.forest, X, is_new)
        scored.insert(2, P_VALUE, p_values)


def find_rule(
    given: argparse.Namespace, model: TableScorer, tables: Callable[[], Iterable[Any]]
) -> Rule | None:
    """The rule that the options name; --fdr and --budget look at the whole table first.

    Parameters
    ----------
    given : Namespace
    model : TableScorer
    tables : callable
        Starts a pass over the coded pieces of the table.
    """
    if given.confidence is not None and given.max_fpr is None:
        raise OutputError("--confidence is about --max-fpr: give --max-fpr too")
    if given.max_fpr is None and given.fdr is None and given.budget is None:
        return None
    calibrator = model.calibrator
    if calibrator is None:
        raise OutputError(
            f"{given.model} has no calibration rows, which --max-fpr, --fdr and --budget need: fit "
            "it again with --calibrate"
        )
    try:
        if given.max_fpr is not None:
            threshold = calibrator.threshold(given.max_fpr, given.confidence)
            sure = "" if given.confidence is None else f" with probability {given.confidence:g}"
            note = (
                f"p-value at most {threshold:.3g}: at most {given.max_fpr:.3g} of known rows{sure}"
            )
            return Rule(calibrator, threshold, None, note)
        pieces = [calibrator.judge(X) for X in tables()]
        scores, p_values = (np.concatenate([piece[i] for piece in pieces]) for i in (0, 1))
        found = calibrator.select_judged(scores, p_values, fdr=given.fdr, n_rows=given.budget)
    except ValueError as error:
        raise OutputError(str(error)) from error
    return Rule(calibrator, found.threshold, found.mask, str(found))


def add_reasons(
    given: argparse.Namespace, model: TableScorer, X: NDArray[np.float64], scored: Any
) -> None:
    """Say for rows called new which columns made them new."""
    # Imported here for the same reason as above.
    from lacforest.inspection import explain

    is_new = (scored["predicted_label"] == model.forest.new_label_).to_numpy()
    reasons = np.full(len(X), "", dtype=object)
    if is_new.any():
        found = explain(
            model.forest,
            X[is_new],
            given.explain,
            feature_names=model.coder.feature_names,
            categories=model.coder.texts_of_codes,
        )
        reasons[is_new] = ["; ".join(map(str, row.reasons)) for row in found]
    scored[REASONS] = reasons
