"""Where commands read tables from and what they write: formats, patterns, standard input."""

import bz2
import gzip
import io
import json
import lzma
import zipfile

import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from two_tables import DEPLOYED, LABELLED, fit_words

from lacforest.tabular import TableCoder, TableError, read_table
from lacforest.tabular.reading import iter_table, table_columns

KINDS = {"x": "number", "y": "number", "city": "text", "member": "boolean", "kind": "text"}
PREDICT = ("predict", "model.lac")


def csv_bytes(frame=LABELLED):
    return frame.to_csv(index=False).encode()


def json_bytes(frame=LABELLED):
    return frame.to_json(orient="records", lines=True).encode()


def zipped(content, member="rows.csv"):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
    return out.getvalue()


def feather_bytes(frame=LABELLED):
    out = io.BytesIO()
    frame.to_feather(out)
    return out.getvalue()


def excel_bytes(frame=LABELLED):
    pytest.importorskip("openpyxl")
    out = io.BytesIO()
    frame.to_excel(out, index=False)
    return out.getvalue()


FORMATS = {
    "rows.csv.bz2": lambda: bz2.compress(csv_bytes()),
    "rows.csv.xz": lambda: lzma.compress(csv_bytes()),
    "rows.csv.zip": lambda: zipped(csv_bytes()),
    "rows.zip": lambda: zipped(csv_bytes()),
    "lines.zip": lambda: zipped(json_bytes(), "rows.jsonl"),
    "rows.jsonl": json_bytes,
    "rows.ndjson": json_bytes,
    "rows.jsonl.gz": lambda: gzip.compress(json_bytes()),
    "rows.feather": feather_bytes,
    "rows.arrow": feather_bytes,
    "rows.xlsx": excel_bytes,
}


