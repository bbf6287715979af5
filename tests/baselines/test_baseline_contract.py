"""What all compared methods promise, as LACForestClassifier does."""

import pickle

import numpy as np
import pytest
from blobs import IGNORING, MODELS, USING, U, X, X_test, y, y_test
from numpy.testing import assert_array_equal
from scikit_learn_checks import each_check
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import get_tags

from lacforest import baselines
from lacforest.baselines import AugmentedClassifier
from lacforest.metrics import accuracy_score, new_class_auc
from lacforest.mixture import BestBin

# Cuts along the axes tell the corner of a square from its three others only so well.
LEAST_ACCURACY = dict.fromkeys(MODELS, 0.95) | {"pac": 0.7}
LEAST_AUC = dict.fromkeys(MODELS, 0.98) | {"pac": 0.75}

every_method = pytest.mark.parametrize("name", list(MODELS))
# In some checks there are two known classes, and these methods say what that means for them.
two_classes = pytest.mark.filterwarnings(
    "ignore:with two known classes one of the two machines:UserWarning",
    "ignore:tuning the threshold needs three known classes:UserWarning",
    "ignore:tuning needs three known classes:UserWarning",
)


def _expected_failures(estimator):
    if get_tags(estimator).uses_unlabeled:
        return {}
    return {
        "check_classifiers_classes": "classes_ holds the new class, which may be predicted always"
    }


@two_classes
@each_check(
    [
        baselines.GLACClassifier(max_iter=300),
        baselines.EULACClassifier(),
        baselines.EVMClassifier(),
        baselines.EVMClassifier("tuned", threshold="tuned", n_simulations=2),
        baselines.PACIsolationForestClassifier(n_estimators=10),
        baselines.OSNNClassifier(),
        baselines.LACUSVMClassifier(),
        baselines.OVRSVMClassifier(),
    ],
    expected_failed_checks=_expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def fitted(name, **options):
    return MODELS[name](**options).fit(X, y, X_unlabeled=U)


def test_all_are_exported():
    kinds = [getattr(baselines, name) for name in baselines.__all__]
    classifiers = {kind for kind in kinds if issubclass(kind, AugmentedClassifier)}
    assert {type(make()) for make in MODELS.values()} == classifiers - {AugmentedClassifier}


@every_method
def test_finds_known_and_new(name):
    model = fitted(name)
    assert accuracy_score(y_test, model.predict(X_test)) > LEAST_ACCURACY[name]
    auc = new_class_auc(y_test, model.novelty_score(X_test), new_label=-1)
    assert auc > LEAST_AUC[name]


@every_method
def test_attributes(name):
    model = fitted(name)
    assert_array_equal(model.classes_, [-1, 0, 1, 2])
    assert_array_equal(model.known_classes_, [0, 1, 2])
    assert (model.new_label_, model.new_class_index_, model.n_features_in_) == (-1, 0, 2)
    if name in ("glac", "eulac", "pac", "lacu"):
        assert (model.theta_, model.theta_interval_, model.theta_estimator_) == (0.5, None, None)


@every_method
def test_text_labels_and_a_new_label_in_the_middle(name):
    names = np.array(["a", "b", "d"])
    model = MODELS[name](new_label="c").fit(X, names[y], X_unlabeled=U)
    assert_array_equal(model.classes_, ["a", "b", "c", "d"])
    expected = np.where(fitted(name).predict(X_test) < 0, "c", names[fitted(name).predict(X_test)])
    assert_array_equal(model.predict(X_test), expected)


@every_method
def test_unlabelled_rows_marked_in_y(name):
    table, marks = np.vstack([U, X]), np.concatenate([np.full(len(U), -9), y])
    marked = MODELS[name](unlabeled_label=-9).fit(table, marks)
    assert_array_equal(marked.novelty_score(X_test), fitted(name).novelty_score(X_test))


@every_method
def test_in_a_pipeline(name):
    table, marks = np.vstack([X, U]), np.concatenate([y, np.full(len(U), -9)])
    pipeline = make_pipeline(MinMaxScaler(), MODELS[name](unlabeled_label=-9)).fit(table, marks)
    assert accuracy_score(y_test, pipeline.predict(X_test)) > LEAST_ACCURACY[name] - 0.1


@every_method
def test_the_same_seed_gives_the_same_model(name):
    first, again = fitted(name), clone(fitted(name)).fit(X, y, X_unlabeled=U)
    assert_array_equal(first.novelty_score(X_test), again.novelty_score(X_test))
    assert_array_equal(first.predict(X_test), again.predict(X_test))


@pytest.mark.parametrize("name", USING)
def test_the_number_of_threads_changes_nothing(name):
    one, two = fitted(name, n_jobs=1, theta="auto"), fitted(name, n_jobs=2, theta="auto")
    assert one.theta_ == two.theta_
    assert_array_equal(one.novelty_score(X_test), two.novelty_score(X_test))


@every_method
def test_rows_are_judged_one_by_one(name):
    model = fitted(name)
    order = np.random.default_rng(1).permutation(len(X_test))
    assert_array_equal(model.predict(X_test[order]), model.predict(X_test)[order])
    alone = np.concatenate([model.novelty_score(row[None]) for row in X_test[:5]])
    np.testing.assert_allclose(alone, model.novelty_score(X_test[:5]), rtol=1e-9, atol=1e-12)


@every_method
def test_pickles(name):
    model = fitted(name)
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.novelty_score(X_test), model.novelty_score(X_test))


