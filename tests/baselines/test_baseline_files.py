"""Files of the compared methods: the same model after loading, and no damage goes unnoticed."""

import numpy as np
import pytest
from blobs import MODELS, U, X, X_test, y
from container_files import rewrite, take_apart
from numpy.testing import assert_array_equal

from lacforest._model.container import ModelFileError
from lacforest.baselines import (
    EVMClassifier,
    GLACClassifier,
    LACUSVMClassifier,
    OSNNClassifier,
    PACIsolationForestClassifier,
)
from lacforest.mixture import BestBin

MORE = {
    "glac on kernels": lambda: GLACClassifier(
        theta=0.5, features="rbf", n_components=20, max_iter=20, random_state=0
    ),
    "lacu, linear": lambda: LACUSVMClassifier(),
    "evm, all rows": lambda: EVMClassifier("all", cover=None),
    "pac, one forest": lambda: PACIsolationForestClassifier(
        theta=BestBin(n_bootstrap=10), forests="one", n_estimators=5, random_state=0
    ),
}
EVERY = MODELS | MORE
NUMBERS = ("theta_", "theta_interval_", "threshold_", "tail_size_", "gamma_", "regularization_")
NUMBERS += ("cv_scores_", "risk_", "n_iter_", "n_extreme_vectors_", "n_features_in_")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a model.lac"


def same(one, other):
    assert_array_equal(one.predict(X_test), other.predict(X_test))
    if one.new_class_index_ is not None:
        assert_array_equal(one.novelty_score(X_test), other.novelty_score(X_test))
    assert_array_equal(one.classes_, other.classes_)
    for name in NUMBERS:
        assert getattr(one, name, None) == getattr(other, name, None)
    assert vars(one).keys() == vars(other).keys()


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("kind", EVERY)
def test_a_loaded_model_is_the_saved_one(kind, compress, path):
    model = EVERY[kind]().fit(X, y, X_unlabeled=U)
    model.save(path, compress=compress)
    same(model, type(model).load(path))


@pytest.mark.parametrize("kind", EVERY)
def test_models_without_unlabelled_rows(kind, path):
    model = EVERY[kind]().fit(X, y)
    model.save(path)
    same(model, type(model).load(path))


@pytest.mark.parametrize("kind", ["glac", "eulac", "pac"])
def test_models_of_one_class(kind, path):
    model = MODELS[kind]().fit(X[y == 0], y[y == 0], X_unlabeled=U)
    model.save(path)
    same(model, type(model).load(path))


def test_names_of_columns_are_kept(path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["width", "height"])
    OSNNClassifier(0.9).fit(frame, y).save(path)
    loaded = OSNNClassifier.load(path)
    assert loaded.feature_names_in_.tolist() == ["width", "height"]
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame[["height", "width"]])


def saved(kind, path):
    model = EVERY[kind]().fit(X, y, X_unlabeled=U)
    model.save(path, compress=False)
    return type(model)


def refused(cls, path, match=""):
    with pytest.raises(ModelFileError, match=rf"a model\.lac cannot be loaded: (?s:.*){match}"):
        cls.load(path)


def as_nan(array):
    if array.dtype.names:
        array["threshold"][0] = np.nan
    else:
        array[...] = np.nan if array.dtype.kind == "f" else -1
    return array


ARRAY_DAMAGES = {
    "not finite": as_nan,
    "cut short": lambda array: array[:-1].copy(),
    "empty": lambda array: array[:0].copy(),
    "another type": lambda array: np.zeros(array.shape, dtype=np.float32),
    "another dimension": lambda array: array[:, None] if array.ndim == 1 else array.ravel(),
}


@pytest.mark.parametrize("damage", ARRAY_DAMAGES)
@pytest.mark.parametrize("kind", EVERY)
def test_damaged_arrays(kind, damage, path):
    cls = saved(kind, path)
    intact = path.read_bytes()
    for name, array in take_apart(path)[1].items():
        if len(array) == 0:
            continue  # scores of cross-validation, where there was none

        def change(arrays, name=name):
            arrays[name] = ARRAY_DAMAGES[damage](arrays[name])

        rewrite(path, change)
        if name == "cv_scores" and damage in ("cut short", "empty"):
            cls.load(path)  # fewer candidates are as good
        else:
            refused(cls, path)
        path.write_bytes(intact)


@pytest.mark.parametrize("kind", EVERY)
def test_missing_and_unknown_arrays(kind, path):
    cls = saved(kind, path)
    intact = path.read_bytes()
    for name in take_apart(path)[1]:
        rewrite(path, lambda arrays, name=name: arrays.pop(name))
        # Without its centres a model on kernels looks like one on columns, of another width.
        refused(cls, path, f"{name}|array coef")
        path.write_bytes(intact)
    rewrite(path, lambda arrays: arrays.update(stranger=np.zeros(3)))
    refused(cls, path, "it holds stranger, which the method has no use for")


@pytest.mark.parametrize("kind", EVERY)
def test_missing_and_senseless_values(kind, path):
    cls = saved(kind, path)
    intact = path.read_bytes()
    for name in take_apart(path)[0]["values"]:
        rewrite(path, change_header=lambda header, name=name: header["values"].pop(name))
        refused(cls, path, f"it has no value {name}")
        for value in ("text", {"float": "nan"}, [1]):
            path.write_bytes(intact)
            rewrite(
                path,
                change_header=lambda header, name=name, value=value: header["values"].update(
                    {name: value}
                ),
            )
            refused(cls, path)
        path.write_bytes(intact)


@pytest.mark.parametrize("kind", EVERY)
def test_other_classes_than_the_arrays_hold(kind, path):
    cls = saved(kind, path)

    def change(header):
        header["known_classes"] = {"dtype": "<i8", "items": [0, 1]}
        header["classes"] = {"dtype": "<i8", "items": [-1, 0, 1]}

    rewrite(path, change_header=change)
    refused(cls, path)


BAD_FACTS = {
    "a newer version": ({"version": 2}, "update lacforest"),
    "another class": ({"estimator": "EULACClassifier"}, "it holds a EULACClassifier"),
    "another number of features": ({"n_features": 3}, "n_features"),
    "an unknown parameter": ({"parameters": {"depth": 3}}, "depth"),
    "a bad parameter": ({"parameters": {"threshold": 7.0}}, "threshold must lie in"),
    "no values": ({"values": None}, ""),
}


@pytest.mark.parametrize("fact", BAD_FACTS)
def test_bad_headers(fact, path):
    cls = saved("osnn", path)
    change, message = BAD_FACTS[fact]
    rewrite(path, change_header=lambda header: header.update(change))
    refused(cls, path, message)


def test_codes_of_classes_that_do_not_exist(path):
    for kind in ("osnn", "evm"):
        cls = saved(kind, path)
        rewrite(path, lambda arrays: arrays["codes"].__setitem__(0, 3))
        refused(cls, path, "codes that are not of known classes")


def test_laws_without_scale(path):
    cls = saved("evm", path)
    rewrite(path, lambda arrays: arrays["scale"].__setitem__(0, 0.0))
    refused(cls, path, "a Weibull law has a shape or scale that is not positive")


def test_trees_that_cannot_be_walked(path):
    cls = saved("pac", path)
    rewrite(path, lambda arrays: arrays["forest0.nodes"]["left"].__setitem__(0, 0))
    refused(cls, path, "a child is not after its parent")


def test_files_of_other_methods(path):
    saved("osnn", path)
    refused(EVMClassifier, path, "it holds a OSNNClassifier, not a EVMClassifier")


def test_only_a_fitted_model_can_be_saved(path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        OSNNClassifier().save(path)
