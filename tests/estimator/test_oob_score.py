"""oob_score: labelled rows judged by the trees that did not see them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference.forest import seeds_of_trees
from reference.random import bootstrap_sample, hashed_sample
from two_blobs import U, X, assert_refused, fitted_forest, y

from lacforest import LACExtraTreesClassifier
from lacforest._tree.row_hash import bootstrap_rows

SAMPLES = [
    {"bootstrap": True},
    {"max_samples": 0.5},
    {"bootstrap": True, "max_samples": 0.7},
]


@given(n_rows=st.integers(0, 60), seed=st.integers(0, 2**64 - 1))
def test_bootstrap_rows_are_those_of_the_naive_twin(n_rows, seed):
    assert bootstrap_rows(n_rows, seed).tolist() == bootstrap_sample(n_rows, 0, seed)


@pytest.mark.parametrize("rows", [-1, 2**33])
def test_bootstrap_rows_of_a_number_that_cannot_be(rows):
    with pytest.raises(ValueError, match="rows"):
        bootstrap_rows(rows, 0)


@pytest.mark.parametrize("samples", SAMPLES, ids=str)
@pytest.mark.parametrize("unlabeled", [U, None], ids=["new class", "plain"])
def test_rows_are_judged_by_trees_that_left_them_out(samples, unlabeled):
    forest = fitted_forest(n_estimators=30, **samples)
    forest.set_params(oob_score=True).fit(X, y, X_unlabeled=unlabeled)
    sums = np.zeros((len(X), len(forest.classes_)))
    leaves = forest.apply(X)
    for t, (seed, _, _) in enumerate(seeds_of_trees(0, 30)):
        if "max_samples" in samples:
            rate, bootstrap = samples["max_samples"], samples.get("bootstrap", False)
            seen = hashed_sample(len(X), 0, seed, rate, bootstrap)
        else:
            seen = bootstrap_sample(len(X), 0, seed)
        for row in set(range(len(X))) - set(seen):
            shares = forest.estimators_[t].value[leaves[row, t]].ravel()
            sums[row] += shares / shares.sum()
    expected = sums / sums.sum(axis=1, keepdims=True)
    assert_allclose(forest.oob_decision_function_, expected, rtol=1e-6)
    own = forest.oob_decision_function_.argmax(axis=1)
    assert forest.oob_score_ == pytest.approx((forest.classes_[own] == y).mean())


@pytest.mark.parametrize("refinement", ["both", "hard", "sampled", "deepen"])
def test_extra_trees_judge_their_rows(refinement):
    forest = LACExtraTreesClassifier(
        40,
        theta=0.5,
        n_explorers=40,
        max_samples=0.6,
        refinement=refinement,
        oob_score=True,
        random_state=0,
    ).fit(X, y, X_unlabeled=U)
    assert forest.oob_decision_function_.shape == (len(X), 3)
    assert forest.oob_score_ > 0.8
    # Trees that saw a row know its label: those that did not are less sure of it.
    own = np.searchsorted(forest.classes_, y)
    row = np.arange(len(X))
    in_sample = forest.predict_proba(X)[row, own].mean()
    assert forest.oob_decision_function_[row, own].mean() < in_sample


def test_weights_count_and_rows_of_weight_zero_are_left_out():
    weight = np.ones(len(X))
    weight[:5] = 0
    weight[30:] = 3
    forest = fitted_forest(n_estimators=30, bootstrap=True, oob_score=True)
    forest.fit(X, y, X_unlabeled=U, sample_weight=weight)
    assert len(forest.oob_decision_function_) == len(X) - 5
    right = forest.classes_[forest.oob_decision_function_.argmax(axis=1)] == y[5:]
    assert forest.oob_score_ == pytest.approx(np.average(right, weights=weight[5:]))


def test_the_trees_are_the_same_and_a_fit_without_it_forgets():
    plain = fitted_forest(n_estimators=20, bootstrap=True)
    forest = fitted_forest(n_estimators=20, bootstrap=True, oob_score=True)
    assert_array_equal(forest.predict_proba(U), plain.predict_proba(U))
    forest.set_params(oob_score=False).fit(X, y, X_unlabeled=U)
    assert not hasattr(forest, "oob_score_")
    assert not hasattr(forest, "oob_decision_function_")


def test_rows_that_all_trees_have_seen():
    with pytest.warns(UserWarning, match=r"oob_score: \d+ of 60 labelled rows are in the samples"):
        forest = fitted_forest(n_estimators=2, bootstrap=True, oob_score=True)
    assert np.isnan(forest.oob_decision_function_).any(axis=1).sum() > 0
    assert 0 <= forest.oob_score_ <= 1
    assert_refused(
        ValueError,
        "oob_score: every tree has seen all labelled rows",
        {"n_estimators": 1, "max_samples": 1.0, "oob_score": True},
    )


def test_oob_score_needs_samples():
    message = "oob_score=True needs trees that leave rows out: set max_samples or bootstrap=True"
    assert_refused(ValueError, message, {"oob_score": True})
    with pytest.raises(ValueError, match=r"leave rows out: set max_samples$"):
        LACExtraTreesClassifier(5, oob_score=True).fit(X, y, X_unlabeled=U)
    assert_refused(TypeError, "oob_score must be True or False", {"oob_score": "yes"})
