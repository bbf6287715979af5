"""Invalid calls of a forest: not fitted, incompatible tables, unknown stages."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError
from two_blobs import U, X, assert_same_vars, fitted_forest, small_forest, y

NAMES = ["size", "kind", "age"]
X_frame = pd.DataFrame(X, columns=NAMES)
U_frame = pd.DataFrame(U, columns=NAMES)


def with_value(table, value):
    changed = table.copy()
    changed[3, 1] = value
    return changed


METHODS = ["predict", "predict_proba", "predict_log_proba", "novelty_score", "apply"]
METHODS += ["decision_path"]


@pytest.mark.parametrize("method", METHODS)
def test_nothing_works_before_fit(method):
    forest = small_forest()
    before = dict(vars(forest))
    with pytest.raises(NotFittedError, match=r"not fitted yet. Call 'fit'"):
        getattr(forest, method)(X)
    assert_same_vars(before, vars(forest))


def test_no_trees_and_no_file_before_fit(tmp_path):
    forest = small_forest()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        _ = forest.estimators_
    with pytest.raises(NotFittedError, match="not fitted yet"):
        forest.export_text()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        forest.save(tmp_path / "forest.lac")
    assert list(tmp_path.iterdir()) == []
    assert not hasattr(forest, "estimators_")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (X[:, :2], "X has 2 features, but LACForestClassifier is expecting 3"),
        (sparse.csr_array(X[:, :2]), "X has 2 features, but LACForestClassifier is expecting 3"),
        (X[:0], r"0 sample\(s\)"),
        (X[0], "(?s)Expected 2D array, got 1D.*Reshape your data"),
        (X[None], "dim 3"),
        (X + 1j, "Complex data not supported"),
        (with_value(X, np.inf), "Input X contains infinity"),
        (with_value(X, -np.inf).astype(np.float32), "Input X contains infinity"),
        (sparse.csr_array(with_value(X, np.inf)), "Input X contains infinity"),
        (X.astype(str), "X contains text"),
    ],
    ids=[
        *("narrow", "narrow sparse", "empty", "1d", "3d", "complex", "inf", "-inf", "sparse inf"),
        "text",
    ],
)
def test_tables_that_cannot_be_predicted(method, table, message):
    forest = fitted_forest()
    before, expected = dict(vars(forest)), forest.predict_proba(X)
    with pytest.raises(ValueError, match=message):
        getattr(forest, method)(table)
    assert_same_vars(before, vars(forest))
    assert_array_equal(forest.predict_proba(X), expected)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("method", METHODS)
def test_prediction_with_columns_in_another_order(make, method):
    forest = small_forest().fit(make(X_frame), y, X_unlabeled=make(U_frame))
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        getattr(forest, method)(make(X_frame[["age", "size", "kind"]]))


def test_prediction_with_another_name():
    forest = small_forest().fit(X_frame, y, X_unlabeled=U_frame)
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- weight"):
        forest.predict(X_frame.rename(columns={"age": "weight"}))


def test_novelty_without_a_new_class():
    plain = small_forest().fit(X, y)
    with pytest.raises(ValueError, match=r"fitted without unlabelled rows .* pass X_unlabeled"):
        plain.novelty_score(X)


@pytest.mark.parametrize("stage", ["first", "", None, 1, ["final"]])
def test_novelty_of_an_unknown_stage(stage):
    with pytest.raises(ValueError, match='stage must be "final" or "exploration", got'):
        fitted_forest().novelty_score(X, stage=stage)
