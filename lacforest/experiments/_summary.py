"""Summary of the theta experiment: a table, and which targets are met."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

from lacforest.experiments._tables import PrintedColumn
from lacforest.experiments._theta import DENSE, LARGE, N_LABELED, N_UNLABELED, ThetaJob

Results = Sequence[tuple[ThetaJob, dict[str, Any]]]

DEFAULT = "auto"
PEERS = ("km1", "km2")
ALL = "all"
_MOST_WORSE = 0.02
_LEAST_COVERAGE = 0.8
_MOST_TIME = 1 / 50
_MOST_SOLVER_TIME = 1 / 100
_MOST_SOLVER_ERROR = 0.005


def _error(result: dict[str, Any]) -> float:
    return float(abs(result["estimate"] - result["theta"]))


def _describe(results: Results, percents: Sequence[int]) -> dict[str, Any]:
    """Statistics of one method on some splits."""
    found = [result for _, result in results]
    intervals = [(*result["interval"], result["theta"]) for result in found if result["interval"]]
    return {
        "error": fmean(map(_error, found)),
        **{
            f"error_{percent}": fmean(_error(r) for job, r in results if job.percent == percent)
            for percent in percents
        },
        "seconds": fmean(result["seconds"] for result in found),
        "coverage": fmean(low <= truth <= high for low, high, truth in intervals)
        if intervals
        else None,
        "width": median(high - low for low, high, _ in intervals) if intervals else None,
    }


def make_table(results: Results) -> tuple[list[PrintedColumn], list[dict[str, Any]]]:
    """One row per dataset and method, then one per method over all datasets."""
    results = [(job, result) for job, result in results if job.method not in (DENSE, LARGE)]
    names = list(dict.fromkeys(job.dataset for job, _ in results))
    methods = list(dict.fromkeys(job.method for job, _ in results))
    percents = list(dict.fromkeys(job.percent for job, _ in results))
    columns = [
        PrintedColumn("dataset", "dataset"),
        PrintedColumn("method", "method"),
        PrintedColumn("error", "error", ".4f"),
        *(PrintedColumn(f"at {p / 100:.2f}", f"error_{p}", ".4f") for p in percents),
        PrintedColumn("seconds", "seconds", ".3f"),
        PrintedColumn("coverage", "coverage", ".0%"),
        PrintedColumn("width", "width", ".3f"),
    ]
    rows = []
    for name in [*names, ALL]:
        for method in methods:
            own = [
                (job, result)
                for job, result in results
                if job.method == method and name in (job.dataset, ALL)
            ]
            rows.append({"dataset": name, "method": method, **_describe(own, percents)})
    return columns, rows


def make_notes(results: Results) -> list[str]:
    """Notes for readers of the table."""
    notes = [
        "error: mean absolute error of theta, over all thetas and at each. coverage: share of "
        "splits whose interval contains the true theta. width: median width of the interval. "
        "seconds include the interval if there is one."
    ]
    shrunk = {
        (job.dataset, job.percent): (result["n_labeled"], result["n_unlabeled"])
        for job, result in results
        if (result["n_labeled"], result["n_unlabeled"]) != (N_LABELED, N_UNLABELED)
        and job.method != LARGE
    }
    for (name, percent), (n_labeled, n_unlabeled) in shrunk.items():
        notes.append(
            f"{name} at theta {percent / 100:.2f}: about {n_labeled} + {n_unlabeled} rows instead "
            f"of {N_LABELED} + {N_UNLABELED}, because the dataset has no more."
        )
    return notes


def _verdict(holds: bool) -> str:
    return "holds:" if holds else "FAILS:"


def make_checks(rows: Sequence[dict[str, Any]], results: Results) -> list[str]:
    """Sentences on which targets are met."""
    table = {(row["dataset"], row["method"]): row for row in rows}
    if (ALL, DEFAULT) not in table:
        return [f"not checked: {DEFAULT} was not run."]
    checks = []
    for peer in PEERS:
        if (ALL, peer) in table:
            checks += _compare(table, peer)
        else:
            checks.append(f"not checked: errors of {peer}, which was not run.")
    coverage = table[ALL, DEFAULT]["coverage"]
    if coverage is None:
        checks.append(f"not checked: coverage, because {DEFAULT} gave no intervals.")
    else:
        checks.append(
            f"{_verdict(coverage >= _LEAST_COVERAGE)} the interval of {DEFAULT} contains the true "
            f"theta in {coverage:.1%} of splits (target: at least {_LEAST_COVERAGE:.0%})."
        )
    return [*checks, *_compare_time(results), *_compare_with_forest(results)]


def _compare(table: dict[tuple[str, str], dict[str, Any]], peer: str) -> list[str]:
    own, other = table[ALL, DEFAULT]["error"], table[ALL, peer]["error"]
    excess = {
        name: row["error"] - table[name, peer]["error"]
        for (name, method), row in table.items()
        if method == DEFAULT and name != ALL
    }
    worst = max(excess, key=lambda name: excess[name])
    return [
        f"{_verdict(own <= other)} the mean error of {DEFAULT} is {own:.4f}, that of {peer} "
        f"{other:.4f} (target: at most that).",
        f"{_verdict(excess[worst] <= _MOST_WORSE)} the error of {DEFAULT} minus that of {peer} is "
        f"at most {excess[worst]:+.4f}, on {worst} (target: at most +{_MOST_WORSE}).",
    ]


def _compare_time(results: Results) -> list[str]:
    seconds = {job.key: result["seconds"] for job, result in results}
    dense = [(job, result) for job, result in results if job.method == DENSE]
    if not dense:
        return ["not checked: time compared with the dense QP. Pass --dense-qp 1 to measure it."]
    theirs = fmean(result["seconds"] for _, result in dense)
    ours = fmean(
        seconds[ThetaJob(job.dataset, job.percent, job.split, DEFAULT).key] for job, _ in dense
    )
    return [
        f"{_verdict(ours <= _MOST_TIME * theirs)} {DEFAULT} takes {ours:.3f} s and the estimate "
        f"with a dense QP {theirs:.1f} s, a ratio of 1/{theirs / ours:.0f}, on {len(dense)} splits "
        f"(target: at most 1/{1 / _MOST_TIME:.0f}).",
        *_compare_solvers([result for _, result in dense if "solver" in result]),
    ]


def _compare_solvers(dense: Sequence[dict[str, Any]]) -> list[str]:
    """Our solver compared with the dense one, if the results file has both."""
    if not dense:
        return []
    slow = fmean(result["solver"]["dense_seconds"] for result in dense)
    fast = fmean(result["solver"]["seconds"] for result in dense)
    error = max(abs(result["estimate"] - result["solver"]["estimate"]) for result in dense)
    agrees = fast <= _MOST_SOLVER_TIME * slow and error <= _MOST_SOLVER_ERROR
    return [
        f"{_verdict(agrees)} km2 solves its QPs in {fast:.3f} s and a dense solver in {slow:.1f} s "
        f"on the same scores, a ratio of 1/{slow / fast:.0f} (target: at most "
        f"1/{1 / _MOST_SOLVER_TIME:.0f}), and theta differs by at most {error:.4f} (target: at "
        f"most {_MOST_SOLVER_ERROR})."
    ]


def _compare_with_forest(results: Results) -> list[str]:
    return [
        f"{_verdict(result['seconds'] < result['forest_seconds'])} on {result['n_labeled']:,} + "
        f"{result['n_unlabeled']:,} rows {DEFAULT} takes {result['seconds']:.1f} s and the fit of "
        f"the forest {result['forest_seconds']:.1f} s (target: less)."
        for job, result in results
        if job.method == LARGE
    ]
