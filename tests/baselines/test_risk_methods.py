"""GLAC and EULAC: unbiased risks, their minima, and agreement between them."""

import numpy as np
import pytest
from blobs import U, X, X_test, y
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.testing import assert_allclose, assert_array_equal
from reference import baselines as naive
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

from lacforest.baselines import EULACClassifier, GLACClassifier
from lacforest.baselines._eulac import RowWeights, make_signs, solve_square_loss
from lacforest.baselines._glac_risk import Adam, PenalisedRisk
from lacforest.metrics import augmented_accuracy_score

several = settings(max_examples=40)


# ---------------------------------------------------------------------------- GLAC


@st.composite
def logits_and_labels(draw):
    n_known, n_labeled, n_unlabeled = (draw(st.integers(1, 4)) for _ in range(3))
    shape = (n_labeled + n_unlabeled, n_known + 1)
    logits = draw(arrays.arrays(float, shape, elements=st.floats(-3, 3)))
    y = draw(arrays.arrays(np.intp, n_labeled, elements=st.integers(0, n_known - 1)))
    weight = draw(arrays.arrays(float, n_labeled, elements=st.sampled_from([1.0, 2.0, 0.25])))
    return logits, y, weight


options = {
    "pi": st.sampled_from([0.0, 0.3, 1.0]),
    "q": st.sampled_from([0.1, 0.7, 1.0]),
    "penalty": st.sampled_from([0.0, 1.0, 1.2]),
    "power": st.sampled_from([1.0, 3.0]),
}


@several
@given(problem=logits_and_labels(), **options)
def test_glac_risk_is_the_naive_twin(problem, pi, q, penalty, power):
    logits, y, weight = problem
    value, _ = PenalisedRisk(y, weight, pi, q, penalty, power)(logits)
    labeled, unlabeled = logits[: len(y)].tolist(), logits[len(y) :].tolist()
    expected = naive.glac_risk(labeled, y.tolist(), weight, unlabeled, pi, q, penalty, power)[2]
    assert value == pytest.approx(expected, abs=1e-9)


@several
@given(problem=logits_and_labels(), **options)
def test_glac_gradient_is_that_of_finite_differences(problem, pi, q, penalty, power):
    logits, y, weight = problem
    risk = PenalisedRisk(y, weight, pi, q, penalty, power)
    labeled, unlabeled = logits[: len(y)].tolist(), logits[len(y) :].tolist()
    b = naive.glac_risk(labeled, y.tolist(), weight, unlabeled, pi, q, penalty, power)[1]
    if abs(b) < 1e-4:
        return  # the penalty is not differentiable here
    _, gradient = risk(logits)
    step = 1e-6
    for index in np.ndindex(logits.shape):
        moved = np.zeros_like(logits)
        moved[index] = step
        slope = (risk(logits + moved)[0] - risk(logits - moved)[0]) / (2 * step)
        assert gradient[index] == pytest.approx(slope, abs=1e-6)


def test_glac_meets_eulac_where_the_loss_is_one_versus_rest():
    # l(x, y) - l(x, new) = psi(f_y) - psi(-f_y) + psi(-f_new) - psi(f_new)
    rng = np.random.default_rng(0)
    psi = naive.square_loss

    def one_versus_rest(f, c):
        return psi(f[c]) + sum(psi(-f[m]) for m in range(len(f)) if m != c)

    for f in rng.normal(size=(20, 4)):
        for c in range(3):
            left = one_versus_rest(f, c) - one_versus_rest(f, 3)
            right = psi(f[c]) - psi(-f[c]) + psi(-f[3]) - psi(f[3])
            assert left == pytest.approx(right)
            assert right == pytest.approx(f[3] - f[c])


def test_glac_with_nothing_known_calls_everything_new():
    glac = GLACClassifier(theta=1 - 1e-12, random_state=0).fit(X, y, X_unlabeled=np.vstack([X, U]))
    assert_array_equal(glac.predict(np.vstack([X, X_test])), -1)


def test_glac_with_nothing_new_is_logistic_regression():
    glac = GLACClassifier(
        q=1e-6, weight_decay=1e-3, learning_rate=0.1, max_iter=3000, random_state=0
    ).fit(X, y)
    # weight decay w is the penalty w |W|^2 / 2 on the mean loss, on the biases too.
    ones = np.column_stack([X, np.ones(len(X))])
    plain = LogisticRegression(C=1 / (1e-3 * len(X)), fit_intercept=False, tol=1e-10, max_iter=5000)
    expected = plain.fit(ones, y).predict_proba(np.column_stack([X_test, np.ones(len(X_test))]))
    assert_allclose(glac.predict_proba(X_test), expected, atol=5e-3)


