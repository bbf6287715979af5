"""LACU-SVM: the solver against a general-purpose one, the rounds, and their constraints."""

import numpy as np
import pytest
from blobs import U, X, X_test, y
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from lacforest.baselines import LACUSVMClassifier, _lacu_machine
from lacforest.baselines._lacu_machine import (
    LACUOptions,
    QuadraticProgramme,
    balance_band,
    find_margin,
    train_machine,
)
from lacforest.baselines._smo import optimise

several = settings(max_examples=40)
OPTIONS = LACUOptions(C=1.0, C_unlabeled=0.5, ramp=-0.3, balance=1.3, push=0.1, max_rounds=10)


# ---------------------------------------------------------------------------- solver


@st.composite
def programmes(draw):
    """Variables at few distinct points, with boxes that contain zero."""
    n_points, n_variables = draw(st.integers(2, 5)), draw(st.integers(2, 10))
    rows = draw(arrays.arrays(float, (n_points, 2), elements=st.integers(-2, 2).map(float)))
    kernel = rbf_kernel(rows, gamma=0.5)
    point = draw(arrays.arrays(np.int32, n_variables, elements=st.integers(0, n_points - 1)))
    numbers = arrays.arrays(float, n_variables, elements=st.integers(-4, 4).map(lambda k: k / 2))
    gain = draw(numbers)
    low, high = -np.abs(draw(numbers)), np.abs(draw(numbers))
    return kernel, point, gain, low, high


def run(kernel, point, gain, low, high, tolerance=1e-9, max_steps=100_000):
    alpha, field = np.zeros(len(gain)), np.zeros(len(kernel))
    ends = optimise(kernel, point, gain, low, high, alpha, field, tolerance, max_steps)
    return alpha, field, *ends


@several
@given(programme=programmes())
def test_objective_is_that_of_a_general_solver(programme):
    pytest.importorskip("clarabel")
    from reference.baselines import maximise

    kernel, point, gain, low, high = programme
    alpha, field, _, gap, _ = run(*programme)
    big = kernel[np.ix_(point, point)]

    def objective(a):
        return gain @ a - a @ big @ a / 2

    assert gap <= 1e-9
    assert alpha.sum() == pytest.approx(0.0, abs=1e-9)
    assert (alpha >= low).all()
    assert (alpha <= high).all()
    assert_allclose(field, kernel @ np.bincount(point, alpha, len(kernel)), atol=1e-9)
    assert objective(alpha) == pytest.approx(objective(maximise(big, gain, low, high)), abs=1e-6)


def test_labelled_rows_alone_are_an_svm():
    signs = np.where(y == 0, 1.0, -1.0)
    kernel = rbf_kernel(X, gamma=2.0)
    low, high = np.where(signs > 0, 0.0, -1.0), np.where(signs > 0, 1.0, 0.0)
    point = np.arange(len(X), dtype=np.int32)
    _, field, bias, _, _ = run(kernel, point, signs, low, high)
    svm = SVC(C=1.0, gamma=2.0, tol=1e-9).fit(X, signs)
    assert_allclose(field + bias, svm.decision_function(X), atol=1e-5)


def test_a_solver_that_is_stopped_can_go_on():
    signs = np.where(y == 0, 1.0, -1.0)
    kernel = rbf_kernel(X, gamma=2.0)
    low, high = np.where(signs > 0, 0.0, -1.0), np.where(signs > 0, 1.0, 0.0)
    point = np.arange(len(X), dtype=np.int32)
    alpha, field = np.zeros(len(X)), np.zeros(len(X))
    steps = 0
    for _ in range(1000):
        _, gap, n_steps = optimise(kernel, point, signs, low, high, alpha, field, 1e-6, 5)
        steps += n_steps
        if gap <= 1e-6:
            break
    whole = run(kernel, point, signs, low, high, 1e-6)
    assert steps == whole[-1]
    assert_array_equal(alpha, whole[0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": np.zeros((2, 3))}, "kernel and field must have one row for each point"),
        ({"field": np.zeros(3)}, "kernel and field must have one row for each point"),
        ({"gain": np.zeros(3)}, "must have one entry for each variable"),
        ({"alpha": np.zeros(0)}, "must have one entry for each variable"),
        ({"point": np.array([0, 2], dtype=np.int32)}, "point must name rows of the kernel"),
        ({"point": np.array([0, -1], dtype=np.int32)}, "point must name rows of the kernel"),
    ],
)
def test_shapes_are_checked(changes, message):
    arguments = {
        "kernel": np.eye(2),
        "point": np.arange(2, dtype=np.int32),
        "gain": np.ones(2),
        "low": -np.ones(2),
        "high": np.ones(2),
        "alpha": np.zeros(2),
        "field": np.zeros(2),
    } | changes
    with pytest.raises(ValueError, match=message):
        optimise(*arguments.values(), 1e-3, 10)


