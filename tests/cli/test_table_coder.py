"""TableCoder: column types, their encoding, and columns that are omitted or rejected."""

import json
from datetime import date, time

import numpy as np
import pandas as pd
import pytest
from coded_frames import fit, kinds_of
from numpy.testing import assert_array_equal
from two_tables import DEPLOYED, LABELLED

from lacforest.tabular import TableCoder, TableError

TEN = list("aabbbccccc")


# ---------------------------------------------------------------------------- kinds of columns


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1, 2, 2]),
        pd.Series([1, 2, 2], dtype="uint8"),
        pd.Series([1, 2, 2], dtype="float32"),
        pd.Series([1, 2, 2], dtype="Int64"),
        pd.Series([1, 2, 2], dtype="category"),
        pd.Series([1, 2, 2], dtype=object),
        pd.Series(["1", "2", "2.0"]),
    ],
)
def test_numbers(values):
    kind, coded = kinds_of(values)
    assert kind == "number"
    assert_array_equal(coded, [[1], [2], [2]])


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1, None, 2]),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series([1, None, 2], dtype=object),
        pd.Series(["1", None, "2"], dtype="category"),
    ],
)
def test_missing_numbers(values):
    kind, coded = kinds_of(values)
    assert kind == "number"
    assert_array_equal(coded, [[1], [np.nan], [2]])


@pytest.mark.parametrize("dtype", [object, "boolean", "category"])
def test_truth_values(dtype):
    kind, coded = kinds_of(pd.Series([True, False, None], dtype=dtype))
    assert kind == "boolean"
    assert_array_equal(coded, [[1], [0], [np.nan]])
    assert_array_equal(kinds_of(pd.Series([True, False]))[1], [[1], [0]])


@pytest.mark.parametrize("dtype", [object, "string", "category"])
def test_text_in_order(dtype):
    kind, coded = kinds_of(pd.Series(["b", "a", None, "c", "b"], dtype=dtype))
    assert kind == "text"
    assert_array_equal(coded, [[1], [0], [np.nan], [2], [1]])


def test_text_one_hot():
    coder = fit({"a": ["b", "a", None, "b"]}, categories="onehot")
    assert coder.feature_names == ["a=a", "a=b", "ok"]
    coded = coder.encode(pd.DataFrame({"ok": 1.0, "a": ["b", "a", None, "c"]}))
    assert_array_equal(coded, [[0, 1, 1], [1, 0, 1], [0, 0, 1], [0, 0, 1]])


def test_categories_come_from_both_tables():
    coder = fit({"a": ["x", "y", "x"]}, {"a": ["z", "x", "z"]})
    assert coder.columns_[0].categories == ("x", "y", "z")


def test_unseen_texts_are_missing_and_counted():
    coder = fit({"a": TEN, "b": TEN})
    unseen = {}
    later = pd.DataFrame({"a": ["a", "new", None, "newer"], "b": "b", "ok": 1.0})
    assert_array_equal(coder.encode(later, unseen)[:, 0], [0, np.nan, np.nan, np.nan])
    coder.encode(later, unseen)
    assert unseen == {"a": (4, "new")}


def test_numbers_as_text():
    labelled, deployed = {"zip": [150, 150, 20]}, {"zip": [150.0, None, 20.0, 20.0]}
    coder = fit(labelled, deployed, text=["zip"])
    assert coder.columns_[0].categories == ("150", "20")
    mixed = fit({"a": ["1", "2", "b", "b"]}, text=["a"])
    assert mixed.columns_[0].categories == ("1", "2", "b")


def test_texts_that_stand_for_a_missing_value():
    coder = fit({"a": ["1", "?", "2"], "b": ["x", "?", "y"]}, missing=["?"])
    assert coder.kinds == {"a": "number", "b": "text", "ok": "number"}
    later = pd.DataFrame({"a": ["?", "7"], "b": ["?", "y"], "ok": 0.0})
    unseen = {}
    assert_array_equal(coder.encode(later, unseen), [[np.nan, np.nan, 0], [7, 1, 0]])
    assert unseen == {}


def test_order_and_other_columns_do_not_matter():
    coder = TableCoder().fit(LABELLED, DEPLOYED[["y", "member", "city", "x"]], "kind")
    assert list(coder.kinds) == ["x", "y", "city", "member"]
    turned = LABELLED[LABELLED.columns[::-1]].assign(more=1)
    assert_array_equal(coder.encode(turned), coder.encode(LABELLED))


def test_numbers_and_truth_values_as_text_are_read():
    coder = fit({"n": [1, 2], "t": [True, False]})
    later = pd.DataFrame({"n": ["1.5", None], "t": ["TRUE", "0"], "ok": 0.0})
    assert_array_equal(coder.encode(later), [[1.5, 1, 0], [np.nan, 0, 0]])


# ---------------------------------------------------------------------------- left out, with a note


@pytest.mark.parametrize("values", [[3.0] * 5, ["x"] * 5, [True] * 5])
def test_constants(values):
    coder = fit({"a": values})
    assert list(coder.kinds) == ["ok"]
    assert coder.notes_ == ["column 'a' is left out: it has the same value in all rows"]


