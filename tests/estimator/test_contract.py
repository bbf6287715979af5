"""The contract that every public classifier keeps, found by walking the public packages."""

import inspect
import pickle
import pkgutil
from importlib import import_module

import numpy as np
import pytest
from contract_settings import SETTINGS
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from sklearn import config_context
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.utils import get_tags

import lacforest
from lacforest._model.container import ModelFileError
from lacforest.mixture import RankMixture

# The other methods have margins, distances or anomaly scores; their docstrings say so.
WITH_PROBABILITIES = {
    "LACForestClassifier",
    "LACExtraTreesClassifier",
    "DeepLACForestClassifier",
    "DeepEULACClassifier",
    "DeepGLACClassifier",
    "HybridLACForestClassifier",
    "GLACClassifier",
}
IGNORING_UNLABELED = {
    "ARPLClassifier",
    "EVMClassifier",
    "GOpenMaxClassifier",
    "OSNNClassifier",
    "OSRCIClassifier",
    "OVRSVMClassifier",
    "OpenMaxClassifier",
    "SoftmaxThresholdClassifier",
}
WITH_CONTROL = {"LACForestClassifier", "LACExtraTreesClassifier"}
WITHOUT_WEIGHTS = {"EVMClassifier", "OSNNClassifier", "PACIsolationForestClassifier"}


def public_classifiers():
    """Every class in the `__all__` of a public package that predicts labels."""
    found = {}
    names = [module.name for module in pkgutil.iter_modules(lacforest.__path__)]
    for name in [*names, "neural.baselines"]:
        # Classifiers of lacforest.dask fit on collections of Dask: see tests/cluster.
        if name.startswith("_") or name == "dask":
            continue
        try:
            package = import_module(f"lacforest.{name}")
        except ModuleNotFoundError as error:
            if error.name not in ("torch", "safetensors"):
                raise
            continue  # without the extra [deep] there is no lacforest.neural
        for name in getattr(package, "__all__", ()):
            public = getattr(package, name)
            if inspect.isclass(public) and issubclass(public, ClassifierMixin):
                found[name] = public
    return found


CLASSIFIERS = public_classifiers()
every_classifier = pytest.mark.parametrize("cls", CLASSIFIERS.values(), ids=CLASSIFIERS)
those_with_theta = pytest.mark.parametrize(
    "cls",
    [cls for cls in CLASSIFIERS.values() if hasattr(cls(), "theta")],
    ids=[name for name, cls in CLASSIFIERS.items() if hasattr(cls(), "theta")],
)

# Three known corners of a square, and a fourth one among the unlabelled rows. No two tables are of
# one length.
_rng = np.random.default_rng(0)
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def _draw(codes):
    return _CORNERS[codes] + 0.08 * _rng.normal(size=(len(codes), 2))


y = np.repeat([0, 1, 2], 30)
X = _draw(y)
U = _draw(np.concatenate([np.arange(40) % 3, np.full(40, 3)]))
IS_NEW = np.repeat([False, True], [24, 22])
X_TEST = _draw(np.where(IS_NEW, 3, np.arange(46) % 3))
NAMES = np.array(["a", "b", "d"])
for _shared in (X, y, U, X_TEST):
    _shared.flags.writeable = False


def make(cls, **parameters):
    given = {"theta": 0.5, "random_state": 0}
    own = cls().get_params()
    defaults = {name: value for name, value in given.items() if name in own}
    return cls(**defaults | SETTINGS[cls.__name__] | parameters)


@pytest.fixture(scope="module")
def fits():
    return {}


@pytest.fixture
def fitted(cls, fits):
    """A fitted classifier that tests share, and must not change."""
    if cls not in fits:
        fits[cls] = make(cls).fit(X, y, X_unlabeled=U)
    return fits[cls]


def outputs(model, rows=X_TEST):
    """Everything that a fitted classifier says of rows."""
    found = {"predict": model.predict(rows)}
    if model.new_class_index_ is not None:
        found["novelty_score"] = model.novelty_score(rows)
    if hasattr(model, "predict_proba"):
        found["predict_proba"] = model.predict_proba(rows)
    return found


def assert_same(one, other):
    expected, found = outputs(one), outputs(other)
    assert expected.keys() == found.keys()
    for name, values in expected.items():
        assert_array_equal(found[name], values, err_msg=name)


def test_every_classifier_has_settings():
    assert {"LACForestClassifier", "EULACClassifier"} < set(CLASSIFIERS)
    assert set(CLASSIFIERS) <= set(SETTINGS)


# ---------------------------------------------------------------------------- fit


