"""A fit that runs out of memory leaves the estimator as it was, and the process usable."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("resource")

SCRIPT = """
import resource
import sys

import numpy as np

import lacforest


def virtual_memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


rng = np.random.default_rng(0)
X, U, y = rng.normal(size=(60_000, 8)), rng.normal(size=(60_000, 8)), rng.integers(0, 2, 60_000)
kind, way = getattr(lacforest, sys.argv[1]), sys.argv[2]
options = {"n_estimators": 2, "theta": 0.5, "random_state": 0, "max_depth": 6}
if way == "categories":
    X[:, 0], U[:, 0] = rng.integers(0, 300, X.shape[0]), rng.integers(0, 300, U.shape[0])
    options["categorical_features"] = [0]
n_first = len(X) if way == "warm_start" else 200
forest = kind(warm_start=way == "warm_start", **options)
forest.fit(X[:n_first], y[:n_first], X_unlabeled=U[:n_first])
if way == "warm_start":
    forest.set_params(n_estimators=9)
before, scores = dict(vars(forest)), forest.predict_proba(U[:50])
outcomes = []
for megabytes in (0, 1, 2, 4, 6, 8, 10, 12, 16, 20, 28):
    limit = virtual_memory() + (megabytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    try:
        forest.fit(X, y, X_unlabeled=U)
    except MemoryError:
        outcomes.append("refused")
    else:
        outcomes.append("fitted")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    if outcomes[-1] == "fitted":
        break
    after = vars(forest)
    assert list(after) == list(before)
    assert all(after[name] is before[name] for name in before)
    assert np.array_equal(forest.predict_proba(U[:50]), scores)
assert outcomes.count("refused") > 2, outcomes
again = kind(**options).fit(X[:n_first], y[:n_first], X_unlabeled=U[:n_first])
assert np.array_equal(again.predict_proba(U[:50]), scores)
print(outcomes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", ["LACForestClassifier", "LACExtraTreesClassifier"])
@pytest.mark.parametrize("way", ["plain", "warm_start", "categories"])
def test_a_fit_without_memory_changes_nothing(kind, way):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, kind, way],
        capture_output=True,
        text=True,
        check=False,
        # What the first fit has released must not serve the second one.
        env=os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"},
    )
    assert done.returncode == 0, done.stderr
    assert "refused" in done.stdout
