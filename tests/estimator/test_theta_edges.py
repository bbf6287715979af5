"""Tables that determine theta poorly, or come in other forms."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from estimating import Oracle, estimating_forest, fitted, quick
from forests import assert_same_forest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from two_blobs import U, X, assert_refused, y

from lacforest import LACForestClassifier
from lacforest.mixture import BestBin, KernelMeanEmbedding, RankMixture, ThetaWarning

X_marked, y_marked = np.vstack([X, U]), np.append(y, np.full(len(U), -1))

# ---------------------------------------------------------------------------- nothing, everything

NOTHING = (
    r"theta is estimated at 0\.\d{3}, with an interval from 0\.00\d to \d\.\d{3}: the data cannot "
    r"tell whether any of the \d+ unlabelled rows is new.*pass it as theta"
)
EVERYTHING = (
    r"theta is estimated at \d\.\d{3}, with an interval from \d\.\d{3} to (1\.000|0\.99\d): all of "
    r"the \d+ unlabelled rows may be new.*same units, scaling and order of columns "
    r"\(inside a Pipeline mark rows by unlabeled_label=\), .*as theta"
)


def known_rows(seed, shift=0.0):
    """60 more rows of the two known blobs, shifted along the second axis."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(60, 3)) + np.repeat([[0, shift, 0], [4, shift, 0]], 30, axis=0)


def test_nothing_new():
    with pytest.warns(ThetaWarning, match=NOTHING) as caught:
        forest = estimating_forest(RankMixture()).fit(X, y, X_unlabeled=known_rows(1))
    assert [warning.filename for warning in caught] == [__file__]
    assert forest.theta_ < 0.3
    assert (forest.predict(known_rows(2)) == y).mean() > 0.8


def test_everything_new():
    with pytest.warns(ThetaWarning, match=EVERYTHING) as caught:
        forest = estimating_forest(RankMixture()).fit(X, y, X_unlabeled=known_rows(1, shift=20))
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
    # Scaling preserves the order of values, and the scores depend only on the order.
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
