"""The command line of the experiments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lacforest.experiments import _ablation, _deep, _learning, _paper_tables, _summary, _theta
from lacforest.experiments._arguments import add_common, at_least, names, percents, positive
from lacforest.experiments._comparison import compare
from lacforest.experiments._methods import METHODS, compared_methods
from lacforest.experiments._runner import ResultsFile, ResultsFileError, StoppedError
from lacforest.experiments._sweeps import (
    THETA,
    UNLABELED,
    Sweep,
    check_figure,
    draw_sweep,
    sweep_rows,
)
from lacforest.experiments._tables import FORMATS, render

_SWEEPS = {sweep.name: sweep for sweep in (THETA, UNLABELED)}
_DEEP_SWEEPS = {sweep.name: sweep for sweep in (_deep.LAMBDA, _deep.DEPTH)}


class _MistakeError(Exception):
    """What the user asked for cannot be run; the message says why."""


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Give a parser one sub-command for each experiment.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    """
    experiments = parser.add_subparsers(dest="experiment", required=True)
    _add_theta(experiments)
    _add_learning(
        experiments,
        "table1",
        "accuracy, macro-F1 and AUC beside the figures of the paper",
    )
    _add_learning(
        experiments,
        "ablation",
        "the way from the paper's forest to LACExtraTreesClassifier, a change at a time",
        methods=",".join(_ablation.METHODS),
    )
    for sweep in _SWEEPS.values():
        help_text = f"accuracy as a function of {sweep.title.split(',')[0]}"
        command = _add_learning(experiments, sweep.name, help_text)
        command.add_argument(
            "--figure", type=Path, metavar="FILE", help="draw the sweep into a png, svg or pdf"
        )
    _add_deep(experiments, "deep", "the neural forest on images beside the figures of the paper")
    for name, deep_sweep in _DEEP_SWEEPS.items():
        command = _add_deep(experiments, name, f"the neural forest by {deep_sweep.title}")
        command.add_argument(
            "--figure", type=Path, metavar="FILE", help="draw the sweep into a png, svg or pdf"
        )


