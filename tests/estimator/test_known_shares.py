"""Known classes in other shares: what fit does about them, and what it refuses."""

import numpy as np
import pytest
from forests import assert_same_forest
from numpy.testing import assert_allclose, assert_array_equal
from two_blobs import U, X, assert_refused

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest.mixture import KernelMeanEmbedding, ShareMixture

FORESTS = [LACForestClassifier, LACExtraTreesClassifier]


def deployed(shares, theta=0.3, n_rows=600, seed=0):
    """Labelled rows of three classes in equal parts, and deployed rows in other shares."""
    rng = np.random.default_rng(seed)
    centre = np.array([[0, 0, 0], [5, 0, 0], [0, 5, 0], [5, 5, 5]], dtype=float)
    labels = np.repeat([0, 1, 2], 60)
    n_new = round(theta * n_rows)
    truth = np.append(rng.choice(3, n_rows - n_new, p=shares), np.full(n_new, 3))
    table = centre[labels] + rng.normal(size=(len(labels), 3))
    return (
        table,
        labels,
        centre[truth] + rng.normal(size=(n_rows, 3)),
        np.where(truth == 3, -1, truth),
    )


def fit(cls, case, **parameters):
    return cls(**{"n_estimators": 30, "random_state": 0} | parameters).fit(
        case[0], case[1], X_unlabeled=case[2]
    )


@pytest.fixture(scope="module")
def shifted():
    return deployed([0.05, 0.15, 0.8])


@pytest.fixture(scope="module")
def unshifted():
    return deployed([1 / 3, 1 / 3, 1 / 3])


# Labelled shares are wrong here, and the fit says so.
@pytest.mark.filterwarnings("ignore::lacforest.mixture.ThetaWarning")
@pytest.mark.parametrize("cls", FORESTS)
def test_shares_that_moved_are_found_and_used(cls, shifted):
    today, auto = fit(cls, shifted, known_shares="labeled"), fit(cls, shifted)
    assert auto.share_shift_ > 4
    assert np.abs(auto.known_shares_ - [0.05, 0.15, 0.8]).sum() < 0.15
    assert auto.known_shares_interval_.shape == (3, 2)
    assert isinstance(auto.theta_estimator_, ShareMixture)
    assert abs(auto.theta_ - 0.3) < 0.05 < abs(today.theta_ - 0.3)
    accuracy = [(forest.predict(shifted[2]) == shifted[3]).mean() for forest in (today, auto)]
    assert accuracy[1] > accuracy[0] + 0.05


def test_large_tables_tell_shares_by_some_of_their_rows(shifted, monkeypatch):
    monkeypatch.setattr("lacforest._contract.deployment._MOST_SHARE_ROWS", 150)
    forest = fit(LACForestClassifier, shifted)
    scores = forest.theta_estimator_.scores_
    assert len(scores.labeled) < len(shifted[0])
    assert len(scores.unlabeled) == 150
    assert np.abs(forest.known_shares_ - [0.05, 0.15, 0.8]).sum() < 0.3
    assert len(forest.pseudo_labels_) == len(shifted[2])


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize("theta", ["auto", 0.3])
def test_shares_that_stayed_change_no_bit(cls, unshifted, theta):
    today = fit(cls, unshifted, known_shares="labeled", theta=theta)
    auto = fit(cls, unshifted, theta=theta)
    assert auto.share_shift_ < 6
    assert today.share_shift_ is None
    assert_same_forest(auto, today)
    assert auto.theta_ == today.theta_
    assert_array_equal(auto.known_shares_, [1 / 3, 1 / 3, 1 / 3])
    assert auto.known_shares_interval_ is None


@pytest.mark.parametrize("cls", FORESTS)
def test_given_shares(cls, shifted):
    given = fit(cls, shifted, known_shares=[0.05, 0.15, 0.8])
    assert_allclose(given.known_shares_, [0.05, 0.15, 0.8])
    assert given.known_shares_interval_ is None
    assert given.share_shift_ is None
    assert isinstance(given.theta_estimator_, ShareMixture)
    assert abs(given.theta_ - 0.3) < 0.06
    by_label = fit(cls, shifted, known_shares={2: 0.8, 0: 0.05, 1: 0.15})
    assert_same_forest(by_label, given)


