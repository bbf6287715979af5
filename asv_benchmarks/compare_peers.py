"""Compare lacforest with scikit-learn, intelex, YDF and LightGBM on the same rows, in one run.

Each figure is the best of several alternating runs, because machines are noisy; compare ratios, not
seconds. Peers are trained on the stacked labelled and unlabelled rows, with "unlabelled" as one
more class: 100 fully grown trees, sqrt(n_features) features per node. LightGBM, in its forest mode,
draws features by node and limits a tree to 1,024 leaves. Peers that are not installed are skipped.
LACExtraTreesClassifier takes part with its defaults, 100 + 300 trees (200 beyond 10,000 rows).

On tables of a million rows all libraries grow fewer trees, see --large-trees. With --cpu, times are
CPU time of the process: where other work shares the cores they vary far less than elapsed time.

    python asv_benchmarks/compare_peers.py                       # all tables, one and two threads
    python asv_benchmarks/compare_peers.py --tables "1,500 x 64" --repeat 7

With --results, what a library took on a table is kept in a file, and a later run with the same
options measures only the libraries that are not in it: large tables can be measured in parts.

    python asv_benchmarks/compare_peers.py --peers intelex --results peers.jsonl
    python asv_benchmarks/compare_peers.py --results peers.jsonl
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import TABLES, AugmentedTable

OURS = "lacforest"
SIBLING = "lacextratrees"
PEERS = {
    SIBLING: "lacforest",
    "scikit-learn": "sklearn",
    "intelex": "sklearnex",
    "ydf": "ydf",
    "lightgbm": "lightgbm",
}
N_TREES = 100
# Tables from this many rows on get --large-trees.
LARGE = 500_000


def installed_peers(wanted: list[str]) -> list[str]:
    found = [name for name in wanted if importlib.util.find_spec(PEERS[name])]
    for name in set(wanted) - set(found):
        print(f"({name} is not installed)", file=sys.stderr)
    return [OURS, *found]


def fit(name: str, table: AugmentedTable, n_threads: int, n_trees: int = N_TREES) -> Any:
    """Return a fitted model of one library."""
    if name in (OURS, SIBLING):
        import lacforest

        options: dict[str, Any] = {"theta": table.theta, "n_jobs": n_threads, "random_state": 0}
        if name == OURS:
            forest: Any = lacforest.LACForestClassifier(n_trees, **options)
        else:
            forest = lacforest.LACExtraTreesClassifier(**options)
            if n_trees != N_TREES:
                forest.set_params(n_explorers=n_trees, n_estimators=2 * n_trees)
        return forest.fit(table.X, table.y, X_unlabeled=table.X_unlabeled)
    X, y = table.stacked
    if name == "ydf":
        import ydf

        learner = ydf.RandomForestLearner(
            label="y",
            num_trees=n_trees,
            max_depth=-1,
            min_examples=1,
            winner_take_all=False,
            compute_oob_performances=False,
            num_threads=n_threads,
        )
        return learner.train({"x": X, "y": y}, verbose=0)
    if name == "lightgbm":
        import lightgbm

        return lightgbm.LGBMClassifier(
            boosting_type="rf",
            n_estimators=n_trees,
            num_leaves=1024,
            min_child_samples=1,
            bagging_freq=1,
            bagging_fraction=0.632,
            feature_fraction_bynode=float(np.sqrt(X.shape[1])) / X.shape[1],
            n_jobs=n_threads,
            random_state=0,
            verbosity=-1,
        ).fit(X, y)
    if name == "intelex":
        from sklearnex.ensemble import RandomForestClassifier
    else:
        from sklearn.ensemble import RandomForestClassifier
    return RandomForestClassifier(n_trees, n_jobs=n_threads, random_state=0).fit(X, y)


def predict(name: str, model: Any, X: np.ndarray) -> Any:
    return model.predict({"x": X}) if name == "ydf" else model.predict_proba(X)


def file_size(name: str, model: Any) -> int:
    """Return the size in bytes of the model as its library stores it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        if name in (OURS, SIBLING):
            model.save(path)
        elif name == "ydf":
            model.save(str(path))
            return sum(part.stat().st_size for part in path.rglob("*") if part.is_file())
        else:
            path.write_bytes(pickle.dumps(model))
        return path.stat().st_size


