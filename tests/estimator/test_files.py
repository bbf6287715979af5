"""A saved and loaded forest equals the original."""

import copy
import os
import pickle
from dataclasses import fields

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from forests import assert_same_forest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from two_blobs import U, X, fitted_forest, small_forest, y

from lacforest import LACForestClassifier
from lacforest._model.arrays import ForestArrays
from lacforest._model.container import ModelFileError
from lacforest._model.forest_files import read_attachment, save_forest
from lacforest.mixture import BestBin, KernelMeanEmbedding, RankMixture, ThetaEstimator
from lacforest.mixture._score_table import Scores, ScoreTable

words = np.array(["cat", "dog"])
U_holed = U.copy()
U_holed[::5, 0] = np.nan

FORESTS = {
    "default": lambda: fitted_forest(),
    "plain": lambda: small_forest().fit(X, y),
    "weights": lambda: small_forest().fit(X, y, sample_weight=0.5 + y, X_unlabeled=U),
    "missing": lambda: small_forest().fit(X, y, X_unlabeled=U_holed),
    "names": lambda: small_forest().fit(pd.DataFrame(X, columns=["größe", "b", "c"]), y),
    "theta estimated": lambda: fitted_forest(theta=RankMixture(n_bootstrap=10)),
    "root only": lambda: small_forest(n_estimators=1).fit(np.ones((60, 3)), y),
}
LABELS = {
    "text": words[y],
    "objects": words[y].astype(object),
    "not ASCII": np.array(["żółw", "犬"])[y],
    "int8": np.array([-3, 5], dtype=np.int8)[y],
    "uint8": np.array([0, 255], dtype=np.uint8)[y],
    "int64": np.array([-(2**60), 2**60])[y],
    "float64": np.array([0.0, 2.0])[y],
    "float32": np.array([1.0, 2.0], dtype=np.float32)[y],
}


def assert_equal_attributes(one, other):
    """Assert equal attributes of the same types, including parameters."""
    assert sorted(vars(one)) == sorted(vars(other))
    for name, value in vars(one).items():
        found = vars(other)[name]
        if name == "_forest":
            for field in fields(ForestArrays):
                assert_array_equal(getattr(found, field.name), getattr(value, field.name))
        elif isinstance(value, ThetaEstimator):
            assert type(found) is type(value)
            assert_equal_attributes(value, found)
        elif isinstance(value, Scores | ScoreTable):
            for field in fields(value):
                assert_array_equal(getattr(found, field.name), getattr(value, field.name))
        elif isinstance(value, np.ndarray):
            assert_array_equal(found, value)
            assert found.dtype == value.dtype, name
        else:
            assert type(found) is type(value), name
            assert found == value or (found != found and value != value), name


def assert_same_model(one, other):
    assert_equal_attributes(one, other)
    assert_same_forest(one, other)
    table = (
        pd.DataFrame(U, columns=one.feature_names_in_) if hasattr(one, "feature_names_in_") else U
    )
    assert_array_equal(one.predict_proba(table), other.predict_proba(table))
    assert_array_equal(one.predict(table), other.predict(table))
    assert_array_equal(one.apply(table), other.apply(table))
    if one.new_label_ is not None:
        assert_array_equal(
            one.novelty_score(U, "exploration"), other.novelty_score(U, "exploration")
        )
    for tree, same in zip(one.estimators_, other.estimators_, strict=True):
        assert_array_equal(tree.impurity, same.impurity)


# ---------------------------------------------------------------------------- save and load


@pytest.mark.parametrize("kind", FORESTS)
@pytest.mark.parametrize(("compress", "mmap"), [(True, False), (False, False), (False, True)])
def test_save_and_load(tmp_path, kind, compress, mmap):
    forest, path = FORESTS[kind](), tmp_path / "forest.lac"
    forest.save(path, compress=compress)
    forest.theta_estimator_ = None  # it holds one score per row, and is not saved
    assert_same_model(forest, LACForestClassifier.load(path, mmap=mmap))
    assert os.listdir(tmp_path) == ["forest.lac"]


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("unlabeled", [None, U], ids=["plain", "with unlabelled rows"])
def test_labels_of_any_type(tmp_path, kind, unlabeled):
    forest = small_forest().fit(X, LABELS[kind], X_unlabeled=unlabeled)
    forest.save(tmp_path / "forest.lac")
    assert_same_model(forest, LACForestClassifier.load(tmp_path / "forest.lac"))


