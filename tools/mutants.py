"""Plant the bugs listed in tests/mutants, one at a time, and name those that no test catches.

A bug replaces one passage of a file; its entry names the tests that must fail. The bugs are planted
in a copy of the checkout. Compiled modules that a bug does not concern are those of the running
environment; those that it concerns are compiled anew, without optimisation. The exit code is 1
if a bug survives that is not listed as equivalent.

    python tools/mutants.py                    # all, about a third of an hour on one core
    python tools/mutants.py --quick            # those marked quick
    python tools/mutants.py --only pseudo      # those with this word in their description
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE = "lacforest/_tree"
SECONDS_PER_COMMAND = 600
# The import hook of an editable install would find the checkout, not the copy.
SITE_CUSTOMIZE = """
import sys
sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != "MesonpyMetaFinder"]
"""


@dataclass(frozen=True)
class Bug:
    """A replacement of one passage, and the tests that must fail because of it.

    Attributes
    ----------
    bug : str
        What goes wrong.
    file : str
        Relative to the root.
    old, new : str
        The passage, which must occur exactly once, and its replacement.
    tests : str
        Arguments of pytest.
    quick : bool
        Whether it belongs to the quick subset.
    equivalent : str or None
        Why no test can tell; such a bug must survive.
    """

    bug: str
    file: str
    old: str
    new: str
    tests: str
    quick: bool = False
    equivalent: str | None = None

    @property
    def is_compiled(self) -> bool:
        """Whether compiled modules change."""
        return self.file.endswith((".pyx", ".pxd"))


def read_bugs(folder: Path) -> list[Bug]:
    """All bugs of a folder, in the order of files and entries."""
    bugs = []
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            bugs.append(Bug(**entry))
    return bugs


def planted(text: str, bug: Bug) -> str:
    """The text of the file with the bug; ValueError unless the passage occurs exactly once."""
    if text.count(bug.old) != 1:
        raise ValueError(f"{bug.file}: {bug.old!r} occurs {text.count(bug.old)} times")
    return text.replace(bug.old, bug.new)


def modules_that_include(core: Path, changed: str) -> list[str]:
    """Compiled modules into which a source is compiled: itself, or those that cimport a .pxd."""
    name, suffix = changed.rsplit(".", 1)
    if suffix == "pyx":
        return [name]
    sources = [*core.glob("*.pyx"), *core.glob("*.pxd")]
    users: dict[str, set[str]] = {}
    for source in sources:
        text = source.read_text(encoding="utf-8")
        for used in re.findall(r"^from lacforest\._tree\.(\w+) cimport", text, re.M):
            users.setdefault(used, set()).add(source.stem)
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
        listed = _run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"], ROOT
        ).stdout
        for name in listed.splitlines():
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        (folder / "sitecustomize.py").write_text(SITE_CUSTOMIZE, encoding="utf-8")
        self._binaries = {}
        for source in (folder / "lacforest").rglob("*.pyx"):
            module = ".".join(source.relative_to(folder).with_suffix("").parts)
            self._binaries[source.stem] = _compiled_file(module)
            shutil.copy2(self._binaries[source.stem], source.parent)
        self._build = folder / "build" / "mutants"

    def compile(self, changed: str) -> None:
        """Compile the modules that include a changed source into the package."""
        if not self._build.exists():
            # Later options win over the optimisation that meson.build asks for.
            _need(_run(["meson", "setup", str(self._build), "-Dc_args=-O0"], self.folder))
        for name in modules_that_include(self.folder / CORE, Path(changed).name):
            target = f"{CORE}/{self._binaries[name].name}"
            _need(_run(["ninja", "-C", str(self._build), target], self.folder))
            _replace(self._build / target, self.folder / CORE)

    def restore_binaries(self, changed: str) -> None:
        """Undo `compile`."""
        for name in modules_that_include(self.folder / CORE, Path(changed).name):
            _replace(self._binaries[name], self.folder / CORE)

    def passes(self, tests: str) -> bool:
        """Whether the tests pass; a run without end counts as a failure."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.folder),
            "CI": "true",
            "HYPOTHESIS_PROFILE": "mutants",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        try:
            done = _run([*command, *tests.split()], self.folder, environment)
        except subprocess.TimeoutExpired:
            return False
        if done.returncode in (2, 4, 5):
            raise RuntimeError(f"pytest {tests} did not run:\n{done.stdout[-2000:]}")
        return done.returncode == 0


def _run(
    command: list[str], folder: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS_PER_COMMAND,
        check=False,
    )


def _need(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode:
        raise RuntimeError(f"{' '.join(done.args)} failed:\n{done.stdout[-2000:]}")


def _compiled_file(module: str) -> Path:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"the compiled module {module} is not installed")
    return Path(spec.origin)


def _replace(source: Path, folder: Path) -> None:
    """Copy to a new file: another process may have mapped the old one."""
    (folder / source.name).unlink(missing_ok=True)
    shutil.copy2(source, folder)


def survives(copy: Copy, bug: Bug) -> bool:
    """Plant a bug, run its tests, and take it out again."""
    path = copy.folder / bug.file
    original = path.read_text(encoding="utf-8")
    path.write_text(planted(original, bug), encoding="utf-8")
    try:
        if bug.is_compiled:
            copy.compile(bug.file)
        return copy.passes(bug.tests)
    finally:
        path.write_text(original, encoding="utf-8")
        if bug.is_compiled:
            copy.restore_binaries(bug.file)


def check_tests(copy: Copy, bugs: list[Bug]) -> None:
    """Raise RuntimeError if any of the tests fails without a bug."""
    for tests in sorted({bug.tests for bug in bugs}):
        if not copy.passes(tests):
            raise RuntimeError(f"pytest {tests} fails without any bug")


def main() -> int:
    """Plant the selected bugs and print what became of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only those marked quick")
    parser.add_argument("--only", default="", help="a word in the description or the file")
    parser.add_argument("--python", action="store_true", help="none that needs a compiler")
    parser.add_argument("--unchecked", action="store_true", help="trust that the tests pass")
    arguments = parser.parse_args()
    bugs = [
        bug
        for bug in read_bugs(ROOT / "tests" / "mutants")
        if (bug.quick or not arguments.quick)
        and arguments.only in f"{bug.bug} {bug.file}"
        and not (arguments.python and bug.is_compiled)
    ]
    start, unexpected = time.perf_counter(), []
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        if not arguments.unchecked:
            check_tests(copy, bugs)
        for number, bug in enumerate(bugs, 1):
            lives = survives(copy, bug)
            verdict = "survives" if lives else "caught"
            if bug.equivalent is not None:
                verdict += " (equivalent)"
            if lives != (bug.equivalent is not None):
                unexpected.append(bug)
            print(f"{number}/{len(bugs)} {verdict}: {bug.file}: {bug.bug}", flush=True)
    for bug in unexpected:
        state = "survives" if bug.equivalent is None else "is not equivalent"
        print(f"{state.upper()}: {bug.file}: {bug.bug} ({bug.tests})")
    n_equivalent = sum(bug.equivalent is not None for bug in bugs)
    print(
        f"{len(bugs)} bugs, {n_equivalent} of them equivalent, {len(unexpected)} unexpected, "
        f"{time.perf_counter() - start:.0f} s"
    )
    return int(bool(unexpected))


if __name__ == "__main__":
    sys.exit(main())
