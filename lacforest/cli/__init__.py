"""The ``lacforest`` command."""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from lacforest._utils.extras import MissingExtraError
from lacforest._utils.printable import printable
from lacforest._utils.version import __version__
from lacforest.cli._arguments import OneLineParser

# Commands with their line in --help, in that order. The command `fit` is the module `_fit` with a
# function add_to(commands), which adds a parser with the default `run`: a function that takes the
# parsed arguments and returns the exit code. Only the module of the given command is imported,
# because most of them need scikit-learn, which takes longer to import than --help may take.
COMMANDS = {
    "fit": "learn from labelled and unlabelled rows",
    "predict": "score the rows of a table by a model",
    "theta": "estimate the share of new rows in a table",
    "report": "write an HTML report about a model and a table",
    "inspect": "show the content of a model file",
    "adapt": "adapt a model to the shares of classes in another table",
    "watch": "follow the share of new rows over many tables",
    "groups": "group the rows of a table that look new",
    "promote": "add rows that a person labelled to the labelled table",
    "demo": "see it work on digits with half of the classes hidden",
    "experiments": "run the paper's experiments",
}

_FAILED, _MISTAKE, _STOPPED = 1, 2, 130
# Only writing raises these, and without a file name only to standard output.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

# A line feed in a message, with the spaces around it.
_LINE_END = re.compile(r"\s*\n\s*")
_EXAMPLES = """\
examples:
  lacforest fit labelled.csv --target label --unlabeled prod.csv -o model.lac
  lacforest predict model.lac new.csv -o scored.csv
  lacforest theta labelled.csv prod.csv --target label
  lacforest report model.lac new.csv -o report.html
  lacforest inspect model.lac
  lacforest watch model.lac may.csv june.csv --figure history.png
  lacforest groups model.lac june.csv --labelled labelled.csv -o groups.csv

exit codes: 0 success, 1 failure, 2 error in the command or its files, 3 alarm of lacforest watch,
130 interrupted
"""


class _Commands:
    """Subparsers whose line in the help of `lacforest` is that of COMMANDS."""

    def __init__(self, parsers: Any) -> None:
        self._parsers = parsers

    def add_parser(self, name: str, **options: Any) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = self._parsers.add_parser(
            name, help=COMMANDS[name], **options
        )
        return parser


def _parser(words: Sequence[str]) -> OneLineParser:
    parser = OneLineParser(
        prog="lacforest",
        description="Learn known classes from labelled rows, and a new class from unlabelled rows.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("--version", action="version", version=f"lacforest {__version__}")
    commands = _Commands(parser.add_subparsers(title="commands", metavar="COMMAND", required=True))
    for name in COMMANDS:
        if [name] == list(words[:1]):
            importlib.import_module(f"lacforest.cli._{name}").add_to(commands)
        else:
            commands.add_parser(name)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : list of str or None, default=None
        Arguments of the command; None means those of this process.

    Returns
    -------
    int
        0 for success, 1 for a failure, 2 for an error of the user, 130 if interrupted.
    """
    debug = False
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        given = _parser(words).parse_args(words)
        debug = getattr(given, "debug", False)
        code: int = given.run(given)
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # argparse has printed the reason
        return stop.code if isinstance(stop.code, int) else _FAILED
    except BrokenPipeError:
        # The reader has gone, as in `lacforest ... | head`: stay silent, also at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED
    except BaseException as error:
        if debug:
            traceback.print_exc()
        lines, code = _explained(error)
        text = "\n".join(printable(_LINE_END.sub(" ", line).strip()) for line in lines)
        print(f"lacforest: {text}", file=sys.stderr)
        return code


def _explained(error: BaseException) -> tuple[list[str], int]:
    """The lines of an error message, and the exit code."""
    if isinstance(error, KeyboardInterrupt):
        # Before any import: one that was interrupted may fail when it is tried again.
        return ["interrupted"], _STOPPED
    from lacforest._model.container import ModelFileError
    from lacforest.cli._output import OutputError
    from lacforest.tabular import TableError

    # Errors that the user can correct; all others are defects of lacforest.
    mistakes = (MissingExtraError, ModelFileError, OSError, OutputError, TableError)
    if isinstance(error, OSError) and error.filename is not None and error.strerror is not None:
        return [f"{error.filename}: {error.strerror}"], _MISTAKE
    if isinstance(error, OSError) and error.errno in _FULL:
        return [f"standard output cannot be written: {error.strerror}"], _MISTAKE
    if isinstance(error, TableError) and len(error.problems) > 1:
        return [error.heading, *(f"- {problem}" for problem in error.problems)], _MISTAKE
    if isinstance(error, mistakes):
        return [str(error)], _MISTAKE
    if isinstance(error, MemoryError):
        return [f"not enough memory ({error})"], _FAILED
    return [f"{type(error).__name__}: {error} (--debug shows the traceback)"], _FAILED
