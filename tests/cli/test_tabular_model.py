"""TabularModel: a forest on data frames, and its file."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal
from sklearn.exceptions import NotFittedError
from two_tables import DEPLOYED, LABELLED

from lacforest import LACForestClassifier, __version__
from lacforest._model.container import ModelFileError
from lacforest._model.forest_files import save_forest
from lacforest.tabular import TableCoder, TableError, TabularModel


def forest(**parameters):
    return LACForestClassifier(**{"n_estimators": 5, "theta": 0.5, "random_state": 0} | parameters)


def fitted(categories="native"):
    return TabularModel(forest(), TableCoder(categories)).fit(LABELLED, "kind", DEPLOYED)


@pytest.mark.parametrize("categories", ["native", "ordinal", "onehot"])
def test_predictions(categories):
    model = fitted(categories)
    found = model.predict(DEPLOYED)
    names = ["predicted_label", "novelty_score", "probability_ham", "probability_spam"]
    assert list(found) == names
    assert_allclose(found[names[1:]].sum(axis=1), 1.0)
    truth = np.repeat(["ham", "spam", "<new>"], [20, 20, 40])
    assert (found["predicted_label"] == truth).mean() > 0.9
    X = model.coder.encode(DEPLOYED)
    assert_array_equal(found["predicted_label"], model.forest.predict(X))
    assert_array_equal(found["novelty_score"], model.forest.novelty_score(X))


def test_predictions_keep_the_index():
    few = DEPLOYED.iloc[[7, 3]]
    assert fitted().predict(few).index.tolist() == [7, 3]


@pytest.mark.parametrize("categories", ["native", "ordinal", "onehot"])
def test_fit_and_predict_at_once(categories):
    found = TabularModel(forest(), TableCoder(categories)).fit_predict(LABELLED, "kind", DEPLOYED)
    assert_frame_equal(found, fitted(categories).predict(DEPLOYED))


@pytest.mark.parametrize("categories", ["native", "ordinal", "onehot"])
def test_there_and_back(tmp_path, categories):
    model = fitted(categories)
    model.save(tmp_path / "model.lac")
    again = TabularModel.load(tmp_path / "model.lac")
    assert_frame_equal(again.predict(DEPLOYED), model.predict(DEPLOYED))
    assert (again.target, again.version, again.notes) == ("kind", __version__, [])
    alone = LACForestClassifier.load(tmp_path / "model.lac")
    assert alone.n_features_in_ == len(again.coder.feature_names)


def test_the_default_forest_and_coder():
    model = TabularModel()
    assert model.forest.get_params() == LACForestClassifier().get_params()
    assert model.coder.options.categories == "native"


def test_unfitted(tmp_path):
    with pytest.raises(NotFittedError):
        TabularModel().predict(DEPLOYED)
    with pytest.raises(NotFittedError):
        TabularModel().save(tmp_path / "model.lac")


def test_a_failed_fit_leaves_the_model(tmp_path):
    model = fitted()
    expected = model.predict(DEPLOYED)
    model.forest.set_params(gamma=-1)
    with pytest.raises(ValueError, match="gamma"):
        model.fit(LABELLED[["x", "kind"]], "kind", DEPLOYED[["x"]])
    assert_frame_equal(model.predict(DEPLOYED), expected)


# ---------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("labels", "known", "new"),
    [
        (np.repeat([3, 8], 30), [3, 8], -1),
        (np.repeat([3.0, 8.0], 30), [3, 8], -1),
        (pd.array(np.repeat([3, 8], 30), dtype="Int64"), [3, 8], -1),
        (np.repeat([True, False], 30), ["False", "True"], "<new>"),
        (pd.Categorical(np.repeat(["a", "b"], 30)), ["a", "b"], "<new>"),
    ],
)
def test_labels(tmp_path, labels, known, new):
    model = TabularModel(forest()).fit(LABELLED.assign(kind=labels), "kind", DEPLOYED)
    assert model.forest.known_classes_.tolist() == known
    assert model.forest.new_label_ == new
    model.save(tmp_path / "model.lac")
    again = TabularModel.load(tmp_path / "model.lac")
    assert_frame_equal(again.predict(DEPLOYED), model.predict(DEPLOYED))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["ham"] * 60, "column 'kind' of the labelled table contains a single class, 'ham'"),
        (range(60), "contains 60 different values in 60 rows: it looks like an id"),
        (np.repeat([0.5, 1.0], 30), "contains numbers that are not integers, such as 1.0"),
        (np.repeat([2.0**53, 1.0], 30), "such as 9007199254740992, too large to be told apart"),
        (np.repeat(np.array([2**63, 1], dtype=np.uint64), 30), "such as 9223372036854775808, too"),
        (["ham"] * 58 + [None, "spam"], "no label in 1 row (the first is row 59)"),
    ],
)
def test_labels_that_are_refused(labels, message):
    with pytest.raises(TableError) as caught:
        TabularModel(forest()).fit(LABELLED.assign(kind=list(labels)), "kind", DEPLOYED)
    assert message in str(caught.value)


def test_frames_of_another_library():
    polars = pytest.importorskip("polars")
    message = r"must be a pandas\.DataFrame, got (polars|numpy)"
    other = polars.from_pandas(DEPLOYED)
    with pytest.raises(TypeError, match=f"the unlabelled table {message}"):
        TabularModel(forest()).fit(LABELLED, "kind", other)
    fitted = TabularModel(forest()).fit(LABELLED, "kind", DEPLOYED)
    for table in (other, DEPLOYED.to_numpy()):
        with pytest.raises(TypeError, match=f"the table {message}"):
            fitted.predict(table)


def test_no_target():
    with pytest.raises(
        TableError, match=r"no column 'label' \(did you mean 'kind'\?\); it has 'x'"
    ):
        TabularModel(forest()).fit(LABELLED, "label", DEPLOYED)


@pytest.mark.parametrize("n_rows", [0, 1])
def test_too_few_unlabelled_rows(n_rows):
    with pytest.raises(
        TableError, match=rf"has {n_rows} unlabelled rows?, and at least two are needed"
    ):
        TabularModel(forest()).fit(LABELLED, "kind", DEPLOYED[:n_rows])


# ---------------------------------------------------------------------------- other files

NUMBERS = ["x", "y"]


def test_a_forest_fitted_on_a_frame(tmp_path):
    plain = forest().fit(LABELLED[NUMBERS], LABELLED["kind"], X_unlabeled=DEPLOYED[NUMBERS])
    plain.save(tmp_path / "plain.lac")
    model = TabularModel.load(tmp_path / "plain.lac")
    assert "it accepts only numbers, in the columns 'x', 'y'" in model.notes[0]
    assert (model.target, model.version) == (None, None)
    found = model.predict(DEPLOYED)
    assert_array_equal(found["predicted_label"], plain.predict(DEPLOYED[NUMBERS]))
    with pytest.raises(TableError, match="'x' of the table must contain numbers, but 'Oslo' is"):
        model.predict(DEPLOYED.assign(x="Oslo"))


def test_a_forest_fitted_on_categories_of_text(tmp_path):
    names = ["x", "city"]
    labelled, deployed = (
        table[names].assign(city=table["city"].astype("category")) for table in (LABELLED, DEPLOYED)
    )
    plain = forest().fit(labelled, LABELLED["kind"], X_unlabeled=deployed)
    plain.save(tmp_path / "plain.lac")
    model = TabularModel.load(tmp_path / "plain.lac")
    assert model.coder.kinds == {"x": "number", "city": "text"}
    assert "numbers, in the columns 'x', 'city', but for text in 'city'" in model.notes[0]
    found = model.predict(DEPLOYED)
    assert_array_equal(found["predicted_label"], plain.predict(deployed))
    # A model without a target, which `lacforest adapt` writes, could not be read again.
    model.save(tmp_path / "again.lac")
    again = TabularModel.load(tmp_path / "again.lac")
    assert again.target is None
    assert_frame_equal(again.predict(DEPLOYED), found)


def test_a_failed_fit_keeps_groups_and_calibration():
    model = fitted()
    model.groups = model.calibrator = "of the last fit"
    model.forest.set_params(max_depth=-1)
    with pytest.raises(ValueError, match="max_depth"):
        model.fit(LABELLED, "kind", DEPLOYED)
    assert model.groups == model.calibrator == "of the last fit"
    model.forest.set_params(max_depth=None)
    model.fit(LABELLED, "kind", DEPLOYED)
    assert (model.groups, model.calibrator) == (None, None)


def test_a_forest_fitted_on_an_array_without_new_rows(tmp_path):
    plain = forest().fit(LABELLED[NUMBERS].to_numpy(), LABELLED["kind"])
    plain.save(tmp_path / "plain.lac")
    model = TabularModel.load(tmp_path / "plain.lac")
    assert model.coder.feature_names == ["X0", "X1"]
    found = model.predict(DEPLOYED.rename(columns={"x": "X0", "y": "X1"}))
    assert list(found) == ["predicted_label", "probability_ham", "probability_spam"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": []}, "its column coding is damaged: version"),
        ({"table": {"version": 99}}, "has version 99, but this lacforest supports"),
        ({"target": 3}, "it has no target or version"),
        ({"lacforest": None}, "it has no target or version"),
    ],
)
def test_damaged_attachments(tmp_path, change, message):
    model = fitted()
    attachment = {"table": model.coder.to_dict(), "target": "kind", "lacforest": "0"} | change
    save_forest(model.forest, tmp_path / "a.lac", True, attachment)
    with pytest.raises(ModelFileError, match=r"a\.lac cannot be loaded") as caught:
        TabularModel.load(tmp_path / "a.lac")
    assert message in str(caught.value)


def test_a_coding_of_other_trees(tmp_path):
    table = TableCoder().fit(LABELLED[["x"]], DEPLOYED[["x"]]).to_dict()
    attachment = {"table": table, "target": "kind", "lacforest": "0"}
    save_forest(fitted().forest, tmp_path / "a.lac", True, attachment)
    with pytest.raises(ModelFileError, match="has 1 features, but its trees 4"):
        TabularModel.load(tmp_path / "a.lac")
