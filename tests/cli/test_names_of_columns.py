"""Names of columns in options: with commas, spaces, quotes and dashes."""

import argparse

import pandas as pd
import pytest
from two_tables import DEPLOYED, LABELLED, fit_words

from lacforest._utils.arguments import joined, names
from lacforest.tabular.errors import Advice

NAMES = ["age", "Weight, kg", " x ", '"city"', "-rate", "K\u00f6rper (g)", 'a "b", c']


def test_names_are_read_as_they_are_printed():
    assert names(joined(NAMES)) == NAMES
    assert names(' a, "b, c" ,d,,a') == ["a", "b, c", "d"]
    with pytest.raises(argparse.ArgumentTypeError, match="at least one name"):
        names(" , ")


def test_advice_can_be_pasted():
    advice = Advice(is_command=True)
    assert advice.option("drop", "Weight, kg", "age") == "--drop '\"Weight, kg\",age'"
    assert advice.option("drop", "-rate") == "--drop=-rate"
    assert advice.option("missing", "--") == "--missing=--"
    assert advice.option("missing", "a, b") == "--missing 'a, b'"


def test_columns_with_strange_names(run):
    new = {"x": "Weight, kg", "y": "-rate", "city": " city "}
    LABELLED.rename(columns=new).to_csv("labelled.csv", index=False)
    outcome = run(*fit_words())
    assert '--drop \'"Weight, kg",-rate," city "\'\n' in outcome.err
    DEPLOYED.rename(columns=new).to_csv("prod.csv", index=False)
    assert run(*fit_words("--drop", '"Weight, kg"," city "')).code == 0
    kept = run("predict", "model.lac", "prod.csv", "-o", "s.csv", "--keep", '"Weight, kg",-rate')
    assert kept.code == 0
    assert list(pd.read_csv("s.csv").columns[:3]) == ["row", "Weight, kg", "-rate"]


def test_spaces_in_a_message_stay(run):
    LABELLED.assign(x=["1", "   "] * 30).to_csv("labelled.csv", index=False)
    assert run(*fit_words()).is_mistake("use --missing '   '")


def problems_of(outcome):
    assert outcome.code == 2
    first, *problems = outcome.err.splitlines()
    assert first == f"lacforest: {len(problems)} problems:"
    return problems


@pytest.mark.parametrize("how", [[], ["--memory", "600"]])
def test_a_mistyped_target_hides_no_other_problem(run, how):
    LABELLED.assign(x="1,5", id=7).to_csv("labelled.csv", index=False)
    DEPLOYED.assign(age=1).to_csv("prod.csv", index=False)
    mistyped = ["--target", "Knd", "--drop", "membr", "--use", "citty", "--text", "nothing"]
    problems = problems_of(run(*fit_words(*mistyped, *how)))
    starts = [
        "- labelled.csv has no column 'Knd' (did you mean 'kind'?); it has 'x', 'y', 'city'",
        "- --drop membr: neither labelled.csv nor prod.csv has such a column (did you mean "
        "'member'?); labelled.csv has 'x'",
        "- --text nothing: neither labelled.csv nor prod.csv has such a column; labelled.csv has",
        "- --use citty: neither labelled.csv nor prod.csv has such a column (did you mean 'city'?)",
        "- labelled.csv has the column 'id', but prod.csv does not",
        "- prod.csv has the column 'age', but labelled.csv does not",
        "- column 'x' of labelled.csv contains numbers written like '1,5'",
    ]
    assert len(problems) == len(starts)
    for start in starts:
        assert sum(problem.startswith(start) for problem in problems) == 1, start


def test_labels_are_checked_in_the_column_that_is_meant(run):
    LABELLED.assign(kind="ham").to_csv("labelled.csv", index=False)
    problems = problems_of(run(*fit_words("--target", "kin")))
    assert "contains a single class, 'ham'" in problems[0]
    assert "did you mean 'kind'" in problems[1]


def test_no_column_is_taken_for_the_target_where_several_may_be(run):
    LABELLED.assign(one=1, two=2).to_csv("labelled.csv", index=False)
    outcome = run(*fit_words("--target", "label"))
    assert outcome.is_mistake("labelled.csv has no column 'label'; it has 'x', 'y', 'city'")
    # A column of both tables holds no labels, however similar its name is.
    outcome = run(*fit_words("--target", "citi"))
    assert outcome.is_mistake("labelled.csv has no column 'citi' (did you mean 'city'?); it has")


def test_both_files_are_read_before_problems_are_told(run, folder):
    (folder / "labelled.csv").write_text("x,y\n1\n")
    (folder / "prod.csv").write_text("")
    problems = problems_of(run(*fit_words()))
    assert [problem.split(",")[0] for problem in problems] == [
        "- labelled.csv",
        "- prod.csv is empty",
    ]
