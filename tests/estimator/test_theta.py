"""theta that the forest estimates itself, or by an estimator that it is given."""

import numpy as np
import pytest
from estimating import Oracle, estimating_forest, fitted, quick
from forests import assert_same_forest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from two_blobs import U, X, assert_refused, y

import lacforest._coding.coded_table
import lacforest.mixture._base
from lacforest import LACForestClassifier
from lacforest.mixture import BestBin, KernelMeanEmbedding, RankMixture


class Silent(Oracle):
    """An estimator without a result."""

    def fit(self, X, X_unlabeled):
        return self


# ---------------------------------------------------------------------------- what is used


def test_theta_is_estimated_by_default():
    assert LACForestClassifier().theta == "auto"
    forest = LACForestClassifier(5, random_state=0).fit(X, y, X_unlabeled=U)
    assert type(forest.theta_estimator_) is RankMixture
    expected = RankMixture(random_state=forest.theta_estimator_.random_state)
    assert forest.theta_estimator_.get_params() == expected.get_params()
    assert forest.theta_ == forest.theta_estimator_.theta_
    assert forest.theta_interval_ == forest.theta_estimator_.interval_
    low, high = forest.theta_interval_
    assert low < 0.5 < high
    assert forest.theta == "auto"


def test_the_forest_is_that_of_the_estimated_number():
    forest = fitted()
    assert 0.4 < forest.theta_ < 0.6
    given = fitted(theta=forest.theta_)
    assert_same_forest(forest, given)
    assert given.theta_ == forest.theta_
    assert given.theta_interval_ is given.theta_estimator_ is None


@pytest.mark.parametrize(
    "estimator",
    [
        BestBin(),
        BestBin("svc", n_bootstrap=0),
        KernelMeanEmbedding("km1", n_bootstrap=0),
        KernelMeanEmbedding(subsample=40, n_subsamples=3, n_bootstrap=5),
    ],
    ids=str,
)
def test_any_estimator_of_the_package(estimator):
    forest = fitted(estimator)
    assert 0.3 < forest.theta_ < 0.8
    assert type(forest.theta_estimator_) is type(estimator)
    assert forest.theta_interval_ == forest.theta_estimator_.interval_
    assert forest.pseudo_labels_.sum() == int(forest.theta_ * len(U))


def test_the_estimator_that_was_given_stays_as_it_was():
    estimator = quick()
    before = dict(vars(estimator))
    forest = fitted(estimator, n_jobs=2)
    assert forest.theta is estimator
    assert vars(estimator) == before
    assert forest.theta_estimator_ is not estimator


# Few rows leave the upper end of theta high, and the fit says so.
@pytest.mark.filterwarnings("ignore:nearly all unlabelled rows may be new")
def test_an_estimator_takes_seed_and_threads_from_the_forest():
    estimator = fitted(n_jobs=2).theta_estimator_
    assert estimator.n_jobs == 2
    assert isinstance(estimator.random_state, int)
    assert fitted(random_state=1).theta_estimator_.random_state != estimator.random_state
    own = RankMixture(n_bootstrap=10, random_state=3, n_jobs=1)
    estimator = fitted(own, n_jobs=2).theta_estimator_
    assert (estimator.random_state, estimator.n_jobs) == (3, 1)


@pytest.mark.parametrize("estimator", [quick(), BestBin("svc", n_bootstrap=5)], ids=str)
def test_the_estimator_says_the_same_outside_of_the_forest(estimator):
    forest = fitted(estimator)
    alone = clone(forest.theta_estimator_).fit(X, U)
    assert alone.theta_ == forest.theta_
    assert alone.interval_ == forest.theta_interval_
    assert_array_equal(alone.scores_.unlabeled, forest.theta_estimator_.scores_.unlabeled)


def test_parameters_of_the_estimator_are_parameters_of_the_forest():
    forest = estimating_forest().set_params(theta__level=0.5)
    assert clone(forest).get_params()["theta__level"] == 0.5
    narrow, wide = forest.fit(X, y, X_unlabeled=U).theta_interval_, fitted().theta_interval_
    assert wide[0] < narrow[0]
    assert narrow[1] < wide[1]


# ---------------------------------------------------------------------------- foreign estimators


def test_an_estimator_from_elsewhere():
    oracle = Oracle(0.3, interval=(0.2, 0.4))
    forest = fitted(oracle)
    assert forest.theta_ == 0.3
    assert forest.theta_interval_ == (0.2, 0.4)
    assert_same_forest(forest, fitted(0.3))
    assert not hasattr(oracle, "theta_")
    assert oracle.random_state is None
    found = forest.theta_estimator_
    assert isinstance(found.random_state, int)
    for seen, table in zip(found.seen, (X, U), strict=True):
        assert_array_equal(seen, table)
    assert fitted(Oracle(np.float32(0.25))).theta_interval_ is None


@pytest.mark.parametrize(
    "answer", [None, np.nan, -0.01, 1.01, np.inf, "0.5", True, [0.5], np.array(0.5)], ids=str
)
def test_an_estimate_that_is_no_share(answer):
    message = r"the estimator .*Oracle.* gave theta_ = .*, which is no share in \[0, 1\]"
    assert_refused(ValueError, message, {"theta": Oracle(answer)})


