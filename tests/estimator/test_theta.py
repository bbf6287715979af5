"""theta that the forest finds by itself, or by an estimator it is given."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from forests import assert_same_forest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from two_blobs import U, X, assert_refused, small_forest, y

import lacforest._grow
import lacforest.mixture._base
from lacforest import LACForestClassifier
from lacforest.mixture import BestBin, KernelMeanEmbedding, RankMixture, ThetaWarning

X_marked, y_marked = np.vstack([X, U]), np.append(y, np.full(len(U), -1))


def quick():
    """What "auto" does, with fewer bootstrap samples."""
    return RankMixture(n_bootstrap=10)


def estimating_forest(theta=None, **parameters):
    return small_forest(theta=theta or quick(), **parameters)


def fitted(theta=None, X=X, y=y, U=U, sample_weight=None, **parameters):
    return estimating_forest(theta, **parameters).fit(X, y, sample_weight, X_unlabeled=U)


class Oracle:
    """Knows theta already. Not of scikit-learn, nor of lacforest."""

    def __init__(self, answer=0.5, interval=None, random_state=None):
        self.answer, self.interval, self.random_state = answer, interval, random_state

    def get_params(self, deep=True):
        return vars(type(self)(self.answer, self.interval, self.random_state))

    def set_params(self, **parameters):
        vars(self).update(parameters)
        return self

    def fit(self, X, X_unlabeled):
        self.seen = X, X_unlabeled
        self.theta_ = self.answer
        if self.interval is not None:
            self.interval_ = self.interval
        return self


class Silent(Oracle):
    """Finds nothing."""

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
    # They say which errors cost most, not how many rows there are.
    table, labels = X[:45], y[:45]
    plain = fitted(X=table, y=labels)
    weighted = fitted(X=table, y=labels, class_weight=class_weight)
    assert weighted.theta_ == plain.theta_
    assert weighted.theta_interval_ == plain.theta_interval_
    assert (weighted.predict_proba(U) != plain.predict_proba(U)).any()


def test_sample_weights_change_theta():
    # Few rows of class 1 stand for many: that half of the unlabelled rows is not new.
    rare = np.flatnonzero((y == 0) | (np.arange(len(y)) < 36))
    weight = np.where(y[rare] == 1, 5.0, 1.0)
    light = fitted(X=X[rare], y=y[rare])
    heavy = fitted(X=X[rare], y=y[rare], sample_weight=weight)
    assert heavy.theta_ < light.theta_ - 0.05
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

    for module in (lacforest._grow, lacforest.mixture._base):
        monkeypatch.setattr(module, "code_columns", counted(module.code_columns))
    fitted()
    assert len(calls) == 1
    RankMixture(n_bootstrap=0).fit(X, U)
    assert len(calls) == 2  # it is counted there as well


# ---------------------------------------------------------------------------- nothing, everything

NOTHING = (
    r"theta is estimated at 0\.\d{3}, with an interval from 0\.00\d to \d\.\d{3}: the data cannot "
    r"tell whether any of the \d+ unlabelled rows is new.*pass it as theta"
)
EVERYTHING = (
    r"theta is estimated at \d\.\d{3}, with an interval from \d\.\d{3} to (1\.000|0\.99\d): all of "
    r"the \d+ unlabelled rows may be new.*same units, scaling and order of columns.*as theta"
)


def known_rows(seed, shift=0.0):
    """60 rows more of the two known blobs, moved along the second axis."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(60, 3)) + np.repeat([[0, shift, 0], [4, shift, 0]], 30, axis=0)


def test_nothing_new():
    with pytest.warns(ThetaWarning, match=NOTHING) as caught:
        forest = fitted(RankMixture(), U=known_rows(1))
    assert [warning.filename for warning in caught] == [__file__]
    assert forest.theta_ < 0.3
    assert (forest.predict(known_rows(2)) == y).mean() > 0.8


def test_everything_new():
    with pytest.warns(ThetaWarning, match=EVERYTHING) as caught:
        forest = fitted(RankMixture(), U=known_rows(1, shift=20))
    assert [warning.filename for warning in caught] == [__file__]
    assert forest.theta_ > 0.9
    assert (forest.predict(known_rows(2, shift=20)) == -1).mean() > 0.9
    assert (forest.predict(X) == y).mean() > 0.8


def test_the_warning_can_be_silenced_by_its_class():
    assert issubclass(ThetaWarning, UserWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ThetaWarning)
        fitted(Oracle(0.0))


@pytest.mark.parametrize("interval", [None, (0.0, 0.0), (0.0, 1.0)])
def test_theta_of_zero_gives_a_forest_of_known_classes(interval):
    with pytest.warns(ThetaWarning, match="cannot tell whether any of the 80"):
        forest = fitted(Oracle(0.0, interval))
    assert forest.theta_ == 0.0
    assert not forest.pseudo_labels_.any()
    assert_array_equal(forest.classes_, [-1, 0, 1])
    assert_array_equal(forest.novelty_score(U), 0.0)
    assert (forest.predict(X) == y).mean() > 0.9
    assert np.isfinite(forest.estimators_[0].impurity).all()


@pytest.mark.parametrize("interval", [None, (0.5, 1.0)])
def test_theta_of_one_takes_every_unlabelled_row_for_new(interval):
    with pytest.warns(ThetaWarning, match="all of the 80 unlabelled rows may be new"):
        forest = fitted(Oracle(1.0, interval))
    assert forest.theta_ == 1.0
    assert forest.pseudo_labels_.all()
    probabilities = forest.predict_proba(U)
    assert np.isfinite(probabilities).all()
    assert (forest.predict(U) == -1).mean() > 0.9
    assert np.isfinite(forest.estimators_[0].impurity).all()


