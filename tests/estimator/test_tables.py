"""The same numbers in different containers give the same forest."""

import tempfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from forests import assert_same_forest
from numpy.testing import assert_array_equal
from two_blobs import U, X, fitted_forest, small_forest, y

NAMES = ["a", "b", "c"]
X_frame = pd.DataFrame(X, columns=NAMES)
U_frame = pd.DataFrame(U, columns=NAMES)


def every_answer(forest, table):
    return [
        forest.predict(table),
        forest.predict_proba(table),
        forest.novelty_score(table),
        forest.novelty_score(table, stage="exploration"),
        forest.apply(table),
    ]


def assert_same_answers(one, other):
    for ours, theirs in zip(one, other, strict=True):
        assert_array_equal(ours, theirs)


# ---------------------------------------------------------------------------- frames

FRAMES = {
    "pandas": lambda table: pd.DataFrame(table, columns=NAMES),
    "pandas of float32": lambda table: pd.DataFrame(table, columns=NAMES, dtype=np.float32),
    "pandas of arrow": lambda table: pd.DataFrame(table, columns=NAMES).astype("double[pyarrow]"),
    "pandas nullable": lambda table: pd.DataFrame(table, columns=NAMES).astype("Float64"),
    "pandas of objects": lambda table: pd.DataFrame(table, columns=NAMES, dtype=object),
    "polars": lambda table: pl.DataFrame(table, schema=NAMES),
    "polars of float32": lambda table: pl.DataFrame(table.astype(np.float32), schema=NAMES),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames(kind):
    make = FRAMES[kind]
    forest = small_forest().fit(make(X), y, X_unlabeled=make(U))
    dtype = np.float32 if "float32" in kind else np.float64
    arrays = small_forest().fit(X.astype(dtype), y, X_unlabeled=U.astype(dtype))
    assert_same_forest(forest, arrays)
    assert forest.feature_names_in_.tolist() == NAMES
    assert forest.n_features_in_ == 3
    assert not hasattr(arrays, "feature_names_in_")
    assert_same_answers(every_answer(forest, make(U)), every_answer(arrays, U.astype(dtype)))


def test_columns_of_several_types():
    table = {"whole": np.arange(60) % 7, "flag": X[:, 0] > 1, "real": X[:, 1]}
    dense = np.column_stack(list(table.values())).astype(float)
    expected = small_forest().fit(dense, y)
    assert_same_forest(small_forest().fit(pd.DataFrame(table), y), expected)
    assert_same_forest(small_forest().fit(pl.DataFrame(table), y), expected)


def test_one_kind_of_frame_may_predict_what_another_was_fitted_on():
    forest = small_forest().fit(X_frame, y, X_unlabeled=pl.DataFrame(U_frame))
    assert_same_answers(
        every_answer(forest, pl.DataFrame(U_frame)), every_answer(fitted_forest(), U)
    )


def test_names_are_compared_only_if_both_tables_have_them():
    assert_same_forest(small_forest().fit(X_frame, y, X_unlabeled=U), fitted_forest())
    forest = small_forest().fit(X, y, X_unlabeled=U_frame)
    assert_same_forest(forest, fitted_forest())
    assert not hasattr(forest, "feature_names_in_")


def test_columns_that_are_named_by_numbers_have_no_names():
    forest = small_forest().fit(pd.DataFrame(X), y, X_unlabeled=pd.DataFrame(U))
    assert_same_forest(forest, fitted_forest())
    assert not hasattr(forest, "feature_names_in_")


def test_the_index_of_a_frame_does_not_matter():
    shuffled = np.random.default_rng(0).permutation(len(X))
    forest = small_forest().fit(
        X_frame.set_index(shuffled), pd.Series(y), X_unlabeled=U_frame.set_index(-np.arange(80.0))
    )
    assert_same_forest(forest, fitted_forest())


def test_arrays_for_a_forest_of_frames_warn_as_in_scikit_learn():
    forest = small_forest().fit(X_frame, y, X_unlabeled=U_frame)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        answers = forest.predict(U)
    assert_array_equal(answers, fitted_forest().predict(U))
    with pytest.warns(UserWarning, match="X has feature names, but"):
        fitted_forest().predict(U_frame)


# ---------------------------------------------------------------------------- arrays


def strided(table):
    """Return a strided view: every second row and column of a larger array filled with NaN."""
    large = np.full((2 * table.shape[0], 2 * table.shape[1]), np.nan)
    large[::2, ::2] = table
    return large[::2, ::2]


def on_disk(table):
    with tempfile.TemporaryFile() as file:  # the mapping outlives it
        mapped = np.memmap(file, dtype=table.dtype, shape=table.shape)
    mapped[:] = table
    return mapped


def unaligned(table):
    """Return an array that is not aligned to eight bytes."""
    raw = np.zeros(table.nbytes + 1, dtype=np.uint8)[1:]
    view = raw.view(table.dtype).reshape(table.shape)
    view[:] = table
    assert not view.flags.aligned
    return view


LAYOUTS = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "read-only": lambda table: np.frombuffer(table.tobytes()).reshape(table.shape),
    "strided": strided,
    "reversed": lambda table: table[::-1].copy()[::-1],
    "reversed columns": lambda table: np.ascontiguousarray(table[:, ::-1])[:, ::-1],
    "memmap": on_disk,
    "unaligned": unaligned,
    "big-endian": lambda table: table.astype(">f8"),
    "matrix of longdouble": lambda table: table.astype(np.longdouble),
    "objects": lambda table: table.astype(object),
    "list of lists": lambda table: table.tolist(),
    "list of arrays": list,
    "tuple of tuples": lambda table: tuple(map(tuple, table)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_arrays(layout):
    make = LAYOUTS[layout]
    forest = small_forest().fit(make(X), y, X_unlabeled=make(U))
    assert_same_forest(forest, fitted_forest())
    assert_same_answers(every_answer(forest, make(U)), every_answer(fitted_forest(), U))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_single_row_in_any_layout(layout):
    row = LAYOUTS[layout](U[5:6])
    forest = fitted_forest()
    assert_same_answers(
        every_answer(forest, row), [answer[5:6] for answer in every_answer(forest, U)]
    )


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float16, np.int64, np.int8, np.uint8, np.bool_, np.uint64]
)
def test_types_of_numbers(dtype):
    # Every dtype is compared with its own values as float64, which holds them exactly.
    table, unlabeled = (np.maximum(3 * rows, 0).astype(dtype) for rows in (X, U))
    forest = small_forest().fit(table, y, X_unlabeled=unlabeled)
    as_double = small_forest().fit(
        table.astype(np.float64), y, X_unlabeled=unlabeled.astype(np.float64)
    )
    assert_same_forest(forest, as_double)
    assert_same_answers(
        every_answer(forest, unlabeled), every_answer(as_double, unlabeled.astype(np.float64))
    )


