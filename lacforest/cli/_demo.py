"""lacforest demo: digits with half of the classes hidden, a table and a report.

The demonstration is part of the command, because it only prints and writes files, and nothing in
the library uses it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from sklearn.datasets import load_digits

from lacforest._utils.extras import load_extra
from lacforest.ensemble import LACForestClassifier
from lacforest.metrics import augmented_scores
from lacforest.mixture import diagnose
from lacforest.model_selection import AugmentedSplit, make_augmented_split

# Seed of the choice of digits and rows.
_SEED = 0


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "demo",
        description="Hide half of the classes of a dataset that comes with scikit-learn, fit, and "
        "show what the forest finds. Writes a report with pictures.",
        epilog="example:\n  lacforest demo\n",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("lacforest-demo"),
        metavar="FOLDER",
        help="where the report goes (default: lacforest-demo)",
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Hide five random digits from the labels, fit, print the scores and write a report."""
    load_extra("matplotlib")
    digits = load_digits()
    split = make_augmented_split(
        digits.data,
        digits.target,
        n_labeled=350,
        n_unlabeled=500,
        n_test=350,
        theta=0.4,
        random_state=_SEED,
    )
    started = time.perf_counter()
    forest = LACForestClassifier(random_state=_SEED)
    forest.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)
    seconds = time.perf_counter() - started
    scores = augmented_scores(forest, split.X_test, split.y_test)

    known = ", ".join(map(str, split.known))
    print(f"digits: {len(split.labeled)} labelled rows of {known};", end=" ")
    print(f"{len(split.unlabeled)} unlabelled rows of all ten digits; {len(split.test)} test rows")
    print(f"hidden from the labels: {', '.join(map(str, split.hidden))}\n")
    for name, value in _table(forest, scores, split.theta, seconds):
        print(f"{name:<30} {value}")
    print(f"\nreport: {_write_report(given.output, forest, split, digits.feature_names)}")
    return 0


def _table(
    forest: LACForestClassifier, scores: dict[str, float], theta: float, seconds: float
) -> list[tuple[str, str]]:
    assert forest.theta_interval_ is not None  # an estimated theta has one
    low, high = forest.theta_interval_
    return [
        ("accuracy on known digits", f"{scores['known_accuracy']:.3f}"),
        ("AUC of the new class", f"{scores['new_auc']:.3f}"),
        ("new rows that are called new", f"{scores['new_recall']:.3f}"),
        ("rows called new that are new", f"{scores['new_precision']:.3f}"),
        ("theta, the share of new rows", f"{forest.theta_:.3f} (truth {theta:.3f})"),
        ("its interval", f"{low:.3f} to {high:.3f}"),
        ("time to estimate and fit", f"{seconds:.2f} s"),
    ]


def _write_report(
    folder: Path, forest: LACForestClassifier, split: AugmentedSplit, feature_names: list[str]
) -> Path:
    from lacforest.report import write_report

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "report.html"
    write_report(
        path,
        forest,
        split.X_test,
        split.y_test,
        training=(split.X_labeled, split.y_labeled, split.X_unlabeled),
        diagnosis=diagnose(
            split.X_labeled,
            split.X_unlabeled,
            split.y_labeled,
            estimator=forest.theta_estimator_,
        ),
        feature_names=feature_names,
        title="Digits that nobody labelled",
        facts={"hidden digits": ", ".join(map(str, split.hidden))},
    )
    return path
