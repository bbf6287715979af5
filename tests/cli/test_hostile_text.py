"""Labels and names that a terminal or a spreadsheet would act on."""

import numpy as np
import pandas as pd
import pytest
from two_tables import DEPLOYED, LABELLED, fit_words

from lacforest._utils.printable import printable, shown

RED = "\x1b[31mred\x1b]0;title\x07"
BACKWARDS = "\u202eevil"


def is_clean(text):
    return all(line.isprintable() for line in text.split("\n"))


@pytest.fixture
def hostile(folder):
    """Tables with escapes in labels, names and categories."""
    labelled, deployed = (frame.rename(columns={"x": f"x{RED}"}) for frame in (LABELLED, DEPLOYED))
    for frame in (labelled, deployed):
        frame["city"] = frame["city"].str.replace("Rome", f"Rome{BACKWARDS}")
    labelled["kind"] = labelled["kind"].str.replace("ham", f"ham{RED}")
    labelled["constant\x1b[2J"] = deployed["constant\x1b[2J"] = 1
    labelled.to_csv("labelled.csv", index=False)
    deployed.to_csv("prod.csv", index=False)
    return folder


@pytest.mark.usefixtures("hostile")
def test_nothing_that_a_terminal_acts_on_is_printed(run):
    outcome = run(*fit_words())
    assert outcome.code == 0, outcome.err
    assert "ham\\x1b[31mred" in outcome.out
    inspected = run("inspect", "model.lac")
    assert "x\\x1b[31mred" in inspected.out
    assert "\\u202e" in inspected.out
    for other in (
        run("predict", "model.lac", "prod.csv", "-o", "scored.csv"),
        run("theta", "labelled.csv", "prod.csv", "--target", "kind", "--trees", "5"),
        run("fit", "labelled.csv", "--target", RED, "--unlabeled", "prod.csv", "-o", "b.lac"),
        run("fit", RED),
        run("inspect", f"no{RED}.lac"),
        run("adapt", "model.lac", "prod.csv", "-o", "adapted.lac"),
        run("watch", "model.lac", "prod.csv", f"no{RED}.csv"),
        run("watch", "model.lac", "prod.csv", "--history", "h.csv", "--figure", "h.png"),
        run("groups", "model.lac", "prod.csv", "--labelled", "labelled.csv", "-o", "g.csv"),
        run("promote", "labelled.csv", "g.csv", "--target", "kind", "-o", "n.csv", "--name", RED),
        run("report", "model.lac", "prod.csv", "-o", "report.html"),
    ):
        assert is_clean(other.out)
        assert is_clean(other.err)
    assert is_clean(outcome.out + inspected.out)


def test_json_escapes_as_json_does(run, hostile):
    out = run(*fit_words("--json")).out
    assert is_clean(out)
    assert "\\u001b[31m" in out


def test_long_names_are_cut(run, folder):
    name = "n" * 5000
    for path, frame in (("labelled.csv", LABELLED), ("prod.csv", DEPLOYED)):
        frame.rename(columns={"x": name}).to_csv(path, index=False)
    outcome = run(*fit_words())
    assert outcome.code == 0
    inspected = run("inspect", "model.lac")
    assert max(map(len, (outcome.out + inspected.out).split("\n"))) < 300
    DEPLOYED.to_csv("prod.csv", index=False)
    assert len(run("predict", "model.lac", "prod.csv", "-o", "scored.csv").err) < 400


# ---------------------------------------------------------------------------- formulas


@pytest.fixture
def formulas(folder):
    labelled, deployed = LABELLED.copy(), DEPLOYED.copy()
    labelled["kind"] = labelled["kind"].replace("ham", "=1+1")
    deployed["note"] = np.resize(["=cmd()", "@a", "-5", "+x", "\tb", "plain"], len(deployed))
    labelled["note"] = "plain"
    labelled.to_csv("labelled.csv", index=False)
    deployed.to_csv("prod.csv", index=False)
    return folder


@pytest.mark.usefixtures("formulas")
@pytest.mark.parametrize("name", ["scored.csv", "scored.tsv"])
def test_formulas_can_be_escaped(run, name):
    assert run(*fit_words("--drop", "note")).code == 0
    words = ["predict", "model.lac", "prod.csv", "-o", name, "--keep", "note"]
    separator = "\t" if name.endswith("tsv") else ","
    assert run(*words).code == 0
    as_it_is = pd.read_csv(name, sep=separator)
    assert as_it_is["note"][:2].tolist() == ["=cmd()", "@a"]
    assert run(*words, "--escape-formulas").code == 0
    escaped = pd.read_csv(name, sep=separator)
    expected = ["'=cmd()", "'@a", "'-5", "'+x", "'\tb", "plain"]
    assert escaped["note"][:6].tolist() == expected
    assert set(escaped["predicted_label"]) == {"'=1+1", "spam", "<new>"}
    pd.testing.assert_series_equal(escaped["novelty_score"], as_it_is["novelty_score"])


# ---------------------------------------------------------------------------- helpers


def test_printable():
    assert printable("plain, é, 漢") == "plain, é, 漢"
    assert printable("a\x1b[0m\n\u202e\x7f") == "a\\x1b[0m\\n\\u202e\\x7f"
    assert shown("a" * 100) == "'" + "a" * 27 + "..." + "a" * 27 + "'"
    assert shown("a\x1b") == r"'a\x1b'"
    assert shown(7) == "7"
