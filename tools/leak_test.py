"""Fit, predict, save, load and fail many times; exit with 1 if resident memory grows.

    python tools/leak_test.py --rounds 600

The first third of the rounds warms up caches and the allocator. Growth is the difference between
the medians of the first and of the last tenth of the remaining rounds, so single spikes do not
count. A second run leaks a few kilobytes per round on purpose, to check that the measurement
detects them.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from scipy import sparse

from lacforest import LACForestClassifier

# The smallest buffer of a tree, its first 64 nodes, has 1024 bytes, and a leak would lose several
# such buffers. Memory that the allocator retains over a few hundred rounds amounts to less.
MAX_BYTES_PER_ROUND = 800
ON_PURPOSE = 4096


def resident_bytes() -> int:
    """Return the resident memory of this process, after freed memory was returned to the system."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def make_round(folder: Path) -> Callable[[int], None]:
    """Return a function that calls everything in the compiled core that allocates memory."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 6)), rng.integers(0, 3, 300)
    X[rng.random(X.shape) < 0.05] = np.nan
    U = rng.normal(loc=0.5, size=(400, 6))
    table = sparse.random(300, 6, density=0.4, format="csr", random_state=0)
    path = folder / "forest.lac"

    def one_round(number: int) -> None:
        forest = LACForestClassifier(10, theta=0.5, random_state=number % 5, n_jobs=1 + number % 2)
        forest.fit(X, y, X_unlabeled=U, sample_weight=rng.random(300) if number % 3 else None)
        forest.predict(U)
        forest.novelty_score(U, "exploration")
        forest.apply(U)
        forest.estimators_[0].export_text()
        forest.save(path, compress=number % 2 == 0)
        LACForestClassifier.load(path, mmap=number % 2 == 1).predict_proba(U)
        if number % 10 == 0:
            LACForestClassifier(5, random_state=0).fit(X, y, X_unlabeled=U)  # estimates theta
            LACForestClassifier(5, random_state=0).fit(table, y)
        path.write_bytes(path.read_bytes()[:-64])
        for refused in (
            lambda: LACForestClassifier.load(path),
            lambda: forest.predict(U[:, :2]),
            lambda: LACForestClassifier(theta=2.0).fit(X, y, X_unlabeled=U),
        ):
            try:
                refused()
            except ValueError:
                continue
            raise AssertionError("an invalid call did not raise")

    return one_round


def growth_per_round(one_round: Callable[[int], None], rounds: int) -> float:
    """Return the growth of resident memory per round, in bytes."""
    sizes = []
    for number in range(rounds):
        one_round(number)
        sizes.append(resident_bytes())
    settled = sizes[rounds // 3 :]
    tenth = max(1, len(settled) // 10)
    return (median(settled[-tenth:]) - median(settled[:tenth])) / (len(settled) - tenth)


def main() -> int:
    """Run both measurements and print the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=600)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        one_round = make_round(Path(folder))
        flat = growth_per_round(one_round, arguments.rounds)
        kept: list[bytearray] = []

        def leaking_round(number: int) -> None:
            one_round(number)
            kept.append(bytearray(b"x" * ON_PURPOSE))

        leaking = growth_per_round(leaking_round, max(90, arguments.rounds // 4))
    print(
        f"{arguments.rounds} rounds: {flat:.0f} bytes per round (at most {MAX_BYTES_PER_ROUND}); "
        f"with {ON_PURPOSE} bytes leaked on purpose: {leaking:.0f}; resident "
        f"{resident_bytes() / 2**20:.0f} MiB; {time.perf_counter() - start:.0f} s"
    )
    if leaking < ON_PURPOSE / 2:
        sys.exit("the measurement does not detect the deliberate leak")
    return int(flat > MAX_BYTES_PER_ROUND)


if __name__ == "__main__":
    sys.exit(main())
