"""Two builds of lacforest on the same rows, fits and predictions in turns; prints ratios of times.

Each interpreter has its own build. Nothing is built here:

    python asv_benchmarks/compare_builds.py old/.venv/bin/python new/.venv/bin/python

Machines are noisy: one process per build stays alive, the two take turns, and the best of all
rounds counts. Times are CPU times of one thread. Parameters that only the newer build has are set
to what the older one does, so that a new default is not taken for a slower core.
"""

from __future__ import annotations

import argparse
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

OF_OLD_BUILDS = {"known_shares": "labeled", "pseudo_cap": None}
FORESTS = ("LACForestClassifier", "LACExtraTreesClassifier")


class Build:
    """A process that fits forests under another interpreter when asked to."""

    def __init__(self, interpreter: str) -> None:
        self.process = subprocess.Popen(
            [interpreter, __file__, "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self, forest: str, table: Path, work: str) -> float:
        """Time of one fit or one prediction."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(f"{forest}\t{table}\t{work}", file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def serve() -> None:
    """Read one task per line and print its seconds."""
    import lacforest

    tables: dict[str, Any] = {}
    fitted: dict[tuple[str, str], Any] = {}
    for line in sys.stdin:
        name, path, work = line.rstrip("\n").split("\t")
        if path not in tables:
            tables[path] = pickle.loads(Path(path).read_bytes())
        table = tables[path]
        if (name, path) not in fitted or work == "fit":
            forest = getattr(lacforest, name)(theta=table["theta"], n_jobs=1, random_state=0)
            own = {k: v for k, v in OF_OLD_BUILDS.items() if k in forest.get_params()}
            forest.set_params(**own)
            before = time.process_time()
            forest.fit(table["X"], table["y"], X_unlabeled=table["X_unlabeled"])
            seconds = time.process_time() - before
            fitted[name, path] = forest
        if work == "predict":
            before = time.process_time()
            fitted[name, path].predict_proba(table["X_unlabeled"])
            seconds = time.process_time() - before
        print(seconds, flush=True)


def compare(builds: list[Build], forest: str, table: Path, work: str, repeat: int) -> str:
    """Best times of both builds, and their ratio."""
    best = [float("inf")] * len(builds)
    for turn in range(repeat):
        order = range(len(builds)) if turn % 2 == 0 else reversed(range(len(builds)))
        for i in order:
            best[i] = min(best[i], builds[i].seconds(forest, table, work))
    return f"{best[0]:.4f} s  {best[1]:.4f} s  {best[1] / best[0]:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("interpreters", nargs="*", metavar="python", help="two interpreters")
    parser.add_argument("--tables", nargs="+", help="names of benchmarks.tables.TABLES")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    if len(options.interpreters) != 2:
        parser.error("name two interpreters")
    from benchmarks.tables import TABLES

    with tempfile.TemporaryDirectory() as folder:
        builds = [Build(interpreter) for interpreter in options.interpreters]
        for number, name in enumerate(options.tables or list(TABLES)[:3]):
            made = TABLES[name]()
            table = Path(folder) / f"{number}.pickle"
            parts = {key: getattr(made, key) for key in ("X", "y", "X_unlabeled", "theta")}
            table.write_bytes(pickle.dumps(parts))
            for forest in FORESTS:
                for work in ("fit", "predict"):
                    found = compare(builds, forest, table, work, options.repeat)
                    print(f"{name}, {forest}, {work}: {found}", flush=True)
        for build in builds:
            build.close()


if __name__ == "__main__":
    main()