def test_a_constant_with_missing_values_is_no_constant():
    for values in ([3.0, None, 3.0], ["x", None, "x"], [None, True, None]):
        assert "a" in fit({"a": values}).kinds


def test_texts_that_hardly_repeat():
    names = [f"row {i}" for i in range(30)]
    assert fit({"id": names}, {"id": names[:15] * 2}).kinds["id"] == "text"
    for other in (names, [f"other {i}" for i in range(30)]):
        coder = fit({"id": names}, {"id": other})
        n_distinct = len({*names, *other})
        why = f"it has {n_distinct} different texts in 60 rows (use=['id'] keeps it)"
        assert coder.dropped_ == {"id": why}
    assert fit({"id": names}, {"id": other}, use=["id"]).kinds["id"] == "text"


def test_columns_without_a_name():
    coder = fit({"": [1, 2, 3], " ": [1, 2, 3]})
    assert list(coder.kinds) == ["ok"]
    assert "it has no name (pandas writes row numbers without a name)" in coder.notes_[0]


IDENTIFIERS = {
    "an id": ([7 * i % 31 for i in range(31)], "a different integer in every row"),
    "with a gap": ([None, *range(40)], "a different integer in every row"),
    "a counter": ([i // 2 * 3 for i in range(40)][1:], "it only rises or only falls"),
    "falling": ([-(i // 2) for i in range(40)][1:], "it only rises or only falls"),
    "seconds": ([1_700_000_000 + 7 * (i * 7 % 31) for i in range(40)], "like a time stamp"),
    "milliseconds": ([1.7e12 + i * 7 % 31 + 0.5 for i in range(40)], "like a time stamp"),
    "days": ([20240101 + i % 7 for i in range(40)], "year, month and day"),
}


@pytest.mark.parametrize("case", IDENTIFIERS)
def test_numbers_that_tell_rows_apart(case):
    values, why = IDENTIFIERS[case]
    coder = fit({"id": values})
    assert list(coder.kinds) == ["ok"]
    assert len(coder.notes_) == 1
    assert why in coder.notes_[0]
    assert coder.notes_[0].endswith("(use=['id'] keeps it)")
    assert fit({"id": values}, use=["id"]).kinds["id"] == "number"


@pytest.mark.parametrize(
    "values",
    [
        [i / 100 for i in range(30)],  # unique, but not integers
        list(range(19)),  # too few
        [i // 4 for i in range(40)],  # sorted, with many repeats
        [20240101 + i % 40 for i in range(80)],  # no calendar has a day 40
        [i * 7 % 20 for i in range(40)],
    ],
)
def test_numbers_that_describe_rows(values):
    coder = fit({"a": values})
    assert coder.kinds["a"] == "number"
    assert coder.notes_ == []


def test_an_id_in_one_table_only():
    assert "id" in fit({"id": list(range(30))}, {"id": [1, 2] * 15}).kinds


def test_stray_numbers_among_texts():
    names = ["A320", "B737", "MD-88"] * 10
    coder = fit({"model": [*names, "150"]}, {"model": names})
    assert coder.columns_[0].categories == ("150", "A320", "B737", "MD-88")
    assert coder.notes_ == [
        "column 'model' is taken as text: 1 of 61 values are numbers, such as '150'"
    ]
    objects = fit({"model": pd.Series([*names, 150], dtype=object)}, {"model": names})
    assert objects.columns_ == coder.columns_


# ---------------------------------------------------------------------------- dates

DEPARTURES = ["2024-03-04 06:30", "2024-03-05 18:00", None, "2024-03-09 00:15"]
ARRIVALS = ["2024-03-04 12:30", "2024-03-07 18:00", "2024-03-08 01:00", None]


def test_dates_as_numbers_that_both_tables_share():
    stamps = {"dep": pd.to_datetime(DEPARTURES), "arr": pd.to_datetime(ARRIVALS)}
    coder = fit(stamps, dates=True)
    assert coder.kinds == {"dep": "date", "arr": "date", "ok": "number"}
    names = ["dep.hour", "dep.weekday", "arr.hour", "arr.weekday", "arr.days_after_dep", "ok"]
    assert coder.feature_names == names
    expected = [
        [6.5, 0, 12.5, 0, 0.25, 0],
        [18, 1, 18, 3, 2, 0],
        [np.nan, np.nan, 1, 4, np.nan, 0],
        [0.25, 5, np.nan, np.nan, np.nan, 0],
    ]
    forms = [
        stamps,
        {"dep": DEPARTURES, "arr": ARRIVALS},
        {name: pd.to_datetime(pd.Series(v)).dt.tz_localize("UTC") for name, v in stamps.items()},
    ]
    for form in forms:
        assert_array_equal(coder.encode(pd.DataFrame(form).assign(ok=0.0)), expected)
    again = TableCoder.from_dict(json.loads(json.dumps(coder.to_dict())))
    assert again.columns_ == coder.columns_


@pytest.mark.parametrize(
    ("values", "names", "numbers"),
    [
        ([time(1, 30), time(2)], ["a.hour"], [[1.5], [2]]),
        ([date(2024, 3, 4), date(2024, 3, 6)], ["a.weekday"], [[0], [2]]),
        (pd.to_timedelta([36, 12], unit="h"), ["a.days"], [[1.5], [0.5]]),
    ],
)
def test_parts_that_differ_between_rows(values, names, numbers):
    coder = fit({"a": values}, dates=True)
    assert coder.feature_names == [*names, "ok"]
    assert_array_equal(coder.encode(pd.DataFrame({"a": values, "ok": 0.0}))[:, :-1], numbers)


@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%d %H:%M",
        "%Y/%m/%d %H:%M",
        "%d.%m.%Y %H:%M",
        "%d.%m.%Y %H:%M:%S",
        "%Y-%m-%dT%H:%M:%SZ",
    ],
)
def test_forms_of_dates(form):
    stamps = pd.Series(pd.to_datetime(DEPARTURES))
    expected = fit({"a": stamps}, dates=True).encode(pd.DataFrame({"a": stamps, "ok": 0.0}))
    texts = {"a": stamps.dt.strftime(form)}
    assert_array_equal(fit(texts, dates=True).encode(pd.DataFrame(texts).assign(ok=0.0)), expected)


@pytest.mark.parametrize("text", ["3.11.12", "1-2-3", "16:9", "10.0.0.1", "5/6", "2024", "May"])
def test_texts_that_are_no_dates(text):
    texts = [text, "other"] * 20
    assert fit({"a": texts}, {"a": texts[::-1]}).kinds["a"] == "text"


def test_dates_that_are_all_the_same():
    coder = fit({"a": [date(2024, 1, 1)] * 3}, dates=True)
    assert coder.notes_ == ["column 'a' is left out: its hour and weekday are the same in all rows"]


def test_no_date_later():
    coder = fit({"a": pd.to_datetime(DEPARTURES)}, dates=True)
    later = pd.DataFrame({"a": ["2024-01-01", "soon"], "ok": 0.0})
    with pytest.raises(TableError, match=r"must contain dates or times, but 'soon' .*\(row 2\)"):
        coder.encode(later)


# ---------------------------------------------------------------------------- other columns


def test_the_target_among_unlabelled_rows():
    coder = TableCoder().fit(LABELLED, LABELLED, "kind", ("a.csv", "b.csv"))
    assert "kind" not in coder.kinds
    assert "column 'kind' of b.csv is not used" in coder.notes_


def test_drop():
    labelled, deployed = {"a": [1, 2], "day": [date(2024, 1, 1)] * 2}, {"a": [1, 2], "id": [7, 8]}
    coder = fit(labelled, deployed, drop=["day", "id"])
    assert coder.dropped_ == {"day": "as requested", "id": "as requested"}
    assert coder.notes_ == []


# ---------------------------------------------------------------------------- JSON


@pytest.mark.parametrize("categories", ["native", "ordinal", "onehot"])
def test_there_and_back(categories):
    coder = TableCoder(categories, drop=["y"], missing=["?"]).fit(LABELLED, DEPLOYED, "kind")
    again = TableCoder.from_dict(json.loads(json.dumps(coder.to_dict())))
    assert again.columns_ == coder.columns_
    assert again.missing == ("?",)
    assert again.dropped_ == {"y": "as requested"}
    assert_array_equal(again.encode(DEPLOYED), coder.encode(DEPLOYED))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 4}, "has version 4, but this lacforest supports versions up to 3"),
        ({"version": None}, "damaged: version"),
        ({"categories": "hash"}, "damaged: categories"),
        ({"dropped": {"a": 1}}, "damaged: dropped"),
        ({"missing": "?"}, "damaged: missing"),
        ({"columns": []}, "damaged: columns"),
        ({"columns": [{"kind": "number"}]}, "damaged: name of a column"),
        ({"columns": [{"name": "a", "kind": "day"}]}, "damaged: kind of column 'a'"),
        ({"columns": [{"name": "a", "kind": "date"}]}, "damaged: parts of column 'a'"),
        (
            {"columns": [{"name": "a", "kind": "date", "parts": ["year"], "since": None}]},
            "damaged: parts of column 'a'",
        ),
        (
            {"columns": [{"name": "a", "kind": "date", "parts": ["elapsed"], "since": "b"}]},
            "damaged: linked dates",
        ),
        ({"columns": [{"name": "a", "kind": "number"}] * 2}, "damaged: names of columns"),
        ({"columns": [{"name": "a", "kind": "text"}]}, "damaged: categories of column 'a'"),
        (
            {"columns": [{"name": "a", "kind": "text", "categories": ["x", "x"]}]},
            "damaged: categories of column 'a'",
        ),
    ],
)
def test_damaged_codings(change, message):
    content = fit({"a": TEN}).to_dict() | change
    with pytest.raises(TableError) as caught:
        TableCoder.from_dict(content)
    assert message in str(caught.value)
