"""The list of planted bugs is complete enough to be planted."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))
planting = pytest.importorskip("planting")
mutants = pytest.importorskip("mutants")
BUGS = mutants.read_bugs(ROOT / "tests" / "mutants")


def test_there_are_many_and_each_has_a_description():
    assert len(BUGS) >= 100
    assert len({(bug.file, bug.bug) for bug in BUGS}) == len(BUGS)
    assert sum(bug.is_compiled for bug in BUGS) >= 50
    assert 8 <= sum(bug.quick for bug in BUGS) <= 25


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.bug)
def test_a_bug_can_be_planted_and_its_tests_exist(bug):
    text = (ROOT / bug.file).read_text(encoding="utf-8")
    assert mutants.planted(text, bug) != text
    for word in bug.tests.split():
        assert not word.startswith("tests/") or (ROOT / word.split("::")[0]).exists()
    assert bug.equivalent is None or len(bug.equivalent) > 20


def test_a_passage_is_replaced_once():
    bug = mutants.Bug(bug="", file="a.py", old="x", new="y", tests="")
    assert mutants.planted("a x b", bug) == "a y b"
    for text in ("a b", "x x"):
        with pytest.raises(ValueError, match=r"a.py: 'x' occurs [02] times"):
            mutants.planted(text, bug)


def test_modules_that_a_source_is_compiled_into(tmp_path):
    (tmp_path / "low.pxd").write_text("", encoding="utf-8")
    middle = 'from lacforest._tree.low cimport x\ncdef extern from "low.h" nogil:\n    void f()'
    (tmp_path / "middle.pxd").write_text(middle, encoding="utf-8")
    (tmp_path / "top.pyx").write_text("from lacforest._tree.middle cimport x", encoding="utf-8")
    (tmp_path / "other.pyx").write_text("", encoding="utf-8")
    assert planting.modules_that_include(tmp_path, "low.pxd") == ["top"]
    assert planting.modules_that_include(tmp_path, "other.pyx") == ["other"]
    assert planting.modules_that_include(tmp_path, "low.h") == ["top"]


def test_a_bug_is_planted_again_after_a_change_of_its_file_or_tests(tmp_path):
    bug = mutants.Bug(bug="", file="a.py", old="x", new="y", tests="test_a.py::test_x -k x")
    (tmp_path / "a.py").write_text("x", encoding="utf-8")
    (tmp_path / "test_a.py").write_text("", encoding="utf-8")
    keys = [bug.key(tmp_path)]
    assert bug.key(tmp_path) == keys[0]
    (tmp_path / "test_a.py").write_text("assert 0", encoding="utf-8")
    keys.append(bug.key(tmp_path))
    (tmp_path / "a.py").write_text("1 x", encoding="utf-8")
    keys.append(bug.key(tmp_path))
    keys.append(replace(bug, new="z").key(tmp_path))
    assert len(set(keys)) == 4


def test_results_are_kept_but_not_those_of_tests_that_did_not_run(tmp_path):
    bug = mutants.Bug(bug="b", file="a.py", old="x", new="y", tests="")
    path = tmp_path / "new folder" / "results.jsonl"
    first = mutants.Results(path)
    first.add("1", bug, mutants.Outcome(mutants.CAUGHT, "test_a.py::test_x", 2.5))
    first.add("2", bug, mutants.Outcome(mutants.BROKEN, "no such test", 0.1))
    assert first.get("2").verdict == mutants.BROKEN
    again = mutants.Results(path)
    assert again.get("1") == first.get("1")
    assert again.get("2") is None


def test_a_test_that_always_fails_catches_nothing():
    class Copy:
        @staticmethod
        def failing_test(tests):
            return "test_b" if "test_b" in tests else None

    caught = [mutants.Outcome(mutants.CAUGHT, by, 0.0) for by in ("test_a", "test_b")]
    lives = mutants.Outcome(mutants.SURVIVES, "", 0.0)
    mutants.check_catchers(Copy, [caught[0], lives])
    with pytest.raises(RuntimeError, match="pytest test_b fails without any bug"):
        mutants.check_catchers(Copy, [*caught, lives])


def test_what_is_expected_of_a_bug():
    bug = mutants.Bug(bug="", file="a.py", old="x", new="y", tests="")
    equal = replace(bug, equivalent="a reason")
    for verdict, expected, expected_of_equal in (
        (mutants.CAUGHT, True, False),
        (mutants.SURVIVES, False, True),
        (mutants.BROKEN, False, False),
    ):
        outcome = mutants.Outcome(verdict, "", 0.0)
        assert mutants.is_expected(bug, outcome) == expected
        assert mutants.is_expected(equal, outcome) == expected_of_equal
