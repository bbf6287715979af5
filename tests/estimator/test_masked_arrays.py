"""Masked arrays: masked values of X are missing, and masked labels and weights are refused."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from two_blobs import U, X, assert_refused, fitted_forest, small_forest, y

from lacforest.baselines import GLACClassifier
from lacforest.metrics import augmented_accuracy_score
from lacforest.mixture import BestBin

HIDDEN = np.random.default_rng(0).random(X.shape) < 0.2
MASKED = np.ma.masked_array(X, mask=HIDDEN)
WITH_NAN = np.where(HIDDEN, np.nan, X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_masked_values_are_missing_in_fit_and_predict(dtype):
    masked, plain = MASKED.astype(dtype), WITH_NAN.astype(dtype)
    # What is under the mask must not matter.
    masked.data[HIDDEN] = 1e6
    forest = small_forest().fit(masked, y, X_unlabeled=U)
    expected = small_forest().fit(plain, y, X_unlabeled=U)
    assert_array_equal(forest.predict_proba(masked), expected.predict_proba(plain))
    assert_array_equal(forest.novelty_score(masked), expected.novelty_score(plain))


def test_masked_unlabelled_rows():
    forest = small_forest().fit(X, y, X_unlabeled=MASKED)
    expected = small_forest().fit(X, y, X_unlabeled=WITH_NAN)
    assert_array_equal(forest.unlabeled_score_, expected.unlabeled_score_)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_])
def test_masked_values_of_a_type_without_nan(dtype):
    table = np.abs(X).astype(dtype)
    masked = np.ma.masked_array(table, mask=HIDDEN)
    plain = np.where(HIDDEN, np.nan, table.astype(float))
    forest = small_forest().fit(masked, y)
    assert_array_equal(
        forest.predict_proba(masked), small_forest().fit(plain, y).predict_proba(plain)
    )


def test_an_array_without_masked_values_is_a_plain_one():
    forest = small_forest().fit(np.ma.masked_array(X), np.ma.masked_array(y), X_unlabeled=U)
    assert_array_equal(forest.predict_proba(U), fitted_forest().predict_proba(U))


def test_methods_without_missing_values_refuse_them():
    with pytest.raises(ValueError, match="Input X contains NaN"):
        GLACClassifier().fit(MASKED, y, X_unlabeled=U)


def test_masked_rows_of_an_estimator_of_theta():
    one, other = (BestBin(n_bootstrap=0, random_state=0) for _ in range(2))
    assert one.fit(MASKED, U).theta_ == other.fit(WITH_NAN, U).theta_


def test_masked_values_of_control_rows_are_missing():
    first, other = (
        small_forest().fit(X, y, X_unlabeled=U, control=(table, y)) for table in (MASKED, WITH_NAN)
    )
    assert_array_equal(first.predict_proba(U), other.predict_proba(U))


def test_masked_labels_and_weights():
    labels = np.ma.masked_array(y, mask=np.arange(len(y)) == 4)
    assert_refused(ValueError, "y is a masked array, and entry 4 is masked: drop", y=labels)
    with pytest.raises(ValueError, match="y_true is a masked array, and entry 4 is masked"):
        augmented_accuracy_score(labels, y, theta=0.5, new_label=-1, unlabeled_label=1)
    message = "y_known of control is a masked array, and entry 4 is masked"
    assert_refused(ValueError, message, control=(X, labels))
    weight = np.ma.masked_array(np.ones(len(y)), mask=np.arange(len(y)) == 2)
    assert_refused(
        ValueError, "sample_weight is a masked array, and entry 2 is masked", sample_weight=weight
    )