def test_a_given_theta_is_kept(shifted):
    forest = fit(LACExtraTreesClassifier, shifted, theta=0.25)
    assert forest.theta_ == 0.25
    assert forest.theta_interval_ is None
    assert forest.share_shift_ > 6


def test_other_estimators_of_theta_get_the_weights(shifted):
    theta = KernelMeanEmbedding(n_bootstrap=0)
    forest = fit(LACForestClassifier, shifted, theta=theta)
    assert isinstance(forest.theta_estimator_, KernelMeanEmbedding)
    assert forest.share_shift_ > 6


def test_shares_are_weights_by_class(shifted):
    """Step I is that of class weights of these ratios, which are large enough to bind no limit."""
    shares = np.array([0.05, 0.15, 0.8])
    by_shares = fit(LACForestClassifier, shifted, theta=0.3, known_shares=shares, gamma=0.0)
    by_weight = fit(
        LACForestClassifier,
        shifted,
        theta=0.3,
        known_shares="labeled",
        gamma=0.0,
        class_weight=dict(enumerate(64 * shares)),
    )
    assert_allclose(by_shares.unlabeled_score_, by_weight.unlabeled_score_, atol=1e-9)


@pytest.mark.parametrize("min_samples_leaf", [5, 20])
def test_limits_count_rows_and_not_shares(shifted, min_samples_leaf):
    # By weight, a leaf of rows of class 0, whose factor is 0.15, would need many times as many.
    forest = fit(
        LACExtraTreesClassifier,
        shifted,
        n_estimators=10,
        theta=0.3,
        known_shares=[0.05, 0.15, 0.8],
        refinement="hard",
        min_samples_leaf=min_samples_leaf,
    )
    leaves = forest.apply(shifted[0])
    marked = forest.apply(shifted[2][forest.pseudo_labels_])
    smallest = []
    for own, new in zip(leaves.T, marked.T, strict=True):
        counts = np.bincount(np.append(own, new))
        smallest.append(counts[counts > 0].min())
    assert min(smallest) == min_samples_leaf


def test_an_absent_class(shifted):
    forest = fit(LACExtraTreesClassifier, shifted, known_shares=[0.0, 0.2, 0.8])
    assert forest.known_shares_[0] == 0.0
    assert np.isfinite(forest.predict_proba(shifted[2])).all()


def test_one_class_has_no_shares_to_move():
    forest = LACForestClassifier(5, random_state=0).fit(X, np.zeros(len(X)), X_unlabeled=U)
    assert forest.known_shares_.tolist() == [1.0]
    assert forest.share_shift_ is None


@pytest.mark.filterwarnings("ignore::lacforest.mixture.ThetaWarning")
@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize("theta", [0.0, 1.0])
def test_nothing_new_and_nothing_known(cls, theta):
    case = deployed([0.1, 0.2, 0.7], theta=theta)
    forest = fit(cls, case)
    assert abs(forest.theta_ - theta) < 0.1
    assert_allclose(forest.known_shares_.sum(), 1.0)
    assert (forest.predict(case[2]) == case[3]).mean() > 0.8


@pytest.mark.filterwarnings("ignore::lacforest.mixture.ThetaWarning")
@pytest.mark.parametrize("cls", FORESTS)
# One row leaves Step I nothing to split.
@pytest.mark.filterwarnings("ignore:Step I found no feasible split:UserWarning")
@pytest.mark.parametrize("n_unlabeled", [1, 2])
def test_fewer_unlabelled_rows_than_classes(cls, n_unlabeled, shifted):
    table, labels, unlabeled, _ = shifted
    forest = fit(cls, (table, labels, unlabeled[:n_unlabeled]), theta=0.5)
    assert_allclose(forest.known_shares_, [1 / 3, 1 / 3, 1 / 3])
    if n_unlabeled == 1:
        assert forest.share_shift_ is None
        with pytest.raises(ValueError, match="theta cannot be estimated from 180 labelled and 1"):
            fit(cls, (table, labels, unlabeled[:1]))


