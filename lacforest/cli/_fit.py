"""lacforest fit: two tables in, a model file out."""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest._base_forest import BaseLACForest
from lacforest.cli import _arguments
from lacforest.cli._console import Console, share, size_of, table_of
from lacforest.cli._output import check_output, writing
from lacforest.cli._tables import make_coder, read_tables
from lacforest.mixture import make_estimator
from lacforest.tabular import TabularModel
from lacforest.tabular._csv import WORDS

# Methods of estimating theta, and those that diagnose uses.
METHODS = ("auto", "rank_mixture", "best_bin", "km1", "km2")
DIAGNOSED = ("auto", "rank_mixture")
FORESTS: dict[str, type[BaseLACForest]] = {
    "lacforest": LACForestClassifier,
    "lacextratrees": LACExtraTreesClassifier,
}
# Classes whose names a summary lists.
_LISTED = 8

_EXAMPLES = """\
examples:
  lacforest fit labelled.csv --target label --unlabeled prod.csv -o model.lac
  lacforest fit train.parquet --target kind --unlabeled june.parquet -o model.lac --drop id,day
  lacforest fit a.csv --target y --unlabeled b.csv -o model.lac --theta 0.3 --categories onehot
  lacforest fit a.csv --target y --unlabeled b.csv -o model.lac --method lacextratrees
"""


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
        raise argparse.ArgumentTypeError(f"{text} does not lie strictly between 0 and 1")
    return value


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "fit",
        help="learn from labelled and unlabelled rows",
        description="Learn from a table of labelled rows and a table of unlabelled ones, and write "
        "a model file. Tables are CSV, TSV, Parquet or NPZ.",
        epilog=_EXAMPLES,
    )
    add = parser.add_argument
    add("labelled", type=Path, help="table of labelled rows")
    add(
        "--unlabeled",
        "--unlabelled",
        type=Path,
        required=True,
        metavar="FILE",
        help="table of unlabelled rows, some of them of classes that nobody labelled",
    )
    add("-o", "--output", type=Path, required=True, metavar="FILE", help="the model file")
    add(
        "--theta",
        type=_theta,
        default="auto",
        help="share of unlabelled rows that are new: a number in (0, 1), or how to estimate it: "
        f"{', '.join(METHODS)} (default: auto)",
    )
    add(
        "--method",
        choices=tuple(FORESTS),
        default="lacforest",
        help="the paper's forest, or our extremely randomised trees, more accurate as a rule "
        "(default: lacforest)",
    )
    add(
        "--trees",
        type=_arguments.at_least(1),
        metavar="N",
        help="(default: 100 of lacforest, 300 of lacextratrees)",
    )
    _arguments.add_seed(parser)
    _arguments.add_jobs(parser)
    _arguments.add_tables(parser)
    _arguments.add_common(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Fit, save, and say what was found."""
    started = time.perf_counter()
    console = Console(given)
    check_output(given.output, [given.labelled, given.unlabeled])
    labeled, unlabeled = read_tables(console, given, [given.labelled, given.unlabeled])
    forest = FORESTS[given.method](
        theta=_theta_of(given), random_state=given.seed, n_jobs=given.jobs
    )
    if given.trees is not None:
        forest.set_params(n_estimators=given.trees)
    model = TabularModel(forest, make_coder(given))
    with (
        console.counting_trees(f"estimating theta and growing {forest.n_estimators} trees"),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        sources = (str(given.labelled), str(given.unlabeled))
        model.fit(labeled, given.target, unlabeled, sources)
        predicted = Counter(model.predict(unlabeled)["predicted_label"].tolist())
    with writing(given.output):
        model.save(given.output)
    facts = _facts(model, len(labeled), predicted, [str(warning.message) for warning in caught])
    facts |= {
        "seconds": round(time.perf_counter() - started, 3),
        "output": str(given.output),
        "bytes": given.output.stat().st_size,
    }
    console.tell(facts, _lines(facts, given))
    return 0


def _theta_of(given: argparse.Namespace) -> Any:
    """The share as given, or an estimator that finds what `lacforest theta` finds."""
    if isinstance(given.theta, float):
        return given.theta
    seed = given.seed
    if given.theta in DIAGNOSED:
        # diagnose draws the seed of its estimator like this.
        seed = int(np.random.RandomState(given.seed).randint(0, 2**31))
    return make_estimator(given.theta, random_state=seed)


def _facts(
    model: TabularModel, n_labeled: int, predicted: Counter[Any], caught: list[str]
) -> dict[str, Any]:
    forest, kinds = model.forest, Counter(model.coder.kinds.values())
    return {
        "labelled_rows": n_labeled,
        "unlabelled_rows": predicted.total(),
        "columns": {kind: kinds[kind] for kind in ("number", "boolean", "text") if kinds[kind]},
        "features": len(model.coder.feature_names),
        "classes": forest.known_classes_.tolist(),
        "new_label": forest.classes_.tolist()[forest.new_class_index_],
        "theta": forest.theta_,
        "theta_interval": forest.theta_interval_ and list(forest.theta_interval_),
        "called_new": predicted[forest.new_label_],
        "trees": len(forest.estimators_),
        "notes": model.notes,
        "warnings": caught,
    }


def _lines(facts: dict[str, Any], given: argparse.Namespace) -> list[str]:
    classes = [str(label) for label in facts["classes"]]
    named = ", ".join(classes[:_LISTED]) + (", ..." if len(classes) > _LISTED else "")
    columns = ", ".join(f"{n} of {WORDS[kind]}" for kind, n in facts["columns"].items())
    if "text" in facts["columns"]:
        columns += f" ({given.categories})"
    rows = [
        ("labelled", f"{facts['labelled_rows']:,} rows of {len(classes)} classes: {named}"),
        ("unlabelled", f"{facts['unlabelled_rows']:,} rows"),
        ("columns", columns),
        ("theta", theta_line(facts["theta"], facts["theta_interval"])),
        (
            "new",
            share(facts["called_new"], facts["unlabelled_rows"], "unlabelled rows")
            + f", called {facts['new_label']!r}",
        ),
        ("forest", f"{facts['trees']} trees of {facts['features']} features"),
        ("time", f"{facts['seconds']:.1f} s"),
        ("saved", f"{facts['output']} ({size_of(facts['bytes'])})"),
    ]
    lines = table_of(rows)
    lines += [f"note: {note}" for note in facts["notes"]]
    return lines + [f"warning: {text}" for text in facts["warnings"]]


def theta_line(theta: float, interval: list[float] | None) -> str:
    """Theta with its interval, or that it was given."""
    if interval is None:
        return f"{theta:.3f}, as given"
    return f"{theta:.3f}, interval {interval[0]:.3f} to {interval[1]:.3f}"
