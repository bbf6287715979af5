"""The command line of the experiments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from lacforest.experiments import _summary, _theta
from lacforest.experiments._runner import ResultsFile, ResultsFileError, StoppedError
from lacforest.experiments._tables import FORMATS, render


class _MistakeError(Exception):
    """What the user asked for cannot be run; the message says why."""


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError("name at least one; commas stand between names")
    return list(dict.fromkeys(names))


def _percents(text: str) -> list[int]:
    percents = []
    for entry in _names(text):
        try:
            value = 100 * float(entry)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{entry!r} is not a number") from None
        if not 0.5 < value < 99.5 or abs(value - round(value)) > 1e-9:
            raise argparse.ArgumentTypeError(
                f"{entry} is not one of 0.01, 0.02, ..., 0.99: theta goes by whole percents"
            )
        percents.append(round(value))
    return list(dict.fromkeys(percents))


def _at_least(low: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None
        if value < low:
            raise argparse.ArgumentTypeError(f"{value} is below {low}")
        return value

    return parse


def _n_jobs(text: str) -> int:
    value = _at_least(-1)(text)
    if value == 0:
        raise argparse.ArgumentTypeError("0 threads: give a positive number, or -1 for all cores")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lacforest.experiments",
        description="Measure the library. Results are kept as they come: a run that was stopped "
        "goes on when the same command is given again.",
    )
    experiments = parser.add_subparsers(dest="experiment", required=True)
    theta = experiments.add_parser(
        "theta",
        help="error, coverage and time of the estimators of theta",
        description="Estimate theta on random splits of the paper's datasets, 500 labelled and "
        "1,000 unlabelled rows each; every method sees the same splits.",
        epilog="example: python -m lacforest.experiments theta --datasets segment,letter "
        "--splits 3 --dense-qp 1",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = theta.add_argument
    add("--datasets", type=_names, default=",".join(_theta.DATASETS), help="names, with commas")
    add("--methods", type=_names, default=",".join(_theta.METHODS), help="names, with commas")
    thetas = ",".join(f"{percent / 100:g}" for percent in _theta.PERCENTS)
    add("--thetas", type=_percents, default=thetas, help="shares of new rows, with commas")
    add("--splits", type=_at_least(1), default=10, help="splits for each dataset and theta")
    add(
        "--dense-qp",
        type=_at_least(0),
        default=0,
        metavar="N",
        help="time the paper's route with a dense QP on N splits of each dataset (slow)",
    )
    add("--jobs", type=_n_jobs, default=1, help="threads of an estimator, -1 for all cores")
    add("--seed", type=_at_least(0), default=0, help="chooses the splits")
    add("--data", metavar="FOLDER", help="folder with datasets as npz files of X and y")
    add(
        "--results",
        type=Path,
        default=Path("lacforest-experiments", "theta.jsonl"),
        metavar="FILE",
        help="file that keeps the results",
    )
    add("--fresh", action="store_true", help="throw away what the results file holds")
    add("--format", choices=FORMATS, default="text", help="of the table; csv has no checks")
    return parser


def _run_theta(given: argparse.Namespace) -> str:
    options = _theta.ThetaOptions(
        datasets=given.datasets,
        methods=given.methods,
        percents=given.thetas,
        n_splits=given.splits,
        n_dense=given.dense_qp,
        n_jobs=given.jobs,
        seed=given.seed,
        folder=given.data,
    )
    try:
        experiment = _theta.ThetaExperiment(options)
    except (OSError, ValueError) as error:
        raise _MistakeError(str(error)) from error
    with ResultsFile(given.results, options.configuration, fresh=given.fresh) as file:
        results = experiment.run(file)
    columns, rows = _summary.make_table(results)
    sections = {
        "notes": _summary.make_notes(results),
        "checks": _summary.make_checks(rows, results),
    }
    return render(columns, rows, sections, given.format)


def _complain(message: str, code: int) -> int:
    print(message, file=sys.stderr)
    return code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an experiment and print its table.

    Parameters
    ----------
    arguments : list of str or None, default=None
        Words of the command line; None means those of this process.

    Returns
    -------
    int
        0 if all went well, 2 for a mistake of the user, 130 for a run that was stopped.
    """
    given = _parser().parse_args(arguments)
    try:
        print(_run_theta(given))
    except (_MistakeError, ResultsFileError) as error:
        return _complain(str(error), 2)
    except StoppedError as error:
        return _complain(str(error), 130)
    return 0


if __name__ == "__main__":
    sys.exit(main())
