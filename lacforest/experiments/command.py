"""The command line of the experiments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from lacforest.experiments._experiment import MistakeError
from lacforest.experiments._runner import ResultsFileError, StoppedError
from lacforest.experiments.registry import EXPERIMENTS

_PROGRAM = "python -m lacforest.experiments"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_PROGRAM,
        description="Measure the library. Results are saved as they arrive: repeat the command to "
        "continue a run that was stopped.",
    )
    commands = parser.add_subparsers(dest="experiment", required=True)
    for experiment in EXPERIMENTS.values():
        title = f"{experiment.help[0].upper()}{experiment.help[1:]}"
        command = commands.add_parser(
            experiment.name,
            help=experiment.help,
            description=f"{title}. {experiment.description}",
            epilog=f"example: {_PROGRAM} {experiment.name} {experiment.example}",
            formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        )
        experiment.add_options(command)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an experiment and print its table.

    Parameters
    ----------
    arguments : list of str or None, default=None
        Arguments of the command line; None means those of this process.

    Returns
    -------
    int
        0 if all went well, 2 for a mistake of the user, 130 for a run that was stopped.
    """
    given = _parser().parse_args(arguments)
    try:
        print(EXPERIMENTS[given.experiment].run(given))
    except (MistakeError, ResultsFileError) as error:
        return _complain(str(error), 2)
    except StoppedError as error:
        return _complain(str(error), 130)
    return 0


def _complain(message: str, code: int) -> int:
    print(message, file=sys.stderr)
    return code
