"""Sources of scores: our forest out of bag, or any classifier out of fold."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from lacforest._utils.kernel_width import median_gamma
from lacforest.mixture import BestBin, KernelMeanEmbedding, RankMixture
from lacforest.mixture._cross_fit import cross_fit_scores

rng = np.random.default_rng(0)
# Known rows in two blobs; 40 % of the unlabelled ones in a third.
CENTERS = np.array([[0.0, 0.0], [5.0, 0.0]])
X = np.tile(CENTERS, (150, 1)) + rng.normal(size=(300, 2))
U = np.vstack([np.tile(CENTERS, (90, 1)), np.tile([[2.5, 5.0]], (120, 1))])
U += rng.normal(size=U.shape)
THETA = 0.4


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier that records its training rows; the first column is the row number."""

    fits: list = []  # noqa: RUF012  (shared by clones, which is the point)

    def __init__(self, random_state=None, answer=None):
        self.random_state = random_state
        self.answer = answer

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        Recorder.fits.append((X[:, 0].tolist(), y.tolist(), self.random_state))
        return self

    def predict_proba(self, X):
        share = X[:, 0] / 1000 if self.answer is None else np.full(len(X), self.answer)
        return np.column_stack([1 - share, share])


@pytest.fixture
def fits():
    Recorder.fits.clear()
    return Recorder.fits


def numbered(n_rows):
    return np.arange(float(n_rows))[:, None]


# ---------------------------------------------------------------------------- cross-fitting


def test_no_row_is_scored_by_a_model_that_saw_it(fits):
    estimator = BestBin(Recorder(), cv=4, n_bootstrap=0, random_state=0)
    estimator.fit(numbered(20), numbered(30) + 20)
    assert len(fits) == 4
    for rows, labels, _ in fits:
        assert labels == [int(row >= 20) for row in rows]  # unlabelled rows are class 1
        assert sum(labels) in (22, 23)  # folds are stratified
    seen = np.bincount(np.concatenate([rows for rows, _, _ in fits]).astype(int))
    assert_array_equal(seen, 3)
    assert_array_equal(estimator.scores_.labeled, np.arange(20) / 1000)
    assert_array_equal(estimator.scores_.unlabeled, np.arange(20, 50) / 1000)


def test_scorers_without_a_seed_get_one(fits):
    for _ in range(2):
        BestBin(Recorder(), n_bootstrap=0, random_state=0).fit(numbered(20), numbered(30))
    seeds = [seed for _, _, seed in fits]
    assert all(isinstance(seed, int) for seed in seeds)
    assert len(set(seeds[:5])) == 5
    assert seeds[:5] == seeds[5:]


def test_scorers_keep_a_seed_of_their_own(fits):
    scorer = Recorder(random_state=7)
    BestBin(scorer, n_bootstrap=0, random_state=0).fit(numbered(20), numbered(30))
    assert [seed for _, _, seed in fits] == [7] * 5
    assert not hasattr(scorer, "classes_")


def test_seeds_reach_into_a_pipeline():
    # Bootstrap samples of the forest make the scores depend on its seed.
    scorer = make_pipeline(StandardScaler(), RandomForestClassifier(5))
    one, other, third = (
        BestBin(scorer, n_bootstrap=0, random_state=seed).fit(X, U) for seed in (0, 0, 1)
    )
    assert_array_equal(one.scores_.labeled, other.scores_.labeled)
    assert (one.scores_.labeled != third.scores_.labeled).any()
    assert scorer[-1].random_state is None


def test_folds_are_drawn_by_the_seed():
    scorer = LogisticRegression()
    one, other, third = (
        BestBin(scorer, n_bootstrap=0, random_state=seed).fit(X, U) for seed in (0, 0, 1)
    )
    assert_array_equal(one.scores_.labeled, other.scores_.labeled)
    assert (one.scores_.labeled != third.scores_.labeled).any()


