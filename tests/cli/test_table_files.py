"""read_table and iter_table: all formats give the same rows, and errors name the line."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pandas.testing import assert_frame_equal
from two_tables import LABELLED

from lacforest.tabular import TableError, read_table
from lacforest.tabular.reading import iter_table

KINDS = {"x": "number", "y": "number", "city": "text", "member": "boolean", "kind": "text"}


def write_csv(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def as_csv(path):
    LABELLED.to_csv(path, index=False)


def as_tsv(path):
    LABELLED.to_csv(path, index=False, sep="\t")


def as_parquet(path):
    LABELLED.to_parquet(path)


def as_npz(path):
    np.savez(path, **{name: np.array(LABELLED[name].tolist()) for name in LABELLED})


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("rows.csv", as_csv),
        ("rows.CSV", as_csv),
        ("rows.csv.gz", as_csv),
        ("rows.tsv", as_tsv),
        ("rows.tsv.gz", as_tsv),
        ("rows.TSV", as_tsv),
        ("my rows.2024.parquet", as_parquet),
        ("rows.npz", as_npz),
    ],
)
def test_formats_agree(tmp_path, name, write):
    write(tmp_path / name)
    assert_frame_equal(read_table(tmp_path / name), LABELLED)
    for chunk_rows in (1, 7, 60, 100):
        pieces = list(iter_table(tmp_path / name, KINDS, chunk_rows=chunk_rows))
        assert {len(piece) for piece in pieces[:-1]} <= {chunk_rows}
        assert_frame_equal(pd.concat(pieces, ignore_index=True), LABELLED)
    few = pd.concat(iter_table(tmp_path / name, {"city": "text", "x": "number"}))
    assert_frame_equal(few.reset_index(drop=True), LABELLED[["city", "x"]])


def test_pieces_larger_than_a_block(tmp_path):
    rows = 300_000
    pd.DataFrame({"n": np.arange(rows), "pad": "x" * 20}).to_csv(tmp_path / "a.csv", index=False)
    pieces = [len(piece) for piece in iter_table(tmp_path / "a.csv", {"n": "number"})]
    assert pieces == [100_000] * 3
    whole = pd.concat(iter_table(tmp_path / "a.csv", {"n": "number"}, chunk_rows=70_001))
    assert (whole["n"].to_numpy() == np.arange(rows)).all()


@pytest.mark.parametrize("mark", [";", "\t"])
def test_other_separators(tmp_path, mark):
    path = write_csv(tmp_path / "a.csv", f"a{mark}b\n1{mark}2.5\n")
    assert_frame_equal(read_table(path), pd.DataFrame({"a": [1], "b": [2.5]}))


def test_missing_values(tmp_path):
    path = write_csv(tmp_path / "a.csv", "a,b\n1,?\nNA,x\n,None\n")
    found = read_table(path, missing=["?"])
    assert_frame_equal(found, pd.DataFrame({"a": [1, None, None], "b": [None, "x", None]}))


def test_text_stays_as_it_stands(tmp_path):
    path = write_csv(tmp_path / "a.csv", "zip,day\n0150,2024-01-01\n")
    found = read_table(path, text=["zip", "day", "not there"])
    assert found.to_dict("list") == {"zip": ["0150"], "day": ["2024-01-01"]}


def test_quotes_and_lines_in_values(tmp_path):
    path = write_csv(tmp_path / "a.csv", '\ufeffa,b\r\n1,"x, ""y""\nz"\r\n\r\n2,5" pipe\r\n')
    assert read_table(path)["b"].tolist() == ['x, "y"\nz', '5" pipe']


def test_encoding(tmp_path):
    path = write_csv(tmp_path / "a.csv", "a,b\n1,é\n", "latin-1")
    assert read_table(path, encoding="latin-1")["b"].tolist() == ["é"]


def test_archive_of_a_matrix(tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "a.npz", X=X, y=["a", "b", "a"])
    assert list(read_table(tmp_path / "a.npz")) == ["X0", "X1", "y"]
    np.savez(tmp_path / "b.npz", X=X, y=[0, 1, 0], feature_names=["u", "v"])
    assert read_table(tmp_path / "b.npz")[["u", "v"]].to_numpy().tolist() == X.tolist()


def test_parquet_types(tmp_path):
    table = pa.table(
        {
            "price": pa.array(["1.5", None]).cast(pa.decimal128(5, 2)),
            "city": pa.array(["a", "b"]).dictionary_encode(),
            "__index_level_0__": [7, 8],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    found = read_table(tmp_path / "a.parquet")
    assert found["price"].tolist()[:1] == [1.5]
    assert list(found) == ["price", "city"]


# ---------------------------------------------------------------------------- faults

LONG = "a,b\n" + "1,2\n" * 5000

BROKEN = {
    "too few values": ("a,b\n1,2\n3\n", "line 3: 1 value, but the header has 2 columns"),
    "too many": ("a,b\n1,2\n\n3,4,5\n", "line 4: 3 values, but the header has 2 columns"),
    "far down": (LONG + "7\n" + LONG, "line 5002: 1 value"),
    "after a value of two lines": ('a,b\n1,"x\ny"\n3\n', "line 4: 1 value"),
    "a quote in the last column": ('a,b\n1,x\n2,"y\n3,z\n', "line 3: unexpected end of data"),
    "a quote in the first column": ('a,b\n"1,x\n2,y\n3,z\n', "a quote may not be closed"),
    "a broken header": ('a,"b\n1,2\n', "its header is broken"),
    "nothing": ("", "is empty"),
    "blank lines": ("\n\n", "is empty"),
    "a header alone": ("a,b\n", "has no rows"),
    "a name twice": ("a,b,a\n1,2,3\n", "more than one column called 'a'"),
}


@pytest.mark.parametrize("fault", BROKEN)
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_broken_text(tmp_path, fault, name):
    text, message = BROKEN[fault]
    content = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    for read in (read_table, lambda path: list(iter_table(path, {"a": "text", "b": "text"}))):
        with pytest.raises(TableError, match=r"a\.csv") as caught:
            read(tmp_path / name)
        assert message in str(caught.value)


@pytest.mark.parametrize("column", ["1,\xe9", "\xe9,2"])
def test_wrong_encoding(tmp_path, column):
    path = write_csv(tmp_path / "a.csv", f"a,b\n1,2\n{column}\n", "latin-1")
    with pytest.raises(TableError, match=r"is not UTF-8 text: line 3 has the byte 0xe9"):
        read_table(path)
    with pytest.raises(TableError, match=r"is not UTF-8 text: line 3 has the byte 0xe9"):
        list(iter_table(path, {"a": "text", "b": "text"}))


def test_wrong_encoding_of_the_header(tmp_path):
    path = write_csv(tmp_path / "a.csv", "a,\xe9\n1,2\n", "latin-1")
    with pytest.raises(TableError, match="line 1 has the byte 0xe9"):
        read_table(path)


def test_utf_16(tmp_path):
    path = write_csv(tmp_path / "a.csv", "a,b\n1,2\n", "utf-16")
    with pytest.raises(TableError, match="UTF-16"):
        read_table(path)


@pytest.mark.parametrize(
    ("encoding", "message"),
    [("utf-99", "no text encoding called 'utf-99'"), ("utf-16", "utf-16 are not supported")],
)
def test_unknown_encodings(tmp_path, encoding, message):
    path = write_csv(tmp_path / "a.csv", "a\n1\n")
    with pytest.raises(TableError, match=message):
        read_table(path, encoding=encoding)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [("number", "abc", "line 4: 'abc' in column 'b', which must contain numbers"),
     ("boolean", "maybe", "line 4: 'maybe' in column 'b', which must contain true or false")],
)  # fmt: skip
def test_values_of_another_kind(tmp_path, kind, value, message):
    path = write_csv(tmp_path / "a.csv", f"\na,b\n1,1\n2,{value}\n")
    with pytest.raises(TableError, match=message):
        list(iter_table(path, {"b": kind}))


def test_what_only_arrow_refuses(tmp_path):
    # Python parses 1_000 as a number, so the second check finds no error.
    path = write_csv(tmp_path / "a.csv", "a\n1_000\n")
    with pytest.raises(TableError, match=r"a\.csv cannot be read: .*1_000"):
        list(iter_table(path, {"a": "number"}))


@pytest.mark.parametrize(
    "content",
    [b"nonsense", gzip.compress(b"a,b\n" + b"1,2\n" * 9)[:-9]],
    ids=["nonsense", "cut off"],
)
def test_damaged_gzip(tmp_path, content):
    (tmp_path / "a.csv.gz").write_bytes(content)
    with pytest.raises(TableError, match=r"a\.csv\.gz cannot be read"):
        read_table(tmp_path / "a.csv.gz")


@pytest.mark.parametrize("name", ["a.parquet", "a.npz"])
def test_not_of_the_format_that_the_name_says(tmp_path, name):
    (tmp_path / name).write_bytes(b"a,b\n1,2\n")
    with pytest.raises(TableError, match=rf"{name} cannot be read"):
        read_table(tmp_path / name)


@pytest.mark.parametrize("name", ["a.docx", "a", "a.gz", "a.txt.gz"])
def test_unknown_names(tmp_path, name):
    with pytest.raises(TableError, match=r"the name of a table must end in \.csv, \.tsv"):
        read_table(tmp_path / name)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "a.npz"])
def test_no_file(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=name):
        read_table(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(OSError, match=name):
        read_table(tmp_path / name)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "is empty"),
        ({"a": [1], "b": [1, 2]}, "different numbers of rows: 'a' has 1, 'b' has 2"),
        ({"a": np.zeros((2, 2, 2))}, r"'a' has shape \(2, 2, 2\)"),
        ({"X": np.zeros((2, 1)), "X0": [1, 2]}, "more than one column called 'X0'"),
        ({"a": np.array([{}])}, "cannot be read"),
        ({"a": []}, "has no rows"),
    ],
)
def test_archives_that_are_no_table(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(TableError, match=message):
        read_table(tmp_path / "a.npz")


def test_parquet_with_a_name_twice_or_no_rows(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), path)
    with pytest.raises(TableError, match="more than one column called 'a'"):
        read_table(path)
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), path)
    for read in (read_table, lambda path: list(iter_table(path, {"a": "number"}))):
        with pytest.raises(TableError, match="has no rows"):
            read(path)


@pytest.mark.parametrize(("name", "write"), [("a.csv", as_csv), ("a.parquet", as_parquet),
                                             ("a.npz", as_npz)])  # fmt: skip
def test_columns_that_are_not_there(tmp_path, name, write):
    write(tmp_path / name)
    with pytest.raises(TableError, match="has no column 'age'; it has 'x', 'y', 'city'"):
        list(iter_table(tmp_path / name, {"x": "number", "age": "number"}))
    with pytest.raises(TableError, match="has no columns 'age', 'size'; it has"):
        list(iter_table(tmp_path / name, {"age": "number", "size": "number"}))


def test_many_names_are_cut_short(tmp_path):
    write_csv(tmp_path / "a.csv", ",".join("abcdefghijk") + "\n" + ",".join("12345678901") + "\n")
    with pytest.raises(TableError, match="'h' and 3 more"):
        list(iter_table(tmp_path / "a.csv", {"z": "number"}))
