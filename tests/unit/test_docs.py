"""Names in the documentation exist, and its examples give the output shown."""

import doctest
import importlib
import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest

import lacforest

ROOT = Path(__file__).parents[2]


def names_of(pattern, *folders):
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.p*") if path.is_file()]
    text = "\n".join(path.read_text() for path in files if path.suffix in (".py", ".pyx", ".pxd"))
    return set(re.findall(pattern, text))


def test_every_test_on_the_algorithm_page_exists():
    page = (ROOT / "docs" / "algorithm.rst").read_text()
    named = set(re.findall(r"``(test_\w+)``", page))
    assert named
    assert named <= names_of(r"def (test_\w+)\(", "tests")


def test_every_function_on_the_algorithm_page_exists():
    page = (ROOT / "docs" / "algorithm.rst").read_text()
    named = set(re.findall(r"``(?:\w+\.)?(\w+)`` in\s+``[\w/]+\.p(?:y|yx|xd)``", page))
    assert len(named) > 5
    assert named <= names_of(r"(?:def|cdef|class)[ \w*]* (\w+)\(", "lacforest")


def test_the_architecture_page_lists_every_module():
    page = (ROOT / "docs" / "architecture.rst").read_text()
    assert ".. literalinclude:: modules.txt" in page
    spec = importlib.util.spec_from_file_location("list_modules", ROOT / "tools/list_modules.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    listed = tool.list_modules()
    assert "    criterion " in listed
    assert (ROOT / "docs" / "modules.txt").read_text() == listed, "run tools/list_modules.py"


def test_every_file_on_the_architecture_page_exists():
    page = (ROOT / "docs" / "architecture.rst").read_text()
    named = re.findall(r"``((?:_\w+|ensemble|mixture|tests|tools)/[\w/.]+)``", page)
    assert len(named) > 6
    for name in named:
        assert [*ROOT.glob(name + "*"), *ROOT.glob(f"lacforest/{name}*")], name


def public_packages():
    names = [info.name for info in pkgutil.iter_modules(lacforest.__path__)]
    packages = [f"lacforest.{name}" for name in names if name[0] != "_"]
    return ["lacforest", *(name for name in packages if not name.endswith((".cli", ".neural")))]


@pytest.mark.parametrize("package", public_packages())
def test_every_public_name_is_on_the_api_page(package):
    page = (ROOT / "docs" / "api.rst").read_text()
    listed = {name.split(".")[-1] for name in re.findall(r"^   ([\w.]+)$", page, re.M)}
    module = importlib.import_module(package)
    public = {name for name in getattr(module, "__all__", ()) if callable(getattr(module, name))}
    assert public <= listed


def test_the_example_of_the_readme_runs_and_opens_the_quick_start(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    names = {}
    exec(code, names)
    assert names["forest"].predict([[0, 0], [4, 0], [2, 6]]).tolist() == ["a", "b", "<new>"]
    fitted, used = code.split("forest.fit(")
    # Rows of the fit look surer than others: what the example predicts are other rows.
    assert "X_deployed" in fitted
    assert "(X_deployed)" not in used.partition("\n")[2]
    quick_start = (ROOT / "docs" / "quickstart.rst").read_text()
    for line in fitted.splitlines():
        assert not line or f">>> {line}" in quick_start


def test_the_readme_names_files_that_are_there():
    linked = re.findall(r"\]\((?!https?:)([^)]+)\)", (ROOT / "README.md").read_text())
    assert len(linked) > 8
    for name in linked:
        assert (ROOT / name).exists(), name


def test_figures_of_the_readme_are_those_of_the_results():
    """Each figure equals the rounded value in the files that the commands wrote."""
    readme = (ROOT / "README.md").read_text()
    rows = [line for line in readme.splitlines() if line.startswith(("| accuracy", "| AUC"))]
    table = (ROOT / "docs" / "results" / "table1.txt").read_text()
    for row, title in zip(rows, ("Accuracy", "AUC of the new class"), strict=True):
        part = table.split(f"{title}\n")[1].split("average")[0]
        written = [
            (f"{float(ours):.3f}"[1:], f"{float(theirs):.3f}"[1:])
            for ours, theirs in re.findall(r"(\.\d+)±\.\d+ +\((\.\d+)\)", part)
        ]
        assert re.findall(r"(\.\d+) \((\.\d+)\)", row) == written


def pages_with_examples():
    pages = (
        path
        for folder in ("", "guide", "developer")
        for path in (ROOT / "docs" / folder).glob("*.rst")
    )
    # The page on neural forests requires torch; tests/neural covers it.
    return sorted(page for page in pages if ">>> " in page.read_text() and page.stem != "neural")


@pytest.mark.parametrize("page", pages_with_examples(), ids=lambda page: page.stem)
def test_examples_on_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def public_modules():
    names = ["lacforest"]
    names += [info.name for info in pkgutil.walk_packages(lacforest.__path__, "lacforest.")]
    return [name for name in names if "neural" not in name and not name.endswith("__main__")]


@pytest.mark.parametrize("name", public_modules())
def test_examples_in_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_comparison_with_neighbours_is_the_output_of_its_script():
    script = (ROOT / "asv_benchmarks" / "compare_neighbours.py").read_text()
    output = (ROOT / "docs" / "results" / "neighbours.txt").read_text().splitlines()
    named = re.findall(r'^    "(.+)": \("', script, re.MULTILINE)
    assert [line[:28].rstrip() for line in output[1:]] == named
    page = (ROOT / "docs" / "guide" / "compared.rst").read_text()
    assert "\n".join(f"   {line}" for line in output) in page
