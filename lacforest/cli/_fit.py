"""lacforest fit: from two tables to a model file."""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import lacforest.dask
from lacforest._utils.arguments import at_least
from lacforest._utils.extras import load_extra
from lacforest.cli import _arguments, _fit_dask
from lacforest.cli._batches import code_labelled
from lacforest.cli._console import Console, share, size_of, table_of
from lacforest.cli._output import OutputError, check_output, writing
from lacforest.cli._pages import write_page
from lacforest.cli._shares import (
    add_known_shares,
    finding_facts,
    share_facts,
    share_rows,
    theta_line,
)
from lacforest.cli._tables import ADVICE, find_tables, make_coder, read_tables
from lacforest.ensemble.base import BaseLACForest
from lacforest.ensemble.registry import FORESTS
from lacforest.mixture.registry import DIAGNOSED, METHODS, make_estimator
from lacforest.tabular import TableError, TabularModel
from lacforest.tabular.kinds import CONTENTS
from lacforest.tabular.places import Place, joint_name

# Share of labelled rows that --calibrate holds out.
_HELD_OUT = 0.3
# What warnings of the estimator say, and what the command calls it.
_OF_PYTHON = {
    "X and X_unlabeled": "both tables",
    " (inside a Pipeline mark rows by unlabeled_label=)": "",
    "pass it as theta": "give it by --theta",
    "drop these columns, or pass control=": "give them by --drop or, in Python, pass control=",
    "to blame: pass control=": "to blame: in Python, pass control=",
}
# Number of classes that the summary lists.
_LISTED = 8

_EXAMPLES = f"""\
{_arguments.TABLES}
examples:
  lacforest fit labelled.csv --target label --unlabeled prod.csv -o model.lac
  lacforest fit train.parquet --target kind --unlabeled june-*.parquet -o model.lac --drop day
  lacforest fit a.csv --target y --unlabeled b.csv -o model.lac --theta 0.3 --categories onehot
  lacforest fit a.csv --target y --unlabeled b.csv -o model.lac --method lacforest
  lacforest fit a.csv --target y --unlabeled b.csv -o model.lac --calibrate
  lacforest fit a.csv --target y --unlabeled b.csv -o model.lac --report report.html
  lacforest fit a.csv --target y --unlabeled b.csv -o model.lac --known-shares ham=0.9,spam=0.1
  lacforest fit labelled/ --target y --unlabeled june/ -o model.lac --dask
"""


@dataclass(frozen=True)
class _Fitted:
    """A model, and what its summary and its report need of the tables of the fit.

    Attributes
    ----------
    model : TabularModel
    n_labeled : int
    predicted : Counter
        How often each label is predicted for unlabelled rows.
    frames : tuple of two DataFrames or None
        The labelled and the unlabelled rows; None if they were read in chunks.
    places : lists of Place
        Where these were read.
    """

    model: TabularModel
    n_labeled: int
    predicted: Counter[Any]
    frames: tuple[Any, Any] | None = None
    places: tuple[list[Place], ...] = ()