def _add_theta(experiments: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
    add("--datasets", type=names, default=",".join(_theta.DATASETS), help="names, with commas")
    add("--methods", type=names, default=",".join(_theta.METHODS), help="names, with commas")
    thetas = ",".join(f"{percent / 100:g}" for percent in _theta.PERCENTS)
    add("--thetas", type=percents, default=thetas, help="shares of new rows, with commas")
    add(
        "--splits",
        "--trials",
        type=at_least(1),
        default=10,
        metavar="N",
        help="splits for each dataset and theta",
    )
    add(
        "--intervals",
        type=names,
        default=",".join(_theta.INTERVALS),
        help="methods whose intervals are computed, with commas",
    )
    add(
        "--dense-qp",
        type=at_least(0),
        default=0,
        metavar="N",
        help="time the paper's route with a dense QP on N splits of each dataset (slow)",
    )
    add(
        "--large",
        type=at_least(2),
        metavar="N",
        help="also time the default and a fit of the forest on N + N made-up rows",
    )
    # One job at a time: others at its side would take time from it.
    add_common(theta, "theta", FORMATS, "threads of an estimator")


def _add_learning(
    experiments: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    help_text: str,
    methods: str = "lacforest",
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = experiments.add_parser(
        name,
        help=help_text,
        description=f"{help_text[0].upper()}{help_text[1:]}. Half of the classes are hidden; 500 "
        "labelled, 1,000 unlabelled and 100 test rows, theta = 0.5 unless it is varied; every "
        f"method sees the same splits. Methods: {', '.join(METHODS)}.",
        epilog=f"example: python -m lacforest.experiments {name} --datasets segment,letter "
        "--choices 3 --samples 2",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = command.add_argument
    add("--datasets", type=names, default=",".join(_theta.DATASETS), help="names, with commas")
    add(
        "--methods",
        type=names,
        default=methods,
        help="names with commas, or all (those of the paper); others are compared with the first",
    )
    add("--choices", type=at_least(1), default=10, help="random choices of hidden classes")
    how_many = command.add_mutually_exclusive_group().add_argument
    how_many("--samples", type=at_least(1), default=10, help="samples of rows under each choice")
    how_many(
        "--trials",
        type=at_least(1),
        default=argparse.SUPPRESS,
        metavar="N",
        help="splits of a dataset in all; the choices take turns (default: choices x samples)",
    )
    add_common(command, name, FORMATS, "splits and methods that run at once, in processes")
    return command


def _add_deep(
    experiments: argparse._SubParsersAction[argparse.ArgumentParser], name: str, help_text: str
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = experiments.add_parser(
        name,
        help=help_text,
        description=f"{help_text[0].upper()}{help_text[1:]}. Six of ten classes are known. "
        "Training keeps a checkpoint beside the results file after each epoch; it needs the extra "
        "[deep].",
        epilog=f"example: python -m lacforest.experiments {name} --epochs 10 --choices 3 "
        "--learning-rate 0.1 --theta true --jobs 2",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = command.add_argument
    add("--datasets", type=names, default="fmnist", help="names, with commas")
    add("--choices", type=at_least(1), default=5, help="random choices of known classes")
    add("--labeled", type=at_least(1), default=4000, help="labelled images of a known class")
    add("--unlabeled", type=at_least(1), default=1000, help="unlabelled images of a class")
    add("--test", type=at_least(1), default=100, help="test images of a class")
    add("--epochs", type=at_least(1), default=500, help="passes through the labelled images")
    add("--learning-rate", type=positive, default=0.01, help="the first one")
    add("--theta", choices=("estimated", "true"), default="estimated", help="what the forest uses")
    add("--device", default="auto", help="cpu, cuda, mps; auto is a GPU if there is one")
    add_common(command, name, FORMATS, "threads of torch")
    return command


def _run_theta(given: argparse.Namespace) -> str:
    options = _theta.ThetaOptions(
        datasets=given.datasets,
        methods=given.methods,
        percents=given.thetas,
        n_splits=given.splits,
        intervals=given.intervals,
        n_dense=given.dense_qp,
        n_large=given.large,
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


def _run_learning(given: argparse.Namespace) -> str:
    sweep: Sweep | None = _SWEEPS.get(given.experiment)
    options = _learning.LearningOptions(
        name=given.experiment,
        datasets=given.datasets,
        methods=compared_methods() if given.methods == ["all"] else given.methods,
        settings=(_learning.Setting(),) if sweep is None else sweep.points,
        n_choices=given.choices,
        n_samples=given.samples,
        n_trials=getattr(given, "trials", None),
        n_jobs=given.jobs,
        seed=given.seed,
        folder=given.data,
    )
    try:
        if sweep is not None and given.figure is not None:
            check_figure(given.figure)
        experiment = _learning.LearningExperiment(options)
    except (OSError, ValueError) as error:
        raise _MistakeError(str(error)) from error
    with ResultsFile(given.results, options.configuration, fresh=given.fresh) as file:
        results = experiment.run(file)
    if given.experiment == "ablation":
        return _ablation.render_ablation(results, given.format)
    cells = compare(results)
    if sweep is None:
        return _paper_tables.render_comparison(cells, given.format)
    if given.figure is not None:
        draw_sweep(cells, sweep, given.figure)
    columns, rows = sweep_rows(cells, sweep)
    return render(columns, rows, {}, given.format)


def _run_deep(given: argparse.Namespace) -> str:
    sweep: _deep.DeepSweep | None = _DEEP_SWEEPS.get(given.experiment)
    options = _deep.DeepOptions(
        name=given.experiment,
        datasets=given.datasets,
        points=(_deep.Point(),) if sweep is None else sweep.points,
        n_choices=given.choices,
        sizes=(given.labeled, given.unlabeled, given.test),
        epochs=given.epochs,
        learning_rate=given.learning_rate,
        estimate_theta=given.theta == "estimated",
        device=given.device,
        n_jobs=given.jobs,
        seed=given.seed,
        folder=given.data,
    )
    try:
        experiment = _deep.DeepExperiment(options)
    except (ModuleNotFoundError, OSError, ValueError) as error:
        raise _MistakeError(str(error)) from error
    with ResultsFile(given.results, options.configuration, fresh=given.fresh) as file:
        results = experiment.run(file)
    if sweep is None:
        columns, rows = _deep.deep_rows(results)
    else:
        if given.figure is not None:
            _deep.draw_deep_sweep(results, sweep, given.figure)
        columns, rows = _deep.deep_sweep_rows(results, sweep)
    return render(columns, rows, {}, given.format)


def _run(given: argparse.Namespace) -> str:
    if given.experiment == "theta":
        return _run_theta(given)
    if given.experiment == "deep" or given.experiment in _DEEP_SWEEPS:
        return _run_deep(given)
    return _run_learning(given)


def run(given: argparse.Namespace) -> int:
    """Run the experiment of a parsed command line, print its table and return the exit code.

    Parameters
    ----------
    given : argparse.Namespace
        What a parser with `add_commands` made of a command line.

    Returns
    -------
    int
        0 if all went well, 2 for a mistake of the user, 130 for a run that was stopped.
    """
    try:
        print(_run(given))
    except (_MistakeError, ResultsFileError) as error:
        return _complain(str(error), 2)
    except StoppedError as error:
        return _complain(str(error), 130)
    return 0


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
    parser = argparse.ArgumentParser(
        prog="python -m lacforest.experiments",
        description="Measure the library. Results are kept as they come: a run that was stopped "
        "goes on when the same command is given again.",
    )
    add_commands(parser)
    return run(parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