def test_boolean_labels(tmp_path):
    forest = small_forest().fit(X, y.astype(bool))
    forest.save(tmp_path / "forest.lac")
    assert_same_model(forest, LACForestClassifier.load(tmp_path / "forest.lac"))


@pytest.mark.parametrize(
    "parameters",
    [
        {"theta": np.float32(0.25), "gamma": np.float64(0.05), "n_estimators": np.int64(3)},
        {"max_features": 0.7, "max_depth": 4, "bootstrap": True, "n_jobs": 2},
        {"max_features": "log2", "min_samples_split": 5, "min_samples_leaf": 2, "verbose": 0},
        {"class_weight": {0: 2.0, 1: np.float32(0.5)}, "new_label": np.int16(9)},
        {"class_weight": "balanced", "new_label": 7.5, "random_state": None},
    ],
)
def test_parameters_come_back(tmp_path, parameters):
    forest = fitted_forest(**parameters)
    forest.save(tmp_path / "forest.lac")
    loaded = LACForestClassifier.load(tmp_path / "forest.lac")
    assert_same_model(forest, loaded)
    assert str(loaded.get_params()) == str(forest.get_params())  # str shows types of numpy


@pytest.mark.parametrize("mark", [-1, np.nan, np.float32("nan"), "unknown", np.inf])
def test_marks_come_back(tmp_path, mark):
    labels = np.append(y, np.zeros(len(U))).astype(object)
    labels[len(y) :] = mark
    forest = small_forest(unlabeled_label=mark).fit(np.vstack([X, U]), labels)
    forest.save(tmp_path / "forest.lac")
    loaded = LACForestClassifier.load(tmp_path / "forest.lac")
    assert_same_model(forest, loaded)
    assert repr(loaded.unlabeled_label) == repr(forest.unlabeled_label)


@pytest.mark.parametrize(
    "estimator",
    [
        RankMixture(),
        RankMixture(level=np.float32(0.5), n_bootstrap=3, n_jobs=2, random_state=5),
        BestBin("svc", cv=3, n_bootstrap=0),
        KernelMeanEmbedding("km1", "forest", bandwidth=0.25, subsample=30, n_subsamples=2),
    ],
    ids=str,
)
def test_the_estimator_of_theta_comes_back_unfitted(tmp_path, estimator):
    forest = fitted_forest(theta=estimator)
    forest.save(tmp_path / "forest.lac")
    loaded = LACForestClassifier.load(tmp_path / "forest.lac")
    assert type(loaded.theta) is type(estimator)
    assert str(loaded.theta.get_params()) == str(estimator.get_params())
    assert not hasattr(loaded.theta, "theta_")
    assert loaded.theta_estimator_ is None
    assert (loaded.theta_, loaded.theta_interval_) == (forest.theta_, forest.theta_interval_)
    assert_same_forest(loaded.fit(X, y, X_unlabeled=U), forest)


@pytest.mark.parametrize(
    ("theta", "name"),
    [
        (BestBin(LogisticRegression(), n_bootstrap=0), "LogisticRegression"),
        (BestBin("svc", cv=KFold(3, shuffle=True), n_bootstrap=0), "KFold"),
    ],
)
def test_an_estimator_with_foreign_parts_is_not_saved(tmp_path, theta, name):
    forest = fitted_forest(theta=theta)
    with pytest.raises(TypeError, match=rf"cannot save theta={name}.*set_params first"):
        forest.save(tmp_path / "forest.lac")
    assert os.listdir(tmp_path) == []
    forest.set_params(theta=0.5).save(tmp_path / "forest.lac")
    assert LACForestClassifier.load(tmp_path / "forest.lac").theta_ == forest.theta_


def test_a_random_state_is_saved_as_none(tmp_path):
    # fit advanced its state, so it would not give the same trees again.
    forest = fitted_forest(random_state=np.random.RandomState(0))
    forest.save(tmp_path / "forest.lac")
    assert LACForestClassifier.load(tmp_path / "forest.lac").random_state is None
    inside = BestBin(n_bootstrap=0, random_state=np.random.RandomState(0))
    fitted_forest(theta=inside).save(tmp_path / "forest.lac")
    assert LACForestClassifier.load(tmp_path / "forest.lac").theta.random_state is None


def test_a_loaded_forest_can_be_fitted_again(tmp_path):
    forest = fitted_forest()
    forest.save(tmp_path / "forest.lac", compress=False)
    loaded = LACForestClassifier.load(tmp_path / "forest.lac", mmap=True)
    assert_same_forest(loaded.fit(X, y, X_unlabeled=U), forest)


