"""Invalid tables: messages name the table, the columns and the remedy; nothing is changed."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from two_blobs import U, X, assert_refused, small_forest, y

NAMES = ["size", "kind", "age"]
X_frame = pd.DataFrame(X, columns=NAMES)
U_frame = pd.DataFrame(U, columns=NAMES)


def with_value(table, value):
    changed = table.copy()
    changed[3, 1] = value
    return changed


def with_column(frame, values):
    return frame.assign(kind=values)


# ---------------------------------------------------------------------------- shapes


def test_no_rows():
    assert_refused(ValueError, r"0 sample\(s\).*minimum of 1", X=X[:0], y=y[:0])


def test_no_features():
    assert_refused(ValueError, r"0 feature\(s\).*minimum of 1", X=X[:, :0], X_unlabeled=None)


@pytest.mark.parametrize("name", ["X", "X_unlabeled"])
def test_one_dimension(name):
    table = {"X": X, "X_unlabeled": U}[name]
    assert_refused(
        ValueError, "(?s)Expected 2D array, got 1D.*Reshape your data", **{name: table[:, 0]}
    )


@pytest.mark.parametrize("name", ["X", "X_unlabeled"])
def test_three_dimensions(name):
    table = {"X": X, "X_unlabeled": U}[name]
    assert_refused(ValueError, "dim 3, while dim <= 2 is required", **{name: table[None]})


@pytest.mark.parametrize(
    "nothing",
    [U[:0], [], (), U_frame[:0], pl.DataFrame(U_frame[:0]), sparse.csr_array((0, 3))],
    ids=["array", "list", "tuple", "pandas", "polars", "sparse"],
)
def test_no_unlabelled_rows(nothing):
    # Never fit a plain forest silently: a user who passes X_unlabeled expects a new class.
    message = "X_unlabeled has no rows: pass rows from deployment"
    assert_refused(ValueError, message, X_unlabeled=nothing)


@pytest.mark.parametrize("table", [U[:, :2], sparse.csr_array(U[:, :2])], ids=["dense", "sparse"])
def test_unlabelled_rows_with_other_columns(table):
    message = "X_unlabeled has 2 features, but X has 3: both must have the same columns"
    assert_refused(ValueError, message, X_unlabeled=table)


# ---------------------------------------------------------------------------- names of columns


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_unlabelled_rows_with_another_name(make):
    message = "X_unlabeled must have the columns of X in the same order.*'weight' where X has 'age'"
    other = U_frame.rename(columns={"age": "weight"})
    assert_refused(ValueError, message, X=make(X_frame), X_unlabeled=make(other))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_unlabelled_rows_with_columns_in_another_order(make):
    message = "same order.*'age' where X has 'kind'; 'kind' where X has 'age'"
    reordered = U_frame[["size", "age", "kind"]]
    assert_refused(ValueError, message, X=make(X_frame), X_unlabeled=make(reordered))


def test_only_the_first_of_many_wrong_names_are_listed():
    many = pd.DataFrame(np.tile(X, 4), columns=[f"x{i}" for i in range(12)])
    other = pd.DataFrame(np.tile(U, 4), columns=[f"u{i}" for i in range(12)])
    assert_refused(ValueError, "'u4' where X has 'x4'; and more", X=many, X_unlabeled=other)


# ---------------------------------------------------------------------------- values


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("make", [np.asarray, np.float32, sparse.csc_array])
def test_infinity(make, value):
    assert_refused(ValueError, "Input X contains infinity", X=make(with_value(X, value)))
    assert_refused(
        ValueError, "Input X_unlabeled contains infinity", X_unlabeled=make(with_value(U, value))
    )


def test_complex_numbers():
    assert_refused(ValueError, "Complex data not supported", X=X + 1j)
    assert_refused(ValueError, "Complex data not supported", X_unlabeled=U + 1j)


TEXT_IN_PANDAS = {
    "object": lambda n: np.full(n, "red", dtype=object),
    "mixed": lambda n: np.array([1.5, "red"] * (n // 2), dtype=object),
    "string": lambda n: pd.array(["red"] * n, dtype="string"),
    "arrow": lambda n: pd.array(["red"] * n, dtype="string[pyarrow]"),
    "datetime": lambda n: pd.date_range("2020", periods=n),
    "timedelta": lambda n: pd.timedelta_range("1 day", periods=n),
    "list": lambda n: [[1, 2]] * n,
}
NOT_NUMBERS = r"has columns that are not numbers: \['kind'\]; encode them first"


@pytest.mark.parametrize("kind", TEXT_IN_PANDAS)
def test_pandas_columns_that_are_not_numbers_are_named(kind):
    make = TEXT_IN_PANDAS[kind]
    bad_X, bad_U = with_column(X_frame, make(len(X))), with_column(U_frame, make(len(U)))
    assert_refused(ValueError, f"X {NOT_NUMBERS}", X=bad_X, X_unlabeled=U_frame)
    in_u = NOT_NUMBERS.replace("encode them first", "encode them as in X. .*unlabeled_label=")
    assert_refused(ValueError, f"X_unlabeled {in_u}", X=X_frame, X_unlabeled=bad_U)
    fitted = small_forest().fit(X_frame, y, X_unlabeled=U_frame)
    with pytest.raises(ValueError, match=f"X {NOT_NUMBERS}"):
        fitted.predict(bad_X)


TEXT_IN_POLARS = {
    "String": pl.Series("kind", ["red"] * len(X)),
    "Binary": pl.Series("kind", [b"red"] * len(X)),
    "List": pl.Series("kind", [[1, 2]] * len(X)),
    "Date": pl.Series("kind", pd.date_range("2020", periods=len(X))).cast(pl.Date),
    "Duration": pl.Series("kind", pd.timedelta_range("1 day", periods=len(X))),
}


@pytest.mark.parametrize("kind", TEXT_IN_POLARS)
def test_polars_columns_that_are_not_numbers_are_named(kind):
    bad = pl.DataFrame(X_frame).with_columns(TEXT_IN_POLARS[kind])
    assert_refused(ValueError, f"X {NOT_NUMBERS}", X=bad, X_unlabeled=pl.DataFrame(U_frame))


def test_every_text_column_is_named():
    bad = X_frame.assign(size="red", age="old")
    message = r"\['size', 'age'\]; .*, or name columns of text in categorical_features"
    assert_refused(ValueError, message, X=bad, X_unlabeled=U_frame)


@pytest.mark.parametrize("dtype", [str, "S8"])
def test_arrays_of_text(dtype):
    assert_refused(ValueError, "X contains text .* encode them first", X=X.astype(dtype))
    assert_refused(ValueError, "X_unlabeled contains text", X_unlabeled=U.astype(dtype))


def test_object_arrays_with_text():
    bad = X.astype(object)
    bad[5, 2] = "red"
    assert_refused(ValueError, "X contains values that are not numbers .*'red'.* encode", X=bad)


def test_lists_with_text():
    bad = [["red", 1.0, 2.0]] * len(X)
    assert_refused(ValueError, "X contains (text|values that are not numbers).* encode", X=bad)


def test_arrays_of_dates():
    # Dates must not be converted silently to days since 1970.
    dates = np.zeros(X.shape, dtype="datetime64[D]") + np.arange(3)
    assert_refused(ValueError, "X contains (dates|values that are not numbers)", X=dates)


# ---------------------------------------------------------------------------- columns


def test_a_frame_without_columns():
    message = r"X has 0 feature\(s\): a table needs at least one column"
    assert_refused(ValueError, message, X=pd.DataFrame(index=range(len(X))))


@pytest.mark.parametrize("columns", [list("aab"), [1, 1, 2]])
def test_two_columns_of_one_name(columns):
    frame = pd.DataFrame(X, columns=columns)
    message = f"X has more than one column called {columns[0]!r}: rename or drop them"
    assert_refused(ValueError, message, X=frame)
    unlabelled = pd.DataFrame(U, columns=columns)
    assert_refused(ValueError, "X_unlabeled has more than one column", X_unlabeled=unlabelled)
    with pytest.raises(ValueError, match="X has more than one column called"):
        small_forest().fit(X, y).predict(frame)


def test_long_names_are_cut_in_messages():
    names = [letter * 5000 for letter in "abc"]
    frame, other = pd.DataFrame(X, columns=names), pd.DataFrame(U, columns=names[::-1])
    text = frame.assign(**{names[0]: "text"})
    for arguments in ({"X": frame, "X_unlabeled": other}, {"X": text}):
        with pytest.raises(ValueError, match=r"a{20,40}") as caught:
            small_forest().fit(**{"y": y, "X_unlabeled": U} | arguments)
        assert len(str(caught.value)) < 600
        assert "\n" not in str(caught.value)
