"""The most pseudo-labelled rows of a tree: its size, what it is for, and what it leaves alone."""

import numpy as np
import pytest
from two_blobs import U, X, y

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest._contract.deployment import Theta
from lacforest._growing.plan import (
    labeled_cap,
    n_pseudo_labels,
    pseudo_label_cap,
    unlabeled_cap,
)
from lacforest._input.training_data import RowTotals
from lacforest.mixture import RankMixture


@pytest.mark.parametrize(
    ("n_labeled", "theta", "upper", "multiple", "expected"),
    [
        (60, 0.5, 0.5, 1.0, 60),
        (60, 0.5, 0.5, 2.0, 120),
        (500, 0.2, 0.2, 1.0, 200),
        (500, 0.2, 0.2, 0.5, 100),
        (500, 0.2, 0.6, 1.0, 750),
        (100, 0.75, 0.75, 1.0, 300),
        (60, 0.001, 0.001, 1.0, 1),  # a tree without new rows would never predict "new"
        (60, 0.0, 0.0, 1.0, 1),
        (60, 0.5, 1.0, 1.0, None),
        (60, 0.5, 0.5, None, None),
    ],
)
def test_size_of_the_cap(n_labeled, theta, upper, multiple, expected):
    assert pseudo_label_cap(n_labeled, theta, upper, multiple) == expected


@pytest.mark.parametrize("theta", [0.01, 0.2, 0.29, 0.5])
def test_no_cap_of_either_kind_binds_on_two_unlabelled_rows_per_labelled_one(theta):
    n_labeled = 150
    assert n_pseudo_labels(2 * n_labeled, theta) <= pseudo_label_cap(n_labeled, theta, theta, 1.0)
    assert unlabeled_cap(n_labeled, 1.0) == 2 * n_labeled


@pytest.mark.parametrize(
    ("n_labeled", "multiple", "expected"),
    [(500, 1.0, 1000), (60, 0.5, 60), (0.2, 1.0, 1), (60, None, None)],
)
def test_size_of_the_cap_of_unlabelled_rows(n_labeled, multiple, expected):
    assert unlabeled_cap(n_labeled, multiple) == expected