@every_classifier
def test_signature_of_fit(cls):
    parameters = list(inspect.signature(cls.fit).parameters.values())
    assert [one.name for one in parameters[:5]] == [
        "self",
        "X",
        "y",
        "X_unlabeled",
        "sample_weight",
    ]
    further = [one.name for one in parameters[5:]]
    assert ("control" in further) is (cls.__name__ in WITH_CONTROL)
    assert all(one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for one in parameters[:3])
    for one in parameters[3:]:
        assert one.kind is inspect.Parameter.KEYWORD_ONLY
        assert one.default is None


@every_classifier
def test_a_third_positional_argument_is_rejected(cls):
    message = (
        f"{cls.__name__}.fit takes X and y by position, but 3 arguments were given by position: "
        r"pass unlabelled rows as X_unlabeled=\.\.\. and weights as sample_weight=\.\.\."
    )
    with pytest.raises(TypeError, match=message):
        make(cls).fit(X, y, U)


@every_classifier
def test_metadata_can_be_routed(cls):
    with config_context(enable_metadata_routing=True):
        model = make(cls).set_fit_request(X_unlabeled=True, sample_weight=False)
        requests = model.get_metadata_routing().fit.requests
    assert requests["X_unlabeled"] is True
    assert requests["sample_weight"] is False
    assert ("control" in requests) is (cls.__name__ in WITH_CONTROL)


@every_classifier
def test_fit_returns_the_classifier(cls):
    model = make(cls)
    assert model.fit(X, y, X_unlabeled=U) is model


@every_classifier
def test_unlabelled_rows_may_be_marked_in_y(cls, fitted):
    table, labels = np.vstack([U, X]), np.append(np.full(len(U), -9), y)
    marked = make(cls, unlabeled_label=-9).fit(table, labels)
    assert_same(fitted, marked)
    with pytest.raises(ValueError, match="unlabelled rows are given twice"):
        make(cls, unlabeled_label=-9).fit(table, labels, X_unlabeled=U)


@every_classifier
def test_a_failing_fit_changes_nothing(cls, fitted):
    for model in (make(cls), pickle.loads(pickle.dumps(fitted))):
        before = dict(vars(model))
        with pytest.raises(ValueError, match="Input y contains NaN"):
            model.fit(X, np.where(y == 1, np.nan, y), X_unlabeled=U)
        assert list(vars(model)) == list(before)
        assert all(vars(model)[name] is value for name, value in before.items())


@every_classifier
def test_rows_of_weight_zero_are_absent(cls):
    kept = np.arange(len(y)) % 3 > 0
    if cls.__name__ in WITHOUT_WEIGHTS:
        with pytest.raises(TypeError, match=f"{cls.__name__} takes no sample_weight: "):
            make(cls).fit(X, y, X_unlabeled=U, sample_weight=kept)
        return
    zeroed = make(cls).fit(X, y, X_unlabeled=U, sample_weight=kept)
    assert_same(make(cls).fit(X[kept], y[kept], X_unlabeled=U), zeroed)


@every_classifier
def test_without_unlabelled_rows(cls, fitted):
    model = make(cls).fit(X, y)
    if get_tags(model).uses_unlabeled:
        assert_array_equal(model.classes_, [0, 1, 2])
        assert model.new_label_ is None
        assert model.new_class_index_ is None
        assert model.theta_ is None
        assert (model.predict(X) == y).mean() > 0.95
        message = f"this {cls.__name__} was fitted without unlabelled rows and has no new class"
        with pytest.raises(ValueError, match=message):
            model.novelty_score(X)
    else:
        assert model.new_label_ == -1
        assert_same(fitted, model)


# ---------------------------------------------------------------------------- fitted attributes


@every_classifier
def test_fitted_labels(cls, fitted):
    assert_array_equal(fitted.classes_, [-1, 0, 1, 2])
    assert_array_equal(fitted.known_classes_, [0, 1, 2])
    assert fitted.new_label_ == -1
    assert fitted.new_class_index_ == 0
    assert fitted.n_features_in_ == 2


@every_classifier
def test_the_new_label_is_sorted_among_the_known_ones(cls, fitted):
    model = make(cls, new_label="c").fit(X, NAMES[y], X_unlabeled=U)
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert model.new_class_index_ == 2
    codes = fitted.predict(X_TEST)
    assert_array_equal(model.predict(X_TEST), np.where(codes < 0, "c", NAMES[codes]))
    if hasattr(model, "predict_proba"):
        order = [1, 2, 0, 3]  # of -1, 0, 1, 2
        assert_array_equal(model.predict_proba(X_TEST), fitted.predict_proba(X_TEST)[:, order])


@every_classifier
def test_theta_belongs_to_the_methods_that_use_it(cls, fitted):
    attributes = ("theta_", "theta_interval_", "theta_estimator_")
    if "theta" in fitted.get_params():
        assert [getattr(fitted, name) for name in attributes] == [0.5, None, None]
    else:
        assert not any(hasattr(fitted, name) for name in attributes)


