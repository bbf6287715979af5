"""The list of planted bugs is complete enough to be planted."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))
mutants = pytest.importorskip("mutants")
BUGS = mutants.read_bugs(ROOT / "tests" / "mutants")


def test_there_are_many_and_each_has_a_description():
    assert len(BUGS) >= 100
    assert len({(bug.file, bug.bug) for bug in BUGS}) == len(BUGS)
    assert sum(bug.is_compiled for bug in BUGS) >= 50
    assert 8 <= sum(bug.quick for bug in BUGS) <= 25


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.bug)
def test_files_and_tests_exist(bug):
    assert (ROOT / bug.file).is_file()
    assert bug.old != bug.new
    for word in bug.tests.split():
        assert not word.startswith("tests/") or (ROOT / word).exists()
    assert bug.equivalent is None or len(bug.equivalent) > 20


def test_a_passage_is_replaced_once():
    bug = mutants.Bug(bug="", file="a.py", old="x", new="y", tests="")
    assert mutants.planted("a x b", bug) == "a y b"
    for text in ("a b", "x x"):
        with pytest.raises(ValueError, match=r"a.py: 'x' occurs [02] times"):
            mutants.planted(text, bug)


def test_modules_that_a_source_is_compiled_into(tmp_path):
    (tmp_path / "low.pxd").write_text("", encoding="utf-8")
    (tmp_path / "middle.pxd").write_text("from lacforest._tree.low cimport x", encoding="utf-8")
    (tmp_path / "top.pyx").write_text("from lacforest._tree.middle cimport x", encoding="utf-8")
    (tmp_path / "other.pyx").write_text("", encoding="utf-8")
    assert mutants.modules_that_include(tmp_path, "low.pxd") == ["top"]
    assert mutants.modules_that_include(tmp_path, "other.pyx") == ["other"]
