"""Imports point down the layers of the package, and never into a private module of another room."""

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
SOURCE, DOCS = ROOT / "lacforest", ROOT / "docs"
# What is in lacforest/ itself: the public names and `python -m lacforest`.
ROOF = "lacforest"
# From the ground up. A room imports from rooms of lower layers only, not from its neighbours.
LAYERS = (
    ("_utils",),
    ("_input", "_tree"),
    ("_coding",),
    ("mixture",),
    ("_model",),
    ("_growing",),
    ("_contract",),
    ("calibration", "discovery"),
    ("adaptation",),
    ("ensemble", "metrics", "datasets"),
    ("model_selection", "export", "tabular", "dask"),
    ("baselines", "neural", "inspection"),
    ("report",),
    ("experiments",),
    ("cli",),
    (ROOF,),
)
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}


class Import(NamedTuple):
    """One imported name: where the import stands, and what it names."""

    place: str
    room: str
    name: str
    target: str

    def __str__(self):
        return f"{self.place} imports {self.name}"

    @property
    def is_private(self):
        """Whether the name goes through a module or to a name that another room keeps private."""
        below = self.name.split(".")[1 if self.target == ROOF else 2 :]
        return any(part.startswith("_") and not part.startswith("__") for part in below)


def python_imports(path: Path, package: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import, those inside of functions included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) + 1 - node.level]
            above = [".".join(parents)] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


CYTHON_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<module>[\w.]+)[ \t]+c?import[ \t]+(?P<names>\([^)]*\)|[^\n#(]+)"
    r"|c?import[ \t]+(?P<whole>[\w.]+))",
    re.MULTILINE,
)


def cython_imports(path: Path, package: str) -> Iterator[tuple[int, str]]:
    """The same of Cython, whose grammar `ast` does not know: import and cimport, by line."""
    text = path.read_text(encoding="utf-8")
    for found in CYTHON_IMPORT.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        if found["whole"]:
            yield line, found["whole"]
            continue
        names = re.sub(r"#.*", "", found["names"]).strip("() \n")
        for name in filter(None, (part.split(" as ")[0].strip() for part in names.split(","))):
            yield line, f"{found['module']}.{name}"


def read_imports(source: Path) -> list[Import]:
    """All imports between different rooms of the package."""
    rooms = {folder.name for folder in source.iterdir() if folder.is_dir()}
    found = []
    for path in sorted(source.rglob("*")):
        if path.suffix not in (".py", ".pyi", ".pyx", ".pxd"):
            continue
        relative = path.relative_to(source)
        room = relative.parts[0] if len(relative.parts) > 1 else ROOF
        package = ".".join([ROOF, *relative.parts[:-1]])
        read = python_imports if path.suffix in (".py", ".pyi") else cython_imports
        for line, name in read(path, package):
            parts = name.split(".")
            if parts[0] != ROOF:
                continue
            target = parts[1] if len(parts) > 1 and parts[1] in rooms else ROOF
            if target != room:
                found.append(Import(f"{relative.as_posix()}:{line}", room, name, target))
    return found


def going_up(imports: list[Import]) -> list[str]:
    return [str(one) for one in imports if LEVEL[one.target] >= LEVEL[one.room]]


def private(imports: list[Import]) -> list[str]:
    return [str(one) for one in imports if one.is_private]


def rooms_in_cycles(imports: list[Import]) -> set[str]:
    """Rooms that import themselves by way of others, whatever the layers say."""
    below: dict[str, set[str]] = {}
    for one in imports:
        below.setdefault(one.room, set()).add(one.target)

    def reachable(room: str) -> set[str]:
        seen: set[str] = set()
        waiting = [room]
        while waiting:
            fresh = below.get(waiting.pop(), set()) - seen
            seen |= fresh
            waiting += fresh
        return seen

    return {room for room in below if room in reachable(room)}


@pytest.fixture(scope="module")
def imports():
    return read_imports(SOURCE)


def test_every_room_has_a_layer():
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert rooms | {ROOF} == set(LEVEL)
    assert len(LEVEL) == sum(map(len, LAYERS))


def test_the_architecture_page_shows_these_layers():
    page = (DOCS / "architecture.rst").read_text(encoding="utf-8")
    assert ".. literalinclude:: layers.txt" in page
    shown = (DOCS / "layers.txt").read_text(encoding="utf-8").splitlines()
    assert tuple(tuple(line.split()) for line in reversed(shown)) == LAYERS


def test_imports_are_read(imports):
    assert len(imports) > 150
    lazy = [one for one in imports if one.room == "cli" and one.target == "experiments"]
    assert lazy, "the command imports the experiments inside of a function"


def test_no_import_goes_up(imports):
    assert going_up(imports) == []


def test_no_rooms_import_each_other(imports):
    assert rooms_in_cycles(imports) == set()


def test_no_import_of_what_another_room_keeps_private(imports):
    assert private(imports) == []


# ---------------------------------------------------------------------------- the tests can fail


@pytest.fixture
def copy(tmp_path):
    """A copy of the sources to plant mistakes in."""
    compiled = shutil.ignore_patterns("*.so", "*.pyd", "*.c", "__pycache__")
    return shutil.copytree(SOURCE, tmp_path / "lacforest", ignore=compiled)


UP = {
    "_input/labels.py": "from lacforest.ensemble import LACForestClassifier",
    "_utils/threads.py": "def late():\n    import lacforest.mixture",
    "_tree/keys.pxd": "from lacforest._coding.ranks cimport (\n    one,  # so\n    two as it,\n)",
    "_tree/search.pyx": "cimport lacforest._growing.plan",
    "metrics/_novelty.py": "from ..model_selection import mask_hidden",
    # Neighbours in one layer, and the roof.
    "export/_onnx.py": "from lacforest.tabular import TabularModel",
    "tabular/_csv.py": "from lacforest import LACForestClassifier",
}


@pytest.mark.parametrize("file", UP)
def test_an_import_that_goes_up_is_found(imports, copy, file):
    with open(copy / file, "a") as text:
        text.write(f"\n{UP[file]}\n")
    found = [line for line in going_up(read_imports(copy)) if line not in going_up(imports)]
    assert found
    assert all(line.startswith(f"{file}:") for line in found)


def test_a_cycle_is_found(imports, copy):
    before = rooms_in_cycles(imports)
    with open(copy / "mixture" / "_simplex.py", "a") as text:
        text.write("\nfrom lacforest.metrics import accuracy_score\n")
    assert rooms_in_cycles(read_imports(copy)) == before
    with open(copy / "metrics" / "_novelty.py", "a") as text:
        text.write("\ndef late():\n    from lacforest.mixture import BestBin\n")
    assert rooms_in_cycles(read_imports(copy)) == before | {"metrics", "mixture"}


PRIVATE = {
    "report/_html.py": "from lacforest.metrics import _novelty",
    "cli/_fit.py": "from lacforest.tabular._csv import TRUTH",
    "inspection/_oscr.py": "def late():\n    from lacforest._model.arrays import _check",
    "baselines/_smo.pyx": "from lacforest.mixture._base cimport name",
}


@pytest.mark.parametrize("file", PRIVATE)
def test_an_import_of_a_private_name_is_found(imports, copy, file):
    with open(copy / file, "a") as text:
        text.write(f"\n{PRIVATE[file]}\n")
    found = [line for line in private(read_imports(copy)) if line not in private(imports)]
    assert len(found) == 1
    assert found[0].startswith(f"{file}:")
