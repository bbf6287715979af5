"""Lemma 1 and Theorem 1 as statistics, on a distribution whose posteriors are known."""

import math

import numpy as np
import pytest

from lacforest import AugmentedGiniCriterion

THETA = 0.3
KAPPA = 2
# Class k is normal around CENTRES[k] with unit variance; the last one is the augmented class.
CENTRES = np.array([[0.0, 0.0], [2.0, 0.5], [1.5, 2.5]])
SHARES = np.array([(1 - THETA) * 0.6, (1 - THETA) * 0.4, THETA])
LOW, HIGH = np.array([0.0, -0.2]), np.array([2.5, 3.0])
SIZES = [200, 630, 2000, 6300, 20000]
# The root mean square of 200 errors has an error of 5%, so a slope over two decades has 0.02.
N_REPETITIONS = 200
# The node holds a share of about .34 of the unlabelled and .28 of the labelled rows.
GAMMA = 0.15


def mass_of_node(centre):
    """Probability that a normal point around the centre falls into the node, a box."""

    def below(bound, middle):
        return 0.5 * (1 + math.erf((bound - middle) / math.sqrt(2)))

    return math.prod(
        below(high, middle) - below(low, middle)
        for low, high, middle in zip(LOW, HIGH, centre, strict=True)
    )


def posterior():
    """Pr[y = k | x in C] of all classes, the augmented one last."""
    joint = SHARES * [mass_of_node(centre) for centre in CENTRES]
    return joint / joint.sum()


def draw_node(rng, n_labeled, n_unlabeled):
    """Labelled counts by class and unlabelled count of the node in a fresh training set."""

    def count(n_rows, shares):
        sizes = rng.multinomial(n_rows, shares)
        points = [
            centre + rng.normal(size=(size, 2))
            for centre, size in zip(CENTRES, sizes, strict=False)
        ]
        return [int(((x > LOW) & (x <= HIGH)).all(axis=1).sum()) for x in points]

    known = SHARES[:KAPPA] / SHARES[:KAPPA].sum()
    return count(n_labeled, known), sum(count(n_unlabeled, SHARES))


@pytest.fixture(scope="module")
def errors():
    """|vartheta - truth| and |G - L*| of every repetition, by size of the smaller sample."""
    rng = np.random.default_rng(20250825)
    truth = posterior()
    squared_loss = 1 - (truth**2).sum()
    found = {}
    for size in SIZES:
        n_labeled, n_unlabeled = size, 2 * size
        criterion = AugmentedGiniCriterion(THETA, n_labeled, n_unlabeled)
        repetitions = []
        for _ in range(N_REPETITIONS):
            counts, n_node = draw_node(rng, n_labeled, n_unlabeled)
            # The conditions of Lemma 1 and Theorem 1.
            assert n_node >= GAMMA * n_unlabeled
            assert sum(counts) >= GAMMA * n_labeled
            shares = criterion.proportions(counts, n_node)
            impurity = criterion.impurity(counts, n_node)
            repetitions.append([*np.abs(shares - truth), abs(impurity - squared_loss)])
        found[size] = np.array(repetitions)
    return found


def slope(errors, column):
    rms = [math.sqrt((errors[size][:, column] ** 2).mean()) for size in SIZES]
    return np.polyfit(np.log(SIZES), np.log(rms), 1)[0]


def lemma_1(n_labeled, n_unlabeled, delta):
    """The final bound in the proof of Lemma 1, with delta / 3 for each of its three events."""
    log = math.log(2 / (delta / 3))
    return (
        math.sqrt(log / (2 * n_labeled)) / GAMMA
        + math.sqrt(log / (2 * n_unlabeled)) / GAMMA
        + math.sqrt(log / (2 * GAMMA * n_unlabeled))
    )


def theorem_1(n_labeled, n_unlabeled, delta):
    """The final bound in the proof of Theorem 1."""
    log_1 = math.log(6 / (delta / (2 * (KAPPA + 1))))
    log_2 = math.log(2 / (delta / (2 * KAPPA)))
    return (2 * KAPPA + 2) * (
        math.sqrt(log_1 / (2 * GAMMA * n_unlabeled))
        + math.sqrt(log_1 / (2 * n_labeled)) / GAMMA
        + math.sqrt(log_1 / (2 * n_unlabeled)) / GAMMA
    ) + 2 * KAPPA * math.sqrt(log_2 / (2 * GAMMA * n_labeled))


def test_the_node_is_no_special_case():
    # The node is neither clipped nor pure, so errors are of first order.
    truth = posterior()
    assert truth.sum() == pytest.approx(1.0)
    assert ((truth > 0.1) & (truth < 0.8)).all()


@pytest.mark.parametrize("column", range(KAPPA + 2))
def test_errors_shrink_with_the_square_root(errors, column):
    assert -0.65 <= slope(errors, column) <= -0.35


def test_estimates_have_no_bias_that_stays(errors):
    # At the largest size, the typical error is far below the bias of a wrong constant.
    assert errors[SIZES[-1]].mean(axis=0).max() < 0.01


@pytest.mark.parametrize("delta", [0.5, 0.1, 0.01])
def test_errors_stay_within_the_bounds_of_the_proofs(errors, delta):
    for size in SIZES:
        beyond = errors[size][:, KAPPA] > lemma_1(size, 2 * size, delta)
        assert beyond.mean() <= delta
        beyond = errors[size][:, -1] > theorem_1(size, 2 * size, delta)
        assert beyond.mean() <= delta


def test_a_wrong_theta_does_not_converge():
    # The tests above can fail: with a wrong theta the estimates do not converge.
    rng = np.random.default_rng(1)
    size = SIZES[-1]
    counts, n_node = draw_node(rng, size, 2 * size)
    wrong = AugmentedGiniCriterion(THETA + 0.1, size, 2 * size)
    assert abs(wrong.proportions(counts, n_node)[-1] - posterior()[-1]) > 0.03
