"""Tables as people and spreadsheets write them: numbers, labels, separators."""

import re

import numpy as np
import pandas as pd
import pytest
from coded_frames import fit
from two_tables import DEPLOYED, LABELLED, fit_words

from lacforest.tabular import TableError, TabularModel, read_table

# ---------------------------------------------------------------------------- numbers

WRITTEN = {
    "decimal comma": ["1,5", "-2,25"],
    "some with a decimal comma": ["1,5", "3", "2", "4"],
    "thousands": ["1,234", "12"],
    "thousands and decimals": ["12,345.50", "1,234,567.00"],
    "thousands apart by points": ["1.234,50", "12.345,00"],
    "thousands apart by spaces": ["1 234", "12\u202f345,5"],
    "thousands apart by apostrophes": ["1'234", "1\u2019234"],
    "dollars": ["$4.50", "-$1,200"],
    "euros": ["4,50 \u20ac", "12 \u20ac"],
    "percent": ["4.5%", "12 %"],
    "a stray text among them": ["4.5%", "12%", "unknown"],
}


@pytest.mark.parametrize("case", WRITTEN)
def test_numbers_that_would_be_taken_for_text(case):
    with pytest.raises(TableError) as caught:
        fit({"a": WRITTEN[case]})
    message = str(caught.value)
    assert f"column 'a' of a.csv contains numbers written like {WRITTEN[case][0]!r}: " in message
    assert message.endswith("(1234.5), or use text=['a'] or drop=['a']")


@pytest.mark.parametrize(
    "texts",
    [["4.5 kg", "5 kg"], ["1-2", "3-5"], ["A1,5", "B"], ["10.0.0.1", "10.0.0.2"], ["5%", "x", "y"]],
    ids=str,
)
def test_texts_that_are_no_numbers(texts):
    assert fit({"a": texts}).kinds["a"] == "text"


def test_written_numbers_as_text():
    assert fit({"a": ["4.5%", "12%"]}, text=["a"]).kinds["a"] == "text"


def test_very_large_numbers_are_no_ids():
    large = np.random.default_rng(0).normal(size=60) * 1e30
    assert "a" in fit({"a": large}).kinds


# ---------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["ham", "  "] * 30, "has no label in 30 rows (the first is row 2)"),
        (["ham", "ham ", "spam"] * 20, "the labels 'ham' and 'ham ', which differ only in spaces"),
    ],
)
def test_labels_with_spaces(run, labels, message):
    LABELLED.assign(kind=labels).to_csv("labelled.csv", index=False)
    assert run(*fit_words()).is_mistake(message)
    with pytest.raises(TableError, match=re.escape(message)):
        TabularModel().fit_files("labelled.csv", "kind", "prod.csv", max_memory=2**29)


# ---------------------------------------------------------------------------- separators


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_a_comma_in_a_name_divides_nothing(tmp_path, mark):
    frame = pd.DataFrame({"Weight, net, in kg": [1.5, 2.5], "a": [1, 2], "b": ["x", "y,z"]})
    frame.to_csv(tmp_path / "a.csv", index=False, sep=mark, quoting=2)
    pd.testing.assert_frame_equal(read_table(tmp_path / "a.csv"), frame, check_dtype=False)


def test_wide_headers(tmp_path):
    frame = pd.DataFrame(np.ones((2, 20_000)), columns=[f"column {i}" for i in range(20_000)])
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert read_table(tmp_path / "a.csv").shape == (2, 20_000)


def test_carriage_returns_alone(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\r1,2\r")
    with pytest.raises(TableError, match="lines end in carriage returns alone"):
        read_table(tmp_path / "a.csv")


# ---------------------------------------------------------------------------- one row


def test_one_row_is_one(run, model):
    DEPLOYED[:1].to_csv("one.csv", index=False)
    out = run("predict", "model.lac", "one.csv", "-o", "s.csv").out
    assert "scored      1 row in" in out
    assert " of 1 row (" in out
