"""An experiment as the command line offers it, and the options that all experiments share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacforest._utils.arguments import at_least, n_jobs
from lacforest.experiments._figures import check_figure
from lacforest.experiments._runner import ResultsFile
from lacforest.experiments._tables import FORMATS


@dataclass(frozen=True)
class Experiment:
    """An experiment as the command line offers it.

    Attributes
    ----------
    name : str
    help : str
        One line for the list of experiments.
    description : str
        Further sentences for the help of the experiment.
    example : str
        The options of an example.
    add_options : callable
        Adds the options of the experiment to its parser.
    run : callable
        Runs the experiment and returns the text to print. A problem that the user can solve is
        raised as `MistakeError`.
    """

    name: str
    help: str
    description: str
    example: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], str]


class MistakeError(Exception):
    """The experiment cannot run as asked; the message says why."""


def measure(make_experiment: Callable[[Any], Any], options: Any, given: argparse.Namespace) -> Any:
    """Run all jobs of an experiment that have no result yet, and return all results.

    Parameters
    ----------
    make_experiment : callable
        Takes `options` and returns an object with the method ``run(file)``.
    options : object
        With the attribute ``configuration``, see `ResultsFile`.
    given : Namespace
        With the options of `add_common`.
    """
    try:
        if getattr(given, "figure", None) is not None:
            check_figure(given.figure)
        experiment = make_experiment(options)
    except (ModuleNotFoundError, OSError, ValueError) as error:
        raise MistakeError(str(error)) from error
    with ResultsFile(given.results, options.configuration, fresh=given.fresh) as file:
        return experiment.run(file)


def add_common(parser: argparse.ArgumentParser, name: str, jobs: str) -> None:
    """Options that all experiments share; `jobs` says what runs in parallel."""
    add = parser.add_argument
    add("--jobs", type=n_jobs, default=1, metavar="N", help=f"{jobs}, -1 for all cores")
    add("--seed", type=at_least(0), default=0, help="seed of the splits")
    add(
        "--data",
        metavar="FOLDER",
        help="folder with datasets: npz files, or files of image datasets",
    )
    add(
        "--results",
        type=Path,
        default=Path("lacforest-experiments", f"{name}.jsonl"),
        metavar="FILE",
        help="file that keeps the results",
    )
    add("--fresh", action="store_true", help="discard the results in the file")
    add("--format", choices=FORMATS, default="text", help="format of the table")


def add_figure(parser: argparse.ArgumentParser) -> None:
    """The option of experiments that can draw their result."""
    parser.add_argument(
        "--figure", type=Path, metavar="FILE", help="draw the sweep into a png, svg or pdf"
    )
