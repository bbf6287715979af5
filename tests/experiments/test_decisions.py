"""Decisions by name: the experiment runs through, and counts what it says."""

import numpy as np
import pytest

from lacforest.experiments import _decisions, command


@pytest.fixture
def small(monkeypatch):
    """Tables of a fraction of their size; 99 calibration rows are needed for a rate of 1 %."""
    sizes = {"N_LABELED": 180, "N_CALIBRATION": 100, "N_UNLABELED": 160, "N_FRESH": 120}
    for name, size in sizes.items():
        monkeypatch.setattr(_decisions, name, size)


@pytest.mark.filterwarnings("ignore:fdr=:UserWarning")
def test_a_small_draw(small, tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 250)
    np.savez(tmp_path / "toy.npz", X=8.0 * np.eye(4)[y] + rng.normal(size=(1000, 4)), y=y)
    words = ["--datasets", "toy", "--points", "theta .3", "--draws", "1", "--data", str(tmp_path)]
    assert command.main(["decisions", *words, "--results", str(tmp_path / "r.jsonl")]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    for name in ("lacextratrees,", "discriminator,"):
        budget = next(line for line in lines if name in line and "budget" in line)
        assert "50.0" in budget
    assert sum("fitted" in line and "score" in line for line in lines) == 3
