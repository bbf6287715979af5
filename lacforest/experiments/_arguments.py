"""Words of the command line to values, with a clear complaint about each that makes no sense."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def names(text: str) -> list[str]:
    """Names with commas between them."""
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise argparse.ArgumentTypeError("name at least one; commas stand between names")
    return list(dict.fromkeys(found))


def percents(text: str) -> list[int]:
    """Shares with commas between them, as whole percents."""
    found = []
    for entry in names(text):
        try:
            value = 100 * float(entry)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{entry!r} is not a number") from None
        if not 0.5 < value < 99.5 or abs(value - round(value)) > 1e-9:
            raise argparse.ArgumentTypeError(
                f"{entry} is not one of 0.01, 0.02, ..., 0.99: theta goes by whole percents"
            )
        found.append(round(value))
    return list(dict.fromkeys(found))


def at_least(low: int) -> Callable[[str], int]:
    """Parser of integers from `low` on."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None
        if value < low:
            raise argparse.ArgumentTypeError(f"{value} is below {low}")
        return value

    return parse


def positive(text: str) -> float:
    """A number above zero."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def n_jobs(text: str) -> int:
    """Number of threads."""
    value = at_least(-1)(text)
    if value == 0:
        raise argparse.ArgumentTypeError("0 threads: give a positive number, or -1 for all cores")
    return value


def add_common(
    parser: argparse.ArgumentParser, name: str, formats: tuple[str, ...], jobs: str
) -> None:
    """Options that all experiments share; `jobs` says what runs at once."""
    add = parser.add_argument
    add("--jobs", type=n_jobs, default=1, metavar="N", help=f"{jobs}, -1 for all cores")
    add("--seed", type=at_least(0), default=0, help="chooses the splits")
    add("--data", metavar="FOLDER", help="folder with datasets as npz files, or as idx files")
    add(
        "--results",
        type=Path,
        default=Path("lacforest-experiments", f"{name}.jsonl"),
        metavar="FILE",
        help="file that keeps the results",
    )
    add("--fresh", action="store_true", help="throw away what the results file holds")
    add("--format", choices=formats, default="text", help="of the table")
