"""Count the instructions that checks at the boundary of the compiled core take in a fit.

The fit runs under callgrind, at the size of the paper's experiments: 500 labelled and 1,000
unlabelled rows with 64 columns, theta told, one thread. Counting starts right before the fit,
after another one that has imported all that a fit imports. Whole constructors are counted as
checks, so that the share printed is too high. Three checks are inlined into functions that do
more, and missing: those of `nodes_by_feature`, `assign_thresholds` and `add_coded_values`, a few
instructions per node. Needs valgrind.

    python asv_benchmarks/boundary_cost.py               # about 40 CPU seconds
    python asv_benchmarks/boundary_cost.py --trees 10
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# Constructors that check, and checks that the compiler left functions of their own. None of these
# calls another one.
CHECKS = (
    *("tp_new_.*_(?:CodedColumns|ColumnValues|TreeLimits|GrowthRules)$", "GrowthTable_1__cinit__$"),
    *("check_columns", "check_whole", "_explored_nodes", "writable_nodes", "_check_members"),
)


def fit(n_trees: int) -> None:
    """Fit twice in this process; callgrind counts the second time."""
    from benchmarks.growth_problem import Problem
    from lacforest import LACForestClassifier

    problem = Problem(n_rows=2_000, n_columns=64, n_classes=7)
    labeled = {"X": problem.X[:500], "y": problem.y[:500]}
    forest = LACForestClassifier(
        n_trees, theta=0.25, known_shares="labeled", n_jobs=1, random_state=0
    )
    forest.fit(**labeled, X_unlabeled=problem.U)
    _count_instructions("on")
    forest.fit(**labeled, X_unlabeled=problem.U)
    _count_instructions("off")


def _count_instructions(state: str) -> None:
    command = ["callgrind_control", f"--instr={state}", str(os.getpid())]
    subprocess.run(command, check=True, capture_output=True)


def count(n_trees: int, folder: Path) -> str:
    """What callgrind_annotate says of a fit: inclusive instructions by function."""
    profile = folder / "callgrind.out"
    callgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    program = [sys.executable, __file__, "--fit", "--trees", str(n_trees)]
    subprocess.run(
        [*callgrind, "--instr-atstart=no", *program],
        check=True,
        capture_output=True,
        env=os.environ | one_thread,
    )
    command = ["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(profile)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout


def main() -> None:
    """Print the instructions of all checks and their share."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--fit", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fit:
        fit(arguments.trees)
        return
    with tempfile.TemporaryDirectory() as folder:
        report(count(arguments.trees, Path(folder)), arguments.trees)


def report(listed: str, n_trees: int) -> None:
    """Print the checks among the functions that callgrind_annotate lists, and their share."""
    total, in_checks = 0, 0
    for line in listed.splitlines():
        found = re.match(r"\s*([\d,]+)\s+\(.*?\)\s+(.*)", line)
        if found is None:
            continue
        instructions, name = int(found[1].replace(",", "")), found[2]
        if name == "PROGRAM TOTALS":
            total = instructions
            continue
        symbol = name.split(":", 1)[-1].split(" [")[0]
        if any(re.search(pattern, symbol) for pattern in CHECKS) and "lacforest" in name:
            in_checks += instructions
            print(f"{instructions:14,d}  {symbol}")
    print(f"{total:14,d}  a fit of {n_trees} trees")
    print(f"{in_checks / total:14.2%}  of it in checks")


if __name__ == "__main__":
    main()
