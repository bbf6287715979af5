"""Experiments by name: each has a command, and a help text with an example that parses."""

import shlex
from pathlib import Path

import pytest

from lacforest.experiments import command
from lacforest.experiments.registry import EXPERIMENTS


def test_names():
    assert list(EXPERIMENTS) == [
        "theta",
        "table1",
        "ablation",
        "theta-sweep",
        "unlabeled-sweep",
        "unlabeled-curves",
        "labeled-curves",
        "shift",
        "confirmed",
        "suite",
        "groups",
        "adapt",
        "decisions",
        "promote",
        "stream",
        "deep",
        "deep-lambda",
        "deep-depth",
        "deep-table",
        "deep-samples",
    ]
    assert all(name == experiment.name for name, experiment in EXPERIMENTS.items())


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_help(name, capsys):
    with pytest.raises(SystemExit) as stop:
        command.main([name, "--help"])
    assert stop.value.code == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"example: python -m lacforest.experiments {name} {EXPERIMENTS[name].example}" in printed
    given = command._parser().parse_args([name, *shlex.split(EXPERIMENTS[name].example)])
    assert given.results == Path("lacforest-experiments", f"{name}.jsonl")


def test_the_list_of_experiments(capsys):
    with pytest.raises(SystemExit):
        command.main(["--help"])
    printed = " ".join(capsys.readouterr().out.split())
    for experiment in EXPERIMENTS.values():
        assert f"{experiment.name} {experiment.help}" in printed


@pytest.mark.parametrize(
    "name", [name for name in EXPERIMENTS if name.endswith(("sweep", "depth", "stream"))]
)
def test_figures_are_checked_before_anything_runs(name, tmp_path, capsys):
    words = ["--figure", "a.xls", "--results", str(tmp_path / "results.jsonl")]
    assert command.main([name, *words]) == 2
    assert capsys.readouterr().err == ("a.xls: the name of a figure must end in .png, .svg, .pdf\n")
    assert not any(tmp_path.iterdir())
