"""Sparse tables give the same forest as a dense array of the same numbers."""

import numpy as np
import pytest
from forests import assert_same_forest
from numpy.testing import assert_array_equal
from scipy import sparse
from two_blobs import small_forest, y

import lacforest._coding.coded_table

rng = np.random.default_rng(0)


def mostly_zero(n_rows, shift):
    table = np.round(rng.normal(size=(n_rows, 8)) + shift, 1)
    table[rng.random(table.shape) < 0.6] = 0.0
    return table


X = np.vstack([mostly_zero(30, 0.0), mostly_zero(30, 1.0)])
U = np.vstack([mostly_zero(40, 0.5), mostly_zero(40, -2.0)])


def dense_forest(X=X, U=U):
    return small_forest().fit(X, y, X_unlabeled=U)


def assert_same_everywhere(forest, expected, table, dense):
    assert_same_forest(forest, expected)
    assert_array_equal(forest.predict_proba(table), expected.predict_proba(dense))
    assert_array_equal(forest.apply(table), expected.apply(dense))
    for stage in ("final", "exploration"):
        assert_array_equal(forest.novelty_score(table, stage), expected.novelty_score(dense, stage))


def unsorted(table, make):
    """Return the matrix with indices in descending order, which is valid."""
    result = make(table)
    for first, end in zip(result.indptr[:-1], result.indptr[1:], strict=True):
        result.indices[first:end] = result.indices[first:end][::-1].copy()
        result.data[first:end] = result.data[first:end][::-1].copy()
    result.has_sorted_indices = False
    return result


def with_duplicates(table, make):
    """Return the matrix with every entry stored as two exact halves that are to be summed."""
    whole = make(table)
    halves = [np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr]
    result = type(whole)(tuple(halves), shape=whole.shape)
    assert result.nnz == 2 * whole.nnz
    return result


def with_stored_zeros(table, make):
    result = make(np.where(table == 0, 7.0, table))
    result.data[result.data == 7.0] = 0.0
    return result


FORMS = {
    "as made": lambda table, make: make(table),
    "unsorted": unsorted,
    "duplicates": with_duplicates,
    "stored zeros": with_stored_zeros,
}
MAKERS = [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix]
make_sparse = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)


@make_sparse
@pytest.mark.parametrize("form", FORMS)
def test_sparse_is_dense(make, form):
    table, unlabeled = FORMS[form](X, make), FORMS[form](U, make)
    forest = small_forest().fit(table, y, X_unlabeled=unlabeled)
    assert_same_everywhere(forest, dense_forest(), FORMS[form](U, make), U)


@make_sparse
def test_tables_are_not_changed(make):
    table = with_duplicates(X, make)
    data, indices = table.data.copy(), table.indices.copy()
    small_forest().fit(table, y).predict(table)
    assert_array_equal(table.data, data)
    assert_array_equal(table.indices, indices)


@make_sparse
def test_stored_nan_is_missing_and_zero_is_zero(make):
    X_holed, U_holed = X.copy(), U.copy()
    X_holed[rng.random(X.shape) < 0.1] = np.nan
    U_holed[rng.random(U.shape) < 0.1] = np.nan
    forest = small_forest().fit(make(X_holed), y, X_unlabeled=make(U_holed))
    assert_same_everywhere(forest, dense_forest(X_holed, U_holed), make(U_holed), U_holed)


@pytest.mark.parametrize("make", [sparse.coo_array, sparse.lil_array, sparse.dok_array])
def test_other_formats_are_converted(make):
    forest = small_forest().fit(make(X), y, X_unlabeled=make(U))
    assert_same_everywhere(forest, dense_forest(), make(U), U)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.bool_])
def test_types_of_numbers(dtype):
    table, unlabeled = X.astype(dtype), U.astype(dtype)
    forest = small_forest().fit(sparse.csr_array(table), y, X_unlabeled=sparse.csc_array(unlabeled))
    expected = dense_forest(table.astype(float), unlabeled.astype(float))
    assert_same_everywhere(forest, expected, sparse.csr_array(unlabeled), unlabeled)


def test_sparse_and_dense_tables_may_stand_together():
    assert_same_forest(small_forest().fit(sparse.csr_array(X), y, X_unlabeled=U), dense_forest())
    assert_same_forest(small_forest().fit(X, y, X_unlabeled=sparse.csc_array(U)), dense_forest())


def test_wide_indices():
    table = sparse.csr_array(X)
    table.indices, table.indptr = table.indices.astype(np.int64), table.indptr.astype(np.int64)
    assert_same_forest(small_forest().fit(table, y, X_unlabeled=U), dense_forest())


def test_marked_rows_and_weights_select_rows_of_a_sparse_table():
    table, labels = sparse.csr_array(np.vstack([X, U])), np.append(y, np.full(len(U), -1))
    weight = np.where(np.arange(len(labels)) % 5, 2.0, 0.0)
    forest = small_forest(unlabeled_label=-1).fit(table, labels, sample_weight=weight)
    dense = small_forest().fit(X, y, sample_weight=weight[: len(X)], X_unlabeled=U)
    assert_same_everywhere(forest, dense, sparse.csr_array(U), U)


def test_columns_that_store_nothing():
    empty = sparse.csr_array((60, 3))
    forest = small_forest().fit(empty, y)
    assert [tree.node_count for tree in forest.estimators_] == [1] * 5


def test_large_batches_are_spread_out_in_pieces(monkeypatch):
    monkeypatch.setattr("lacforest._model.arrays._SPARSE_CELLS", 24)  # three rows at a time
    forest = dense_forest()
    assert_array_equal(forest.predict_proba(sparse.csr_array(U)), forest.predict_proba(U))
    assert_array_equal(forest.apply(sparse.csr_array(U)), forest.apply(U))


def test_a_code_table_beyond_memory_is_refused_before_it_is_made(monkeypatch):
    # 2000 rows and 50,000 columns: dense codes would take 100 MB, and the memory is set to 64 MB.
    monkeypatch.setattr(lacforest._coding.coded_table, "_installed_memory", lambda: 1 << 26)
    wide = sparse.random_array((2000, 50_000), density=1e-4, rng=rng, format="csr")
    forest = small_forest()
    before = dict(vars(forest))
    with pytest.raises(MemoryError, match=r"2000 rows and 50000 features.*select features"):
        forest.fit(wide, np.arange(2000) % 2)
    assert vars(forest) == before


def test_a_machine_that_does_not_tell_its_memory_is_not_asked(monkeypatch):
    monkeypatch.setattr(lacforest._coding.coded_table, "_installed_memory", lambda: None)
    assert_same_forest(small_forest().fit(sparse.csr_array(X), y, X_unlabeled=U), dense_forest())
