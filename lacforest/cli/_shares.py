"""Shares of classes in deployment: the option, and what commands print of a fit about them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

# Number of classes that a line lists.
_LISTED = 8


def known_shares(text: str) -> str | dict[str, float]:
    """Read "auto", "labeled" or CLASS=SHARE pairs separated by commas."""
    if text in ("auto", "labeled"):
        return text
    shares: dict[str, float] = {}
    for entry in text.split(","):
        name, equals, number = entry.rpartition("=")
        name = name.strip()
        try:
            share = float(number)
        except ValueError:
            share = -1.0
        if not equals or not name or not 0.0 <= share <= 1.0:
            raise argparse.ArgumentTypeError(
                f"{entry.strip()!r} is not CLASS=SHARE with a share from 0 to 1; other values are "
                "auto and labeled"
            )
        if name in shares:
            raise argparse.ArgumentTypeError(f"the class {name!r} has two shares")
        shares[name] = share
    return shares


def add_known_shares(parser: argparse.ArgumentParser) -> None:
    """The option of commands that estimate theta."""
    parser.add_argument(
        "--known-shares",
        type=known_shares,
        default="auto",
        metavar="SHARES",
        help="shares of the known classes among known rows of deployment: auto estimates them and "
        "uses them if they have moved, labeled takes those of labelled rows, or "
        "CLASS=SHARE,CLASS=SHARE (default: auto)",
    )


def finding_facts(forest: Any) -> list[dict[str, str]]:
    """What the fit found about its assumptions."""
    return [asdict(found) for found in forest.fit_findings_]


def theta_line(theta: float, interval: list[float] | None) -> str:
    """Theta with its interval, or a remark that it was given."""
    if interval is None:
        return f"{theta:.3f} (given)"
    return f"{theta:.3f}, interval {interval[0]:.3f} to {interval[1]:.3f}"


def share_facts(forest: Any) -> dict[str, Any]:
    """Shares of the known classes that a fit found or was given; None in files of old versions."""
    shares, interval = forest.known_shares_, forest.known_shares_interval_
    return {
        "known_shares": None if shares is None else shares.tolist(),
        "known_shares_interval": None if interval is None else interval.tolist(),
        "share_shift": forest.share_shift_,
    }


def share_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The line of a summary about shares; none where there are no shares."""
    shares, shift = facts["known_shares"], facts["share_shift"]
    if shares is None:
        return []
    named = _listed(facts["classes"], shares, facts["known_shares_interval"])
    if facts["known_shares_interval"] is not None:
        return [("shares", f"not as labelled (shift {shift:.1f}): {named}")]
    if shift is not None:
        return [("shares", f"as labelled, as far as can be seen (shift {shift:.1f})")]
    return [("shares", named)]


def _listed(
    classes: Sequence[Any], shares: Sequence[float], intervals: Sequence[Any] | None
) -> str:
    """Shares of classes in percent, the largest first, with their intervals."""
    order = sorted(range(len(shares)), key=lambda k: -shares[k])
    told = []
    for k in order[:_LISTED]:
        ends = "" if intervals is None else f" ({intervals[k][0]:.0%} to {intervals[k][1]:.0%})"
        told.append(f"{classes[k]} {shares[k]:.0%}{ends}")
    return ", ".join(told) + (", ..." if len(order) > _LISTED else "")
