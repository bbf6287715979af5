"""What all compared methods have in common beyond the contract of all classifiers."""

import numpy as np
import pytest
from blobs import MODELS, USING, U, X, X_test, y, y_test
from numpy.testing import assert_array_equal
from scikit_learn_checks import each_check
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import get_tags

from lacforest import baselines
from lacforest.metrics import accuracy_score, new_class_auc

# Axis-parallel cuts separate one corner of a square from the others imperfectly.
LEAST_ACCURACY = dict.fromkeys(MODELS, 0.95) | {"pac": 0.7}
LEAST_AUC = dict.fromkeys(MODELS, 0.98) | {"pac": 0.75}

every_method = pytest.mark.parametrize("name", list(MODELS))
# Some checks have two known classes, for which these methods warn.
two_classes = pytest.mark.filterwarnings(
    "ignore:with two known classes one of the two machines:UserWarning",
    "ignore:tuning the threshold needs three known classes:UserWarning",
    "ignore:tuning needs three known classes:UserWarning",
)


WEIGHT_CHECKS = (
    "check_sample_weights_pandas_series",
    "check_sample_weights_not_an_array",
    "check_sample_weights_list",
    "check_all_zero_sample_weights_error",
    "check_sample_weights_shape",
    "check_sample_weights_not_overwritten",
    "check_sample_weight_equivalence_on_dense_data",
    "check_classifiers_one_label_sample_weights",
)


def _expected_failures(estimator):
    failures = {}
    if not get_tags(estimator).uses_unlabeled:
        failures["check_classifiers_classes"] = "the new class may be predicted in every fit"
    if isinstance(estimator, baselines.EULACClassifier):
        # A repeated row can be in two folds, a weighted one cannot.
        failures["check_sample_weight_equivalence_on_dense_data"] = "folds count rows"
    if estimator._WEIGHTLESS is not None:
        failures |= dict.fromkeys(WEIGHT_CHECKS, "the method takes no weights")
    return failures


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


def test_all_are_here():
    assert {type(make()).__name__ for make in MODELS.values()} == set(baselines.__all__)


@every_method
def test_finds_known_and_new(name):
    model = fitted(name)
    assert accuracy_score(y_test, model.predict(X_test)) > LEAST_ACCURACY[name]
    auc = new_class_auc(y_test, model.novelty_score(X_test), new_label=-1)
    assert auc > LEAST_AUC[name]


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
def test_paper_table_takes_other_parameters(name):
    kind = type(MODELS[name]())
    made = kind.paper_table(new_label=-5)
    assert made.new_label == -5
    changed = {key: made.get_params()[key] for key in kind._PAPER_TABLE}
    assert changed == kind._PAPER_TABLE