def test_tables_of_two_types_may_stand_together():
    single = U.astype(np.float32)
    forest = small_forest().fit(X, y, X_unlabeled=single)
    assert_same_forest(forest, small_forest().fit(X, y, X_unlabeled=single.astype(np.float64)))


def test_whole_numbers_that_a_double_cannot_hold_become_the_nearest_double():
    table = np.array([[2**53], [2**53 + 1]] * 5)
    forest = small_forest().fit(table, [0, 1] * 5)
    assert [tree.node_count for tree in forest.estimators_] == [1] * 5


def test_nothing_that_was_passed_is_changed():
    table, labels, unlabeled = X.copy(), y.copy(), U.copy()
    forest = small_forest().fit(table, labels, X_unlabeled=unlabeled)
    every_answer(forest, unlabeled)
    assert_array_equal(table, X)
    assert_array_equal(labels, y)
    assert_array_equal(unlabeled, U)


def test_what_was_passed_may_be_changed_after_fit():
    table, labels, unlabeled = X.copy(), y.copy(), U.copy()
    forest = small_forest().fit(table, labels, X_unlabeled=unlabeled)
    table[:], labels[:], unlabeled[:] = 0, 5, 0
    assert_same_answers(every_answer(forest, U), every_answer(fitted_forest(), U))
    assert_array_equal(forest.known_classes_, [0, 1])
