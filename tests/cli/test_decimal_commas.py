"""Tables as spreadsheets write them where decimals are separated by commas."""

import pandas as pd
import pytest
from two_tables import DEPLOYED, LABELLED, fit_words

COMMA = ("--decimal", ",")


@pytest.fixture
def german(run):
    LABELLED.to_csv("labelled.csv", index=False, sep=";", decimal=",")
    DEPLOYED.to_csv("prod.csv", index=False, sep=";", decimal=",")


def scores(run, *more):
    outcome = run("predict", "model.lac", "prod.csv", "-o", "s.csv", *more)
    assert outcome.code == 0, outcome.err
    return pd.read_csv("s.csv")


@pytest.mark.parametrize("how", [[], ["--memory", "600"]])
def test_from_fit_to_predict(run, how):
    assert run(*fit_words(*how)).code == 0
    expected = scores(run, "--keep", "x,city")
    LABELLED.to_csv("labelled.csv", index=False, sep=";", decimal=",")
    DEPLOYED.to_csv("prod.csv", index=False, sep=";", decimal=",")
    assert run(*fit_words(*how, *COMMA)).code == 0
    found = scores(run, "--keep", "x,city", *COMMA)
    pd.testing.assert_frame_equal(found, expected)
    # The model remembers nothing about it.
    DEPLOYED.to_csv("prod.csv", index=False)
    pd.testing.assert_frame_equal(scores(run, "--keep", "x,city"), expected)


@pytest.mark.usefixtures("german")
def test_every_verb_that_reads_tables(run):
    assert run(*fit_words(*COMMA)).code == 0
    for words in (
        ["theta", "labelled.csv", "prod.csv", "--target", "kind"],
        ["adapt", "model.lac", "prod.csv", "-o", "adapted.lac"],
        ["watch", "model.lac", "prod.csv", "--history", "h.csv"],
        ["groups", "model.lac", "prod.csv", "-o", "g.csv", "--labelled", "labelled.csv"],
    ):
        outcome = run(*words, *COMMA)
        assert outcome.code in (0, 3), outcome.err


@pytest.mark.usefixtures("german")
def test_without_the_option_the_message_names_it(run):
    outcome = run(*fit_words())
    assert outcome.code == 2
    assert "use --decimal , if all are written so in a CSV file" in outcome.err


@pytest.mark.usefixtures("german")
@pytest.mark.parametrize("how", [[], ["--memory", "600"]])
def test_points_between_thousands_are_no_decimals(run, how):
    thousands = [f"{i % 7 + 1}.500" for i in range(60)]
    LABELLED.assign(x=thousands).to_csv("labelled.csv", index=False, sep=";", decimal=",")
    outcome = run(*fit_words(*COMMA, *how))
    assert outcome.code == 2
    assert "column 'x' of labelled.csv contains numbers such as '1.500'" in outcome.err


@pytest.mark.usefixtures("german")
def test_points_in_rows_to_score(run):
    assert run(*fit_words(*COMMA)).code == 0
    rows = DEPLOYED.astype({"x": str})
    rows.loc[3, "x"] = "1.5"
    rows["x"] = rows["x"].str.replace(".", ",")
    rows.loc[3, "x"] = "1.5"
    rows.to_csv("prod.csv", index=False, sep=";", decimal=",")
    outcome = run("predict", "model.lac", "prod.csv", "-o", "s.csv", *COMMA)
    assert outcome.is_mistake("prod.csv, line 5: '1.5' in column 'x', which must contain numbers")