@pytest.mark.parametrize(
    "cv", [2, np.int64(3), None, KFold(4, shuffle=True, random_state=0), LeaveOneOut()], ids=str
)
def test_any_splitter_that_tests_every_row_once(cv):
    estimator = BestBin(LogisticRegression(), cv=cv, n_bootstrap=0, random_state=0)
    estimator.fit(X[:15], U[165:195])
    assert 0.2 < estimator.theta_ < 0.8


@pytest.mark.parametrize("n_jobs", [2, -1])
@pytest.mark.parametrize("scorer", ["svc", RandomForestClassifier(5)], ids=str)
def test_any_number_of_threads(scorer, n_jobs):
    one = BestBin(scorer, random_state=0, n_jobs=1).fit(X, U)
    several = BestBin(scorer, random_state=0, n_jobs=n_jobs).fit(X, U)
    assert_array_equal(several.scores_.labeled, one.scores_.labeled)
    assert_array_equal(several.scores_.unlabeled, one.scores_.unlabeled)
    assert several.interval_ == one.interval_


# ---------------------------------------------------------------------------- scorers

SCORERS = {
    "forest": "forest",
    "svc": "svc",
    "decision function": SVC(C=10.0, gamma="scale"),
    "probabilities": RandomForestClassifier(20, min_samples_leaf=5),
    "pipeline": make_pipeline(StandardScaler(), SVC()),
}


@pytest.mark.parametrize("kind", SCORERS)
@pytest.mark.parametrize("make", [RankMixture, BestBin, KernelMeanEmbedding])
def test_any_classifier_may_give_the_scores(make, kind):
    estimator = make(scorer=SCORERS[kind], n_bootstrap=0, random_state=0).fit(X, U)
    assert estimator.theta_ == pytest.approx(THETA, abs=0.12)
    # Higher scores mean that a row looks newer.
    scores = estimator.scores_
    assert np.median(scores.unlabeled[180:]) > np.quantile(scores.labeled, 0.95)
    assert np.median(scores.unlabeled[:180]) < np.quantile(scores.labeled, 0.9)


@pytest.fixture
def one_thread():
    """Limit the threads: boosting is very slow if other processes use the cores too."""
    with threadpool_limits(1, user_api="openmp"):
        yield


def test_boosted_trees_give_scores(one_thread):
    scorer = HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=5)
    estimator = RankMixture(scorer, n_bootstrap=0, random_state=0).fit(X, U)
    assert estimator.theta_ == pytest.approx(THETA, abs=0.12)


def test_a_line_tells_new_rows_apart_if_they_are_all_on_one_side():
    estimator = RankMixture(LogisticRegression(), n_bootstrap=0, random_state=0).fit(X, U)
    assert estimator.theta_ == pytest.approx(THETA, abs=0.12)


def test_the_svc_is_the_one_of_the_paper():
    table, truth = np.vstack([X[:60], U[150:]]), np.repeat([0, 1], [60, 150])
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_fit_scores("svc", table, 60, folds, 0, 1)
    for train, test in folds.split(table):
        squared = ((table[train][:, None] - table[train]) ** 2).sum(axis=2)
        model = SVC(C=1.0, gamma=1 / np.median(squared)).fit(table[train], truth[train])
        np.testing.assert_allclose(scores[test], model.decision_function(table[test]), rtol=1e-6)


def test_the_width_of_rows_that_coincide():
    some = np.random.default_rng(0)
    assert median_gamma(np.ones((5, 2)), some) == 1.0
    assert median_gamma(np.array([[0.0], [2.0], [4.0]]), some) == 1 / 4


def test_the_width_of_many_rows_is_that_of_a_sample():
    table = np.random.default_rng(0).normal(size=(5000, 2))
    # The squared distance of two normal vectors is 4 times an exponential variable.
    assert median_gamma(table, np.random.default_rng(1)) == pytest.approx(
        1 / (4 * np.log(2)), rel=0.05
    )


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("scorer", ["forest", LogisticRegression(), "svc"], ids=str)
def test_sparse_tables(scorer, make):
    dense, thin = (
        BestBin(scorer, n_bootstrap=0, random_state=0).fit(convert(X), convert(U))
        for convert in (np.asarray, make)
    )
    np.testing.assert_allclose(dense.scores_.labeled, thin.scores_.labeled, atol=1e-3)
    assert thin.theta_ == pytest.approx(dense.theta_, abs=0.02)