def _theta(text: str) -> float | str:
    if text in METHODS:
        return text
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a number nor one of {', '.join(METHODS)}"
        ) from None
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"{text} must lie strictly between 0 and 1")
    return value


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "fit",
        description="Learn from a table of labelled rows and a table of unlabelled rows, and write "
        "a model file.",
        epilog=_EXAMPLES,
    )
    add = parser.add_argument
    add("labelled", nargs="+", help="table of labelled rows, or several to be joined")
    add(
        "--unlabeled",
        "--unlabelled",
        nargs="+",
        action="extend",
        required=True,
        metavar="TABLE",
        help="table of unlabelled rows, which may contain new classes, or several to be joined",
    )
    add("-o", "--output", type=Path, required=True, metavar="FILE", help="the model file")
    add(
        "--theta",
        type=_theta,
        default="auto",
        help="share of new rows among unlabelled ones: a number in (0, 1), or a method to estimate "
        f"it: {', '.join(METHODS)} (default: auto)",
    )
    add_known_shares(parser)
    add(
        "--method",
        choices=tuple(FORESTS),
        default="lacextratrees",
        help="extremely randomised trees, which measured more accurate, or the paper's forest, "
        "whose files are a quarter of the size (default: lacextratrees)",
    )
    add(
        "--trees",
        type=at_least(1),
        metavar="N",
        help="number of trees (default: 100 for lacforest; for lacextratrees 300, or 200 where "
        "there are more than 10,000 rows)",
    )
    add(
        "--calibrate",
        action="store_true",
        help="hold 30 %% of the labelled rows out, so that predict has --max-fpr, --fdr and "
        "--budget, and scores of rows of this fit are honest; takes three fits",
    )
    add(
        "--report",
        type=Path,
        metavar="FILE",
        help="also write an HTML report about the unlabelled rows, with groups of new rows and how "
        "their number depends on theta, which takes five more fits",
    )
    add(
        "--memory",
        type=at_least(512),
        metavar="MIB",
        help="read the tables in chunks and use at most this memory, the codes of the rows aside: "
        "these are written to the folder for temporary files, one byte per row and feature, and "
        "mapped. Categories, quantiles and theta then come from a sample of 200,000 rows, and "
        "each tree grows on as many rows as the memory allows (default: read both tables whole)",
    )
    _fit_dask.add_to(parser)
    _arguments.add_seed(parser)
    _arguments.add_jobs(parser)
    _arguments.add_tables(parser)
    _arguments.add_common(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Fit, save, and print a summary."""
    started = time.perf_counter()
    console = Console(given)
    if given.calibrate and given.memory is not None:
        raise OutputError("--calibrate holds rows of tables in memory out: leave out --memory")
    if given.report is not None:
        _check_report(given)
    forest = _make_forest(given)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if given.dask is None:
            fitted = _fit_tables(given, console, forest)
        else:
            fitted = _Fitted(*_fit_dask.fit_folders(given, console, forest))
    model = fitted.model
    with writing(given.output):
        model.save(given.output)
    if given.report is not None:
        _write_report(given, console, fitted)
    told = [_in_options(str(warning.message)) for warning in caught]
    facts = _facts(model, fitted.n_labeled, fitted.predicted, told)
    facts |= {
        "seconds": round(time.perf_counter() - started, 3),
        "output": str(given.output),
        "bytes": given.output.stat().st_size,
        "report": given.report and str(given.report),
    }
    console.print_result(facts, _lines(facts, given))
    return 0


def _check_report(given: argparse.Namespace) -> None:
    """Raise before the fit if there can be no report."""
    load_extra("matplotlib")
    for name in ("memory", "dask"):
        if getattr(given, name) is not None:
            raise OutputError(
                f"--report needs tables in memory: leave out --{name}, or run lacforest report "
                "with --labelled and --unlabeled on a sample of the rows"
            )
    if given.report.resolve() == given.output.resolve():
        raise OutputError(f"{given.report} is also the model file: write the report to another one")


def _write_report(given: argparse.Namespace, console: Console, fitted: _Fitted) -> None:
    assert fitted.frames is not None  # --report goes with tables in memory only
    model, (labeled, unlabeled) = fitted.model, fitted.frames
    sources = [joint_name(places) for places in fitted.places]
    X = model.coder.encode(unlabeled, source=sources[1])
    training = (*code_labelled(model, labeled, sources[0]), X)
    write_page(console, given.report, model, X, None, training, given.output.name, fitted.places[1])


def _make_forest(given: argparse.Namespace) -> BaseLACForest:
    kind = FORESTS[given.method]
    if given.dask is not None:
        for name in ("calibrate", "memory"):
            if getattr(given, name):
                raise TableError(f"--{name} does not go with --dask: fit without one of them")
        check_output(given.output, [])
        kind = getattr(lacforest.dask, f"Dask{kind.__name__}")
    forest = kind(
        theta=_theta_of(given),
        known_shares=given.known_shares,
        random_state=given.seed,
        n_jobs=given.jobs,
    )
    if given.trees is not None:
        forest.set_params(n_estimators=given.trees)
    return forest


def _fit_tables(given: argparse.Namespace, console: Console, forest: BaseLACForest) -> _Fitted:
    """Fit on frames, or on the files where these are to be read in chunks."""
    groups = find_tables(given, given.labelled, given.unlabeled)
    inputs = [place.path for places in groups for place in places]
    check_output(given.output, inputs)
    if given.report is not None:
        check_output(given.report, inputs)
    model = TabularModel(forest, make_coder(given), _HELD_OUT if given.calibrate else None)
    activity = "estimating theta and growing trees"
    if given.memory is None:
        labeled, unlabeled = read_tables(console, given, groups)
        sources = (joint_name(groups[0]), joint_name(groups[1]))
        with console.counting(activity):
            scored = model.fit_predict(labeled, given.target, unlabeled, sources)
        predicted = Counter(scored["predicted_label"].tolist())
        return _Fitted(model, len(labeled), predicted, (labeled, unlabeled), tuple(groups))
    with console.counting(activity):
        model.fit_files(
            groups[0],
            given.target,
            groups[1],
            max_memory=given.memory * 2**20,
            encoding=given.encoding,
        )
    predicted = Counter()
    for place in groups[1]:
        for piece in console.with_bar(model.iter_file(place, encoding=given.encoding)):
            predicted.update(model.predict(piece)["predicted_label"].tolist())
    return _Fitted(model, int(model.forest.n_labeled_), predicted)


def _theta_of(given: argparse.Namespace) -> Any:
    """The given share, or an estimator with the same result as `lacforest theta`."""
    if isinstance(given.theta, float):
        return given.theta
    seed = given.seed
    if given.theta in DIAGNOSED:
        # The same seed as that of the estimator in diagnose.
        seed = int(np.random.RandomState(given.seed).randint(0, 2**31))
    return make_estimator(given.theta, random_state=seed)


def _facts(
    model: TabularModel, n_labeled: int, predicted: Counter[Any], caught: list[str]
) -> dict[str, Any]:
    forest, kinds = model.forest, Counter(model.coder.kinds.values())
    return {
        "labelled_rows": n_labeled,
        "unlabelled_rows": predicted.total(),
        "columns": {kind: kinds[kind] for kind in CONTENTS if kinds[kind]},
        "features": len(model.coder.feature_names),
        "classes": forest.known_classes_.tolist(),
        "new_label": forest.classes_.tolist()[forest.new_class_index_],
        "theta": forest.theta_,
        "theta_interval": forest.theta_interval_ and list(forest.theta_interval_),
        **share_facts(forest),
        "called_new": predicted[forest.new_label_],
        "trees": len(forest.estimators_),
        "calibration_rows": model.calibrator and len(model.calibrator.calibration_scores_),
        "findings": finding_facts(forest),
        "drifted": _suspects(model),
        "notes": model.notes,
        "warnings": caught,
    }


def _lines(facts: dict[str, Any], given: argparse.Namespace) -> list[str]:
    classes = [str(label) for label in facts["classes"]]
    named = ", ".join(classes[:_LISTED]) + (", ..." if len(classes) > _LISTED else "")
    columns = ", ".join(f"{n} of {CONTENTS[kind]}" for kind, n in facts["columns"].items())
    if "text" in facts["columns"]:
        columns += f" ({given.categories})"
    rows = [
        ("labelled", f"{facts['labelled_rows']:,} rows of {len(classes)} classes: {named}"),
        ("unlabelled", f"{facts['unlabelled_rows']:,} rows"),
        ("columns", columns),
        ("theta", theta_line(facts["theta"], facts["theta_interval"])),
        *share_rows(facts),
        (
            "new",
            share(facts["called_new"], facts["unlabelled_rows"], "unlabelled row")
            + f", label {facts['new_label']!r}",
        ),
        ("forest", f"{facts['trees']} trees of {facts['features']} features"),
        *_calibration_line(facts["calibration_rows"]),
        ("time", f"{facts['seconds']:.1f} s"),
        ("saved", f"{facts['output']} ({size_of(facts['bytes'])})"),
    ]
    if facts["report"]:
        rows.append(("report", facts["report"]))
    rows += [
        ("tested", found["text"])
        for found in facts["findings"]
        if found["topic"] == "something new"
    ]
    lines = table_of(rows)
    lines += [f"note: {note}" for note in facts["notes"]]
    if facts["drifted"]:
        lines.append(
            f"drift: the tables differ in {', '.join(facts['drifted'])}, as by a time stamp, an "
            f"id, other units or another season; try {ADVICE.option('drop', *facts['drifted'])}"
        )
    return lines + [f"warning: {text}" for text in facts["warnings"]]


def _calibration_line(n_rows: int | None) -> list[tuple[str, str]]:
    if n_rows is None:
        return []
    return [
        (
            "calibrated",
            f"on {n_rows:,} labelled rows held out: --max-fpr from {1 / (n_rows + 1):.2g}",
        )
    ]


def _in_options(text: str) -> str:
    """A warning of the estimator, in terms of the command."""
    for python, command in _OF_PYTHON.items():
        text = text.replace(python, command)
    return text


def _suspects(model: TabularModel) -> list[str]:
    """Columns of the table that have drifted, as far as the fit can tell."""
    features = {
        name
        for found in model.forest.fit_findings_
        if found.topic == "drift" and found.level != "ok"
        for name in found.columns
    }
    return [
        column.name
        for column in model.coder.columns_
        if not features.isdisjoint(column.feature_names)
    ]