@those_with_theta
def test_theta_auto_is_the_same_everywhere(cls):
    model = make(cls, theta="auto").fit(X, y, X_unlabeled=U)
    assert type(model.theta_estimator_) is RankMixture
    assert (
        clone(model.theta_estimator_).get_params()
        == RankMixture(random_state=model.theta_estimator_.random_state).get_params()
    )
    assert model.theta_ == model.theta_estimator_.theta_
    low, high = model.theta_interval_
    assert low <= model.theta_ <= high
    assert abs(model.theta_ - 0.5) < 0.15


# ---------------------------------------------------------------------------- prediction


@every_classifier
def test_predictions_are_classes(cls, fitted):
    predicted = fitted.predict(X_TEST)
    assert predicted.shape == (len(X_TEST),)
    assert predicted.dtype == fitted.classes_.dtype
    assert set(predicted.tolist()) <= set(fitted.classes_.tolist())


@every_classifier
def test_new_rows_have_higher_scores(cls, fitted):
    assert roc_auc_score(IS_NEW, fitted.novelty_score(X_TEST)) > 0.75


@every_classifier
def test_probabilities(cls, fitted):
    has_them = cls.__name__ in WITH_PROBABILITIES
    assert hasattr(fitted, "predict_proba") is has_them
    assert hasattr(fitted, "predict_log_proba") is has_them
    if not has_them:
        assert "no ``predict_proba``" in " ".join(cls.__doc__.split())
        return
    p = fitted.predict_proba(X_TEST)
    assert p.shape == (len(X_TEST), 4)
    assert (p >= 0).all()
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert_array_equal(fitted.classes_[p.argmax(axis=1)], fitted.predict(X_TEST))
    assert_array_equal(p[:, fitted.new_class_index_], fitted.novelty_score(X_TEST))
    with np.errstate(divide="ignore"):
        assert_array_equal(fitted.predict_log_proba(X_TEST), np.log(p))


@every_classifier
def test_nothing_is_predicted_before_a_fit(cls):
    for method in ("predict", "novelty_score", "predict_proba", "predict_log_proba"):
        if hasattr(cls, method):
            with pytest.raises(NotFittedError):
                getattr(make(cls), method)(X_TEST)


# ---------------------------------------------------------------------------- estimators


@every_classifier
def test_tags(cls, fitted):
    tags = get_tags(fitted)
    assert tags.estimator_type == "classifier"
    assert tags.uses_unlabeled is (cls.__name__ not in IGNORING_UNLABELED)
    fewer = make(cls).fit(X, y, X_unlabeled=U[10:])
    same = [
        np.array_equal(getattr(fitted, method)(X_TEST), getattr(fewer, method)(X_TEST))
        for method in ("predict", "novelty_score")
    ]
    assert all(same) is not tags.uses_unlabeled


@every_classifier
def test_clones_have_the_parameters_and_no_fit(cls, fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(X_TEST)
    assert_same(fitted, copy.fit(X, y, X_unlabeled=U))


@every_classifier
def test_parameters_are_those_of_the_constructor(cls):
    names = set(inspect.signature(cls).parameters)
    assert set(cls().get_params(deep=False)) == names
    assert {"unlabeled_label", "new_label"} <= names
    assert cls().set_params(new_label="x").new_label == "x"


@every_classifier
def test_pickles(cls, fitted):
    assert_same(fitted, pickle.loads(pickle.dumps(fitted)))


@every_classifier
@pytest.mark.parametrize("unlabeled", [{"X_unlabeled": U}, {}], ids=["open", "closed"])
def test_files_keep_the_fit(cls, unlabeled, tmp_path):
    model = make(cls).fit(X, NAMES[y], **unlabeled)
    model.save(tmp_path / "model")
    assert (tmp_path / "model").read_bytes()[:1] != b"\x80"  # no pickle
    loaded = cls.load(tmp_path / "model")
    assert type(loaded) is cls
    assert_same(model, loaded)
    assert loaded.get_params() == model.get_params()
    assert vars(loaded).keys() == vars(model).keys()
    for name, value in vars(model).items():
        if name.endswith("_") and name not in ("theta_estimator_", "module_", "forest_"):
            assert_equal(getattr(loaded, name), value, err_msg=name)
    assert loaded.classes_.dtype == model.classes_.dtype


@every_classifier
def test_a_cut_file_is_rejected(cls, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    (tmp_path / "model").write_bytes(content[:-10])
    with pytest.raises(ModelFileError, match="model"):
        cls.load(tmp_path / "model")


@every_classifier
def test_only_a_fitted_classifier_can_be_saved(cls, tmp_path):
    with pytest.raises(NotFittedError):
        make(cls).save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
