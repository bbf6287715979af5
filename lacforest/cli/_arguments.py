"""Arguments that several commands share."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from lacforest._utils.arguments import at_least, n_jobs, names
from lacforest._utils.printable import printable


class OneLineParser(argparse.ArgumentParser):
    """A parser that keeps the line breaks of examples, and prints errors in one line."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**options)

    def error(self, message: str) -> NoReturn:
        """Print the error and how to get help, and exit with code 2."""
        self.exit(2, f"{self.prog}: {printable(message)} (see {self.prog} --help)\n")


def add_common(parser: argparse.ArgumentParser) -> None:
    """Options of every command."""
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print the result as JSON")
    group.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    group.add_argument("--debug", action="store_true", help="show the traceback of an error")


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """The number of threads."""
    parser.add_argument(
        "--jobs", type=n_jobs, default=-1, metavar="N", help="threads (default: -1, all cores)"
    )


# Where the help of a command describes its tables.
TABLES = """\
A table is a file (.csv, .tsv, .jsonl, each also with .gz, .bz2, .xz or .zip; .parquet, .feather,
.xlsx, .npz), a quoted pattern of files ('rows-*.csv'), - for standard input, or the address of a
database and a query ('postgresql://host/shop#SELECT * FROM orders').
"""


def add_encoding(parser: Any) -> None:
    """The encoding of files."""
    parser.add_argument(
        "--encoding", default="utf-8", help="encoding of CSV files (default: utf-8)"
    )


def add_reading(parser: Any) -> None:
    """How tables are read."""
    add_encoding(parser)
    parser.add_argument(
        "--decimal",
        choices=(".", ","),
        default=".",
        help="what separates the decimals of numbers in CSV files (default: a point)",
    )
    parser.add_argument(
        "--format",
        default="csv",
        metavar="SUFFIX",
        help="format of standard input, as a file would end: csv.gz, jsonl, parquet (default: csv)",
    )


def add_keep(parser: argparse.ArgumentParser, words: str) -> None:
    """Columns of the table that go into the output; `words` say what becomes of them."""
    parser.add_argument(
        "--keep", type=names, action="extend", default=[], metavar="COLS", help=words
    )


def add_tables(parser: argparse.ArgumentParser) -> None:
    """Options for reading and coding labelled and unlabelled rows."""
    parser.add_argument("--target", required=True, metavar="COL", help="the column of labels")
    group = parser.add_argument_group(
        "columns",
        "COLS are names separated by commas, those with a comma in quotes: '\"Weight, kg\",age'; "
        "options can be repeated",
    )
    add = group.add_argument
    add(
        "--categories",
        choices=("native", "ordinal", "onehot"),
        default="native",
        help="how text is coded: as categories that trees split by sets, as numbers in the order "
        "of the alphabet, or as one feature per category (default: native)",
    )
    add(
        "--drop",
        type=names,
        action="extend",
        default=[],
        metavar="COLS",
        help="columns to leave out",
    )
    add(
        "--use",
        type=names,
        action="extend",
        default=[],
        metavar="COLS",
        help="columns to keep even if they look like ids, counters or time stamps",
    )
    add(
        "--dates",
        action="store_true",
        help="learn from the hour and weekday of dates, and from the days between two of them "
        "(without it, dates are an error)",
    )
    add(
        "--text",
        type=names,
        action="extend",
        default=[],
        metavar="COLS",
        help="columns to treat as text even if they look like numbers or dates",
    )
    add(
        "--missing",
        action="append",
        default=[],
        metavar="TEXT",
        help="a text that means a missing value, such as '?' (in addition to NA and similar ones)",
    )
    add_reading(group)


def add_seed(parser: argparse.ArgumentParser) -> None:
    """The random seed."""
    parser.add_argument(
        "--seed", type=at_least(0), default=0, metavar="N", help="random seed (default: 0)"
    )
