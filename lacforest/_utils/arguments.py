"""Types of command-line arguments: text to values, with a clear error for each bad text."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable

# One of several names: in quotes, or up to the next comma.
_NAME = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(?:,|$)')


def names(text: str) -> list[str]:
    """Names separated by commas, each once; one with a comma or outer spaces stands in quotes."""
    parts = (match.groups() for match in _NAME.finditer(text))
    found = [
        plain.strip() if quoted is None else quoted.replace('""', '"') for quoted, plain in parts
    ]
    found = [name for name in found if name]
    if not found:
        raise argparse.ArgumentTypeError("give at least one name; separate names by commas")
    return list(dict.fromkeys(found))


def joined(several: Iterable[str]) -> str:
    """The text from which `names` reads these names."""
    return ",".join(
        '"' + name.replace('"', '""') + '"'
        if "," in name or name != name.strip() or name.startswith('"')
        else name
        for name in several
    )


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


def numbers(text: str) -> list[float]:
    """Positive numbers separated by commas."""
    return [positive(part) for part in names(text)]


def n_jobs(text: str) -> int:
    """Number of threads or processes, as in joblib."""
    value = at_least(-1)(text)
    if value == 0:
        raise argparse.ArgumentTypeError("0 threads: give a positive number, or -1 for all cores")
    return value
