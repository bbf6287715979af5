"""Shares of the known classes on the command line: --known-shares, and what is printed of them."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from two_tables import fit_words

from lacforest.tabular import TabularModel

MOVED = ("fit", "many.csv", "--target", "kind", "--unlabeled", "moved.csv", "-o", "model.lac")
OPTIONS = ("--trees", "5", "--jobs", "1")
THETA = ("theta", "many.csv", "moved.csv", "--target", "kind", "--jobs", "1")


@pytest.fixture
def moved(folder):
    """Two classes labelled alike, deployed as one to nine; a third of the rows is new."""
    rng = np.random.default_rng(0)
    centre = np.array([[0.0, 0.0], [6.0, 0.0], [3.0, 9.0]])

    def write(name, counts, labels=None):
        classes = np.repeat([0, 1, 2], counts)
        frame = pd.DataFrame(
            centre[classes] + rng.normal(size=(len(classes), 2)), columns=["x", "y"]
        )
        if labels is not None:
            frame["kind"] = np.array(labels)[classes]
        frame.to_csv(folder / name, index=False)

    write("many.csv", [150, 150, 0], [1, 2, 0])
    write("moved.csv", [40, 360, 200])


def test_fit_prints_shares_that_have_moved(run, moved, folder):
    outcome = run(*MOVED, *OPTIONS)
    assert outcome.code == 0, outcome.err
    lines = dict(line.split(maxsplit=1) for line in outcome.out.splitlines())
    assert lines["shares"].startswith("not as labelled (shift ")
    assert ": 2 8" in lines["shares"] or ": 2 9" in lines["shares"]
    model = TabularModel.load(folder / "model.lac")
    assert model.forest.known_shares_[1] == pytest.approx(0.9, abs=0.05)
    shown = run("inspect", "model.lac")
    assert f"shares      {lines['shares']}" in shown.out
    facts = json.loads(run("inspect", "model.lac", "--json").out)
    assert facts["known_shares"] == model.forest.known_shares_.tolist()
    assert facts["share_shift"] == model.forest.share_shift_


def test_fit_and_theta_agree(run, moved):
    fitted = json.loads(run(*MOVED, *OPTIONS, "--json").out)
    found = json.loads(run(*THETA, "--json").out)
    for name in ("theta", "known_shares", "known_shares_interval", "share_shift"):
        assert_allclose(found[name], fitted[name], err_msg=name)
    assert found["classes"] == [1, 2]
    assert abs(found["theta"] - 1 / 3) < 0.06


def test_given_shares(run, moved):
    given = ("--known-shares", "1=0.1, 2=0.9")
    fitted = json.loads(run(*MOVED, *OPTIONS, *given, "--json").out)
    assert fitted["known_shares"] == [0.1, 0.9]
    assert fitted["share_shift"] is None
    assert "shares      2 90%, 1 10%" in run(*MOVED, *OPTIONS, *given).out
    found = json.loads(run(*THETA, *given, "--json").out)
    assert found["theta"] == pytest.approx(fitted["theta"])
    assert abs(found["theta"] - 1 / 3) < 0.06


@pytest.mark.parametrize("method", ["auto", "best_bin"])
def test_labelled_shares_overestimate_theta(run, moved, method):
    options = ("--method", method, "--json")
    labeled = json.loads(run(*THETA, "--known-shares", "labeled", *options).out)
    assert labeled["known_shares"] is None
    assert not any(found["topic"] == "class shares" for found in labeled["findings"])
    found = json.loads(run(*THETA, *options).out)
    assert labeled["theta"] > found["theta"] + 0.1
    assert abs(found["theta"] - 1 / 3) < 0.08


def test_shares_that_have_not_moved(run):
    lines = run(*fit_words()).out.splitlines()
    assert any(line.startswith("shares      as labelled, as far as can be seen") for line in lines)


@pytest.mark.parametrize(
    ("shares", "part"),
    [
        ("most", "'most' is not CLASS=SHARE with a share from 0 to 1"),
        ("ham=1.5,spam=-0.5", "'ham=1.5' is not CLASS=SHARE with a share from 0 to 1"),
        ("ham=0.5,ham=0.5", "the class 'ham' has two shares"),
        ("ham=0.5,spam=0.4", "known_shares must sum to 1, but their sum is 0.9"),
        ("ham=0.5,eggs=0.5", "known_shares names labels that y does not have: ['eggs']"),
        ("ham=1", "known_shares lacks the known classes ['spam']"),
    ],
)
def test_mistakes(run, shares, part):
    assert run(*fit_words("--known-shares", shares)).is_mistake(part)
    words = ("theta", "labelled.csv", "prod.csv", "--target", "kind", "--known-shares", shares)
    assert run(*words).is_mistake(part)