def best_of(
    tasks: dict[str, Callable[[], Any]],
    repeat: int,
    budget: float,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Return the shortest time of each task; tasks alternate until the time budget is used up."""
    best = dict.fromkeys(tasks, float("inf"))
    started = time.perf_counter()
    for _ in range(repeat):
        for name, task in tasks.items():
            before = clock()
            task()
            best[name] = min(best[name], clock() - before)
        if time.perf_counter() - started > budget:
            break
    return best


def peak_memory(table_name: str, n_threads: int) -> tuple[float, float]:
    """Return the peak memory of a fit beyond the table, and the size of the model, in MiB."""
    code = (
        "import sys, resource\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from compare_peers import fit, OURS\n"
        "from benchmarks.tables import TABLES, gaussian_table\n"
        "fit(OURS, gaussian_table(300, 5, 2), 1)\n"  # do not count the memory of imports
        f"table = TABLES[{table_name!r}]()\n"
        "def reset(): open('/proc/self/clear_refs', 'w').write('5')\n"
        "def status(key):\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    return next(int(l.split()[1]) for l in lines if l.startswith(key)) / 1024\n"
        "import ctypes; ctypes.CDLL(None).malloc_trim(0)\n"
        "reset(); before = status('VmRSS')\n"
        f"model = fit(OURS, table, {n_threads})\n"
        "print(status('VmHWM') - before, sum(a.nbytes for a in "
        "vars(model._forest).values() if hasattr(a, 'nbytes')) / 2**20)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    above, model = map(float, run.stdout.split())
    return above, model


def print_row(label: str, values: dict[str, float], scale: float, unit: str) -> None:
    ours = values[OURS]
    cells = [f"{OURS} {ours * scale:.4g} {unit}"]
    cells += [
        f"{name} {value * scale:.4g} {unit} (x{value / ours:.1f})"
        for name, value in values.items()
        if name != OURS
    ]
    print(f"  {label:<26} " + "; ".join(cells), flush=True)


class Kept:
    """Figures of libraries on one table: quantity -> library -> value, kept in a file if wanted."""

    def __init__(self, path: Path | None, table_name: str, options: argparse.Namespace) -> None:
        self.path = path
        self.run = {
            "table": table_name,
            "threads": options.threads,
            "cpu": options.cpu,
            "large_trees": options.large_trees,
        }
        self.figures: dict[str, dict[str, float]] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                if all(row[key] == value for key, value in self.run.items()):
                    for quantity, value in row["figures"].items():
                        self.figures.setdefault(quantity, {})[row["library"]] = value

    def missing(self, names: list[str]) -> list[str]:
        """Libraries without figures."""
        known = set.intersection(*map(set, self.figures.values())) if self.figures else set()
        return [name for name in names if name not in known]

    def add(self, quantity: str, values: dict[str, float]) -> dict[str, float]:
        """Keep what was measured now; return it together with what was known."""
        self.figures.setdefault(quantity, {}).update(values)
        return self.figures[quantity]

    def write(self, names: list[str]) -> None:
        """Append one line per library that was measured now."""
        if self.path is None:
            return
        with self.path.open("a", encoding="utf-8") as file:
            for name in names:
                figures = {quantity: values[name] for quantity, values in self.figures.items()}
                file.write(json.dumps({**self.run, "library": name, "figures": figures}) + "\n")


def compare(table_name: str, options: argparse.Namespace) -> None:
    table = TABLES[table_name]()
    every_name = installed_peers(options.peers)
    kept = Kept(options.results, table_name, options)
    names = kept.missing(every_name)
    threads, repeat, budget = options.threads, options.repeat, options.budget
    clock = time.process_time if options.cpu else time.perf_counter
    n_trees = N_TREES
    if len(table.X) + len(table.X_unlabeled) >= LARGE:
        n_trees = options.large_trees
    n_labeled, n_unlabeled = len(table.X), len(table.X_unlabeled)
    print(
        f"\n{table_name}: {n_labeled} labelled + {n_unlabeled} unlabelled rows, "
        f"{len(np.unique(table.y)) + 1} targets, theta {table.theta:.3f}, {n_trees} trees",
        flush=True,
    )
    models: dict[str, Any] = {}
    times = {}
    for n_threads in threads:

        def task(name: str, n_threads: int = n_threads) -> None:
            models[name] = fit(name, table, n_threads, n_trees)

        measured = best_of(
            {name: lambda name=name: task(name) for name in names}, repeat, budget, clock
        )
        times[n_threads] = kept.add(f"fit, {n_threads} thread(s)", measured)
        print_row(f"fit, {n_threads} thread(s)", times[n_threads], 1, "s")
    if len(threads) > 1:
        gains = [
            f"{name} {times[threads[0]][name] / times[threads[-1]][name]:.2f}"
            for name in times[threads[0]]
        ]
        print(f"  {threads[0]} thread / {threads[-1]} threads: " + ", ".join(gains), flush=True)
    for name in models:
        if name != "ydf":
            models[name].set_params(n_jobs=1)
    rng = np.random.default_rng(0)
    many = table.X_unlabeled[rng.integers(n_unlabeled, size=10_000)]
    for label, X, inner in (("predict 1 row", many[:1], 20), ("predict 10,000 rows", many, 1)):
        tasks = {
            name: lambda name=name, X=X, inner=inner: [
                predict(name, models[name], X) for _ in range(inner)
            ]
            for name in names
        }
        values = best_of(tasks, 5, budget, clock)
        per_call = {name: value / inner for name, value in values.items()}
        print_row(label, kept.add(label, per_call), 1e3, "ms")
    sizes = {name: float(file_size(name, models[name])) for name in names}
    print_row("model file", kept.add("model file", sizes), 1e-6, "MB")
    kept.write(names)
    if sys.platform == "linux" and n_trees == N_TREES:
        above, model = peak_memory(table_name, threads[-1])
        floats = (n_labeled + n_unlabeled) * table.X.shape[1] * 4 / 2**20
        print(
            f"  {'memory above input':<26} {above:.1f} MiB = model {model:.1f} + "
            f"{(above - model) / floats:.2f} x the float32 table ({floats:.1f} MiB)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="*", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--budget", type=float, default=60, help="seconds per measurement")
    parser.add_argument("--cpu", action="store_true", help="compare CPU time, not elapsed time")
    parser.add_argument(
        "--large-trees",
        type=int,
        default=10,
        metavar="N",
        help=f"trees of every library on tables of {LARGE:,} rows and more (default: 10)",
    )
    parser.add_argument("--results", type=Path, help="keep figures in this file, and continue it")
    parser.add_argument("--growth", action="store_true", help="also fit 100,000 and 1,000,000 rows")
    options = parser.parse_args()
    for table_name in options.tables:
        compare(table_name, options)
    if options.growth:
        from benchmarks.tables import gaussian_table

        tables = {n: gaussian_table(n, 20, 5) for n in (100_000, 1_000_000)}
        tasks = {str(n): lambda t=t: fit(OURS, t, options.threads[-1]) for n, t in tables.items()}
        clock = time.process_time if options.cpu else time.perf_counter
        best = best_of(tasks, 2, options.budget, clock)
        small, large = best["100000"], best["1000000"]
        print(f"\n20 features: 100,000 rows {small:.1f} s, 1,000,000 {large:.1f} s", end=" ")
        print(f"(x{large / small:.1f})")


if __name__ == "__main__":
    main()