@pytest.mark.parametrize("name", IGNORING)
def test_unlabelled_rows_are_ignored_where_the_tags_say_so(name):
    with_rows, without = fitted(name), MODELS[name]().fit(X, y)
    assert not get_tags(with_rows).uses_unlabeled
    assert without.new_label_ == -1
    assert_array_equal(with_rows.novelty_score(X_test), without.novelty_score(X_test))


@pytest.mark.parametrize("name", USING)
def test_unlabelled_rows_count_where_the_tags_say_so(name):
    model = fitted(name)
    other = MODELS[name]().fit(X, y, X_unlabeled=U[55:])
    assert get_tags(model).uses_unlabeled
    assert (model.predict(X_test) != other.predict(X_test)).any() or (
        model.novelty_score(X_test) != other.novelty_score(X_test)
    ).any()


@pytest.mark.parametrize("name", USING)
def test_without_unlabelled_rows_nothing_is_new(name):
    model = MODELS[name]().fit(X, y)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert model.new_label_ is None
    assert model.theta_ is None
    assert (model.predict(X) == y).mean() > 0.98
    with pytest.raises(ValueError, match="was fitted without unlabelled rows and knows no new"):
        model.novelty_score(X)


@pytest.mark.parametrize("name", USING)
def test_theta_is_estimated(name):
    model = fitted(name, theta="auto")
    assert 0.4 < model.theta_ < 0.6
    low, high = model.theta_interval_
    assert low <= model.theta_ <= high
    by_bin = fitted(name, theta=BestBin())
    assert isinstance(by_bin.theta_estimator_, BestBin)
    assert by_bin.theta_ == by_bin.theta_estimator_.theta_


@every_method
def test_a_failed_fit_leaves_the_estimator_alone(name):
    fresh, model = MODELS[name](), fitted(name)
    for estimator in (fresh, model):
        before = dict(vars(estimator))
        with pytest.raises(ValueError, match="Input y contains NaN"):
            estimator.fit(X, np.where(y == 1, np.nan, y), X_unlabeled=U)
        assert vars(estimator) == before or list(vars(estimator)) == list(before)
        assert all(vars(estimator)[key] is value for key, value in before.items())


@every_method
def test_paper_table_takes_other_parameters(name):
    kind = type(MODELS[name]())
    made = kind.paper_table(new_label=-5)
    assert made.new_label == -5
    changed = {key: made.get_params()[key] for key in kind._PAPER_TABLE}
    assert changed == kind._PAPER_TABLE