@pytest.mark.parametrize("theta", [0.0, 1.0])
def test_forests_at_the_ends_can_be_saved(tmp_path, theta):
    with pytest.warns(ThetaWarning):
        forest = fitted(Oracle(theta))
    forest.set_params(theta="auto").save(tmp_path / "forest.lac")
    loaded = LACForestClassifier.load(tmp_path / "forest.lac")
    assert loaded.theta_ == theta
    assert_same_forest(loaded, forest)


@pytest.mark.parametrize(
    ("answer", "interval", "warned"),
    [
        (0.5, None, False),
        (0.5, (0.1, 0.9), False),
        (0.5, (0.5 / 80, 1 - 0.5 / 80), False),  # half a row of 80
        (0.5, (0.4 / 80, 0.9), True),
        (0.5, (0.1, 1 - 0.4 / 80), True),
        (0.4 / 80, None, True),
        (1 - 0.4 / 80, None, True),
    ],
)
def test_half_a_row_is_as_good_as_none(answer, interval, warned):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted(Oracle(answer, interval))
    assert [warning.category for warning in caught] == [ThetaWarning] * warned


def test_a_number_warns_of_nothing():
    assert fitted(0.001).theta_ == 0.001
    assert fitted(0.999).theta_ == 0.999


@pytest.mark.parametrize(("n_labeled", "n_unlabeled"), [(1, 80), (60, 1), (1, 1)])
def test_a_single_row_tells_nothing(n_labeled, n_unlabeled):
    message = rf"theta cannot be estimated from {n_labeled} labelled and {n_unlabeled} unlabelled"
    assert_refused(
        ValueError,
        message + r".*Pass more rows, or theta as a number",
        {"theta": "auto"},
        X=X[:n_labeled],
        y=y[:n_labeled],
        X_unlabeled=U[:n_unlabeled],
    )


@pytest.mark.filterwarnings("ignore::lacforest.mixture.ThetaWarning")
@pytest.mark.filterwarnings("ignore:Step I found no feasible split")
@pytest.mark.parametrize(("n_labeled", "n_unlabeled"), [(2, 2), (2, 80), (60, 2)])
def test_two_rows_of_each_side_are_enough(n_labeled, n_unlabeled):
    rows = np.linspace(0, 59, n_labeled).astype(int)
    forest = fitted("auto", X=X[rows], y=y[rows], U=U[-n_unlabeled:])
    assert 0.0 <= forest.theta_ <= 1.0
    assert np.isfinite(forest.predict_proba(U)).all()


@pytest.mark.filterwarnings("ignore:Step I found no feasible split")
def test_constant_features_tell_nothing():
    with pytest.warns(ThetaWarning, match="cannot tell whether any"):
        forest = fitted("auto", X=np.ones((60, 3)), U=np.ones((80, 3)))
    assert forest.theta_ < 0.05


# ---------------------------------------------------------------------------- forms of tables


def with_holes(table):
    holed = table.copy()
    holed[np.random.default_rng(0).random(table.shape) < 0.2] = np.nan
    return holed


def test_missing_values():
    forest = fitted(X=with_holes(X), U=with_holes(U))
    assert 0.3 < forest.theta_ < 0.75


@pytest.mark.parametrize(
    "convert",
    [
        sparse.csr_array,
        sparse.csc_matrix,
        lambda table: pd.DataFrame(table, columns=list("abc")),
        np.asfortranarray,
        np.ndarray.tolist,
    ],
    ids=["CSR", "CSC", "frame", "by column", "list"],
)
@pytest.mark.parametrize("theta", [quick(), KernelMeanEmbedding("km1", "forest", n_bootstrap=5)])
def test_other_forms_of_tables(theta, convert):
    forest, other = fitted(theta), fitted(theta, X=convert(X), U=convert(U))
    assert other.theta_ == forest.theta_
    assert other.theta_interval_ == forest.theta_interval_


def test_foreign_estimators_see_sparse_rows_as_rows():
    seen = fitted(Oracle(0.5), X=sparse.csc_array(X), U=sparse.csr_array(U)).theta_estimator_.seen
    assert [table.format for table in seen] == ["csr", "csr"]
    for found, table in zip(seen, (X, U), strict=True):
        assert_array_equal(found.toarray(), table)


def test_marked_rows():
    order = np.random.default_rng(0).permutation(len(X_marked))
    forest, marked = fitted(), estimating_forest(unlabeled_label=-1)
    marked.fit(X_marked[order], y_marked[order])
    assert marked.theta_ == forest.theta_
    assert marked.theta_interval_ == forest.theta_interval_


def test_in_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), estimating_forest(unlabeled_label=-1))
    pipeline.fit(X_marked, y_marked)
    # Scaling keeps the order of values, which is all that the scores see.
    assert pipeline[-1].theta_ == fitted().theta_


def test_in_a_grid_search():
    search = GridSearchCV(
        estimating_forest(unlabeled_label=-1), {"theta": ["auto", 0.3, 0.5, BestBin()]}, cv=2
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ThetaWarning)  # a fold has few rows
        search.fit(X_marked, y_marked)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert 0.2 < search.best_estimator_.theta_ < 0.8


def test_an_unpickled_forest_knows_its_estimate():
    forest = fitted()
    loaded = pickle.loads(pickle.dumps(forest))
    assert loaded.theta_interval_ == forest.theta_interval_
    assert_array_equal(loaded.theta_estimator_.ratio_curve(), forest.theta_estimator_.ratio_curve())


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
