"""A copy of the checkout in which bugs are planted and tests run; tools/mutants.py uses it.

Compiled modules that a bug does not concern are those of the running environment; those that it
concerns are compiled anew, without optimisation, in a build folder that stays for the next bug.
Tests run in forks of this process, which has imported numpy, scikit-learn and pytest before: a
new interpreter would spend more time on imports than on most tests.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import traceback
from pathlib import Path

import hypothesis.strategies  # noqa: F401
import numpy as np  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import sklearn.ensemble
import sklearn.utils.estimator_checks  # noqa: F401

ROOT = Path(__file__).resolve().parents[1]
CORE = "lacforest/_tree"
# CPU time, so that a busy machine does not make a bug look caught.
SECONDS_PER_RUN = 240
# Bytes that a run may write to: a bug may grow without end.
MEMORY_PER_RUN = 6 << 30
# The import hook of an editable install would find the checkout, not the copy.
SITE_CUSTOMIZE = """
import sys
sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != "MesonpyMetaFinder"]
"""
# The plugins that this process has imported cannot be rewritten; they need not be.
PYTEST_OPTIONS = ["-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
FIND_BINARIES = """
import importlib.util, sys
for name in sys.argv[1:]:
    print(importlib.util.find_spec(name).origin)
"""


def modules_that_include(core: Path, changed: str) -> list[str]:
    """Compiled modules into which a source is compiled: itself, or all that use a .pxd or a .h."""
    name, suffix = changed.rsplit(".", 1)
    if suffix == "pyx":
        return [name]
    # A header has a name of its own: some are called like a .pxd.
    name = changed if suffix == "h" else name
    sources = [*core.glob("*.pyx"), *core.glob("*.pxd")]
    users: dict[str, set[str]] = {}
    for source in sources:
        text = source.read_text(encoding="utf-8")
        used = re.findall(r"^from lacforest\._tree\.(\w+) cimport", text, re.M)
        used += re.findall(r'^cdef extern from "(\w+\.h)"', text, re.M)
        for each in used:
            users.setdefault(each, set()).add(source.stem)
    found, waiting = {name}, [name]
    while waiting:
        for user in users.get(waiting.pop(), set()) - found:
            found.add(user)
            waiting.append(user)
    return sorted(stem for stem in found if (core / f"{stem}.pyx").exists())


class Copy:
    """A copy of the checkout that runs its own package.

    Parameters
    ----------
    folder : Path
        An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = _run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], ROOT)
        for name in listed.splitlines():
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        (folder / "sitecustomize.py").write_text(SITE_CUSTOMIZE, encoding="utf-8")
        sources = sorted((folder / "lacforest").rglob("*.pyx"))
        names = [".".join(s.relative_to(folder).with_suffix("").parts) for s in sources]
        found = _run([sys.executable, "-c", FIND_BINARIES, *names], ROOT).split()
        self._binaries = {s.stem: Path(file) for s, file in zip(sources, found, strict=True)}
        for source in sources:
            shutil.copy2(self._binaries[source.stem], source.parent)
        self._build = folder / "build" / "mutants"

    def compile(self, changed: str) -> None:
        """Compile the modules that include a changed source into the package."""
        if not self._build.exists():
            # Later options win over the optimisation that meson.build asks for.
            _run(["meson", "setup", str(self._build), "-Dc_args=-O0"], self.folder)
        names = modules_that_include(self.folder / CORE, Path(changed).name)
        targets = [f"{CORE}/{self._binaries[name].name}" for name in names]
        _run(["ninja", "-C", str(self._build), *targets], self.folder)
        for target in targets:
            _replace(self._build / target, self.folder / CORE)

    def restore_binaries(self, changed: str) -> None:
        """Undo `compile`."""
        for name in modules_that_include(self.folder / CORE, Path(changed).name):
            _replace(self._binaries[name], self.folder / CORE)

    def failing_test(self, tests: str) -> str | None:
        """The first test that fails, without its parameters; None if all pass.

        Where a run crashes or does not end, `tests` as given.
        """
        output = self.folder / "pytest-output.txt"
        child = os.fork()
        if child == 0:
            self._become_pytest(["-x", "-q", *tests.split()], output)
        _, status = os.waitpid(child, 0)
        said = output.read_text(encoding="utf-8", errors="replace")
        code = os.waitstatus_to_exitcode(status)
        if code == 0:
            return None
        if code in (2, 3, 4, 5):
            raise RuntimeError(f"pytest {tests} did not run:\n{said[-2000:]}")
        named = re.search(r"^(?:FAILED|ERROR) (\S+?::\w+(?:::\w+)*)", said, re.M)
        return tests if code < 0 or named is None else named[1]

    def _become_pytest(self, arguments: list[str], output: Path) -> None:
        """Run pytest in this process, a fork, and end the process."""
        code = 3
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_PER_RUN, SECONDS_PER_RUN + 5))
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_PER_RUN, MEMORY_PER_RUN))
            descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
            os.chdir(self.folder)
            os.environ["PYTHONPATH"] = str(self.folder)
            os.environ["CI"] = "true"
            os.environ["HYPOTHESIS_PROFILE"] = "mutants"
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
            sys.dont_write_bytecode = True
            sys.path[0] = str(self.folder)
            exec(SITE_CUSTOMIZE)
            code = int(pytest.main([*PYTEST_OPTIONS, *arguments]))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)


def _run(command: list[str], folder: Path) -> str:
    """What a command prints; RuntimeError if it fails."""
    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}")
    return done.stdout


def _replace(source: Path, folder: Path) -> None:
    """Copy to a new file: another process may have mapped the old one."""
    (folder / source.name).unlink(missing_ok=True)
    shutil.copy2(source, folder)
