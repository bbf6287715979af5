"""ONNX models give the same predictions as the forest."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from strategies import problems, seeds

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest.datasets import make_figure1
from lacforest.export import to_onnx
from lacforest.export._onnx import round_down

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

TOY = make_figure1(random_state=0)


def run(model, rows):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": rows}), strict=True))


def fitted(labels=TOY.y_labeled, n_trees=10, **options):
    forest = LACForestClassifier(n_trees, theta=0.5, random_state=0, **options)
    return forest.fit(TOY.X_labeled, labels, X_unlabeled=TOY.X_unlabeled)


def assert_same_labels(forest, given, rows):
    """Assert that labels agree, except where the two best classes tie in float32."""
    probabilities = np.sort(forest.predict_proba(rows), axis=1)
    is_clear = np.ones(len(rows), dtype=bool)
    if probabilities.shape[1] > 1:
        is_clear = probabilities[:, -1] - probabilities[:, -2] > 1e-6
    assert_array_equal(given[is_clear], forest.predict(rows)[is_clear])


@pytest.mark.parametrize("input_type", ["float32", "float64"])
@given(problem=problems(), seed=seeds)
@settings(max_examples=40)
def test_problems_of_all_kinds(input_type, problem, seed):
    problem = problem.but(X=problem.X.astype(input_type))
    problem = problem.but(X_unlabeled=problem.X_unlabeled.astype(input_type))
    forest = problem.fit(random_state=seed)
    rows = problem.everyone
    found = run(to_onnx(forest, input_type=input_type), rows)
    assert_allclose(found["probabilities"], forest.predict_proba(rows), atol=1e-6)
    assert_allclose(found["novelty_score"], forest.novelty_score(rows), atol=1e-6)
    assert_same_labels(forest, found["label"], rows)


@pytest.mark.parametrize("input_type", ["float32", "float64"])
def test_random_rows_with_missing_values(input_type):
    rng = np.random.default_rng(0)
    X, unlabeled, rows = (rng.normal(size=(n, 8)).astype(input_type) for n in (300, 600, 2_000))
    for table in (X, unlabeled, rows):
        table[rng.random(table.shape) < 0.15] = np.nan
    y = rng.integers(4, size=300)
    forest = LACForestClassifier(200, theta=0.4, min_samples_leaf=5, random_state=0)
    forest.fit(X, y, X_unlabeled=unlabeled)
    found = run(to_onnx(forest, input_type=input_type), rows)
    assert_allclose(found["probabilities"], forest.predict_proba(rows), atol=1e-6)
    assert_same_labels(forest, found["label"], rows)


def rows_around_thresholds(forest, input_type):
    """Rows that lie on a threshold, or next to it in the given type."""
    cuts = np.concatenate([tree.threshold[tree.feature == 0] for tree in forest.estimators_])
    near = cuts.astype(input_type)
    below, above = (np.nextafter(near, near.dtype.type(end)) for end in (-np.inf, np.inf))
    values = np.concatenate([near, below, above])
    return np.column_stack([values, np.resize(values[::-1], len(values))])


@pytest.mark.parametrize("input_type", ["float32", "float64"])
def test_rows_next_to_thresholds(input_type):
    forest = fitted()
    rows = rows_around_thresholds(forest, input_type)
    found = run(to_onnx(forest, input_type=input_type), rows)
    assert_allclose(found["probabilities"], forest.predict_proba(rows), atol=1e-6)


def test_nearest_rounding_would_not_do():
    """Show that the test above can fail: thresholds rounded to nearest misroute rows."""
    forest = fitted()
    model = to_onnx(forest)
    cuts = np.concatenate([tree.threshold for tree in forest.estimators_])
    attribute = next(a for a in model.graph.node[0].attribute if a.name == "nodes_values")
    attribute.floats[:] = cuts.astype(np.float32)
    rows = rows_around_thresholds(forest, "float32")
    found = run(model, rows)
    assert np.abs(found["probabilities"] - forest.predict_proba(rows)).max() > 0.05


@given(st.floats(allow_nan=False), st.floats(width=32, allow_nan=False))
def test_round_down(threshold, value):
    rounded = round_down(np.array([threshold]))
    assert rounded.dtype == np.float32
    assert (value <= rounded[0]) == (value <= threshold)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["b", "a"], "U"),
        ([3, 7], "i"),
        (np.array([2**63, 7], dtype=np.uint64), "u"),
        ([1.0, 2.0], "f"),
        ([True, False], "b"),
    ],
    ids=["text", "int", "large", "float", "bool"],
)
def test_labels_keep_their_type(names, kind):
    labels = np.array(names)[(TOY.y_labeled == TOY.y_labeled[0]).astype(int)]
    forest = LACForestClassifier(5, random_state=0)
    if kind == "b":
        forest.fit(TOY.X_labeled, labels)  # with a new class they would become numbers
    else:
        forest.set_params(theta=0.5).fit(TOY.X_labeled, labels, X_unlabeled=TOY.X_unlabeled)
    found = run(to_onnx(forest), TOY.X_unlabeled.astype(np.float32))["label"]
    expected = forest.predict(TOY.X_unlabeled.astype(np.float32))
    assert expected.dtype.kind == kind
    assert found.tolist() == expected.tolist()


def test_labels_that_onnx_has_no_type_for():
    forest = fitted()
    forest.classes_ = np.array(["a", 1, None], dtype=object)
    with pytest.raises(TypeError, match="ONNX has no type for labels of different types"):
        to_onnx(forest)


@pytest.mark.parametrize("dtype", ["datetime64[D]", "timedelta64[s]", "complex128", "S3"])
def test_labels_of_a_type_that_onnx_lacks(dtype):
    forest = fitted()
    forest.classes_ = np.arange(len(forest.classes_)).astype(dtype)
    message = r"no type for labels of type .*: fit on text, numbers or booleans, .*astype\(str\)"
    with pytest.raises(TypeError, match=message):
        to_onnx(forest)


def test_ties_go_to_the_first_class():
    forest = LACForestClassifier(2, max_depth=1, random_state=0)
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    forest.fit(X, [5, 6, 5, 6])
    rows = np.array([[0.0], [2.0]], dtype=np.float32)
    assert run(to_onnx(forest), rows)["label"].tolist() == forest.predict(rows).tolist() == [5, 5]


def test_plain_forest_has_no_novelty():
    forest = LACForestClassifier(5, random_state=0).fit(TOY.X_labeled, TOY.y_labeled)
    rows = TOY.X_unlabeled.astype(np.float32)
    found = run(to_onnx(forest), rows)
    assert set(found) == {"label", "probabilities"}
    assert_allclose(found["probabilities"], forest.predict_proba(rows), atol=1e-6)


def test_extra_trees():
    forest = LACExtraTreesClassifier(10, theta=0.5, random_state=0)
    forest.fit(TOY.X_labeled, TOY.y_labeled, X_unlabeled=TOY.X_unlabeled)
    rows = TOY.X_unlabeled.astype(np.float32)
    found = run(to_onnx(forest), rows)
    assert_allclose(found["probabilities"], forest.predict_proba(rows), atol=1e-6)
    assert_same_labels(forest, found["label"], rows)


def test_one_class():
    forest = LACForestClassifier(3, random_state=0).fit(TOY.X_labeled, np.zeros(len(TOY.y_labeled)))
    found = run(to_onnx(forest), TOY.X_unlabeled.astype(np.float32))
    assert (found["probabilities"] == 1).all()
    assert (found["label"] == 0).all()


def test_facts_about_the_model():
    model = to_onnx(fitted())
    facts = {fact.key: fact.value for fact in model.metadata_props}
    assert facts["new_label"] == "-1"
    assert facts["theta"] == "0.5"
    shape = model.graph.input[0].type.tensor_type.shape.dim
    assert [shape[0].dim_param, shape[1].dim_value] == ["n_rows", 2]


def test_bad_arguments(monkeypatch):
    with pytest.raises(ValueError, match=r"input_type must be .*, got 'half'"):
        to_onnx(fitted(), input_type="half")
    with pytest.raises(TypeError, match="Pipeline holds more than trees"):
        to_onnx(make_pipeline(StandardScaler(), fitted()))
    with pytest.raises(NotFittedError):
        to_onnx(LACForestClassifier())
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs onnx, .* 'lacforest\[onnx\]'"):
        to_onnx(fitted())
