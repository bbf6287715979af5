"""lacforest fit --dask: folders of Parquet files, read and learned from by a Dask cluster."""

from __future__ import annotations

import argparse
import logging
from collections import Counter
from contextlib import ExitStack
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from lacforest._utils.extras import load_extra
from lacforest.cli._console import Console
from lacforest.cli._tables import ADVICE
from lacforest.tabular import TableCoder, TableError, TabularModel
from lacforest.tabular.errors import Problems
from lacforest.tabular.fitted_rows import FittedRows, LabeledSketch, UnlabeledSketch
from lacforest.tabular.options import CoderOptions, check_names

# Seconds until a scheduler must have answered.
_PATIENCE = 30


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--dask",
        nargs="?",
        const="local",
        metavar="ADDRESS",
        help="fit on Dask: tables are folders of Parquet files with columns of numbers. ADDRESS is "
        "that of a scheduler (default: a cluster on this machine is started)",
    )


def fit_folders(
    given: argparse.Namespace, console: Console, forest: Any
) -> tuple[TabularModel, int, Counter[Any]]:
    """Fit on two folders; the model, its labelled rows, and how often each label is predicted."""
    distributed = load_extra("distributed", "dask")
    labeled = _read(given.labelled)
    unlabeled = _read(given.unlabeled)
    names = _feature_names(labeled, unlabeled, given)
    with ExitStack() as stack:
        if given.dask == "local":
            cluster = distributed.LocalCluster(
                n_workers=given.jobs if given.jobs > 0 else None,
                threads_per_worker=1,
                dashboard_address=":0",
                silence_logs=logging.CRITICAL,  # errors of tasks reach this process anyway
            )
            client = distributed.Client(stack.enter_context(cluster))
        else:
            client = _connect(distributed, given.dask)
        stack.enter_context(client)
        forest.set_params(client=client)
        with console.counting(f"growing {forest.n_estimators} trees on Dask", "tasks"):
            try:
                forest.fit(labeled[names], labeled[given.target], X_unlabeled=unlabeled[names])
            except (TypeError, ValueError) as error:  # they name the partition
                raise TableError(str(error)) from error
        predicted = forest.predict(unlabeled[names]).value_counts().compute()
        n_labeled = int(labeled.shape[0].compute())
        fitted_rows = _fitted_rows(labeled[names], unlabeled[names])
    local = forest.to_local()
    del local.feature_names_in_  # the coder has the names
    model = TabularModel(local, TableCoder.of_numbers(names))
    model.target, model.fitted_rows = given.target, fitted_rows
    return model, n_labeled, Counter(predicted.to_dict())


def _fitted_rows(labeled: Any, unlabeled: Any) -> FittedRows:
    """By which rows of the fit are recognised, from sketches that the workers make of partitions.

    Partitions that workers read stay there; a sketch takes at most 64 kB.
    """
    dask = load_extra("dask", "dask")
    parts = dask.compute(*map(dask.delayed(_sketch_labeled), labeled.to_delayed()))
    known = reduce(LabeledSketch.merge, parts)
    sketch, shared = dask.delayed(_sketch_unlabeled), dask.delayed(known)
    others = dask.compute(*(sketch(frame, shared) for frame in unlabeled.to_delayed()))
    return FittedRows.of_sketches(known, reduce(UnlabeledSketch.merge, others))


def _sketch_labeled(frame: Any) -> LabeledSketch:
    return LabeledSketch.of(frame.to_numpy(dtype=np.float64, na_value=np.nan))


def _sketch_unlabeled(frame: Any, known: LabeledSketch) -> UnlabeledSketch:
    return UnlabeledSketch.of(frame.to_numpy(dtype=np.float64, na_value=np.nan), known)


def _connect(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise TableError(
            f"no Dask scheduler was found at {address} ({error}): give its address, such as "
            "tcp://host:8786, or leave it out to start a cluster on this machine"
        ) from error


def _read(paths: list[str]) -> Any:
    for path in paths:
        if not Path(path).is_dir() or not any(Path(path).glob("*.parquet")):
            raise TableError(
                f"{path} is not a folder of Parquet files, which is what --dask reads: write the "
                "table as *.parquet files into a folder, or fit without --dask"
            )
    return load_extra("dask.dataframe", "dask").read_parquet(paths)


def _feature_names(labeled: Any, unlabeled: Any, given: argparse.Namespace) -> list[str]:
    """Columns of both tables except for the target and those to leave out: all numbers."""
    problems = Problems()
    columns, sources = (labeled.columns, unlabeled.columns), (given.labelled[0], given.unlabeled[0])
    options = CoderOptions(drop=tuple(given.drop), advice=ADVICE)
    check_names(columns, given.target, sources, options, problems)
    left_out = {given.target, *given.drop}
    names = [name for name in labeled.columns if name in unlabeled.columns and name not in left_out]
    text = [name for name in names if labeled.dtypes[name].kind not in "fiub"]
    with problems.collecting():
        if text:
            raise TableError(
                f"columns are not numbers: {text}. Fits on Dask take numbers only: leave these out "
                f"by {ADVICE.option('drop', *text)}, or store them as codes"
            )
    problems.raise_if_any()
    return names