@pytest.mark.parametrize(
    ("n_unlabeled", "lower", "n_known", "multiple", "weight", "expected"),
    [
        (1000, 0.5, 5, 1.0, 1.0, 1000),
        (1000, 0.8, 5, 2.0, 1.0, 400),
        (1000, 0.71, 5, 1.0, 1.0, 580),
        (1000, 0.8, 5, 1.0, 2.0, 200),
        (1000, 0.8, 20, 1.0, 1.0, 600),  # 30 rows of every class
        (2, 1.0, 1, 1.0, 100.0, 1),
        (1000, 0.8, 5, None, 1.0, None),
    ],
)
def test_size_of_the_cap_of_labelled_rows(n_unlabeled, lower, n_known, multiple, weight, expected):
    shares = np.full(n_known, 100 * weight)
    total = float(shares.sum())
    sums = (total, total, shares, weight != 1.0, True)
    totals = RowTotals(100 * n_known, n_unlabeled, n_known, 2, *sums)
    assert labeled_cap(totals, 1.0, lower, multiple) == expected
    if expected is not None and n_known == 5:
        assert labeled_cap(totals, 0.5, lower, multiple) == max(expected // 2, 150 // weight)


@pytest.mark.parametrize("weight", [None, 2.0**-10])
def test_trees_have_no_more_unlabelled_rows_than_the_cap(weight):
    few = slice(0, None, 10)
    n_labeled = len(X[few])
    forest = LACExtraTreesClassifier(6, theta=0.4, random_state=0, n_explorers=4)
    weights = None if weight is None else np.full(n_labeled, weight)
    forest.fit(X[few], y[few], X_unlabeled=U, sample_weight=weights)
    exploring = forest._explored
    roots = exploring.explored_counts[exploring.tree_start[:-1]]
    assert 2 * n_labeled < len(U)
    np.testing.assert_array_equal(roots[:, -1], 2 * n_labeled)
    # Unlabelled rows of known classes per labelled row of a tree, by weight.
    assert exploring.ratio == pytest.approx(0.6 * 2 / (weight or 1.0))


def test_gamma_is_a_share_of_the_rows_of_a_tree():
    few = slice(0, None, 10)
    gamma = 0.2
    assert gamma * len(U) > 2 * len(X[few])  # as a share of all rows, it would allow no split
    forest = LACExtraTreesClassifier(4, theta=0.4, gamma=gamma, random_state=0)
    forest.fit(X[few], y[few], X_unlabeled=U)
    assert len(forest._explored.nodes) > forest.n_explorers


def test_the_caps_are_those_of_the_ends_that_the_data_allow():
    assert Theta(0.2, (0.1, 0.4)).upper == 0.4
    assert Theta(0.2, (0.1, 0.4)).lower == 0.1
    assert Theta(0.2).upper == Theta(0.2).lower == 0.2


# Of 400 labelled rows, trees take at most 0.8 or 1.2 times 500 unlabelled ones.
@pytest.mark.parametrize(("theta", "binds"), [(0.6, False), (0.4, False), (0.7, True)])
def test_labelled_rows_are_capped_where_they_are_many(theta, binds):
    table, label = make_rows(2_000, np.random.default_rng(0))
    known = np.flatnonzero(label >= 0)[:400]

    def nodes(cap):
        forest = LACExtraTreesClassifier(4, theta=theta, pseudo_cap=cap, random_state=0)
        forest.fit(table[known], label[known], X_unlabeled=table[-500:])
        return forest._forest.nodes

    capped, uncapped = nodes(1.0), nodes(None)
    assert binds != (len(capped) == len(uncapped) and (capped == uncapped).all())


class Undetermined(RankMixture):
    """An estimator whose interval leaves theta open."""

    def fit_stack(self, *_):
        self.theta_, self.interval_ = 0.3, (0.0, 1.0)
        return self


def test_no_cap_where_theta_is_undetermined():
    few = np.arange(60) % 3 > 0  # so many that only the cap of pseudo-labels could bind
    assert len(U) <= 2 * few.sum() < 2 * 0.7 * len(U)
    with pytest.warns(UserWarning, match="theta is estimated at"):
        open_ended = LACExtraTreesClassifier(4, theta=Undetermined(), random_state=0).fit(
            X[few], y[few], X_unlabeled=U
        )
    uncapped = LACExtraTreesClassifier(4, theta=0.3, pseudo_cap=None, random_state=0)
    uncapped.fit(X[few], y[few], X_unlabeled=U)
    assert (open_ended._forest.nodes == uncapped._forest.nodes).all()


def make_rows(n_rows, rng):
    """Two known classes and one new one (-1), which overlap."""
    label = rng.choice([0, 1, -1], p=[0.25, 0.25, 0.5], size=n_rows)
    centres = np.array([[0, 0, 0, 0], [2, 0, 0, 0], [1, 1.8, 0, 0]])
    return centres[label] + rng.normal(size=(n_rows, 4)), label


def accuracies(make, seed):
    """Of 40 labelled rows with 200 and with 6,000 unlabelled ones."""
    rng = np.random.default_rng(seed)
    table, label = make_rows(400, rng)
    table, label = table[label >= 0][:40], label[label >= 0][:40]
    unlabeled, (tested, truth) = make_rows(6_000, rng)[0], make_rows(2_000, rng)
    return [
        make().fit(table, label, X_unlabeled=unlabeled[:n_rows]).score(tested, truth)
        for n_rows in (200, 6_000)
    ]


@pytest.mark.parametrize(
    ("kind", "gain"), [(LACExtraTreesClassifier, 0.05), (LACForestClassifier, 0.01)]
)
def test_more_unlabelled_rows_do_no_harm(kind, gain):
    def mean_accuracies(cap):
        def make():
            return kind(60, theta=0.5, pseudo_cap=cap, random_state=0)

        return np.mean([accuracies(make, seed) for seed in range(3)], axis=0)

    few, many = mean_accuracies(1.0)
    assert many > few - 0.03
    # What the cap is for: without it, known rows are drowned by pseudo-labelled ones.
    assert many > mean_accuracies(None)[1] + gain


def test_many_labelled_rows_do_not_drown_new_ones():
    def recall(cap):
        rng = np.random.default_rng(1)
        (table, label), (unlabeled, truth) = make_rows(7_000, rng), make_rows(1_400, rng)
        kept = (truth < 0) | (np.arange(1_400) % 7 < 3)  # 0.7 of these are new
        forest = LACExtraTreesClassifier(60, theta=0.7, pseudo_cap=cap, random_state=0)
        forest.fit(table[label >= 0], label[label >= 0], X_unlabeled=unlabeled[kept])
        tested, truth = make_rows(2_000, rng)
        return (forest.predict(tested[truth < 0]) == forest.new_label_).mean()

    assert recall(1.0) > recall(None) + 0.1


def test_the_paper_has_no_cap():
    assert LACForestClassifier().pseudo_cap is None
    assert LACExtraTreesClassifier().pseudo_cap == 1.0


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_any_number_of_threads(n_jobs):
    few = slice(0, None, 10)

    def nodes(n_jobs):
        forest = LACExtraTreesClassifier(9, theta=0.4, random_state=0, n_jobs=n_jobs)
        return forest.fit(X[few], y[few], X_unlabeled=U)._forest.nodes

    assert (nodes(1) == nodes(n_jobs)).all()
