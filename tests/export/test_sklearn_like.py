"""Dictionaries of trees: their predictions and their SHAP values."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from reference.shapley import interventional, leaf_value, path_dependent
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from strategies import problems, seeds

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest.export import to_sklearn_like


@pytest.fixture(scope="module")
def shap():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # raised by other libraries
        return pytest.importorskip("shap")


@pytest.fixture(scope="module")
def table():
    """Five features, the last one noise, with some missing values."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(260, 5))
    y = np.repeat(["a", "b"], 50)
    X[:50, 0] += 2
    X[50:100, 1] += 2
    X[180:, 2] += 3
    X[rng.random(X.shape) < 0.1] = np.nan
    return X[:100], y, X[100:]


@pytest.fixture(scope="module")
def forest(table):
    X, y, unlabeled = table
    forest = LACForestClassifier(6, theta=0.5, min_samples_leaf=3, gamma=0.05, random_state=0)
    return forest.fit(X, y, X_unlabeled=unlabeled)


@given(problems(), seeds)
@settings(max_examples=50)
def test_leaves_add_up_to_the_prediction(problem, seed):
    forest = problem.fit(random_state=seed)
    model = to_sklearn_like(forest)
    rows = problem.everyone
    summed = [sum(leaf_value(tree, row) for tree in model["trees"]) for row in rows]
    assert_allclose(summed, forest.predict_proba(rows), atol=3e-7)


@given(problems(with_weight=True))
@settings(max_examples=25)
def test_an_inner_node_is_the_mean_of_its_children(problem):
    for tree in to_sklearn_like(problem.fit())["trees"]:
        inner = np.flatnonzero(tree["children_left"] >= 0)
        weight = tree["node_sample_weight"][:, None]
        left, right = tree["children_left"][inner], tree["children_right"][inner]
        mass = weight * tree["values"]
        assert_allclose(weight[inner], weight[left] + weight[right])
        assert_allclose(mass[inner], mass[left] + mass[right], atol=1e-5)


def test_missing_values_have_a_way(forest):
    for tree, view in zip(to_sklearn_like(forest)["trees"], forest.estimators_, strict=True):
        inner = view.children_left >= 0
        to_left = tree["children_default"] == tree["children_left"]
        assert_array_equal(to_left[inner], view.missing_go_to_left[inner])
        assert (tree["children_default"][~inner] == -1).all()


def test_what_a_caller_changes_is_his_own(forest, table):
    before = forest.predict_proba(table[0])
    for tree in to_sklearn_like(forest)["trees"]:
        for array in tree.values():
            array[:] = 0
    assert_array_equal(forest.predict_proba(table[0]), before)


def test_shap_agrees_with_the_definition(shap, forest, table):
    model = to_sklearn_like(forest)
    rows = np.vstack([table[0][:4], table[2][-4:]])
    assert np.isnan(rows).any()
    explainer = shap.TreeExplainer(model)
    found = explainer.shap_values(rows)
    for row, values in zip(rows, found, strict=True):
        expected, base = path_dependent(model["trees"], row)
        assert_allclose(values, expected, atol=1e-10)
        assert_allclose(explainer.expected_value, base, atol=1e-10)
    total = found.sum(axis=1) + explainer.expected_value
    assert_allclose(total, forest.predict_proba(rows), atol=3e-7)


def test_shap_agrees_with_the_definition_for_background_rows(shap, forest, table):
    model = to_sklearn_like(forest)
    rows, background = table[2][-4:], table[2][:10]
    explainer = shap.TreeExplainer(model, background, feature_perturbation="interventional")
    found = explainer.shap_values(rows)
    for row, values in zip(rows, found, strict=True):
        expected, base = interventional(model["trees"], row, background)
        assert_allclose(values, expected, atol=1e-6)
        assert_allclose(explainer.expected_value, base, atol=1e-6)
    total = found.sum(axis=1) + explainer.expected_value
    assert_allclose(total, forest.predict_proba(rows), atol=1e-6)


def test_the_feature_that_makes_rows_new_explains_them(shap, forest, table):
    rows = table[2][-40:]
    found = shap.TreeExplainer(to_sklearn_like(forest)).shap_values(rows)
    why_new = found[..., forest.new_class_index_].mean(axis=0)
    assert why_new.argmax() == 2
    assert abs(why_new[4]) < 0.1 * why_new[2]


def test_plain_forest(shap, table):
    forest = LACForestClassifier(5, random_state=0).fit(*table[:2])
    explainer = shap.TreeExplainer(to_sklearn_like(forest))
    total = explainer.shap_values(table[2]).sum(axis=1) + explainer.expected_value
    assert_allclose(total, forest.predict_proba(table[2]), atol=3e-7)


def test_extra_trees(shap, table):
    X, y, unlabeled = table
    forest = LACExtraTreesClassifier(5, theta=0.5, random_state=0).fit(X, y, X_unlabeled=unlabeled)
    explainer = shap.TreeExplainer(to_sklearn_like(forest))
    total = explainer.shap_values(unlabeled).sum(axis=1) + explainer.expected_value
    assert_allclose(total, forest.predict_proba(unlabeled), atol=3e-7)


def test_not_a_forest(forest, table):
    X, y, _ = table
    X = np.nan_to_num(X)
    with pytest.raises(TypeError, match=r"got RandomForestClassifier"):
        to_sklearn_like(RandomForestClassifier(2).fit(X, y))
    with pytest.raises(TypeError, match=r"Pipeline holds more than trees: pass the forest inside"):
        to_sklearn_like(make_pipeline(StandardScaler(), forest))
    search = GridSearchCV(LACForestClassifier(2), {"max_depth": [1]}, cv=2).fit(X, y)
    with pytest.raises(TypeError, match=r"GridSearchCV holds more than trees"):
        to_sklearn_like(search)
    with pytest.raises(NotFittedError):
        to_sklearn_like(LACForestClassifier())