@pytest.mark.parametrize("name", FORMATS)
def test_formats_agree(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(FORMATS[name]())
    assert_frame_equal(read_table(path), LABELLED)
    assert table_columns(path) == list(LABELLED)
    for chunk_rows in (7, 60, 100):
        pieces = list(iter_table(path, KINDS, chunk_rows=chunk_rows))
        assert {len(piece) for piece in pieces[:-1]} <= {chunk_rows}
        assert_frame_equal(pd.concat(pieces, ignore_index=True), LABELLED)
    few = pd.concat(iter_table(path, {"city": "text", "x": "number"}))
    assert_frame_equal(few.reset_index(drop=True), LABELLED[["city", "x"]])


DAMAGED = {
    "not gzip": ("a.csv.gz", b"a,b\n1,2\n", "Not a gzipped file"),
    "not bzip2": ("a.csv.bz2", b"a,b\n1,2\n", "Invalid data stream"),
    "not xz": ("a.csv.xz", b"a,b\n1,2\n", "Input format not supported"),
    "not a zip": ("a.csv.zip", b"a,b\n1,2\n", "File is not a zip file"),
    "not a zip either": ("a.zip", b"a,b\n1,2\n", "File is not a zip file"),
    "cut off": ("a.csv.xz", lzma.compress(csv_bytes())[:-40], "ended before the end-of-stream"),
    "an empty zip": ("a.zip", zipped(b"", "folder/"), "contains 0 files, but must contain one"),
    "a zip of a picture": ("a.zip", zipped(b"", "a.png"), "must end in .csv, .tsv or .jsonl"),
    "not feather": ("a.feather", b"a,b\n1,2\n", "a.feather cannot be read"),
    "not excel": ("a.xlsx", b"a,b\n1,2\n", "a.xlsx cannot be read"),
    "broken line": ("a.jsonl", b'{"x": 1}\n{"x": \n', "line 2: Expecting value"),
    "a list": ("a.jsonl", b"[1]\n", "line 1: not an object in braces"),
    "nested": ("a.jsonl", b'{"x": {"b": 1}}\n', "line 1: 'x' contains further values"),
    "no lines": ("a.jsonl", b"\n", "has no rows"),
    "a packed binary file": ("a.parquet.gz", b"", "must end in .csv, .tsv or .jsonl"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_files(tmp_path, case):
    name, content, message = DAMAGED[case]
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
    (tmp_path / name).write_bytes(content)
    for read in (read_table, lambda path: list(iter_table(path, {"x": "number"}))):
        with pytest.raises(TableError) as caught:
            read(tmp_path / name)
        assert message in str(caught.value)


def test_a_table_in_an_archive_whose_name_tells_no_format(tmp_path):
    (tmp_path / "rows.zip").write_bytes(zipped(csv_bytes(), "rows"))
    with pytest.raises(TableError, match=r"'rows' in .*rows\.zip: the name of a table must end"):
        read_table(tmp_path / "rows.zip")


def test_names_that_some_lines_lack(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"b": "x"}\n{"a": 2, "b": null}\n')
    found = read_table(tmp_path / "a.jsonl")
    assert found["a"].fillna(-1.0).tolist() == [1.0, -1.0, 2.0]
    assert found["b"].fillna("").tolist() == ["", "x", ""]
    pieces = list(iter_table(tmp_path / "a.jsonl", {"a": "number", "b": "text"}, chunk_rows=1))
    assert [piece["a"].isna().tolist() for piece in pieces] == [[False], [True], [False]]


def test_dates_that_are_texts(tmp_path):
    """JSON, SQLite and many Parquet files have dates as text; CSV files beside them do not."""
    frame = pd.DataFrame({"day": ["2024-01-02", "2024-01-03 04:05:06"] * 2, "a": [1.0, 2, 3, 4]})
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_feather(tmp_path / "a.feather")
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    stamps = frame.assign(day=pd.to_datetime(frame["day"], format="ISO8601"))
    stamps.to_csv(tmp_path / "a.csv", index=False)
    csv_rows = read_table(tmp_path / "a.csv")
    expected = TableCoder(dates=True).fit(csv_rows, csv_rows)
    for name in ("a.jsonl", "a.parquet", "a.feather", "a.xlsx"):
        found = read_table(tmp_path / name)
        with pytest.raises(TableError, match=r"column 'day' of .* contains dates or times"):
            TableCoder().fit(csv_rows, found)
        coder = TableCoder(dates=True).fit(csv_rows, found)
        assert coder.columns_ == expected.columns_
        assert_array_equal(coder.encode(found), expected.encode(csv_rows))
        assert TableCoder(text=["day"]).fit(found, found).kinds["day"] == "text"
    stamps.to_parquet(tmp_path / "b.parquet")
    both = read_table([tmp_path / "a.jsonl", tmp_path / "b.parquet"])
    assert TableCoder(dates=True).fit(both, both).kinds["day"] == "date"


# ---------------------------------------------------------------------------- several files


def thirds(frame):
    return [frame[:20], frame[20:40], frame[40:]]


def test_several_files(tmp_path):
    for number, part in enumerate(thirds(LABELLED)):
        part.to_csv(tmp_path / f"part-{number}.csv", index=False)
    LABELLED[:0:-1].to_parquet(tmp_path / "more.parquet")
    assert_frame_equal(read_table(tmp_path / "part-*.csv"), LABELLED)
    both = read_table([tmp_path / "part-*.csv", tmp_path / "more.parquet"])
    assert len(both) == 2 * len(LABELLED) - 1
    with pytest.raises(TableError, match=r"no file matches .*other-\*\.csv"):
        read_table(tmp_path / "other-*.csv")


def test_a_file_whose_name_looks_like_a_pattern(tmp_path):
    LABELLED.to_csv(tmp_path / "rows[1].csv", index=False)
    assert len(read_table(tmp_path / "rows[1].csv")) == len(LABELLED)


def test_numbers_here_and_text_there(tmp_path):
    (tmp_path / "a.csv").write_text("model\n007\n150\n")
    (tmp_path / "b.csv").write_text("model\nA320\n")
    assert read_table([tmp_path / "a.csv", tmp_path / "b.csv"])["model"].tolist() == [
        "007", "150", "A320"
    ]  # fmt: skip


def test_files_with_other_columns(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "b.csv").write_text("a,c\n1,2\n")
    (tmp_path / "c.csv").write_text("a\n1\n")
    with pytest.raises(TableError) as caught:
        read_table([tmp_path / f"{name}.csv" for name in "abc"])
    assert len(caught.value.problems) == 2
    assert "b.csv has the column 'c', but" in caught.value.problems[0]
    assert "a.csv has the column 'b', but" in caught.value.problems[1]


def test_commands_on_several_files(run, folder):
    for number, part in enumerate(thirds(DEPLOYED)):
        part.to_csv(f"part-{number}.csv", index=False)
    whole = run(*fit_words())
    words = fit_words(output="parts.lac")
    words[words.index("prod.csv")] = "part-*.csv"
    assert run(*words).code == 0
    assert (folder / "parts.lac").read_bytes() == (folder / "model.lac").read_bytes()
    assert "80 rows" in whole.out
    run(*PREDICT, "prod.csv", "-o", "whole.csv")
    run(*PREDICT, "part-0.csv", "part-1.csv", "part-2.csv", "-o", "parts.csv")
    assert (folder / "parts.csv").read_text() == (folder / "whole.csv").read_text()
    assert run("theta", "labelled.csv", "part-*.csv", "--target", "kind", "--jobs", "1").code == 0
    outcome = run("report", "model.lac", "part-*.csv", "-o", "report.html")
    assert outcome.code == 0
    assert "What is new in part-0.csv and 2 more?" in (folder / "report.html").read_text()


# ---------------------------------------------------------------------------- standard input


class Stdin:
    def __init__(self, content):
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("csv", csv_bytes(DEPLOYED)),
        ("csv.gz", gzip.compress(csv_bytes(DEPLOYED))),
        (".jsonl", json_bytes(DEPLOYED)),
        ("feather", feather_bytes(DEPLOYED)),
    ],
)
def test_standard_input(run, model, folder, monkeypatch, form, content):
    run(*PREDICT, "prod.csv", "-o", "file.csv")
    monkeypatch.setattr("sys.stdin", Stdin(content))
    outcome = run(*PREDICT, "-", "--format", form, "-o", "stdin.csv")
    assert outcome.code == 0, outcome.err
    assert (folder / "stdin.csv").read_text() == (folder / "file.csv").read_text()


def test_fit_from_standard_input(run, folder, monkeypatch):
    run(*fit_words())
    monkeypatch.setattr("sys.stdin", Stdin(csv_bytes(DEPLOYED)))
    words = fit_words(output="stdin.lac")
    words[words.index("prod.csv")] = "-"
    assert run(*words).code == 0
    assert (folder / "stdin.lac").read_bytes() == (folder / "model.lac").read_bytes()
    words[words.index("labelled.csv")] = "-"
    assert run(*words).is_mistake("standard input (-) can be read only once")


def test_faults_in_standard_input(run, model, monkeypatch):
    monkeypatch.setattr("sys.stdin", Stdin(b"x,y\n1,2\n"))
    assert run(*PREDICT, "-", "-o", "out.csv").is_mistake("standard input has no columns")
    monkeypatch.setattr("sys.stdin", Stdin(b""))
    assert run(*PREDICT, "-", "-o", "out.csv").is_mistake("standard input is empty")
    monkeypatch.setattr("sys.stdin", Stdin(b""))
    outcome = run(*PREDICT, "-", "--format", "doc", "-o", "out.csv")
    assert outcome.is_mistake("standard input: the name of a table must end in .csv")


# ---------------------------------------------------------------------------- output


def test_compressed_output(run, model, folder):
    run(*PREDICT, "prod.csv", "-o", "scored.csv")
    assert run(*PREDICT, "prod.csv", "-o", "scored.csv.gz").code == 0
    content = (folder / "scored.csv.gz").read_bytes()
    assert gzip.decompress(content) == (folder / "scored.csv").read_bytes()
    run(*PREDICT, "prod.csv", "-o", "again.csv.gz")
    assert (folder / "again.csv.gz").read_bytes() == content
    outcome = run(*PREDICT, "prod.csv", "-o", "scored.parquet.gz")
    assert outcome.is_mistake("must end in .csv, .tsv, .csv.gz, .tsv.gz or .parquet")


@pytest.mark.parametrize("name", ["prod.csv", "prod.parquet", "prod.jsonl"])
def test_keep_all_columns(run, model, folder, name):
    extended = DEPLOYED.assign(note="é", row=5)
    extended.to_csv("prod.csv", index=False)
    extended.to_parquet("prod.parquet")
    extended.to_json("prod.jsonl", orient="records", lines=True)
    outcome = run(*PREDICT, name, "-o", "scored.csv", "--keep", "*", "--json")
    left_out, about_rows = json.loads(outcome.out)["notes"]
    assert left_out == "column 'row' is not copied: the output has its own"
    assert about_rows.startswith("100% of the rows are unlabelled rows of the fit")
    scored = pd.read_csv(folder / "scored.csv")
    assert list(scored)[:6] == ["row", *DEPLOYED, "note"]
    assert_frame_equal(scored[list(DEPLOYED)], DEPLOYED)
    assert scored["row"].tolist() == list(range(1, 81))
