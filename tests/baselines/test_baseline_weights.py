"""Weights of labelled rows: a row of weight w counts as w rows, or the method says why not."""

import numpy as np
import pytest
from blobs import MODELS, U, X, X_test, y
from numpy.testing import assert_allclose, assert_array_equal

from lacforest.baselines._kernels import svm_gamma

# Methods with weights, with settings that do not split rows into folds.
WEIGHTED = {"glac": {}, "eulac": {"gamma": 2.0, "regularization": 0.01}, "lacu": {}, "ovr": {}}
# The solvers of SVMs stop at a gap of 1e-3 in units of the margin.
TOLERANCE = {"glac": 1e-9, "eulac": 1e-9, "lacu": 2e-2, "ovr": 5e-3}
WEIGHT = np.random.default_rng(5).integers(0, 4, len(y))


def fitted(name, *, rows=X, labels=y, weight=None, closed=False):
    unlabeled = {} if closed else {"X_unlabeled": U}
    return MODELS[name](**WEIGHTED[name]).fit(rows, labels, sample_weight=weight, **unlabeled)


def values(model):
    """What the model predicts, before any decision."""
    return model._judge(X_test).novelty if hasattr(model, "_judge") else model.predict_proba(X_test)


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("name", WEIGHTED)
def test_a_weight_is_a_number_of_rows(name, closed):
    weighted = fitted(name, weight=WEIGHT, closed=closed)
    repeated = fitted(
        name, rows=np.repeat(X, WEIGHT, axis=0), labels=np.repeat(y, WEIGHT), closed=closed
    )
    assert_allclose(values(weighted), values(repeated), atol=TOLERANCE[name])
    assert np.abs(values(weighted) - values(fitted(name, closed=closed))).max() > TOLERANCE[name]


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_of_one_change_nothing(name):
    assert_array_equal(values(fitted(name, weight=np.ones(len(y)))), values(fitted(name)))


@pytest.mark.parametrize("name", WEIGHTED)
def test_rows_of_weight_zero_are_absent(name):
    kept = np.arange(len(y)) % 4 > 0
    zeroed = fitted(name, weight=kept.astype(float))
    absent = fitted(name, rows=X[kept], labels=y[kept])
    assert_array_equal(values(zeroed), values(absent))


def test_the_width_of_the_svms_counts_weights():
    repeated = np.repeat(X, WEIGHT, axis=0)
    assert svm_gamma("scale", X, WEIGHT) == pytest.approx(1 / (2 * repeated.var()), rel=1e-12)
    assert svm_gamma("scale", X, WEIGHT) != pytest.approx(1 / (2 * X.var()), rel=1e-3)
    assert svm_gamma("scale", np.ones((3, 2)), np.arange(1.0, 4.0)) == 1.0
    assert svm_gamma("auto", X, WEIGHT) == 0.5
    assert svm_gamma(3, X, WEIGHT) == 3.0


def test_cross_validation_of_eulac_counts_weights():
    weight = np.where(y == 0, 50.0, 0.02)
    plain = MODELS["eulac"]().fit(X, y, X_unlabeled=U)
    weighted = MODELS["eulac"]().fit(X, y, X_unlabeled=U, sample_weight=weight)
    assert plain.cv_scores_ != weighted.cv_scores_
    assert plain.cv_scores_.keys() == weighted.cv_scores_.keys()


@pytest.mark.parametrize("name", ["lacu", "ovr"])
def test_machines_need_rows_of_every_class(name):
    with pytest.raises(ValueError, match="sample_weight is zero for all rows of class 1"):
        fitted(name, weight=(y != 1).astype(float))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("evm", "EVMClassifier takes no sample_weight: its laws are fitted to the distances"),
        ("osnn", "OSNNClassifier takes no sample_weight: it judges by the nearest labelled row"),
        ("pac", "PACIsolationForestClassifier takes no sample_weight: its trees draw rows"),
    ],
)
def test_methods_without_weights_say_why(name, reason):
    with pytest.raises(TypeError, match=reason):
        MODELS[name]().fit(X, y, X_unlabeled=U, sample_weight=np.ones(len(y)))
