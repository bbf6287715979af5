"""Cells of categorical columns: which are missing, and which are no categories."""

import numpy as np
import pandas
import pytest

from lacforest import LACForestClassifier


def refused(X, match, **parameters):
    forest = LACForestClassifier(2, random_state=0, **parameters)
    with pytest.raises(ValueError, match=match):
        forest.fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize("cell", [[1], {"a": 1}])
@pytest.mark.parametrize("form", [pandas.DataFrame, np.asarray])
def test_cells_that_are_no_categories(cell, form):
    table = form(pandas.DataFrame({"c": ["a", cell, "b", cell]}, dtype=object))
    match = (
        r"has categories that are neither all text nor all numbers \(unhashable type: '(list|dict)'"
    )
    refused(table, match, categorical_features=[0])


@pytest.mark.parametrize("first", [2**53, -(2**53) - 3, 2**63])
def test_whole_numbers_that_would_become_one_category(first):
    column = [first, first + 1, first + 2, first + 3]
    X = pandas.DataFrame({"c": pandas.Categorical(column)})
    match = r"column 'c' of X has categories beyond 2\*\*53, some of which become the same"
    refused(X, match)


def test_missing_values_among_objects():
    column = ["a", "b", None, np.nan, pandas.NA, "a"]
    X = np.array([column], dtype=object).T
    forest = LACForestClassifier(2, random_state=0, categorical_features=[0])
    forest.fit(X, [0, 1, 0, 1, 0, 1])
    assert forest.categories_[0].tolist() == ["a", "b"]
    assert len(np.unique(forest.predict_proba(X)[2:5], axis=0)) == 1


def test_declared_categories_that_no_row_has_are_left_out():
    column = pandas.Categorical(["b", "a", "b", "a"], categories=["z", "b", "c", "a"])
    forest = LACForestClassifier(2, random_state=0)
    forest.fit(pandas.DataFrame({"c": column}), [0, 1, 0, 1])
    assert forest.categories_[0].tolist() == ["a", "b"]
    # A category that is declared again at prediction is one that the fit has not seen.
    other = pandas.DataFrame({"c": pandas.Categorical(["z", None], categories=["z"])})
    assert len(np.unique(forest.predict_proba(other), axis=0)) == 1