def test_unlabelled_rows_like_the_labelled_ones_add_nothing_if_all_are_known():
    logits = np.random.default_rng(0).normal(size=(10, 4))
    risk = PenalisedRisk(np.arange(10) % 3, np.ones(10), 1.0, 0.1, 1.2, 1.0)
    value, gradient = risk(np.vstack([logits, logits]))
    alone, of_alone = risk(logits)
    assert value == pytest.approx(alone)
    assert_allclose(gradient[:10] + gradient[10:], of_alone, atol=1e-12)


def test_adam_as_published():
    weights, adam = np.array([1.0, -2.0]), Adam(0.1, 0.01)
    w, m, v = weights.copy(), np.zeros(2), np.zeros(2)
    for t in range(1, 4):
        gradient = np.array([0.5, t])
        adam.step(weights, gradient)
        g = gradient + 0.01 * w
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        w = w - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        assert_allclose(weights, w)


def test_glac_probabilities_are_in_the_order_of_the_classes():
    glac = GLACClassifier(theta=0.5, new_label=1.5, random_state=0).fit(X, y, X_unlabeled=U)
    p = glac.predict_proba(X_test)
    assert_array_equal(glac.classes_, [0, 1, 1.5, 2])
    assert_allclose(p.sum(axis=1), 1.0)
    assert_array_equal(glac.classes_[p.argmax(axis=1)], glac.predict(X_test))
    assert_array_equal(p[:, 2], glac.novelty_score(X_test))
    assert glac.coef_.shape == (4, 2)
    assert glac.n_iter_ == 1500


def test_glac_on_gaussian_features_bends():
    # Known rows surround the new ones, so no line separates them.
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, 2 * np.pi, 400)
    ring = np.column_stack([np.cos(angles), np.sin(angles)]) + 0.05 * rng.normal(size=(400, 2))
    middle = 0.05 * rng.normal(size=(200, 2))
    deployed = np.vstack([ring[200:], middle])
    scores = {}
    for features in ("linear", "rbf"):
        glac = GLACClassifier(theta=0.5, features=features, n_components=100, random_state=0)
        glac.fit(ring[:200], np.zeros(200, dtype=int), X_unlabeled=deployed)
        scores[features] = (glac.predict(deployed) == np.repeat([0, -1], 200)).mean()
    assert scores["rbf"] > 0.98
    assert scores["linear"] < 0.8
    assert glac.coef_.shape == (2, 100)


def test_glac_says_so_if_it_diverges():
    glac = GLACClassifier(theta=0.5, learning_rate=1e308, random_state=0)
    with pytest.raises(ValueError, match="the coefficients diverged: lower learning_rate"):
        glac.fit(X, y, X_unlabeled=U)


# ---------------------------------------------------------------------------- EULAC


def small_problem(n_known=3, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(14, 2))
    return rbf_kernel(rows, gamma=0.5), np.arange(6) % n_known


def solve(kernel, y, n_known, pi, lam, weight=None):
    n = len(y)
    weight = np.ones(len(kernel)) if weight is None else weight
    signs, weights = make_signs(y, n_known, True), RowWeights(weight[:n], weight[n:])
    return np.vstack(solve_square_loss(kernel[n:, n:], kernel[n:, :n], signs, weights, pi, lam))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n_known", "pi", "lam"), [(3, 0.4, 0.05), (1, 0.9, 0.3), (2, 0.0, 1.0)])
def test_eulac_is_the_minimum(n_known, pi, lam, weighted):
    kernel, y = small_problem(n_known)
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.2, 3.0, len(kernel)) if weighted else np.ones(len(kernel))
    found = solve(kernel, y, n_known, pi, lam, weight)

    def objective(coefficients):
        return naive.eulac_objective(kernel, weight, y, coefficients, pi, lam)

    lowest = objective(found)
    for size in (1e-3, 1e-1, 1.0):
        assert objective(found + size * rng.normal(size=found.shape)) > lowest
    searched = minimize(
        lambda c: objective(c.reshape(found.shape)), np.zeros(found.size), method="BFGS"
    )
    assert lowest <= searched.fun + 1e-6


def test_eulac_of_one_class_has_two_opposite_machines():
    kernel, y = small_problem(1)
    outputs = kernel @ solve(kernel, y, 1, 0.4, 0.01)
    assert_allclose(outputs[:, 0], -outputs[:, 1], atol=1e-10)


