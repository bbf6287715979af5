"""Experiments on shares of known classes: splits, results, tables and commands."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits

from lacforest.experiments import command
from lacforest.experiments._shift import NEW, SHIFTS, draw_shares, make_shifted_split

DIGITS = load_digits(return_X_y=True)


@pytest.fixture
def folder(tmp_path):
    X, y = DIGITS
    np.savez(tmp_path / "small.npz", X=X, y=y)
    return tmp_path


@pytest.mark.parametrize("shift", SHIFTS)
def test_shares_of_every_kind(shift):
    natural = np.array([0.2, 0.3, 0.5])
    shares = draw_shares(shift, natural, np.random.default_rng(0))
    assert_allclose(shares.sum(), 1.0)
    assert (shares == natural).all() == (shift == "none")
    if shift == "absent":
        assert (shares == 0).sum() == 1


def test_split():
    sizes = (200, 300, 100)
    split = make_shifted_split(*DIGITS, 0.3, "dirichlet 1", np.random.default_rng(0), sizes)
    assert len(split.X) == len(split.y) == 200
    assert len(split.X_unlabeled) <= 300
    assert abs(split.theta - 0.3) < 0.1
    assert_allclose(split.known_shares.sum(), 1.0)
    assert NEW not in split.y
    rows = np.vstack([split.X, split.X_unlabeled, split.X_test])
    assert len(np.unique(rows, axis=0)) == len(rows)


def run_shift(folder, capsys, *more):
    words = [
        "shift",
        "--datasets",
        "small",
        "--data",
        str(folder),
        "--thetas",
        "0.3",
        "--draws",
        "1",
    ]
    words += ["--labeled", "200", "--unlabeled", "300", "--results", str(folder / "shift.jsonl")]
    code = command.main([*words, *more])
    return code, capsys.readouterr()


def test_shift_command(folder, capsys):
    options = ("--shifts", "none,dirichlet 0.5", "--methods", "sharemixture,lacforest:true")
    code, printed = run_shift(folder, capsys, *options, "--format", "json")
    assert code == 0, printed.err
    shown = json.loads(printed.out)
    mixture, forest = shown["table"]
    assert mixture["accuracy"] is None
    assert mixture["theta_error"] < 0.2
    assert forest["theta_error"] == pytest.approx(0, abs=1e-9)
    assert 0.5 < forest["accuracy"] <= 1
    told = shown["shifts and intervals"]
    assert len(told) == 1
    assert told[0].startswith("sharemixture: shift found in ")
    # Results of other sizes are other results.
    code, printed = run_shift(folder, capsys, *options, "--labeled", "150")
    assert code != 0
    assert "sizes" in printed.err


def test_confirmed_command(folder, capsys):
    results = str(folder / "confirmed.jsonl")
    methods = "lacforest:labeled,lacforest:true"
    words = ["confirmed", "--methods", methods, "--rows", "30", "--seeds", "1"]
    assert command.main([*words, "--results", results, "--format", "json"]) == 0
    labeled, true = json.loads(capsys.readouterr().out)["table"]
    assert true["theta_error"] == 0.0
    assert true["called_new"] <= labeled["called_new"]
    assert 0 <= true["called_new"] + true["recognised"] <= 1 + 1e-9
