"""Summary of the theta experiment: a table, and which targets are met."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, median
from typing import Any

from lacforest._utils.findings import FALSE_ALARMS
from lacforest.experiments._tables import PrintedColumn
from lacforest.experiments._theta import DENSE, LARGE, N_LABELED, N_UNLABELED, ThetaJob

Results = Sequence[tuple[ThetaJob, dict[str, Any]]]

DEFAULT = "auto"
PEERS = ("km1", "km2")
ALL = "all"
_MOST_WORSE = 0.02
_LEAST_COVERAGE = 0.85
_MOST_ERROR = 0.04
_MOST_ALARMS = 0.05
_MOST_TIME = 1 / 50
_MOST_SOLVER_TIME = 1 / 100
_MOST_SOLVER_ERROR = 0.005


def _error(result: dict[str, Any]) -> float:
    return float(abs(result["estimate"] - result["theta"]))


def _describe(results: Results, percents: Sequence[int]) -> dict[str, Any]:
    """Statistics of one method on some splits."""
    found = [result for _, result in results]
    intervals = [result for result in found if result["interval"]]
    return {
        "error": fmean(map(_error, found)),
        **{
            f"error_{percent}": fmean(_error(r) for job, r in results if job.percent == percent)
            for percent in percents
        },
        "bias": fmean(result["estimate"] - result["theta"] for result in found),
        "seconds": fmean(result["seconds"] for result in found),
        "coverage": _mean(_covers(result) for result in intervals),
        "identified": _mean(r["identified"] for r in intervals if "identified" in r),
        "identified_coverage": _mean(_covers(r) for r in intervals if r.get("identified")),
        "width": median(high - low for low, high in (r["interval"] for r in intervals))
        if intervals
        else None,
    }


def _covers(result: dict[str, Any]) -> bool:
    low, high = result["interval"]
    return bool(low <= result["theta"] <= high)


def _mean(values: Iterable[bool]) -> float | None:
    found = list(values)
    return fmean(found) if found else None


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
        PrintedColumn("bias", "bias", "+.3f"),
        PrintedColumn("seconds", "seconds", ".3f"),
        PrintedColumn("coverage", "coverage", ".0%"),
        PrintedColumn("identified", "identified", ".0%"),
        PrintedColumn("coverage there", "identified_coverage", ".0%"),
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
        "splits whose interval contains the true theta. identified: share of splits for which "
        "diagnose calls theta identifiable, and coverage there. width: median width of the "
        "interval. seconds include the interval if there is one."
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
    error = table[ALL, DEFAULT]["error"]
    checks.append(
        f"{_verdict(error <= _MOST_ERROR)} the mean error of {DEFAULT} is {error:.4f} (target: at "
        f"most {_MOST_ERROR})."
    )
    checks += [*_check_coverage(table), *_check_alarms(results)]
    return [*checks, *_compare_time(results), *_compare_with_forest(results)]


def _check_coverage(table: dict[tuple[str, str], dict[str, Any]]) -> list[str]:
    """Coverage on each dataset, where theta is identified."""
    own = {
        name: row["identified_coverage"] if row["identified"] is not None else row["coverage"]
        for (name, method), row in table.items()
        if method == DEFAULT and name != ALL
    }
    found = {name: coverage for name, coverage in own.items() if coverage is not None}
    if not found:
        return [f"not checked: coverage, because {DEFAULT} gave no intervals."]
    low = {name: coverage for name, coverage in found.items() if coverage < _LEAST_COVERAGE}
    named = ", ".join(f"{name} {coverage:.0%}" for name, coverage in low.items())
    return [
        f"{_verdict(not low)} where theta is identified, the interval of {DEFAULT} contains it in "
        f"at least {_LEAST_COVERAGE:.0%} of the splits on {len(found) - len(low)} of {len(found)} "
        f"datasets (target: all){'; not on ' + named if low else ''}."
    ]


def _check_alarms(results: Results) -> list[str]:
    """How often the test says "new" where nothing is new, and where something is."""
    tested: dict[int, list[bool]] = {}
    for job, result in results:
        if job.method == DEFAULT and result.get("p_value") is not None:
            tested.setdefault(job.percent, []).append(result["p_value"] <= FALSE_ALARMS)
    if 0 not in tested:
        return ["not checked: false alarms, because theta = 0 was not run."]
    alarms = fmean(tested[0])
    power = [f"{fmean(tested[p]):.0%} at {p / 100:g}" for p in sorted(tested) if p]
    found = f", and finds new rows in {', '.join(power)}" if power else ""
    return [
        f"{_verdict(alarms <= _MOST_ALARMS)} where nothing is new, the test of it gives a false "
        f"alarm in {alarms:.1%} of {len(tested[0])} splits (target: at most {_MOST_ALARMS:.0%})"
        f"{found}."
    ]


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
