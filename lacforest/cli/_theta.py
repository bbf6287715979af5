"""lacforest theta: the share of new rows in a table, and whether the data support it."""

from __future__ import annotations

import argparse
from typing import Any

from lacforest.cli import _arguments
from lacforest.cli._console import Console, table_of
from lacforest.cli._shares import add_known_shares, share_rows, theta_line
from lacforest.cli._tables import find_tables, make_coder, read_tables
from lacforest.mixture import ThetaReport, diagnose
from lacforest.mixture.registry import DIAGNOSED, METHODS, make_estimator
from lacforest.tabular import TableError
from lacforest.tabular.places import joint_name

_EXAMPLES = f"""\
{_arguments.TABLES}
examples:
  lacforest theta labelled.csv prod.csv --target label
  lacforest theta labelled.csv prod.csv --target label --method km2 --json
"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "theta",
        description="Estimate the share of unlabelled rows that belong to no labelled class, and "
        "check the assumptions of the estimate.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("labelled", help="table of labelled rows")
    parser.add_argument("unlabelled", help="table of unlabelled rows")
    parser.add_argument(
        "--method",
        choices=tuple(METHODS),
        default="auto",
        help="method of estimation (default: auto)",
    )
    add_known_shares(parser)
    _arguments.add_seed(parser)
    _arguments.add_jobs(parser)
    _arguments.add_tables(parser)
    _arguments.add_common(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Estimate, check, and print the result."""
    console = Console(given)
    groups = find_tables(given, [given.labelled], [given.unlabelled])
    labeled, unlabeled = read_tables(console, given, groups)
    coder = make_coder(given)
    sources = (joint_name(groups[0]), joint_name(groups[1]))
    tables = coder.fit_encode(labeled, given.target, unlabeled, sources)
    X, X_unlabeled = (coder.typed(table) for table in (tables.X, tables.X_unlabeled))
    options = {"random_state": given.seed, "n_jobs": given.jobs}
    with console.counting("estimating theta"):
        try:
            report = diagnose(X, X_unlabeled, tables.y, known_shares=given.known_shares, **options)
        except ValueError as error:
            if isinstance(given.known_shares, str):
                raise
            raise TableError(str(error)) from error
        theta, interval = report.theta, report.interval
        if given.method not in DIAGNOSED:
            # Rows weighted to the shares of their classes, as in a fit.
            weight = report.row_weights(tables.y)
            estimator = make_estimator(given.method, **options)
            estimator.fit(X, X_unlabeled, weight)
            assert estimator.interval_ is not None  # all methods of the command have one
            theta, interval = estimator.theta_, estimator.interval_
    findings = [
        {"topic": found.topic, "level": found.level, "text": found.text}
        for found in report.findings
    ]
    facts = {
        "theta": theta,
        "theta_interval": list(interval),
        "method": given.method,
        **_share_facts(report),
        "labelled_rows": len(labeled),
        "unlabelled_rows": len(unlabeled),
        "sound": report.is_sound,
        "findings": findings,
        "notes": coder.notes_,
    }
    console.print_result(facts, _lines(facts))
    return 0


def _share_facts(report: ThetaReport) -> dict[str, Any]:
    """Classes and their shares in deployment; None if the labelled ones were taken untested."""
    shares = report.shares
    if shares is None:
        names = ("classes", "known_shares", "known_shares_interval", "share_shift")
        return dict.fromkeys(names)
    moved = shares.known_shares_interval_ if shares.has_shifted_ else None
    return {
        "classes": shares.classes_.tolist(),
        "known_shares": shares.known_shares_.tolist(),
        "known_shares_interval": None if moved is None else moved.tolist(),
        "share_shift": shares.share_shift_ if shares.known_shares is None else None,
    }


def _lines(facts: dict[str, Any]) -> list[str]:
    n_unlabeled, (low, high) = facts["unlabelled_rows"], facts["theta_interval"]
    rows = [
        ("theta", theta_line(facts["theta"], facts["theta_interval"])),
        *share_rows(facts),
        (
            "new",
            f"about {facts['theta'] * n_unlabeled:,.0f} of {n_unlabeled:,} unlabelled rows; "
            f"between {low * n_unlabeled:,.0f} and {high * n_unlabeled:,.0f} within the interval",
        ),
    ]
    lines = table_of(rows)
    if facts["method"] not in DIAGNOSED:
        lines.append("The checks below estimate theta by rank_mixture.")
    checks = [(found["level"], f"{found['topic']}: {found['text']}") for found in facts["findings"]]
    lines += table_of(checks)
    return lines + [f"note: {note}" for note in facts["notes"]]
