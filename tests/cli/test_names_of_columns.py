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