@pytest.mark.parametrize("lam", [1.0, 1e-3, 1e-9])
def test_eulac_machines_sum_to_what_theory_says(lam):
    kernel, y = small_problem(3)
    outputs = kernel @ solve(kernel, y, 3, 0.4, lam)
    k_uu = kernel[6:, 6:]
    expected = k_uu @ np.linalg.solve(k_uu + 4 * lam * 8 * np.eye(8), np.full(8, 1.0 - 3.0))
    assert_allclose(outputs[6:].sum(axis=1), expected, atol=1e-6 / lam * 1e-9 + 1e-8)
    if lam == 1e-9:
        assert_allclose(expected, -2.0, atol=1e-3)


def test_eulac_takes_the_highest_machine():
    eulac = EULACClassifier(theta=0.5, gamma=2.0, regularization=0.01).fit(X, y, X_unlabeled=U)
    rows = np.vstack([X, U])
    kernel = rbf_kernel(rows, gamma=2.0)
    outputs = rbf_kernel(X_test, rows, gamma=2.0) @ solve(kernel, y, 3, 0.5, 0.01)
    highest = outputs.argmax(axis=1)
    assert_array_equal(eulac.predict(X_test), np.where(highest == 3, -1, highest))
    margin = outputs[:, 3] - outputs[:, :3].max(axis=1)
    assert_allclose(eulac.novelty_score(X_test), margin, atol=1e-9)
    assert (eulac.gamma_, eulac.regularization_, eulac.cv_scores_) == (2.0, 0.01, {})


def test_eulac_chooses_by_the_unbiased_accuracy():
    eulac = EULACClassifier(theta=0.5, random_state=0).fit(X, y, X_unlabeled=U)
    assert len(eulac.cv_scores_) == 15
    best = max(eulac.cv_scores_.values())
    assert eulac.cv_scores_[eulac.gamma_, eulac.regularization_] == best
    gammas = sorted({gamma for gamma, _ in eulac.cv_scores_})
    squared = ((np.vstack([X, U])[:, None] - np.vstack([X, U])) ** 2).sum(axis=2)
    assert_allclose(gammas, np.array([0.25, 1, 4]) / np.median(squared))
    only = EULACClassifier(theta=0.5, gamma="median", random_state=0).fit(X, y, X_unlabeled=U)
    assert {gamma for gamma, _ in only.cv_scores_} == {gammas[1]}


def test_a_cv_score_is_that_of_the_classifier_on_the_folds():
    from lacforest.model_selection import AugmentedKFold

    eulac = EULACClassifier(theta=0.5, gamma=3.0, cv=3, random_state=0)
    eulac.fit(X, y, X_unlabeled=U)
    # The folds of the fit, from the same random numbers.
    entropy = np.random.RandomState(0).randint(0, 2**32, size=4, dtype=np.uint32)
    seed = int(np.random.default_rng([*entropy.tolist(), 1]).integers(2**31))
    table, marks = np.vstack([X, U]), np.concatenate([y, np.full(len(U), -1)])
    folds = AugmentedKFold(3, unlabeled_label=-1, random_state=seed)
    scores = []
    for train, test in folds.split(table, marks):
        model = EULACClassifier(
            theta=0.5, gamma=3.0, regularization=1e-3, unlabeled_label=-1, new_label=-7
        )
        predicted = model.fit(table[train], marks[train]).predict(table[test])
        scores.append(
            augmented_accuracy_score(
                marks[test], predicted, theta=0.5, new_label=-7, unlabeled_label=-1
            )
        )
    assert eulac.cv_scores_[3.0, 1e-3] == pytest.approx(np.mean(scores))


def test_eulac_on_few_rows():
    few = [0, 1, 40, 41, 80]  # the last class has one row
    eulac = EULACClassifier(theta=0.5, random_state=0).fit(X[few], y[few], X_unlabeled=U)
    assert set(eulac.predict(X_test)) == {-1, 0, 1, 2}
    with pytest.raises(ValueError, match="cross-validation needs two labelled rows of one class"):
        EULACClassifier(theta=0.5).fit(X[[0, 40]], y[[0, 40]], X_unlabeled=U)
    EULACClassifier(theta=0.5, gamma=1.0, regularization=0.1).fit(
        X[[0, 40]], y[[0, 40]], X_unlabeled=U
    )


def test_eulac_without_any_regularization_to_speak_of():
    eulac = EULACClassifier(theta=0.5, gamma=1e-3, regularization=1e-300)
    with pytest.raises(ValueError, match="regularization=1e-300 vanishes beside the rounding"):
        eulac.fit(X, y, X_unlabeled=U)
