"""Synthetic data: their distribution, and the posterior by Bayes' rule."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from lacforest import LACForestClassifier
from lacforest.datasets import make_blobs_with_posterior, make_figure1


def naive_posterior(toy, x):
    """Bayes' rule with SciPy's densities, one row at a time."""

    def density(center):
        return multivariate_normal(center, toy.std**2 * np.eye(len(center))).pdf(x)

    new = toy.theta * np.mean([density(center) for center in toy.new_centers])
    known = [
        (1 - toy.theta) / len(toy.known_centers) * density(center) for center in toy.known_centers
    ]
    joint = np.array([new, *known])
    return joint / joint.sum()


@pytest.mark.parametrize(("n_known", "n_new", "n_features"), [(1, 1, 1), (3, 2, 2), (2, 3, 5)])
def test_posterior_is_bayes_rule(n_known, n_new, n_features, global_random_seed):
    toy = make_blobs_with_posterior(
        20,
        30,
        0.3,
        n_known=n_known,
        n_new=n_new,
        n_features=n_features,
        std=1.7,
        random_state=global_random_seed,
    )
    posterior = toy.posterior(toy.X_unlabeled)
    assert posterior.shape == (30, n_known + 1)
    assert_allclose(posterior, [naive_posterior(toy, x) for x in toy.X_unlabeled], atol=1e-12)
    assert_allclose(posterior.sum(axis=1), 1)


def test_posterior_far_from_everything():
    toy = make_figure1(random_state=0)
    assert_array_equal(toy.posterior([[0, 1e6], [0, -1e6]]).argmax(axis=1), [0, 1])


def test_posterior_is_calibrated(global_random_seed):
    # Where the new class has probability p, a share p of unlabelled rows is new.
    toy = make_blobs_with_posterior(1, 20_000, 0.4, random_state=global_random_seed)
    of_new = toy.posterior(toy.X_unlabeled)[:, 0]
    for low in np.linspace(0, 0.9, 10):
        rows = (of_new >= low) & (of_new < low + 0.1)
        if rows.sum() > 100:
            error = 4 * np.sqrt(0.25 / rows.sum())
            is_new = toy.y_unlabeled[rows] == -1
            assert abs(is_new.mean() - of_new[rows].mean()) < error


@pytest.mark.parametrize("make", [make_figure1, make_blobs_with_posterior])
def test_what_is_drawn(make):
    toy = make(50, 80, 0.3, random_state=0)
    assert toy.X_labeled.shape == (50, 2)
    assert toy.X_unlabeled.shape == (80, 2)
    n_known = len(toy.known_centers)
    assert_array_equal(toy.classes, np.arange(-1, n_known))
    assert set(toy.y_labeled) == set(range(n_known))
    assert set(toy.y_unlabeled) == set(range(-1, n_known))
    assert (toy.y_unlabeled == -1).sum() == 24
    assert toy.theta == 0.3
    # Rows are shuffled: the new rows are not all at one end.
    assert 0 < (toy.y_unlabeled[:40] == -1).sum() < 24


@pytest.mark.parametrize("make", [make_figure1, make_blobs_with_posterior])
def test_seeds(make):
    one, same, other = (make(random_state=seed) for seed in (0, 0, 1))
    assert_array_equal(one.X_unlabeled, same.X_unlabeled)
    assert_array_equal(one.y_labeled, same.y_labeled)
    assert (one.X_labeled != other.X_labeled).any()


def test_centers_lie_in_the_box():
    toy = make_blobs_with_posterior(1, 1, n_known=50, center_box=(2, 3), random_state=0)
    assert toy.known_centers.min() > 2
    assert toy.known_centers.max() < 3


def test_toys_share_nothing():
    make_figure1(random_state=0).known_centers[:] = 7
    assert make_figure1(random_state=0).known_centers.max() < 2


def test_the_forest_comes_close_to_the_best_possible(global_random_seed):
    toy = make_figure1(500, 1000, random_state=global_random_seed)
    fresh = make_figure1(1, 4000, random_state=global_random_seed + 1)
    forest = LACForestClassifier(theta=toy.theta, min_samples_leaf=3, random_state=0)
    forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
    assert_array_equal(forest.classes_, toy.classes)
    best = toy.classes[toy.posterior(fresh.X_unlabeled).argmax(axis=1)]
    reached, bound = (
        np.mean(predicted == fresh.y_unlabeled)
        for predicted in (forest.predict(fresh.X_unlabeled), best)
    )
    assert bound > 0.95
    assert bound - 0.05 < reached < bound + 0.01


def test_plain_gini_overlooks_the_new_class():
    # As in Figure 1, the labelled rows alone give no reason to split on the second feature.
    toy = make_figure1(500, 1000, random_state=0)
    plain = LACForestClassifier(max_features=None, random_state=0)
    plain.fit(toy.X_labeled, toy.y_labeled)
    ours = LACForestClassifier(theta=0.5, max_features=None, random_state=0)
    ours.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
    assert {tree.feature[0] for tree in plain.estimators_} == {0}
    assert {tree.feature[0] for tree in ours.estimators_} == {1}


def test_repr_is_short():
    assert len(repr(make_figure1(random_state=0))) < 300


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_labeled": 0}, ValueError, "n_labeled must be at least 1"),
        ({"n_unlabeled": 1.5}, TypeError, "n_unlabeled must be an integer"),
        ({"theta": 1}, ValueError, "theta must lie strictly between 0 and 1, got 1"),
        ({"theta": "auto"}, ValueError, "theta must lie strictly between 0 and 1, got 'auto'"),
        ({"n_known": 0}, ValueError, "n_known must be at least 1"),
        ({"n_new": 0}, ValueError, "n_new must be at least 1"),
        ({"n_features": 0}, ValueError, "n_features must be at least 1"),
        ({"std": 0}, ValueError, "std must be a positive number, got 0"),
        ({"std": np.inf}, ValueError, "std must be a positive number, got inf"),
        ({"center_box": (1, 1)}, ValueError, r"two numbers in ascending order, got \(1, 1\)"),
        ({"center_box": 3}, ValueError, "two numbers in ascending order, got 3"),
    ],
)
def test_bad_parameters(options, error, message):
    with pytest.raises(error, match=message):
        make_blobs_with_posterior(**options)


def test_posterior_of_another_table():
    with pytest.raises(ValueError, match="X has 3 features, but the toy has 2"):
        make_figure1().posterior(np.zeros((1, 3)))