def test_an_estimator_that_finds_nothing():
    assert_refused(ValueError, r"Silent.* gave theta_ = None", {"theta": Silent()})


def test_an_estimator_that_fails_leaves_the_forest_as_it_was():
    message = r"cv=50 folds need at least 50 labelled and 50 unlabelled rows, got 60 and 40"
    assert_refused(ValueError, message, {"theta": BestBin("svc", cv=50)}, X_unlabeled=U[:40])
    assert_refused(TypeError, r"level must be a number", {"theta": BestBin(level="high")})


# ---------------------------------------------------------------------------- weights


@pytest.mark.parametrize("class_weight", ["balanced", {0: 5.0, 1: 0.1}], ids=str)
def test_class_weights_do_not_change_theta(class_weight):
    # Class weights express costs of errors, not numbers of rows.
    table, labels = X[:45], y[:45]
    plain = fitted(X=table, y=labels)
    weighted = fitted(X=table, y=labels, class_weight=class_weight)
    assert weighted.theta_ == plain.theta_
    assert weighted.theta_interval_ == plain.theta_interval_
    assert (weighted.predict_proba(U) != plain.predict_proba(U)).any()


# Few rows leave the upper end of theta high, and the fit says so.
@pytest.mark.filterwarnings("ignore:nearly all unlabelled rows may be new")
def test_sample_weights_change_theta():
    # The few rows of class 1 represent many, so half of the unlabelled rows are not new.
    rare = np.flatnonzero((y == 0) | (np.arange(len(y)) < 36))
    weight = np.where(y[rare] == 1, 5.0, 1.0)
    light = fitted(X=X[rare], y=y[rare], known_shares="labeled")
    heavy = fitted(X=X[rare], y=y[rare], sample_weight=weight, known_shares="labeled")
    assert heavy.theta_ < light.theta_ - 0.04
    assert abs(heavy.theta_ - 0.5) < abs(light.theta_ - 0.5)


def test_weight_zero_is_an_absent_row():
    weight = np.where(np.arange(len(X)) % 3, 2.0, 0.0)
    zeroed = fitted(sample_weight=weight)
    absent = fitted(X=X[weight > 0], y=y[weight > 0], sample_weight=weight[weight > 0])
    assert zeroed.theta_ == absent.theta_
    assert zeroed.theta_interval_ == absent.theta_interval_
    assert_same_forest(zeroed, absent)


def test_weights_of_one_are_no_weights():
    plain, ones = fitted(), fitted(sample_weight=np.ones(len(X)))
    assert ones.theta_ == plain.theta_
    assert ones.theta_interval_ == plain.theta_interval_


# ---------------------------------------------------------------------------- same bits


@pytest.mark.parametrize("theta", [quick(), BestBin("svc", n_bootstrap=5)], ids=str)
@pytest.mark.parametrize("n_jobs", [2, -1])
def test_any_number_of_threads(theta, n_jobs):
    one, several = fitted(theta, n_jobs=1), fitted(theta, n_jobs=n_jobs)
    assert several.theta_ == one.theta_
    assert several.theta_interval_ == one.theta_interval_
    assert_same_forest(several, one)


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(0)
    order, unlabeled = rng.permutation(len(X)), rng.permutation(len(U))
    forest, shuffled = fitted(), fitted(X=X[order], y=y[order], U=U[unlabeled])
    assert shuffled.theta_ == forest.theta_
    assert shuffled.theta_interval_ == forest.theta_interval_


# Few rows leave the upper end of theta high, and the fit says so.
@pytest.mark.filterwarnings("ignore:nearly all unlabelled rows may be new")
def test_the_same_seed_gives_the_same_theta():
    assert fitted().theta_ == fitted().theta_
    assert fitted(random_state=1).theta_ != fitted().theta_
    states = [np.random.RandomState(5) for _ in range(2)]
    assert fitted(random_state=states[0]).theta_ == fitted(random_state=states[1]).theta_


def test_columns_are_coded_once(monkeypatch):
    calls = []

    def counted(function):
        def count(*args):
            calls.append(args)
            return function(*args)

        return count

    for module in (lacforest._coding.coded_table, lacforest.mixture._base):
        monkeypatch.setattr(module, "code_columns", counted(module.code_columns))
    fitted()
    assert len(calls) == 1
    RankMixture(n_bootstrap=0).fit(X, U)
    assert len(calls) == 2  # it is counted there as well


# ---------------------------------------------------------------------------- learning


def test_hidden_digits():
    # Measured over ten splits: the error of theta is 0.033 on average and 0.119 at most; the
    # accuracy is 0.937, as with the true theta.
    table, digit = load_digits(return_X_y=True)
    errors, accuracies = [], []
    for seed in range(8):
        order = np.random.default_rng(seed).permutation(len(digit))
        labelled, deployed, test = np.split(order, [len(order) // 3, 2 * len(order) // 3])
        labelled = labelled[digit[labelled] < 5]
        truth = np.where(digit < 5, digit, -1)
        forest = LACForestClassifier(50, random_state=seed)
        forest.fit(table[labelled], digit[labelled], X_unlabeled=table[deployed])
        errors.append(abs(forest.theta_ - (digit[deployed] >= 5).mean()))
        accuracies.append((forest.predict(table[test]) == truth[test]).mean())
    assert np.mean(errors) < 0.06
    assert np.mean(accuracies) > 0.91