@pytest.mark.filterwarnings("ignore::lacforest.mixture.ThetaWarning")
@pytest.mark.parametrize("cls", FORESTS)
def test_a_class_with_two_rows(cls, shifted):
    table, labels, unlabeled, _ = shifted
    kept = np.append(np.arange(2), np.arange(60, 180))
    forest = fit(cls, (table[kept], labels[kept], unlabeled))
    assert_allclose(forest.known_shares_.sum(), 1.0)
    assert np.isfinite(forest.predict_proba(unlabeled)).all()


def test_text_names_classes_of_numbers(shifted):
    by_text = fit(LACForestClassifier, shifted, known_shares={"0": 0.1, "1": 0.2, "2": 0.7})
    assert_allclose(by_text.known_shares_, [0.1, 0.2, 0.7])


def test_votes_for_classes_that_look_alike_follow_the_shares():
    rng = np.random.default_rng(0)
    known, new = rng.normal(size=(400, 2)), rng.normal(8, 1, size=(100, 2))
    case = (known[:200], np.repeat([0, 1], 100), np.vstack([known[200:], new]))
    parts = []
    for shares in ([0.5, 0.5], [0.9, 0.1]):
        forest = fit(LACExtraTreesClassifier, case, theta=1 / 3, known_shares=shares)
        parts.append(forest.predict_proba(known[200:])[:, 1].mean())
    # The drawn labels of unlabelled rows are those of the votes, hence also these.
    assert parts[1] > parts[0] + 0.1


def test_sample_weights_count_in_the_labelled_shares():
    table, labels, unlabeled, _ = deployed([0.05, 0.15, 0.8])
    weight = np.array([0.15, 0.45, 2.4])[labels]
    forest = LACExtraTreesClassifier(20, random_state=0)
    forest.fit(table, labels, X_unlabeled=unlabeled, sample_weight=weight)
    assert forest.share_shift_ < 4


def test_threads_change_nothing(shifted):
    one = fit(LACExtraTreesClassifier, shifted, n_jobs=1)
    other = fit(LACExtraTreesClassifier, shifted, n_jobs=2)
    assert_same_forest(one, other)
    assert_array_equal(one.known_shares_interval_, other.known_shares_interval_)


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize("shares", ["auto", [0.05, 0.15, 0.8], np.array([0.2, 0.2, 0.6])])
def test_files_keep_shares(cls, shifted, shares, tmp_path):
    forest = fit(cls, shifted, known_shares=shares)
    forest.save(tmp_path / "model.lac")
    loaded = cls.load(tmp_path / "model.lac")
    assert_array_equal(loaded.known_shares_, forest.known_shares_)
    assert loaded.share_shift_ == forest.share_shift_
    if isinstance(shares, str):
        assert_array_equal(loaded.known_shares_interval_, forest.known_shares_interval_)
    assert_array_equal(loaded.predict_proba(shifted[2]), forest.predict_proba(shifted[2]))


@pytest.mark.parametrize(
    ("shares", "error", "match"),
    [
        ("uniform", ValueError, 'must be "auto", "labeled", an array or a dict'),
        (0.5, TypeError, 'must be "auto", "labeled", an array or a dict'),
        (None, TypeError, 'must be "auto", "labeled", an array or a dict'),
        ([0.5, 0.6], ValueError, "must sum to 1, but their sum is 1.1"),
        ([1.2, -0.2], ValueError, "must be finite and not negative, got -0.2"),
        ([float("nan"), 1.0], ValueError, "must be finite and not negative, got nan"),
        (["a", "b"], ValueError, "must be finite and not negative, got 'a'"),
        ([0.2, 0.3, 0.5], ValueError, r"has 3 entries, but y has 2 classes: \[0, 1\]"),
        ({0: 0.5, 7: 0.5}, ValueError, r"names labels that y does not have: \[7\]"),
        ({0: 0.3, "0": 0.2, 1: 0.5}, ValueError, "gives a class two shares, by its label and by"),
        ({0: 1.0}, ValueError, r"lacks the known classes \[1\]: give each a share, 0 where"),
    ],
)
def test_shares_that_make_no_sense(shares, error, match):
    assert_refused(error, match, {"known_shares": shares})
