"""If a process is killed during a save, the old file remains intact."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from two_blobs import U, X, fitted_forest, y

from lacforest import LACForestClassifier

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kill -9 is of POSIX")

# The process fits a different forest and is killed at a given step of its save.
_DIE = """
import os, signal, sys
import numpy as np
from lacforest import LACForestClassifier
from lacforest._utils import atomic

def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)

class DiesAt:
    def __init__(self, file, n_bytes):
        self.file, self.n_bytes = file, n_bytes
    def __enter__(self):
        return self
    def __exit__(self, *exception):
        self.file.close()
    def __getattr__(self, name):
        return getattr(self.file, name)
    def write(self, content):
        if self.file.tell() + len(content) > self.n_bytes:
            self.file.write(content[: self.n_bytes - self.file.tell()])
            self.file.flush()
            die()
        return self.file.write(content)

folder, step = sys.argv[1:]
data = np.load(os.path.join(folder, "data.npz"))
forest = LACForestClassifier(n_estimators=30, theta=0.5, random_state=7)
forest.fit(data["X"], data["y"], X_unlabeled=data["U"])
if step == "loop":
    print("saving", flush=True)
    while True:
        forest.save(os.path.join(folder, "forest.lac"), compress=False)
elif step.isdigit():
    atomic.open = lambda *arguments: DiesAt(open(*arguments), int(step))
else:
    setattr(os, step, die)
forest.save(os.path.join(folder, "forest.lac"))
"""


@pytest.fixture
def folder(tmp_path):
    np.savez(tmp_path / "data.npz", X=X, y=y, U=U)
    fitted_forest().save(tmp_path / "forest.lac")
    return tmp_path


def start(folder, step):
    command = [sys.executable, "-c", textwrap.dedent(_DIE), str(folder), str(step)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def strangers(folder):
    """Return the files that a killed save left; a temporary file may remain but is not a model."""
    names = sorted(set(os.listdir(folder)) - {"data.npz", "forest.lac"})
    assert all(name.startswith(".forest.lac.") and name.endswith(".tmp") for name in names)
    return names


@pytest.mark.parametrize("step", [0, 500, "fsync", "replace"])
def test_killed_at_a_step(folder, step):
    content = (folder / "forest.lac").read_bytes()
    with start(folder, step) as process:
        process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    assert (folder / "forest.lac").read_bytes() == content
    assert len(strangers(folder)) == 1
    # It does not affect the next save.
    fitted_forest(n_estimators=2).save(folder / "forest.lac")
    assert len(LACForestClassifier.load(folder / "forest.lac").estimators_) == 2


def test_killed_at_any_time(folder, global_random_seed):
    old = fitted_forest().predict_proba(U)
    new = LACForestClassifier(n_estimators=30, theta=0.5, random_state=7)
    new = new.fit(X, y, X_unlabeled=U).predict_proba(U)
    rng = np.random.default_rng(global_random_seed)
    for _ in range(3):
        fitted_forest().save(folder / "forest.lac")
        with start(folder, "loop") as process:
            assert process.stdout.readline() == "saving\n"
            time.sleep(rng.uniform(0.0, 0.02))
            process.kill()
        found = LACForestClassifier.load(folder / "forest.lac").predict_proba(U)
        assert_array_equal(found, old if np.array_equal(found, old) else new)
        strangers(folder)
