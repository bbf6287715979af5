"""Plant the bugs listed in tests/mutants, one at a time, and name those that no test catches.

A bug replaces one passage of a file; its entry names the tests that must fail. The bugs are planted
in a copy of the checkout (tools/planting.py). At the end the tests that failed run once without any
bug, so that a test that always fails catches nothing. The exit code is 1 if a bug survives that is
not listed as equivalent.

    python tools/mutants.py                    # all, about 20 CPU minutes
    python tools/mutants.py --quick            # those marked quick
    python tools/mutants.py --only pseudo      # with this word in list, file or description
    python tools/mutants.py --results build/mutants.jsonl    # may be stopped and called again

With --results, a bug whose file, passage and tests are those of an earlier run is not planted
again; --report prints what became of all bugs so far.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import sys
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from planting import ROOT, Copy

LISTS = ROOT / "tests" / "mutants"
SURVIVES, CAUGHT, BROKEN = "survives", "caught", "did not run"


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
        Arguments of pytest: the fewest files that must catch it, in the order in which they run.
    quick : bool
        Whether it belongs to the quick subset.
    equivalent : str or None
        Why no test can tell; such a bug must survive.
    group : str
        The list that it stands in.
    """

    bug: str
    file: str
    old: str
    new: str
    tests: str
    quick: bool = False
    equivalent: str | None = None
    group: str = field(default="", compare=False)

    @property
    def is_compiled(self) -> bool:
        """Whether compiled modules change."""
        return self.file.endswith((".pyx", ".pxd", ".h"))

    def key(self, root: Path) -> str:
        """A digest of what decides on the verdict: the file with the bug, and its tests."""
        parts = [planted((root / self.file).read_text(encoding="utf-8"), self), self.tests]
        for word in self.tests.split():
            path = root / word.split("::")[0]
            parts += [path.read_text(encoding="utf-8")] if path.is_file() else []
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Outcome:
    """What became of a bug.

    Attributes
    ----------
    verdict : str
        SURVIVES, CAUGHT or BROKEN.
    by : str
        The test that caught it, or why nothing could run.
    seconds : float
        CPU time.
    """

    verdict: str
    by: str
    seconds: float


def read_bugs(folder: Path) -> list[Bug]:
    """All bugs of a folder, in the order of files and entries."""
    bugs = []
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            bugs.append(Bug(**entry, group=path.stem))
    return bugs


def planted(text: str, bug: Bug) -> str:
    """The text of the file with the bug; ValueError unless the passage occurs exactly once."""
    if text.count(bug.old) != 1:
        raise ValueError(f"{bug.file}: {bug.old!r} occurs {text.count(bug.old)} times")
    return text.replace(bug.old, bug.new)


def _cpu_seconds() -> float:
    """Of this process and all that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)


def plant(copy: Copy, bug: Bug) -> Outcome:
    """Plant a bug, run its tests, and take it out again."""
    start = _cpu_seconds()
    path = copy.folder / bug.file
    original = path.read_text(encoding="utf-8")
    path.write_text(planted(original, bug), encoding="utf-8")
    try:
        if bug.is_compiled:
            copy.compile(bug.file)
        failing = copy.failing_test(bug.tests)
    except RuntimeError as error:
        return Outcome(BROKEN, str(error), _cpu_seconds() - start)
    finally:
        path.write_text(original, encoding="utf-8")
        if bug.is_compiled:
            copy.restore_binaries(bug.file)
    verdict = SURVIVES if failing is None else CAUGHT
    return Outcome(verdict, failing or "", _cpu_seconds() - start)


class Results:
    """Outcomes by key, kept in a file of JSON lines if there is one.

    Parameters
    ----------
    path : Path or None
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._by_key: dict[str, Outcome] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                self._by_key[entry["key"]] = Outcome(
                    entry["verdict"], entry["by"], entry["seconds"]
                )

    def get(self, key: str) -> Outcome | None:
        """What became of the bug with this key."""
        return self._by_key.get(key)

    def add(self, key: str, bug: Bug, outcome: Outcome) -> None:
        """Note what became of a bug; one whose tests did not run is planted again next time."""
        self._by_key[key] = outcome
        if self._path is not None and outcome.verdict != BROKEN:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            entry = {"key": key, "bug": bug.bug, "file": bug.file} | vars(outcome)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")


