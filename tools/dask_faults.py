"""Kill workers, fit twice at once and fit many times on a cluster of processes on this machine.

    python tools/dask_faults.py                 # all checks, small table
    python tools/dask_faults.py kill --stage grow
    python tools/dask_faults.py repeat --fits 20

Every check compares the forest with the local one, bit for bit, and prints what it found.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from lacforest import LACForestClassifier
from lacforest.dask import DaskLACForestClassifier

# Names of tasks, in the order of a fit.
STAGES = ("look", "sample", "code", "bundle", "grow", "settle", "score", "count", "mark")
# Longest time that a fit with a killed worker may take, in seconds.
LIMIT = 300


def make_rows(n_rows: int = 4000) -> tuple[Any, Any, Any]:
    """Three known classes and a new one."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n_rows)
    X = rng.normal(size=(n_rows, 6)) + 2.0 * y[:, np.newaxis]
    return X, y, np.vstack([X[::2] + 0.1, rng.normal(size=(n_rows // 2, 6)) - 5.0])


ROWS = make_rows()


@contextmanager
def cluster_of(n_workers: int) -> Iterator[Client]:
    """A client of processes on loopback."""
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def fit(client: Client, seed: int = 0, n_trees: int = 12) -> Any:
    """A forest on seven partitions."""
    X, y, U = (da.from_array(rows, 600) for rows in ROWS)
    forest = DaskLACForestClassifier(
        n_trees, theta=0.5, rows_per_tree=3000, random_state=seed, client=client
    )
    return forest.fit(X, y, X_unlabeled=U)


def fit_locally(seed: int = 0, n_trees: int = 12) -> Any:
    """The forest that all of these must equal."""
    X, y, U = ROWS
    forest = LACForestClassifier(
        n_trees, theta=0.5, max_samples=3000, max_bins=255, random_state=seed
    )
    return forest.fit(X, y, X_unlabeled=U)


def is_same(one: Any, other: Any) -> bool:
    """Whether nodes, leaves and scores of two forests have the same bits."""
    return (
        np.array_equal(one._forest.nodes, other._forest.nodes)
        and np.array_equal(one._forest.leaf_values, other._forest.leaf_values)
        and np.array_equal(one.unlabeled_score_, other.unlabeled_score_)
    )


def kill_during(client: Client, stage: str, done: threading.Event, killed: threading.Event) -> None:
    """Kill a worker as soon as it holds or runs a task of the stage."""
    prefix = f"lacforest-{stage}-"

    def busy(dask_scheduler: Any) -> list[int]:
        found = []
        for task in dask_scheduler.tasks.values():
            if str(task.key).startswith(prefix):
                workers = [*(task.who_has or []), *filter(None, [task.processing_on])]
                found += [worker.address for worker in workers]
        return found

    pids = client.run(os.getpid)
    while not done.is_set():
        for address in client.run_on_scheduler(busy):
            if address in pids:
                os.kill(pids[address], signal.SIGKILL)
                killed.set()
                print(f"  killed {address} in {stage}")
                return
        time.sleep(0.005)
    print(f"  {stage} was over before a worker could be killed")


def check_kills(stages: tuple[str, ...], n_workers: int) -> bool:
    """One fit per stage, a worker killed in it."""
    expected, fine = fit_locally(), True
    for stage in stages:
        with cluster_of(n_workers) as client:
            done, killed = threading.Event(), threading.Event()
            killer = threading.Thread(target=kill_during, args=(client, stage, done, killed))
            killer.start()
            started = time.perf_counter()
            found = fit(client)
            seconds = time.perf_counter() - started
            done.set()
            killer.join()
        same = is_same(found, expected) and seconds < LIMIT
        outcome = "same bits" if same else "FAILED"
        if not killed.is_set():
            # A fit without a killed worker shows nothing.
            outcome = "NOT TESTED"
        print(f"kill in {stage}: {outcome}, {seconds:.1f} s", flush=True)
        fine &= same and killed.is_set()
    return fine


def check_two_at_once(n_workers: int) -> bool:
    """Two fits of different seeds on one cluster, from two threads."""
    found: dict[int, Any] = {}
    with cluster_of(n_workers) as client:
        threads = [
            threading.Thread(target=lambda seed=seed: found.update({seed: fit(client, seed)}))
            for seed in (1, 2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    same = all(is_same(found[seed], fit_locally(seed)) for seed in (1, 2))
    print(f"two fits at once: {'same bits' if same else 'FAILED'}", flush=True)
    return same


def resident(_: Any = None) -> float:
    """Resident megabytes of this process."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def check_repeats(n_fits: int, n_workers: int) -> bool:
    """Tasks left and memory after each of many fits; the first half may warm up."""
    workers, here, left = [], [], []
    with cluster_of(n_workers) as client:
        for _ in range(n_fits):
            fit(client, n_trees=4)
            workers.append(max(client.run(resident).values()))
            here.append(resident())
            left.append(client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))
    half = n_fits // 2
    growth = [series[-1] - series[half] for series in (workers, here)]
    fine = max(growth) < 20 and max(left) == 0
    print(
        f"{n_fits} fits: worker {workers[0]:.0f} -> {workers[half]:.0f} -> {workers[-1]:.0f} MB, "
        f"client and scheduler {here[0]:.0f} -> {here[half]:.0f} -> {here[-1]:.0f} MB, most tasks "
        f"left {max(left)}: {'flat' if fine else 'FAILED'}",
        flush=True,
    )
    return fine


def main() -> int:
    """Run the chosen checks; 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checks", nargs="*", default=["kill", "two", "repeat"])
    parser.add_argument("--stage", choices=STAGES, help="kill in this stage only")
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    fine = True
    if "kill" in given.checks:
        fine &= check_kills((given.stage,) if given.stage else STAGES, given.workers)
    if "two" in given.checks:
        fine &= check_two_at_once(given.workers)
    if "repeat" in given.checks:
        fine &= check_repeats(given.fits, given.workers)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