# ---------------------------------------------------------------------------- rounds


def kernel_with_mean(labeled, unlabeled, gamma):
    rows = np.vstack([labeled, unlabeled])
    kernel = rbf_kernel(rows, gamma=gamma)
    mean = kernel[len(labeled) :].mean(axis=0)
    corner = mean[len(labeled) :].mean()
    return np.block([[kernel, mean[:, None]], [mean[None], np.array([[corner]])]])


def small_machine(seed):
    rng = np.random.default_rng(seed)
    signs = np.where(np.arange(12) % 3 == 0, 1.0, -1.0)
    labeled = rng.normal(size=(12, 2)) + 1.5 * signs[:, None]
    unlabeled = rng.normal(size=(15, 2)) * 2
    return kernel_with_mean(labeled, unlabeled, 0.3), signs, rng.normal(size=27)


@pytest.mark.parametrize("seed", range(5))
def test_a_round_is_the_naive_twin(seed, monkeypatch):
    pytest.importorskip("clarabel")
    from reference.baselines import lacu_round

    monkeypatch.setattr(_lacu_machine, "_TOLERANCE", 1e-8)
    kernel, signs, previous = small_machine(seed)
    band = balance_band(signs.mean(), 1.3)
    # Small weights, so that the bounds of many rows are reached.
    weight = np.random.default_rng(seed).uniform(0.02, 1.0, 12)
    programme = QuadraticProgramme(kernel, signs, weight, band, OPTIONS)
    assert programme.set_round(previous, 0.6)
    outputs = programme.solve()
    penalties = OPTIONS.C * weight
    weights, objective = lacu_round(
        kernel, signs, previous, band, 0.6, penalties, 0.5, -0.3, programme.cap
    )
    ours = programme.gain @ programme.alpha
    point_weights = np.bincount(programme.point, programme.alpha)
    ours -= point_weights @ kernel @ point_weights / 2
    assert ours == pytest.approx(objective, abs=1e-5)
    assert_allclose(outputs - programme.bias, kernel @ weights, atol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_constraints_hold_after_every_round(seed):
    kernel, signs, previous = small_machine(seed)
    low, high = balance_band(signs.mean(), 1.3)
    programme = QuadraticProgramme(kernel, signs, np.ones(12), (low, high), OPTIONS)
    outputs = previous
    for _ in range(4):
        margin = find_margin(outputs, signs, 0.1)
        programme.set_round(outputs, margin)
        outputs = programme.solve()
        assert programme.constraints_met
        assert outputs[:12][signs < 0].max() <= -margin + 2e-3
        assert low - 2e-3 <= outputs[12:27].mean() <= high + 2e-3
        assert outputs[27] == pytest.approx(outputs[12:27].mean(), abs=1e-9)


def ramp_objective(kernel, signs, programme, outputs):
    """The primal objective that decreases with each round, without the mean point in the losses."""
    weights = np.bincount(programme.point, programme.alpha, minlength=len(kernel))
    norm = weights @ kernel @ weights / 2
    hinge = np.maximum(0, 1 - signs * outputs[:12]).sum()
    ramp = sum(
        np.minimum(1 - OPTIONS.ramp, np.maximum(0, 1 - sign * outputs[12:27])).sum()
        for sign in (1, -1)
    )
    return norm + OPTIONS.C * hinge + OPTIONS.C_unlabeled * ramp


@pytest.mark.parametrize("seed", range(5))
def test_rounds_descend(seed):
    kernel, signs, previous = small_machine(seed)
    band = balance_band(signs.mean(), 1.3)
    programme = QuadraticProgramme(kernel, signs, np.ones(12), band, OPTIONS)
    values, outputs = [], previous
    for _ in range(5):
        # The margin is fixed, because a push that moves would change the problem.
        programme.set_round(outputs, 0.5)
        outputs = programme.solve()
        values.append(ramp_objective(kernel, signs, programme, outputs))
    assert (np.diff(values) < 0.05).all()


def test_rounds_end_when_nothing_changes():
    kernel, signs, previous = small_machine(0)
    programme = train_machine(
        kernel,
        signs,
        np.ones(12),
        previous,
        balance_band(signs.mean(), 1.3),
        LACUOptions(1, 0.5, -0.3, 1.3, 0, 100),
    )
    field = kernel @ np.bincount(programme.point, programme.alpha, minlength=len(kernel))
    outputs = field + programme.bias
    assert not programme.set_round(outputs, find_margin(outputs, signs, 0.0))


@pytest.mark.parametrize(
    ("mean", "band"),
    [(-0.5, (-0.65, -0.5)), (-0.8, (-0.9, -0.8)), (-0.95, (-0.95, -0.95)), (0.2, (0.2, 0.2))],
)
def test_the_band_is_never_empty(mean, band):
    assert balance_band(mean, 1.3) == pytest.approx(band)


def test_margin_of_the_push():
    signs = np.array([1.0, 1.0, -1.0])
    assert find_margin(np.array([0.4, 0.7, -2.0, 9.0]), signs, 0.1) == pytest.approx(0.5)
    assert find_margin(np.array([-0.4, 0.7, -2.0, 9.0]), signs, 0.1) == 0.5
    assert find_margin(np.array([1.4, 1.7, -2.0, 9.0]), signs, 0.1) == pytest.approx(1.5)


def test_coefficients_give_the_outputs():
    kernel, signs, previous = small_machine(1)
    band = balance_band(signs.mean(), 1.3)
    programme = QuadraticProgramme(kernel, signs, np.ones(12), band, OPTIONS)
    programme.set_round(previous, 0.5)
    outputs = programme.solve()
    rows = kernel[:-1, :-1]
    assert_allclose(rows @ programme.coefficients() + programme.bias, outputs[:-1], atol=1e-9)


# ---------------------------------------------------------------------------- classifier


@pytest.mark.parametrize("decision", ["combined", "machine"])
def test_what_a_row_is_judged_by(decision):
    lacu = LACUSVMClassifier(kernel="rbf", gamma="scale", decision=decision)
    lacu.fit(X, y, X_unlabeled=U)
    rows = np.vstack([X, U])
    kernel = rbf_kernel(X_test, rows, gamma=1 / (2 * X.var()))
    outputs = kernel @ lacu._machines.coefficients + lacu._machines.biases
    start = np.column_stack(
        [SVC(C=1.0).fit(X, y == code).decision_function(X_test) for code in range(3)]
    )
    assert (outputs > 0).any()
    values = outputs if decision == "machine" else np.where(outputs <= 0, outputs, start)
    assert_allclose(lacu.novelty_score(X_test), -values.max(axis=1), atol=1e-9)
    expected = np.where(values.max(axis=1) < 0, -1, values.argmax(axis=1))
    assert_array_equal(lacu.predict(X_test), expected)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("gamma", ["auto", "scale", 0.7])
def test_kernels_and_widths(kernel, gamma):
    lacu = LACUSVMClassifier(kernel=kernel, gamma=gamma).fit(X, y, X_unlabeled=U)
    # Outputs at the training rows, to which the constraints apply.
    values = lacu._machines.values(X)
    for code in range(3):
        assert values[y != code, code].max() < 0
    expected = {"auto": 0.5, "scale": 1 / (2 * X.var()), 0.7: 0.7}[gamma]
    assert lacu._machines.gamma == pytest.approx(expected)


def test_theta_moves_the_balance():
    published = LACUSVMClassifier(kernel="rbf", gamma="scale").fit(X, y, X_unlabeled=U)
    told = LACUSVMClassifier(kernel="rbf", gamma="scale", theta=0.5).fit(X, y, X_unlabeled=U)
    assert published.theta_ is None
    means = [model._machines.values(U).mean(axis=0) for model in (published, told)]
    # Each class has a third of the labelled rows: -1/3 as published, -2/3 if half of U is new.
    assert (means[0] >= 1.3 * -1 / 3 - 2e-3).all()
    assert (means[1] <= -2 / 3 + 2e-3).all()


def test_balance_and_push_that_cannot_both_be_had():
    # All unlabelled rows are negatives of two classes, which the balance constraint contradicts.
    deployed = np.repeat(X[:1], 7, axis=0)
    lacu = LACUSVMClassifier(balance=0.1, push=5.0, kernel="rbf")
    with pytest.warns(ConvergenceWarning, match="cannot keep unlabelled rows in balance and"):
        lacu.fit(X, y, X_unlabeled=deployed)


def test_a_solver_that_does_not_end_says_so(monkeypatch):
    monkeypatch.setattr(_lacu_machine, "_STEPS", 1)
    monkeypatch.setattr(_lacu_machine, "_MOST_TURNS", 2)
    with pytest.warns(ConvergenceWarning, match="a machine stopped after 2 steps with a gap of"):
        LACUSVMClassifier(kernel="rbf", max_rounds=1).fit(X, y, X_unlabeled=U)


def test_rows_that_are_too_long():
    # Only unlabelled rows are this long; with such labelled rows the SVM would not converge.
    with pytest.raises(ValueError, match="inner products of rows are not finite: scale the"):
        LACUSVMClassifier().fit(X, y, X_unlabeled=1e200 * U)


def test_the_solver_ends_on_what_is_not_a_number():
    point = np.arange(2, dtype=np.int32)
    field = np.array([0.0, np.nan])
    gap = optimise(
        np.eye(2), point, np.ones(2), -np.ones(2), np.ones(2), np.zeros(2), field, 1e-3, 10
    )[1]
    assert not gap > 1e-3
