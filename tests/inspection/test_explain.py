"""Shapley values and explanations as a user gets them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest.export import to_sklearn_like
from lacforest.inspection import explain, shap_values


@pytest.fixture(scope="module")
def table():
    """Five features: the third one makes rows new, the last one is noise, some are missing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(260, 5))
    X[:50, 0] += 2
    X[50:100, 1] += 2
    X[180:, 2] += 4
    X[rng.random(X.shape) < 0.1] = np.nan
    return X[:100], np.repeat(["a", "b"], 50), X[100:]


@pytest.fixture(scope="module", params=[LACForestClassifier, LACExtraTreesClassifier])
def forest(request, table):
    X, y, unlabeled = table
    return request.param(20, theta=0.5, random_state=0).fit(X, y, X_unlabeled=unlabeled)


def test_the_shap_package_agrees(forest, table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shap = pytest.importorskip("shap")
    explainer = shap.TreeExplainer(to_sklearn_like(forest))
    values, base = shap_values(forest, table[2], output="all")
    assert_allclose(values, explainer.shap_values(table[2]), atol=1e-7)
    assert_allclose(base, explainer.expected_value, atol=1e-7)


def test_the_column_that_makes_rows_new_explains_them(forest, table):
    values, _ = shap_values(forest, table[2][-60:])
    means = values.mean(axis=0)
    assert means.argmax() == 2
    assert abs(means[4]) < 0.1 * means[2]
    reasons = [explanation.reasons[0].column for explanation in explain(forest, table[2][-60:])]
    assert reasons.count("feature_2") > 40


def test_sparse_tables(forest, table):
    rows = np.nan_to_num(table[2])
    values, base = shap_values(forest, rows)
    for kind in (sparse.csr_matrix, sparse.csc_array):
        found = shap_values(forest, kind(rows))
        assert_array_equal(found.values, values)
        assert found.base_values == base
    assert explain(forest, sparse.csr_array(rows[:3])) == explain(forest, rows[:3])


def test_float32_tables(forest, table):
    rows = table[2].astype(np.float32)
    assert_array_equal(shap_values(forest, rows)[0], shap_values(forest, rows.astype(float))[0])


def test_plain_forest(table):
    forest = LACForestClassifier(5, random_state=0).fit(*table[:2])
    values, base = shap_values(forest, table[2], output="all")
    assert_allclose(base + values.sum(axis=1), forest.predict_proba(table[2]), atol=1e-6)
    with pytest.raises(ValueError, match="fitted without unlabelled rows and has no new class"):
        shap_values(forest, table[2])


def test_pipelines_and_searches(table):
    X, y, unlabeled = (np.nan_to_num(part) if part.dtype.kind == "f" else part for part in table)
    rows = np.vstack([X, unlabeled])
    marked = np.append(y, ["?"] * len(unlabeled))
    forest = LACForestClassifier(5, theta=0.5, unlabeled_label="?", random_state=0)
    pipeline = make_pipeline(StandardScaler(), forest).fit(rows, marked)
    inner = pipeline[-1]
    expected = shap_values(inner, pipeline[0].transform(rows))
    assert_array_equal(shap_values(pipeline, rows).values, expected.values)
    search = GridSearchCV(pipeline, {"lacforestclassifier__max_depth": [3]}, cv=2, refit=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(rows, marked)
    values, base = shap_values(search, rows)
    scores = search.best_estimator_.predict_proba(rows)[:, inner.new_class_index_]
    assert_allclose(base + values.sum(axis=1), scores, atol=1e-6)


def test_sentences(table):
    X, y, unlabeled = table
    names = ["width", "height", "weight", "age", "noise"]
    frame = pd.DataFrame(unlabeled, columns=names)
    forest = LACForestClassifier(20, theta=0.5, random_state=0)
    forest.fit(pd.DataFrame(X, columns=names), y, X_unlabeled=frame)
    rows = frame.iloc[-40:]
    scores = forest.novelty_score(rows)
    values, base = shap_values(forest, rows)
    missing = 0
    for i, found in enumerate(explain(forest, rows, n_columns=2)):
        assert found.score == pytest.approx(scores[i], abs=1e-6)
        assert found.base_value == base
        largest = np.argsort(-np.abs(values[i]))[:2]
        assert [reason.column for reason in found.reasons] == [names[j] for j in largest]
        total = base + sum(reason.effect for reason in found.reasons) + found.other_effect
        assert total == pytest.approx(scores[i], abs=1e-6)
        assert found.n_other == 3
        text = str(found)
        start = f"probability of new {found.score:.3f} (average {base:.3f}): "
        assert text.startswith(start + found.reasons[0].column)
        assert text.endswith(f"3 other columns ({found.other_effect:+.3f})")
        for reason in found.reasons:
            if np.isnan(reason.value):
                missing += 1
                assert f"{reason.column} is missing ({reason.effect:+.3f})" in text
            else:
                assert f"{reason.column} = {reason.value:.6g} ({reason.effect:+.3f})" in text
    assert missing > 0


@pytest.mark.parametrize("names", [["red", "green", "blue"], [10, 30, 20], [0.5, -1.0, 2.5]])
def test_categories_are_told_as_they_are(table, names):
    rng = np.random.default_rng(0)
    X, y, unlabeled = table
    tables = [
        pd.DataFrame({"kind": pd.Categorical(rng.choice(names, len(rows))), "age": rows[:, 2]})
        for rows in (X, unlabeled)
    ]
    forest = LACForestClassifier(5, theta=0.5, random_state=0)
    forest.fit(tables[0], y, X_unlabeled=tables[1])
    tables[1].loc[0, "kind"] = np.nan
    for kind, found in zip(tables[1]["kind"], explain(forest, tables[1]), strict=True):
        (reason,) = (reason for reason in found.reasons if reason.column == "kind")
        shown = f"{kind:g}" if isinstance(kind, float) else str(kind)
        told = "kind is missing (" if pd.isna(kind) else f"kind = {shown} ("
        assert str(reason).startswith(told)


def test_texts_of_codes_that_the_fit_has_not_seen(table):
    X, y, unlabeled = table
    tables = [np.c_[rows[:, 2], np.arange(len(rows)) % 2 * 2] for rows in (X, unlabeled)]
    forest = LACForestClassifier(5, theta=0.5, random_state=0, categorical_features=[1])
    forest.fit(tables[0], y, X_unlabeled=tables[1])
    texts = {"feature_1": ["low", "middle", "high"]}
    for row, found in zip(tables[1], explain(forest, tables[1], categories=texts), strict=True):
        (reason,) = (reason for reason in found.reasons if reason.column == "feature_1")
        assert (reason.value, reason.category) == (row[1], ("low", "", "high")[int(row[1])])


def test_all_columns_can_be_reasons(forest, table):
    (found,) = explain(forest, table[2][:1], n_columns=99)
    assert len(found.reasons) == 5
    assert found.n_other == 0
    assert found.other_effect == 0
    assert "other" not in str(found)
    assert "1 other column (" in str(explain(forest, table[2][:1], n_columns=4)[0])


def test_bad_input(forest, table):
    X, y, _ = table
    with pytest.raises(ValueError, match=r'output must be "new" or "all", got \'fresh\''):
        shap_values(forest, X, output="fresh")
    with pytest.raises(ValueError, match="n_columns must be at least 1, got 0"):
        explain(forest, X, n_columns=0)
    with pytest.raises(TypeError, match=r"n_columns must be an integer, got 1\.5"):
        explain(forest, X, n_columns=1.5)
    with pytest.raises(ValueError, match="X has 4 features, but LAC"):
        shap_values(forest, X[:, :4])
    with pytest.raises(TypeError, match="got RandomForestClassifier"):
        shap_values(RandomForestClassifier(2).fit(np.nan_to_num(X), y), X)
    with pytest.raises(NotFittedError):
        shap_values(LACForestClassifier(), X)
