"""Print the time of small calls of the command, most of which is the start of Python and imports.

Usage::

    python tools/time_start.py [--repeat 7]

Fits a model on 300 labelled and 300 unlabelled rows with text and missing values, then starts each
call in a process of its own and prints the median of its CPU time and of the time on the clock.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

CALLS = {
    "lacforest --help": ["--help"],
    "lacforest predict (300 rows)": ["predict", "model.lac", "prod.csv", "-o", "scored.csv"],
    "lacforest inspect": ["inspect", "model.lac"],
}


def write_tables(folder):
    """Labelled rows of two classes, and unlabelled rows of three."""
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1, 2], 200)
    table = pd.DataFrame(rng.normal(size=(600, 4)) + 2 * kind[:, None], columns=list("abcd"))
    table = table.mask(rng.random(table.shape) < 0.05)
    table["city"] = rng.choice(["Oslo", "Rome", "Lima"], 600)
    table["kind"] = np.array(["ham", "spam", "new"])[kind]
    table = table.sample(frac=1, random_state=0)
    known = table[table["kind"] != "new"][:300]
    known.to_csv(folder / "labelled.csv", index=False)
    table.drop(known.index).drop(columns="kind").to_csv(folder / "prod.csv", index=False)


def call(folder, words):
    """CPU time and time on the clock of one call, in seconds."""
    before, started = os.times(), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "lacforest", *words], cwd=folder, check=True, capture_output=True
    )
    elapsed, after = time.perf_counter() - started, os.times()
    used = after.children_user + after.children_system
    return used - before.children_user - before.children_system, elapsed


def main():
    """Fit the model, then time the calls."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder)
        words = ["fit", "labelled.csv", "--target", "kind", "--unlabeled", "prod.csv"]
        call(folder, [*words, "-o", "model.lac"])
        for title, words in CALLS.items():
            times = [call(folder, words) for _ in range(given.repeat)]
            cpu, elapsed = (statistics.median(column) for column in zip(*times, strict=True))
            print(f"{title:<30}{cpu:6.2f} CPU seconds{elapsed:8.2f} s elapsed")


if __name__ == "__main__":
    main()
