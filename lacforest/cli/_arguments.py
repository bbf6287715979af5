"""Words of the command line: what they may be, and those that commands share."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from lacforest.experiments._arguments import at_least as at_least
from lacforest.experiments._arguments import n_jobs


class OneLineParser(argparse.ArgumentParser):
    """Keeps the line breaks of examples, and complains in one line."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**options)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is, and exit with 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def names(text: str) -> list[str]:
    """Names of columns with commas between them."""
    found = [name for name in (part.strip() for part in text.split(",")) if name]
    if not found:
        raise argparse.ArgumentTypeError("name at least one column; commas stand between names")
    return found


def add_common(parser: argparse.ArgumentParser) -> None:
    """What every command understands."""
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print the result as JSON")
    group.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    group.add_argument("--debug", action="store_true", help="show where an error comes from")


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Threads."""
    parser.add_argument(
        "--jobs", type=n_jobs, default=-1, metavar="N", help="threads (default: -1, all cores)"
    )


def add_encoding(parser: Any) -> None:
    """Encoding of text files."""
    parser.add_argument("--encoding", default="utf-8", help="of CSV files (default: utf-8)")


def add_tables(parser: argparse.ArgumentParser) -> None:
    """How to read and code labelled and unlabelled rows."""
    parser.add_argument("--target", required=True, metavar="COL", help="the column of labels")
    group = parser.add_argument_group(
        "columns", "COLS are names with commas between them; an option may be given more than once"
    )
    add = group.add_argument
    add(
        "--categories",
        choices=("ordinal", "onehot"),
        default="ordinal",
        help="how text becomes numbers (default: ordinal)",
    )
    add("--drop", type=names, action="extend", default=[], metavar="COLS", help="leave out")
    add(
        "--text",
        type=names,
        action="extend",
        default=[],
        metavar="COLS",
        help="take as text what looks like numbers or dates",
    )
    add(
        "--missing",
        action="append",
        default=[],
        metavar="TEXT",
        help="a text that stands for a missing value, like '?' (NA and its like do anyway)",
    )
    add_encoding(group)


def add_seed(parser: argparse.ArgumentParser) -> None:
    """The seed of everything random."""
    parser.add_argument(
        "--seed", type=at_least(0), default=0, metavar="N", help="of random draws (default: 0)"
    )
