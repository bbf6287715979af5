"""What the commands say of drift."""

import json

import numpy as np
import pytest
from two_tables import DEPLOYED, LABELLED, fit_words


@pytest.fixture
def drifted(folder):
    """The tables in the folder, with a time stamp and a city that differ between them."""
    stamped, moved = LABELLED.copy(), DEPLOYED.copy()
    stamped["day"], moved["day"] = np.arange(60) % 40, 200 + np.arange(80) % 40
    moved["city"] = "Lima"
    stamped.to_csv(folder / "labelled.csv", index=False)
    moved.to_csv(folder / "prod.csv", index=False)


def lines_of(outcome, start):
    return [line for line in outcome.out.splitlines() if line.startswith(start)]


@pytest.mark.usefixtures("drifted")
def test_fit_says_in_one_line_what_to_drop(run):
    outcome = run(*fit_words("--theta", "auto", "--categories", "onehot"))
    assert outcome.code == 0
    (line,) = lines_of(outcome, "drift: ")
    assert "as by a time stamp, an id, other units or another season" in line
    assert line.endswith("; try --drop city,day")
    (warning,) = lines_of(outcome, "warning: ")
    assert "day (larger in 100% of pairs)" in warning
    # In terms of the command
    assert "give them by --drop or, in Python, pass control=(X_known, y_known)" in warning
    assert "X_unlabeled" not in warning
    again = run(*fit_words("--theta", "auto", "--drop", "city,day"))
    assert lines_of(again, "drift: ") == []


def test_nothing_is_said_where_all_is_well(run):
    outcome = run(*fit_words())
    assert lines_of(outcome, "drift: ") == []
    facts = json.loads(run(*fit_words("--json", output="again.lac")).out)
    assert facts["drifted"] == []
    assert [found["level"] for found in facts["findings"] if found["topic"] == "drift"] == ["ok"]


@pytest.mark.usefixtures("drifted")
def test_inspect_shows_findings(run):
    run(*fit_words("--theta", "auto"))
    (line,) = lines_of(run("inspect", "model.lac"), "problem: drift: ")
    assert "day (larger in 100% of pairs)" in line
    facts = json.loads(run("inspect", "model.lac", "--json").out)
    drift = next(found for found in facts["findings"] if found["topic"] == "drift")
    assert drift["level"] == "problem"
    assert "day" in drift["columns"]
