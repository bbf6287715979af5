"""ONNX models of forests with categories give the same predictions, also for unseen ones."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from strategies import seeds

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest.export import to_onnx

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

FORESTS = [LACForestClassifier, LACExtraTreesClassifier]


def probabilities(model, rows):
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(["probabilities"], {"X": rows})[0]


def random_rows(rng, n_rows, n_categories):
    """Two columns of codes and one of numbers, with missing values everywhere."""
    rows = np.column_stack(
        [
            rng.integers(0, n_categories, n_rows),
            rng.normal(size=n_rows).round(2),
            rng.integers(0, 3, n_rows),
        ]
    ).astype(np.float64)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    return rows


def fitted(forest_class, X, rng, n_trees=5):
    y = rng.permutation(np.arange(len(X)) % 3)
    is_labeled = (y < 2) & (rng.random(len(X)) < 0.6)
    is_labeled[:2], y[:2] = True, (0, 1)
    forest = forest_class(n_trees, theta=0.4, random_state=0, categorical_features=[0, 2])
    return forest.fit(X[is_labeled], y[is_labeled], X_unlabeled=X[~is_labeled])


@pytest.mark.parametrize("input_type", ["float32", "float64"])
@pytest.mark.parametrize("forest_class", FORESTS)
@given(seed=seeds, n_categories=st.sampled_from([1, 2, 3, 5, 40, 90]))
@settings(max_examples=15)
def test_codes_seen_and_unseen(forest_class, input_type, seed, n_categories):
    rng = np.random.default_rng(seed)
    # Codes with gaps: ranks and codes differ.
    X = random_rows(rng, 120, n_categories) * [7, 1, 1]
    forest = fitted(forest_class, X.astype(input_type), rng)
    rows = np.concatenate([X, random_rows(rng, 40, n_categories + 5)]).astype(input_type)
    found = probabilities(to_onnx(forest, input_type=input_type), rows)
    assert_allclose(found, forest.predict_proba(rows), atol=1e-6)


@pytest.mark.parametrize("forest_class", FORESTS)
def test_many_categories(forest_class):
    rng = np.random.default_rng(0)
    X = random_rows(rng, 3000, 700)
    forest = fitted(forest_class, X, rng, n_trees=3)
    rows = np.concatenate([X, random_rows(rng, 100, 800)])
    assert_allclose(
        probabilities(to_onnx(forest), rows.astype(np.float32)),
        forest.predict_proba(rows.astype(np.float32)),
        atol=1e-6,
    )


def test_text_is_given_by_its_place_among_the_categories():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "city": pd.Categorical(rng.choice(["Rome", "Oslo", "Łódź", None], 90)),
            "x": rng.normal(size=90).astype(np.float32),
        }
    )
    y = np.where(frame["city"] == "Oslo", "a", "b")
    forest = LACForestClassifier(5, theta=0.4, random_state=0)
    forest.fit(frame[:60], y[:60], X_unlabeled=frame[60:])
    assert forest.categories_[0].tolist() == ["Oslo", "Rome", "Łódź"]
    place = {name: place for place, name in enumerate(forest.categories_[0])}
    rows = np.column_stack([frame["city"].map(place).astype(float), frame["x"]])
    found = probabilities(to_onnx(forest), rows.astype(np.float32))
    assert_allclose(found, forest.predict_proba(frame), atol=1e-6)
    unseen = pd.DataFrame({"city": pd.Categorical(["Bern"]), "x": np.float32([0.5])})
    for number in (3.0, -1.0, 0.5, np.nan):  # no place among the three
        found = probabilities(to_onnx(forest), np.array([[number, 0.5]], dtype=np.float32))
        assert_allclose(found, forest.predict_proba(unseen), atol=1e-6)


def test_a_declared_category_may_be_any_number():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"dose": pd.Categorical(rng.choice([-0.1, 2.5, 40.0], 80))})
    y = np.where(X["dose"] == 2.5, 1, 0)
    forest = LACForestClassifier(5, theta=0.4, random_state=0)
    forest.fit(X[:50], y[:50], X_unlabeled=X[50:])
    for input_type in ("float32", "float64"):
        rows = X["dose"].to_numpy(dtype=input_type)[:, None]
        found = probabilities(to_onnx(forest, input_type=input_type), rows)
        assert_allclose(found, forest.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("with_names", [False, True])
def test_categories_that_float32_confuses_are_refused(with_names):
    codes = np.array([0, 2**24, 2**24 + 1] * 20, dtype=np.float64)[:, None]
    X = pd.DataFrame(codes, columns=["code"]) if with_names else codes
    forest = LACForestClassifier(3, theta=0.4, random_state=0, categorical_features=[0])
    forest.fit(X[:40], np.arange(40) % 3 % 2, X_unlabeled=X[40:])
    column = "'code'" if with_names else "0"
    message = f"column {column} has categories that float32 cannot tell apart: use input_type"
    with pytest.raises(ValueError, match=message):
        to_onnx(forest)
    found = probabilities(to_onnx(forest, input_type="float64"), codes)
    assert_allclose(found, forest.predict_proba(X), atol=1e-6)