def test_missing_values_need_a_scorer_that_knows_them(one_thread):
    holed = X.copy()
    holed[::7, 1] = np.nan
    for scorer in ("forest", HistGradientBoostingClassifier(max_iter=10)):
        estimator = BestBin(scorer, n_bootstrap=0, random_state=0).fit(holed, U)
        assert np.isfinite(estimator.scores_.labeled).all()
    with pytest.raises(ValueError, match="missing values, which an SVC does not accept"):
        BestBin("svc").fit(holed, U)


# ---------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("scorer", ["Forest", "rbf", ""])
def test_scorers_of_another_name(scorer):
    message = rf'scorer must be "forest", "svc" or a scikit-learn classifier, got \'{scorer}\''
    with pytest.raises(ValueError, match=message):
        BestBin(scorer).fit(X, U)


@pytest.mark.parametrize("scorer", [None, 5, SVC, ..., ["svc"]], ids=str)
def test_scorers_that_are_no_classifiers(scorer):
    message = r'scorer must be "forest", "svc" or a scikit-learn classifier, got'
    with pytest.raises(TypeError, match=message):
        BestBin(scorer).fit(X, U)


def test_scorers_that_give_no_scores():
    message = "scorer StandardScaler.* has neither decision_function nor predict_proba"
    with pytest.raises(TypeError, match=message):
        BestBin(StandardScaler()).fit(X, U)


@pytest.mark.parametrize("cv", [1, 0, -3])
def test_too_few_folds(cv):
    with pytest.raises(ValueError, match=rf"cv must be at least 2, got {cv}"):
        BestBin("svc", cv=cv).fit(X, U)


@pytest.mark.parametrize(("n_labeled", "n_unlabeled"), [(4, 50), (50, 4), (2, 2)])
def test_fewer_rows_than_folds(n_labeled, n_unlabeled):
    message = (
        r"cv=5 folds need at least 5 labelled and 5 unlabelled rows, got "
        rf"{n_labeled} and {n_unlabeled}: pass a smaller cv, or scorer='forest'"
    )
    with pytest.raises(ValueError, match=message):
        BestBin("svc").fit(X[:n_labeled], U[:n_unlabeled])
    assert 0 <= BestBin("svc", cv=2).fit(X[:n_labeled], U[:n_unlabeled]).theta_ <= 1


def test_splitters_that_do_not_test_every_row_once():
    splitter = ShuffleSplit(3, test_size=0.5, random_state=0)
    tested = np.bincount(np.concatenate([test for _, test in splitter.split(X[:40])]))
    never = 40 - np.count_nonzero(tested)
    message = (
        rf"cv must test every row once, but ShuffleSplit.* never tests {never} rows and "
        rf"tests {(tested > 1).sum()} rows more than once"
    )
    with pytest.raises(ValueError, match=message):
        BestBin("svc", cv=splitter).fit(X[:15], U[:25])
    message = "never tests 0 rows and tests 40 rows more than once"
    with pytest.raises(ValueError, match=message):
        BestBin("svc", cv=RepeatedKFold(n_splits=3, n_repeats=2)).fit(X[:15], U[:25])


@pytest.mark.parametrize("cv", ["five", 2.5, True])
def test_cv_of_another_kind(cv):
    with pytest.raises(ValueError, match=r"\bcv\b|fold"):  # releases of scikit-learn differ
        BestBin("svc", cv=cv).fit(X, U)


def test_cv_is_not_looked_at_by_the_forest():
    forests = [
        BestBin(cv=cv, n_bootstrap=0, random_state=0).fit(X, U) for cv in (5, StratifiedKFold(2))
    ]
    assert forests[0].theta_ == forests[1].theta_


@pytest.mark.parametrize("answer", [np.nan, np.inf])
def test_scores_that_are_not_finite(answer):
    with pytest.raises(ValueError, match=r"scorer Recorder.* returned scores that are not finite"):
        BestBin(Recorder(answer=answer)).fit(X, U)