def test_paths_may_be_text_and_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fitted_forest().save("forest.lac")
    assert_same_model(fitted_forest(), LACForestClassifier.load("forest.lac"))


def test_saving_twice_gives_the_same_bytes(tmp_path):
    for name in ("one", "other"):
        fitted_forest().save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_compression_saves_room(tmp_path):
    forest = fitted_forest(n_estimators=50)
    forest.save(tmp_path / "small")
    forest.save(tmp_path / "large", compress=False)
    assert 2 * (tmp_path / "small").stat().st_size < (tmp_path / "large").stat().st_size


@pytest.mark.parametrize("attachment", [None, {}, {"codes": {"größe": [1, 2.5, None, "x"]}}])
def test_attachments_come_back_and_change_nothing(tmp_path, attachment):
    path = tmp_path / "forest.lac"
    save_forest(fitted_forest(), path, compress=True, attachment=attachment)
    assert read_attachment(path) == ("LACForestClassifier", attachment)
    assert_same_model(fitted_forest(), LACForestClassifier.load(path))


def test_attachments_that_json_cannot_hold_leave_no_file(tmp_path):
    with pytest.raises(TypeError, match="not JSON serializable"):
        save_forest(fitted_forest(), tmp_path / "forest.lac", True, {"table": object()})
    assert os.listdir(tmp_path) == []


# ---------------------------------------------------------------------------- mapped files


def test_a_mapped_forest_reads_the_file_where_it_lies(tmp_path):
    fitted_forest().save(tmp_path / "forest.lac", compress=False)
    loaded = LACForestClassifier.load(tmp_path / "forest.lac", mmap=True)
    for array in (loaded._forest.nodes, loaded.unlabeled_score_):
        assert not array.flags.owndata
        assert not array.flags.writeable


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps a mapped file from being replaced")
def test_a_mapped_file_may_be_replaced(tmp_path):
    # The old file remains accessible to processes that have mapped it.
    path = tmp_path / "forest.lac"
    fitted_forest().save(path, compress=False)
    loaded = LACForestClassifier.load(path, mmap=True)
    fitted_forest(n_estimators=9, random_state=5).save(path, compress=False)
    assert_array_equal(loaded.predict_proba(U), fitted_forest().predict_proba(U))


def test_a_compressed_file_cannot_be_mapped(tmp_path):
    fitted_forest().save(tmp_path / "forest.lac")
    with pytest.raises(
        ModelFileError, match=r"forest\.lac.*compressed.*mmap=False, or save.*compress=False"
    ):
        LACForestClassifier.load(tmp_path / "forest.lac", mmap=True)


def test_a_mapped_forest_can_be_pickled(tmp_path):
    fitted_forest().save(tmp_path / "forest.lac", compress=False)
    loaded = LACForestClassifier.load(tmp_path / "forest.lac", mmap=True)
    assert_same_model(pickle.loads(pickle.dumps(loaded)), fitted_forest())


# ---------------------------------------------------------------------------- other ways


@pytest.mark.parametrize("kind", FORESTS)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(kind, protocol):
    forest = FORESTS[kind]()
    assert_same_model(forest, pickle.loads(pickle.dumps(forest, protocol)))


@pytest.mark.parametrize("kind", FORESTS)
def test_deepcopy(kind):
    forest = FORESTS[kind]()
    copied = copy.deepcopy(forest)
    assert_same_model(forest, copied)
    assert not np.shares_memory(copied._forest.nodes, forest._forest.nodes)


@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_joblib(tmp_path, mmap_mode):
    joblib.dump(fitted_forest(), tmp_path / "forest.joblib")
    loaded = joblib.load(tmp_path / "forest.joblib", mmap_mode=mmap_mode)
    assert_same_model(loaded, fitted_forest())


@pytest.mark.parametrize("kind", FORESTS)
def test_skops(kind):
    forest = FORESTS[kind]()
    content = skops.io.dumps(forest)
    # Only our own classes have to be trusted.
    unknown = skops.io.get_untrusted_types(data=content)
    assert {name.split(".")[0] for name in unknown} <= {"lacforest", "numpy"}
    assert_same_model(forest, skops.io.loads(content, trusted=unknown))


def test_an_unfitted_forest_can_be_pickled():
    forest = small_forest(theta=0.25)
    assert pickle.loads(pickle.dumps(forest)).get_params() == forest.get_params()
