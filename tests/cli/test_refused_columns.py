"""TableCoder: columns and tables that are rejected."""

from datetime import date, time

import numpy as np
import pandas as pd
import pytest
from coded_frames import fit

from lacforest.tabular import TableCoder, TableError
from lacforest.tabular.errors import Advice

TEN = list("aabbbccccc")

REFUSED = {
    "mixed": (
        {"a": ["1", None, "2", "unknown"]},
        {},
        "column 'a' of a.csv contains numbers and text: 2 of 3 values are numbers, but 'unknown' "
        "(row 4) is not",
    ),
    "use and drop": (
        {"a": [1, "x", None]},
        {"use": ["a"], "drop": ["a"]},
        "cannot be used and left",
    ),
    "numbers and text": ({"a": [1, "x", 2]}, {}, "but 'x' (row 2) is not"),
    "several types": ({"a": [1, (2,), 2]}, {}, "a.csv contains values of several types"),
    "lists": ({"a": [[1], [2], [3]]}, {}, "for instance [1]"),
    "dates": ({"a": [date(2024, 1, 1)] * 3}, {}, "column 'a' of a.csv contains dates or times"),
    "times": ({"a": [time(1), time(2)]}, {}, "contains dates or times"),
    "stamps": ({"a": pd.to_datetime(["2024-01-01"] * 2)}, {}, "contains dates or times"),
    "spans": ({"a": pd.to_timedelta([1, 2])}, {}, "contains dates or times"),
    "texts of dates": ({"a": ["2024-01-01", "31.12.2024"]}, {}, "contains dates or times"),
    "no such day": (
        {"a": ["2024-02-28", "2024-02-31"]},
        {"dates": True},
        "must contain dates or times, but '2024-02-31' is neither (row 2)",
    ),
    **{
        f"unclear {text}": (
            {"a": [text, None, text]},
            {"dates": True},
            f"column 'a' of a.csv contains dates such as {text!r}, from which day and month cannot "
            "be told for certain: write them as 2024-12-31, or use text=['a'], or drop=['a']",
        )
        for text in ("01/02/2024", "1/2/24 5:30 PM", "13-12-2024", "5 Jan 2024", "May 5, 2024")
    },
    "dates and text": (
        {"a": ["2024-01-01", "unknown", "2024-01-02"]},
        {"dates": True},
        "column 'a' of a.csv contains dates and text: 2 of 3 values are dates or times, but "
        "'unknown' is not. Correct it, or use missing=['unknown'], or use text=['a'], or "
        "drop=['a']",
    ),
    "infinite": (
        {"a": [1.0, np.inf]},
        {},
        "column 'a' of a.csv contains infinite values (row 2): replace them, or use drop=['a']",
    ),
    "no value": ({"a": [None, None]}, {}, "column 'a' of a.csv has no values"),
    "drop": ({"a": [1, 2]}, {"drop": ["b"]}, "drop=['b']: neither a.csv nor b.csv has"),
    "text": ({"a": [1, 2]}, {"text": ["b"]}, "text=['b']: neither"),
    "use": ({"a": [1, 2]}, {"use": ["b"]}, "use=['b']: neither"),
    "names": ({7: [1, 2]}, {}, "column names must be text, but a.csv has 7"),
    "one-hot": (
        {"a": [f"c{i}" for i in range(300)] * 2},
        {"categories": "onehot"},
        "column 'a' has 300 categories, too many for one-hot coding",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    values, options, message = REFUSED[case]
    with pytest.raises(TableError) as caught:
        fit(values, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("labelled", "deployed", "message"),
    [
        ({"a": [1, 2]}, {}, "a.csv has the column 'a', but b.csv does not"),
        ({}, {"a": [1, 2], "b": [1, 2]}, "b.csv has the columns 'a', 'b', but a.csv does not"),
        ({"a": [1, 2]}, {"a": [None, None]}, "column 'a' of b.csv has no values"),
        (
            {"a": [1, 2]},
            {"a": ["x", "y"]},
            "column 'a' contains numbers in a.csv (such as '1') and text in b.csv (such as 'x')",
        ),
        ({"a": [True, False]}, {"a": [1, 0]}, "true or false in a.csv (such as 'True')"),
    ],
)
def test_tables_that_do_not_match(labelled, deployed, message):
    frames = [pd.DataFrame({"ok": [0.5, 1.5]} | table) for table in (labelled, deployed)]
    with pytest.raises(TableError) as caught:
        TableCoder().fit(*frames, sources=("a.csv", "b.csv"))
    assert message in str(caught.value)


def test_all_problems_at_once():
    frames = [
        pd.DataFrame({"day": [date(2024, 1, 1)] * 3, "n": ["1", "2", "?"], "alone": 1, "kind": "x"})
        for _ in range(2)
    ]
    frames[1] = frames[1].drop(columns="alone")
    with pytest.raises(TableError) as caught:
        TableCoder(advice=Advice(is_command=True)).fit_encode(
            frames[0], "kind", frames[1], ("a.csv", "b.csv")
        )
    assert [problem[:45] for problem in caught.value.problems] == [
        "column 'kind' of a.csv contains a single clas",
        "a.csv has the column 'alone', but b.csv does ",
        "column 'day' of a.csv contains dates or times",
        "column 'n' of a.csv contains numbers and text",
        "column 'n' of b.csv contains numbers and text",
    ]
    text = str(caught.value)
    assert text.startswith("5 problems:\n- column 'kind'")
    for option in ("--drop alone", "--dates", "--drop day", "--missing '?'", "--text n"):
        assert option in text


def test_no_column_left():
    frame = pd.DataFrame({"a": [1, 1]})
    with pytest.raises(TableError, match=r"a\.csv has no columns to learn from"):
        TableCoder().fit(frame, frame, sources=("a.csv", "b.csv"))


def test_a_name_twice():
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(TableError, match="the labelled table has more than one column called 'a'"):
        TableCoder().fit(frame, frame)
    with pytest.raises(TableError, match="the table has more than one column called 'a'"):
        fit({"a": [1, 2]}).encode(frame)


def test_unknown_coding():
    with pytest.raises(ValueError, match=r"categories must be .* got 'hash'"):
        TableCoder("hash")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": ["x", 1]}, "column 'n' of new.csv must contain numbers, but 'x' is not"),
        ({"n": ["x", "y"]}, "'x' is not a number (row 1 and 1 more)"),
        ({"t": [True, "maybe"]}, "'t' of new.csv must contain true or false, but 'maybe' is"),
        ({"n": [1, -np.inf]}, "column 'n' of new.csv contains infinite values (row 2)"),
    ],
)
def test_values_that_do_not_fit_later(change, message):
    coder = fit({"n": [1, 2], "t": [True, False]})
    later = pd.DataFrame({"n": [1, 2], "t": [True, False], "ok": 0.0} | change)
    with pytest.raises(TableError) as caught:
        coder.encode(later, source="new.csv")
    assert message in str(caught.value)


def test_columns_that_are_missing_later():
    coder = fit({"n": [1, 2], "t": [True, False]})
    with pytest.raises(TableError, match=r"new\.csv has no column 't'"):
        coder.encode(pd.DataFrame({"n": [1], "ok": [1]}), source="new.csv")
    with pytest.raises(TableError, match="the table has no columns 'n', 't', 'ok'"):
        coder.encode(pd.DataFrame({"m": [1]}))