def is_expected(bug: Bug, outcome: Outcome) -> bool:
    """Whether the bug is caught, or survives as its entry says."""
    return outcome.verdict == (CAUGHT if bug.equivalent is None else SURVIVES)


def check_catchers(copy: Copy, outcomes: list[Outcome]) -> None:
    """Raise RuntimeError if a test that caught a bug fails without any."""
    catchers = sorted({outcome.by for outcome in outcomes if outcome.verdict == CAUGHT})
    failing = copy.failing_test(" ".join(catchers)) if catchers else None
    if failing is not None:
        raise RuntimeError(f"pytest {failing} fails without any bug")


def print_summary(bugs: list[Bug], found: list[Outcome | None]) -> None:
    """A line per list, then the bugs that survive; None is a bug that was not planted."""
    print(f"{'':16s}  listed  planted  caught  equivalent  survive")
    pairs = [(bug, out) for bug, out in zip(bugs, found, strict=True) if out is not None]
    for group in [*sorted({bug.group for bug in bugs}), "all"]:
        n_listed = sum(group in (bug.group, "all") for bug in bugs)
        here = [pair for pair in pairs if group in (pair[0].group, "all")]
        n_equal = sum(bug.equivalent is not None for bug, _ in here)
        n_caught = sum(outcome.verdict == CAUGHT for _, outcome in here)
        n_alive = sum(not is_expected(*pair) for pair in here)
        counts = f"{n_listed:7d} {len(here):8d} {n_caught:7d} {n_equal:11d} {n_alive:8d}"
        print(f"{group:16s} {counts}")
    for title, chosen in (
        ("Equivalent", [p for p in pairs if p[0].equivalent is not None and is_expected(*p)]),
        ("SURVIVE", [p for p in pairs if not is_expected(*p)]),
    ):
        if chosen:
            print(f"\n{title}:")
        for bug, outcome in chosen:
            reason = bug.equivalent if is_expected(bug, outcome) else outcome.verdict
            print(f"  {bug.file}: {bug.bug}\n    {reason}")
    print(f"\n{sum(outcome.seconds for _, outcome in pairs) / 60:.1f} CPU minutes")


def main() -> int:
    """Plant the selected bugs and print what became of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only those marked quick")
    parser.add_argument(
        "--only", default="", help="a word in the list, the file or the description"
    )
    parser.add_argument("--python", action="store_true", help="none that needs a compiler")
    parser.add_argument("--unchecked", action="store_true", help="trust that the tests pass")
    parser.add_argument("--results", type=Path, help="outcomes, kept for the next call")
    parser.add_argument("--report", action="store_true", help="plant none, print the results")
    arguments = parser.parse_args()
    bugs = [
        bug
        for bug in read_bugs(LISTS)
        if (bug.quick or not arguments.quick)
        and arguments.only in f"{bug.group} {bug.file} {bug.bug}"
        and not (arguments.python and bug.is_compiled)
    ]
    results = Results(arguments.results)
    # Taken together with the copy: the checkout may change while the bugs are planted.
    keys = {bug: bug.key(ROOT) for bug in bugs}
    waiting = [bug for bug in bugs if results.get(keys[bug]) is None]
    if arguments.report:
        print_summary(bugs, [results.get(keys[bug]) for bug in bugs])
        return int(bool(waiting))
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        # Bugs of one compiled module follow each other: the others need not be compiled again.
        for number, bug in enumerate(sorted(waiting, key=lambda bug: bug.file), 1):
            outcome = plant(copy, bug)
            results.add(keys[bug], bug, outcome)
            mark = "" if is_expected(bug, outcome) else "UNEXPECTED: "
            told = f"{mark}{outcome.verdict}: {bug.file}: {bug.bug} ({outcome.by})"
            print(f"{number}/{len(waiting)} {told}", file=sys.stderr, flush=True)
        outcomes = [outcome for bug in bugs if (outcome := results.get(keys[bug])) is not None]
        if not arguments.unchecked:
            check_catchers(copy, outcomes)
    print_summary(bugs, outcomes)
    return int(not all(map(is_expected, bugs, outcomes)))


if __name__ == "__main__":
    sys.exit(main())
