"""Clusters of processes on loopback, and faults to cause in them."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("distributed")
import dask.array as da
from distributed import Client, LocalCluster, WorkerPlugin

# Threads and sockets of clusters may be collected late.
late_collection = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@contextmanager
def client_of(n_workers):
    """A client of worker processes with one thread each; the scheduler runs in this process."""
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def separate_processes(folder, n_workers):
    """A client of a scheduler and workers that are processes of their own."""
    address = str(folder / "scheduler.json")
    common = ["--scheduler-file", address, "--host", "127.0.0.1", "--no-dashboard"]
    # Imported before the first task: the scheduler answers nobody while it imports.
    common += ["--preload", "lacforest.dask.tasks"]
    commands = [["scheduler", *common, "--port", "0"]]
    commands += [["worker", *common, "--nthreads", "1", "--no-nanny"]] * n_workers
    started = []
    try:
        for name, *arguments in commands:
            module = f"distributed.cli.dask_{name}"
            started.append(
                subprocess.Popen(
                    [sys.executable, "-m", module, *arguments], stderr=subprocess.DEVNULL
                )
            )
        with Client(scheduler_file=address, timeout=20) as client:
            client.wait_for_workers(n_workers, timeout=60)
            yield client
    finally:
        for process in started:
            process.kill()
            process.wait()


def tasks_left(client):
    """Names of the tasks of fits that the scheduler knows and of the values that workers hold."""

    def on_scheduler(dask_scheduler):
        return [str(key) for key in dask_scheduler.tasks]

    def on_worker(dask_worker):
        return [str(key) for key in (*dask_worker.data, *dask_worker.state.tasks)]

    known = [client.run_on_scheduler(on_scheduler), *client.run(on_worker).values()]
    return sorted(key for keys in known for key in keys if "lacforest" in key)


def wait_until_empty(client, seconds=30.0):
    """The tasks left when there are none, or after some time: they are released a little later."""
    end = time.monotonic() + seconds
    while (left := tasks_left(client)) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def resident_megabytes(client):
    """Resident memory of the scheduler and of every worker."""

    def measure():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    return [client.run_on_scheduler(measure), *client.run(measure).values()]


def call_within(seconds, function, *arguments, **options):
    """What a function returns or raises; fails if it takes longer."""
    outcome = []

    def call():
        try:
            outcome.append((function(*arguments, **options), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    assert outcome, f"no end after {seconds} seconds"
    value, error = outcome[0]
    if error is not None:
        raise error
    return value


def has_started(client, stage):
    """Whether the scheduler knows a task of a stage."""
    return client.run_on_scheduler(
        lambda dask_scheduler: any(
            str(key).startswith(f"lacforest-{stage}-") for key in dask_scheduler.tasks
        )
    )


class KillWorkers(WorkerPlugin):
    """SIGKILL a worker when it begins a task of a stage, a number of times in the whole cluster.

    Parameters
    ----------
    stage : str
    marks : Path
        An empty folder, in which every kill leaves a file.
    n_kills : int, default=1
    """

    # Under this name the plugin is removed again.
    name = "kill-workers"

    def __init__(self, stage, marks: Path, n_kills=1):
        self.prefix = f"lacforest-{stage}-"
        self.marks = marks
        self.n_kills = n_kills

    def transition(self, key, start, finish, **_):
        if finish != "executing" or not str(key).startswith(self.prefix):
            return
        for number in range(self.n_kills):
            try:
                (self.marks / str(number)).touch(exist_ok=False)
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def killing(client, stage, folder, n_kills=1):
    """Kill workers in a stage of the fits in this block; checks that they were killed."""
    client.register_plugin(KillWorkers(stage, folder, n_kills))
    try:
        yield
    finally:
        client.unregister_worker_plugin(KillWorkers.name)
    assert any(folder.iterdir()), f"no worker was killed in {stage}"


def as_arrays(X, y, U, size=70):
    """Dask arrays of rows, labels and unlabelled rows in partitions of one size."""
    return da.from_array(X, (size, X.shape[1])), da.from_array(y, size), da.from_array(U, (size, 4))


def slowly(block):
    """The same rows, after long enough for a busy machine to see that the task has begun."""
    time.sleep(1.5)
    return block
