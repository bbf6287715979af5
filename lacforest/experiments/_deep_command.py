"""The experiments with the neural forest, on the command line."""

from __future__ import annotations

import argparse
from functools import partial

from lacforest._utils.arguments import at_least, names, numbers, positive
from lacforest.experiments import _deep, _deep_samples, _deep_table
from lacforest.experiments._deep_paper import USUAL_SIZES
from lacforest.experiments._deep_tables import deep_rows, deep_sweep_rows, draw_deep_sweep
from lacforest.experiments._experiment import (
    Experiment,
    MistakeError,
    add_common,
    add_figure,
    measure,
)
from lacforest.experiments._tables import render

_DESCRIPTION = (
    "Six of ten classes are known. Training keeps a checkpoint beside the results file after each "
    "epoch; it needs the extra [deep]."
)
_EXAMPLE = "--fast --choices 3 --theta true"


def _add_sizes(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--choices", type=at_least(1), default=5, help="random choices of known classes")
    add("--labeled", type=at_least(1), help="labelled images per known class")
    add("--unlabeled", type=at_least(1), help="unlabelled images per class")
    add("--test", type=at_least(1), help="test images per class")


def _add_options(name: str, has_figure: bool, parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--datasets", type=names, default="fmnist", help="names, with commas")
    _add_sizes(parser)
    add("--fast", action="store_true", help="settings for a few epochs on a CPU")
    add("--epochs", type=at_least(1), help="epochs, 500 by default or 6 with --fast")
    add("--learning-rate", type=positive, help="initial rate, 0.01 by default or 0.1 with --fast")
    add("--theta", choices=("estimated", "true"), default="estimated", help="what the forest uses")
    add("--device", default="auto", help="cpu, cuda, mps; auto is a GPU if there is one")
    add_common(parser, name, "threads of torch")
    if has_figure:
        add("--values", type=numbers, metavar="LIST", help="some of the values, with commas")
        add_figure(parser)


def _sizes(
    given: argparse.Namespace, usual: tuple[int, int, int] = USUAL_SIZES
) -> tuple[int, int, int] | None:
    """Sizes of the splits, `usual` where they are not given; None if none is given."""
    sizes = (given.labeled, given.unlabeled, given.test)
    if all(size is None for size in sizes):
        return None
    labeled, unlabeled, test = (
        default if size is None else size for size, default in zip(sizes, usual, strict=True)
    )
    return labeled, unlabeled, test


def _measure(given: argparse.Namespace, points: tuple[_deep.Point, ...]) -> _deep.Results:
    options = _deep.DeepOptions(
        datasets=given.datasets,
        points=points,
        n_choices=given.choices,
        sizes=_sizes(given),
        fast=given.fast,
        epochs=given.epochs,
        learning_rate=given.learning_rate,
        estimate_theta=given.theta == "estimated",
        device=given.device,
        n_jobs=given.jobs,
        seed=given.seed,
        folder=given.data,
    )
    results: _deep.Results = measure(_deep.DeepExperiment, options, given)
    return results


def _run_table(given: argparse.Namespace) -> str:
    columns, rows = deep_rows(_measure(given, (_deep.Point(),)))
    return render(columns, rows, {}, given.format)


def _run_sweep(sweep: _deep.DeepSweep, given: argparse.Namespace) -> str:
    if given.values is not None:
        try:
            sweep = sweep.at(given.values)
        except ValueError as error:
            raise MistakeError(str(error)) from error
    results = _measure(given, sweep.points)
    if given.figure is not None:
        draw_deep_sweep(results, sweep, given.figure)
    columns, rows = deep_sweep_rows(results, sweep)
    return render(columns, rows, {}, given.format)


def _add_table_options(
    name: str, methods: tuple[str, ...], parser: argparse.ArgumentParser
) -> None:
    add = parser.add_argument
    add("--datasets", type=names, default="mnist,fmnist", help="names, with commas")
    add("--methods", type=names, default=",".join(methods), help="with commas")
    _add_sizes(parser)
    add("--reduced", action="store_true", help="few images and epochs, for CPUs")
    add("--epochs", type=at_least(1), help="epochs, by default those of each method")
    add("--theta", choices=("estimated", "true"), default="estimated", help="what methods use")
    add("--device", default="auto", help="cpu, cuda, mps; auto is a GPU if there is one")
    add_common(parser, name, "jobs at once")


def _add_sample_options(parser: argparse.ArgumentParser) -> None:
    _add_table_options("deep-samples", _deep_samples.SAMPLED_METHODS, parser)
    add_figure(parser)


def _table_options(given: argparse.Namespace) -> _deep_table.TableOptions:
    return _deep_table.TableOptions(
        name=given.experiment,
        datasets=given.datasets,
        methods=given.methods,
        n_choices=given.choices,
        reduced=given.reduced,
        sizes=_sizes(given, _deep_table.REDUCED_SIZES if given.reduced else USUAL_SIZES),
        epochs=given.epochs,
        estimate_theta=given.theta == "estimated",
        device=given.device,
        n_jobs=given.jobs,
        seed=given.seed,
        folder=given.data,
    )


def _run_all_methods(given: argparse.Namespace) -> str:
    results = measure(_deep_table.TableExperiment, _table_options(given), given)
    columns, rows = _deep_table.table_rows(results)
    return render(columns, rows, {}, given.format)


def _run_samples(given: argparse.Namespace) -> str:
    results = measure(_deep_samples.SampleExperiment, _table_options(given), given)
    if given.figure is not None:
        _deep_samples.draw_samples(results, given.figure)
    columns, rows = _deep_samples.sample_rows(results)
    return render(columns, rows, {}, given.format)


DEEP_TABLE = Experiment(
    name="deep-table",
    help="all deep methods on images, as in the paper's Tables 2, 6 and 7",
    description=(
        "Six of ten classes are known. Mean and deviation over choices of classes; the figures of "
        "the paper are in brackets. Needs the extra [deep]."
    ),
    example="--reduced --theta true --choices 3 --jobs 2",
    add_options=partial(_add_table_options, "deep-table", _deep_table.ALL_METHODS),
    run=_run_all_methods,
)
DEEP_SAMPLES = Experiment(
    name="deep-samples",
    help="images that the generators of G-OpenMax, OSRCI and ARPL+CS make",
    description=(
        "Trains the methods and compares distances between generated images with those between "
        "real ones; --figure shows some of both. Needs the extra [deep]."
    ),
    example="--reduced --choices 1 --figure samples.png",
    add_options=_add_sample_options,
    run=_run_samples,
)
DEEP = Experiment(
    name="deep",
    help="the neural forest on images beside the figures of the paper",
    description=_DESCRIPTION,
    example=_EXAMPLE,
    add_options=partial(_add_options, "deep", False),
    run=_run_table,
)
DEEP_SWEEPS = tuple(
    Experiment(
        name=sweep.name,
        help=f"the neural forest by {sweep.title}",
        description=_DESCRIPTION,
        example=_EXAMPLE,
        add_options=partial(_add_options, sweep.name, True),
        run=partial(_run_sweep, sweep),
    )
    for sweep in (_deep.LAMBDA, _deep.DEPTH)
)
