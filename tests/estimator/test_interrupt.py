"""Ctrl-C ends a long fit quickly and leaves the estimator unfitted."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="the CPU time of a process is read from /proc"
)

# 200 trees on 200,000 rows would take minutes; the fit is interrupted.
FIT = """
    import time

    import numpy as np
    import lacforest.ensemble.base
    from lacforest import LACForestClassifier

    rng = np.random.default_rng(0)
    X, U = rng.normal(size=(200_000, 20)), rng.normal(size=(20_000, 20))
    y = rng.integers(0, 5, size=len(X))
    forest = LACForestClassifier(200, theta={theta}, n_jobs={n_jobs}, random_state=0)
    before = dict(vars(forest))
    {prelude}
    print("fitting", flush=True)
    try:
        forest.fit(X, y{unlabeled})
    except KeyboardInterrupt:
        print("interrupted", vars(forest) == before, hasattr(forest, "classes_"), flush=True)
    else:
        print("fitted to the end", flush=True)
    {epilogue}
    print(time.process_time())
"""


def interrupt(
    after_seconds,
    n_jobs,
    theta="0.5",
    unlabeled=", X_unlabeled=U",
    prelude="",
    epilogue="",
    start="fitting",
):
    """Lines that the script prints once it got SIGINT, and CPU seconds until it ended.

    The signal is sent `after_seconds` after the line `start` of the script. CPU time is counted,
    because other processes may hold the machine.
    """
    script = textwrap.dedent(FIT).format(
        n_jobs=n_jobs, theta=theta, unlabeled=unlabeled, prelude=prelude, epilogue=epilogue
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            while (line := process.stdout.readline()) != f"{start}\n":
                assert line == "fitting\n", process.communicate()[1]
            time.sleep(after_seconds)
            begin = cpu_seconds(process.pid)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 0, errors
    *lines, end = output.splitlines()
    return lines, float(end) - begin


def cpu_seconds(pid):
    """User and system time of all threads of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("after_seconds", [0.3, 3.0], ids=["early", "late"])
def test_an_interrupted_fit_ends_soon(n_jobs, after_seconds):
    lines, seconds = interrupt(after_seconds, n_jobs)
    assert lines == ["interrupted True False"]
    # A generous limit: growth checks for Ctrl-C every few tens of milliseconds, coding after each
    # column.
    assert seconds < 5


# Prints a line when the estimate of theta begins and another when it ends.
WATCH_THETA = """
find_deployment = lacforest.ensemble.base.find_deployment
def watched(*args):
    print("estimating", flush=True)
    found = find_deployment(*args)
    print("estimated", flush=True)
    return found
lacforest.ensemble.base.find_deployment = watched
"""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_estimate_of_theta_ends_soon(n_jobs):
    lines, seconds = interrupt(0.5, n_jobs, '"auto"', prelude=WATCH_THETA, start="estimating")
    assert lines == ["interrupted True False"]
    assert seconds < 5


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_plain_forest_ends_soon(n_jobs):
    lines, seconds = interrupt(2.0, n_jobs, unlabeled="")
    assert lines == ["interrupted True False"]
    assert seconds < 5


def test_an_interrupted_second_fit_keeps_the_first():
    prelude = "forest.fit(X[:500], y[:500]); before = dict(vars(forest)); "
    prelude += "expected = forest.predict_proba(X[:50])"
    epilogue = "print((forest.predict_proba(X[:50]) == expected).all())"
    lines, _ = interrupt(2.0, 2, prelude=prelude, epilogue=epilogue)
    # Comparing arrays of two dicts is ambiguous unless they are the same objects.
    assert lines == ["interrupted True True", "True"]


def test_an_interrupted_estimator_can_be_fitted():
    epilogue = "print(len(forest.fit(X[:500], y[:500]).estimators_))"
    lines, _ = interrupt(2.0, 2, epilogue=epilogue)
    assert lines == ["interrupted True False", "200"]
