"""Table 1 and the sweeps by command, on synthetic datasets."""

import sys

import pytest

from lacforest.experiments import command
from lacforest.experiments._sweeps import UNLABELED


def run_command(folder, capsys, *words, code=0):
    arguments = ["--data", str(folder), "--datasets", "one,two"]
    arguments += ["--results", str(folder / "results.jsonl"), "--choices", "1", "--samples", "2"]
    assert command.main([*words[:1], *arguments, *words[1:]]) == code
    return capsys.readouterr()


def test_table1_by_command(given, folder, capsys):
    printed = run_command(folder, capsys, "table1", "--methods", "all").out
    assert "dataset" in printed
    assert printed.count("\none ") == 3
    assert "bad" in printed
    fits = len(given)
    again = run_command(folder, capsys, "table1", "--methods", "all").out
    assert again == printed
    assert len(given) == fits


def test_sweeps_by_command(given, folder, capsys):
    picture = folder / "sweep.png"
    words = ("unlabeled-sweep", "--methods", "good,bad", "--figure", str(picture))
    printed = run_command(folder, capsys, *words).out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert len(printed.splitlines()) == 1 + 2 * 2 * len(UNLABELED.points)


def test_figures_that_cannot_be_drawn(given, folder, capsys, monkeypatch):
    def complaint(path):
        words = ("theta-sweep", "--methods", "good", "--figure", str(path))
        return run_command(folder, capsys, *words, code=2).err

    assert complaint("a.xls") == "a.xls: the name of a figure must end in .png, .svg, .pdf\n"
    assert "cannot be written: there is no folder" in complaint(folder / "no" / "a.png")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert complaint("a.png").startswith("this needs matplotlib, which is not installed")
    assert given == []


def test_jobs_at_once_give_what_one_at_a_time_gives(given, folder, capsys):
    words = ("table1", "--methods", "all", "--format", "csv")
    alone = run_command(folder, capsys, *words, "--results", str(folder / "alone.jsonl")).out
    fits = len(given)
    assert run_command(folder, capsys, *words, "--jobs", "2").out == alone
    assert len(given) == fits  # the others were made in other processes


def test_trials_by_command(given, folder, capsys):
    arguments = ["table1", "--data", str(folder), "--datasets", "one", "--methods", "good"]
    arguments += ["--results", str(folder / "results.jsonl"), "--trials", "3"]
    assert command.main(arguments) == 0
    assert len(given) == 3
    with pytest.raises(SystemExit, match="2"):
        command.main([*arguments, "--samples", "2"])
    assert "not allowed with argument --trials" in capsys.readouterr().err


def test_a_method_that_is_not_there(given, folder, capsys):
    complaint = run_command(folder, capsys, "table1", "--methods", "best", code=2).err
    assert complaint == "there is no method 'best': choose one of good, bad\n"
