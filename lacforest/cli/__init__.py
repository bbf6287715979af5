"""The ``lacforest`` command."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence

from lacforest._model.container import ModelFileError
from lacforest._utils.extras import MissingExtraError
from lacforest._utils.printable import printable
from lacforest._utils.version import __version__
from lacforest.cli import (
    _adapt,
    _demo,
    _experiments,
    _fit,
    _groups,
    _inspect,
    _predict,
    _promote,
    _report,
    _theta,
    _watch,
)
from lacforest.cli._arguments import OneLineParser
from lacforest.cli._output import OutputError
from lacforest.tabular import TableError

# In the order of --help. A command is a module with a function add_to(commands), which adds a
# parser with the default `run`: a function that takes the parsed arguments and returns the exit
# code.
COMMANDS = (
    _fit,
    _predict,
    _theta,
    _report,
    _inspect,
    _adapt,
    _watch,
    _groups,
    _promote,
    _demo,
    _experiments,
)

_FAILED, _MISTAKE, _STOPPED = 1, 2, 130
# Errors that the user can correct; all others are defects of lacforest.
_MISTAKES = (MissingExtraError, ModelFileError, OSError, OutputError, TableError)

# Only writing raises these, and without a file name only to standard output.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

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


def _parser() -> OneLineParser:
    parser = OneLineParser(
        prog="lacforest",
        description="Learn known classes from labelled rows, and a new class from unlabelled rows.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("--version", action="version", version=f"lacforest {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_to(commands)
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
    try:
        given = _parser().parse_args(argv)
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
        message, code = _explained(error)
        print(f"lacforest: {printable(' '.join(message.split()))}", file=sys.stderr)
        return code


def _explained(error: BaseException) -> tuple[str, int]:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", _STOPPED
    if isinstance(error, OSError) and error.filename is not None and error.strerror is not None:
        return f"{error.filename}: {error.strerror}", _MISTAKE
    if isinstance(error, OSError) and error.errno in _FULL:
        return f"standard output cannot be written: {error.strerror}", _MISTAKE
    if isinstance(error, _MISTAKES):
        return str(error), _MISTAKE
    if isinstance(error, MemoryError):
        return f"not enough memory ({error})", _FAILED
    return f"{type(error).__name__}: {error} (--debug shows the traceback)", _FAILED
