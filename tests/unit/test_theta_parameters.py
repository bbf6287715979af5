"""Estimators of theta by name, their parameters, and rejected input."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

import lacforest.mixture
from lacforest.mixture import (
    BestBin,
    KernelMeanEmbedding,
    RankMixture,
    ThetaEstimator,
    estimate_theta,
    make_estimator,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
U = np.vstack([rng.normal(size=(40, 2)), rng.normal(6, 1, size=(40, 2))])
CLASSES = [RankMixture, BestBin, KernelMeanEmbedding]
every_class = pytest.mark.parametrize("make", CLASSES)
NAN = float("nan")


def refused(error, message, make=BestBin, **parameters):
    """All three ways of fitting validate the parameters first."""
    estimator = make(**parameters)
    for fit in (
        lambda: estimator.fit(X, U),
        lambda: estimator.fit_scores(X[:, 0], U[:, 0]),
        lambda: estimate_theta(X, U, estimator),
    ):
        with pytest.raises(error, match=message) as caught:
            fit()
        assert caught.type is error
    assert vars(estimator) == vars(make(**parameters))


# ---------------------------------------------------------------------------- parameters


@every_class
@pytest.mark.parametrize("level", [0, 1, 0.0, 1.0, -0.5, 90, NAN, np.inf])
def test_level_out_of_range(make, level):
    message = rf"level must lie strictly between 0 and 1, got {level}"
    refused(ValueError, message, make, level=level)


@every_class
@pytest.mark.parametrize("level", ["0.9", None, True, [0.9], 0.9j])
def test_level_that_is_no_number(make, level):
    refused(TypeError, r"level must be a number in \(0, 1\), got", make, level=level)


@every_class
def test_a_negative_bootstrap(make):
    refused(ValueError, "n_bootstrap must be at least 0, got -1", make, n_bootstrap=-1)


@every_class
@pytest.mark.parametrize("value", [10.0, "10", None, True])
def test_a_bootstrap_that_is_no_integer(make, value):
    refused(TypeError, "n_bootstrap must be an integer, got", make, n_bootstrap=value)


@every_class
def test_scorers_are_looked_at_before_data(make):
    refused(ValueError, 'scorer must be "forest", "svc" or', make, scorer="tree")
    refused(TypeError, 'scorer must be "forest", "svc" or', make, scorer=7)


@pytest.mark.parametrize("variant", ["KM2", "km", None, 2])
def test_variants_of_another_name(variant):
    message = rf'variant must be "km1" or "km2", got {variant!r}'
    refused(ValueError, message, KernelMeanEmbedding, variant=variant)


@pytest.mark.parametrize("mixing", [-0.1, 1.1, NAN, "0.2", None, True])
def test_mixing_out_of_range(mixing):
    message = r"mixing must be a number in \[0, 1\], got"
    refused(ValueError, message, KernelMeanEmbedding, mixing=mixing)


@pytest.mark.parametrize("bandwidth", [0, -1.0, NAN, np.inf, "1", True])
def test_bandwidths_that_are_not_positive(bandwidth):
    message = r"bandwidth must be a positive number or None, got"
    refused(ValueError, message, KernelMeanEmbedding, bandwidth=bandwidth)


def test_subsamples_of_one_row():
    refused(ValueError, "subsample must be at least 2, got 1", KernelMeanEmbedding, subsample=1)
    message = "n_subsamples must be at least 1, got 0"
    refused(ValueError, message, KernelMeanEmbedding, n_subsamples=0)


@pytest.mark.parametrize("value", [10.0, "10", True])
def test_subsamples_that_are_no_integers(value):
    message = "subsample must be an integer or None, got"
    refused(TypeError, message, KernelMeanEmbedding, subsample=value)
    refused(
        TypeError, "n_subsamples must be an integer, got", KernelMeanEmbedding, n_subsamples=value
    )


@every_class
def test_random_state_that_is_no_seed(make):
    with pytest.raises(ValueError, match="cannot be used to seed"):
        make(random_state="seed").fit(X, U)


@every_class
@pytest.mark.parametrize("level", [np.float32(0.5), 1e-9, 1 - 1e-9])
def test_numbers_of_any_type(make, level):
    estimator = make(level=level, n_bootstrap=np.int64(3), random_state=np.uint8(4))
    low, high = estimator.fit_scores(X[:, 0], U[:, 0]).interval_
    assert low <= estimator.theta_ <= high


@every_class
def test_parameters_are_those_of_the_constructor(make):
    estimator = make(level=0.5, n_bootstrap=7, cv=3, random_state=1, n_jobs=2, scorer="forest")
    assert clone(estimator).get_params() == estimator.get_params()
    assert estimator.get_params()["level"] == 0.5
    assert "level=0.5" in repr(estimator)


def test_a_random_state_moves_on_between_fits():
    state = np.random.RandomState(0)
    estimator = BestBin(n_bootstrap=5, random_state=state)
    first = estimator.fit(X, U).scores_
    second = estimator.fit(X, U).scores_
    assert (first.labeled != second.labeled).any()
    again = BestBin(n_bootstrap=5, random_state=0).fit(X, U).scores_
    assert_array_equal(first.labeled, again.labeled)


# ---------------------------------------------------------------------------- scores


@pytest.mark.parametrize("bad", [NAN, np.inf, -np.inf])
@pytest.mark.parametrize("side", ["labeled", "unlabeled"])
def test_scores_that_are_not_finite(side, bad):
    scores = {"labeled": [0.0, 1.0], "unlabeled": [0.0, 1.0, 2.0]}
    scores[side][1] = bad
    with pytest.raises(ValueError, match=rf"Input {side} contains"):
        BestBin().fit_scores(**scores)


@pytest.mark.parametrize("side", ["labeled", "unlabeled"])
def test_scores_of_another_shape(side):
    scores = {"labeled": [0.0, 1.0], "unlabeled": [0.0, 1.0, 2.0]}
    with pytest.raises(ValueError, match=rf"{side} must have one score per row, got .*\(3, 1\)"):
        BestBin().fit_scores(**scores | {side: np.ones((3, 1))})
    with pytest.raises(ValueError, match="0 sample"):
        BestBin().fit_scores(**scores | {side: []})
    with pytest.raises(ValueError, match="could not convert"):
        BestBin().fit_scores(**scores | {side: ["low", "high"]})


@every_class
def test_weights_that_do_not_fit_the_scores(make):
    for weight, message in (
        ([1.0], "sample_weight has 1 entries"),
        ([1.0, -1.0], "sample_weight must not be negative"),
        ([0.0, 0.0], "sample_weight is zero for every labelled row"),
        ([1.0, NAN], "sample_weight contains NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            make().fit_scores([0.0, 1.0], [0.0, 1.0, 2.0], weight)


def test_scores_in_lists_and_series():
    estimator = BestBin(random_state=0)
    expected = estimator.fit_scores([0, 1, 1, 2], [1, 2, 3]).interval_
    found = estimator.fit_scores(pd.Series([0, 1, 1, 2], index=list("abcd")), (1, 2, 3)).interval_
    assert found == expected
    assert estimator.scores_.labeled.dtype == np.float64


@every_class
def test_scores_of_a_fit_give_its_estimate_again(make):
    estimator = make(n_bootstrap=5, random_state=0).fit(X, U)
    assert estimator.scores_.labeled.shape == (60,)
    assert estimator.scores_.unlabeled.shape == (80,)
    again = clone(estimator).fit_scores(estimator.scores_.labeled, estimator.scores_.unlabeled)
    assert again.theta_ == estimator.theta_
    assert again.interval_ == estimator.interval_


# ---------------------------------------------------------------------------- tables


@pytest.mark.parametrize(("n_labeled", "n_unlabeled"), [(1, 1), (1, 80), (60, 1)])
def test_a_single_row_tells_nothing(n_labeled, n_unlabeled):
    message = (
        rf"theta cannot be estimated from {n_labeled} labelled and {n_unlabeled} unlabelled "
        r"row\(s\).*at least two of each are needed"
    )
    for make in CLASSES:
        with pytest.raises(ValueError, match=message):
            make().fit(X[:n_labeled], U[:n_unlabeled])


def test_subsamples_of_a_single_row():
    with pytest.raises(ValueError, match="theta cannot be estimated from 1 labelled and 10"):
        KernelMeanEmbedding(subsample=10).fit(X[:1], U)


@pytest.mark.parametrize(
    ("unlabeled", "message"),
    [
        (U[:0], "X_unlabeled has no rows"),
        (U[:, :1], "X_unlabeled has 1 features, but X has 2"),
        (U[:, 0], "Expected 2D array"),
        (np.where(U > 5, np.inf, U), "X_unlabeled contains infinity"),
        (U.astype(str), "X_unlabeled contains text"),
    ],
    ids=["no rows", "another width", "one dimension", "infinite", "text"],
)
def test_tables_that_do_not_fit(unlabeled, message):
    with pytest.raises(ValueError, match=message):
        BestBin().fit(X, unlabeled)


def test_columns_in_another_order():
    frames = [pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(U, columns=["b", "a"])]
    with pytest.raises(ValueError, match="must have the columns of X in the same order"):
        BestBin().fit(*frames)


def test_names_of_columns_are_kept():
    frames = [pd.DataFrame(table, columns=["a", "b"]) for table in (X, U)]
    estimator = BestBin().fit(*frames)
    assert estimator.feature_names_in_.tolist() == ["a", "b"]
    assert estimator.n_features_in_ == 2


def test_sparse_missing_and_dense_tables():
    expected = BestBin(random_state=0).fit(X, U)
    found = BestBin(random_state=0).fit(sparse.csr_array(X), sparse.csc_matrix(U))
    assert found.interval_ == expected.interval_
    holed = X.copy()
    holed[::5, 0] = NAN
    assert np.isfinite(BestBin(random_state=0).fit(holed, U).scores_.labeled).all()


def test_rows_of_weight_zero_are_not_there():
    weight = np.where(np.arange(60) % 3, 1.0, 0.0)
    for make in CLASSES:
        zeroed = make(n_bootstrap=3, random_state=0).fit(X, U, weight)
        absent = make(n_bootstrap=3, random_state=0).fit(X[weight > 0], U, weight[weight > 0])
        assert zeroed.theta_ == absent.theta_
        assert zeroed.interval_ == absent.interval_
        assert len(zeroed.scores_.labeled) == 40
    with pytest.raises(ValueError, match="sample_weight is zero for every labelled row"):
        BestBin().fit(X, U, np.zeros(60))


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
@every_class
def test_weights_of_any_size(make, scale):
    # Only relative weights matter.
    weight = np.where(np.arange(60) % 2, 1.0, 3.0)
    one = make(n_bootstrap=3, random_state=0).fit_scores(X[:, 0], U[:, 0], weight)
    other = make(n_bootstrap=3, random_state=0).fit_scores(X[:, 0], U[:, 0], weight * scale)
    assert other.theta_ == pytest.approx(one.theta_, abs=1e-6)
    assert other.interval_ == pytest.approx(one.interval_, abs=1e-6)


def test_data_are_not_changed():
    tables = X.copy(), U.copy(), np.ones(60)
    for table in tables:
        table.flags.writeable = False
    for make in CLASSES:
        make(n_bootstrap=2).fit(*tables)
    assert_array_equal(tables[0], X)


@every_class
def test_fitted_estimators_can_be_pickled(make):
    estimator = make(n_bootstrap=3, random_state=0).fit(X, U)
    loaded = pickle.loads(pickle.dumps(estimator))
    assert loaded.theta_ == estimator.theta_
    assert loaded.interval_ == estimator.interval_
    assert_array_equal(loaded.ratio_curve(), estimator.ratio_curve())


# ---------------------------------------------------------------------------- subsamples


def test_theta_is_the_mean_over_subsamples():
    estimator = KernelMeanEmbedding(
        scorer="forest", subsample=30, n_subsamples=4, n_bootstrap=5, random_state=0
    ).fit(X, U)
    assert len(estimator.scores_.labeled) == len(estimator.scores_.unlabeled) == 4 * 30
    parts = [
        KernelMeanEmbedding(scorer="forest", n_bootstrap=0).fit_scores(labeled, unlabeled).theta_
        for labeled, unlabeled in zip(
            np.split(estimator.scores_.labeled, 4),
            np.split(estimator.scores_.unlabeled, 4),
            strict=True,
        )
    ]
    assert len(set(parts)) > 1
    assert estimator.theta_ == pytest.approx(np.mean(parts))
    low, high = estimator.interval_
    assert low <= estimator.theta_ <= high
    again = clone(estimator).fit(X, U)
    assert again.interval_ == estimator.interval_


def test_subsamples_as_large_as_the_sample():
    estimator = KernelMeanEmbedding(subsample=1000, n_subsamples=2, n_bootstrap=0, random_state=0)
    scores = estimator.fit(X, U).scores_
    assert len(scores.labeled) == 2 * len(X)
    assert len(scores.unlabeled) == 2 * len(U)
    assert estimator.interval_ is None


# ---------------------------------------------------------------------------- by name


@pytest.mark.parametrize(
    ("method", "make", "variant"),
    [
        ("auto", RankMixture, None),
        ("rank_mixture", RankMixture, None),
        ("best_bin", BestBin, None),
        ("km1", KernelMeanEmbedding, "km1"),
        ("km2", KernelMeanEmbedding, "km2"),
    ],
)
def test_estimators_by_name(method, make, variant):
    estimator = make_estimator(method, level=0.8, random_state=3, n_jobs=2)
    assert type(estimator) is make
    assert getattr(estimator, "variant", None) == variant
    assert (estimator.level, estimator.random_state, estimator.n_jobs) == (0.8, 3, 2)
    found = estimate_theta(X, U, method, level=0.8, random_state=3)
    expected = clone(estimator).fit(X, U)
    assert found == (found.theta, found.interval) == (expected.theta_, expected.interval_)


def test_an_estimate_can_be_taken_apart():
    theta, (low, high) = estimate_theta(X, U, random_state=0)
    assert low <= theta <= high
    assert estimate_theta(X, U, random_state=0) == (theta, (low, high))


def test_an_estimator_keeps_its_own_parameters():
    estimator = BestBin(level=0.5, n_bootstrap=20, random_state=1)
    found = estimate_theta(X, U, estimator, level=0.99, random_state=2)
    assert not hasattr(estimator, "theta_")
    assert found == (estimator.fit(X, U).theta_, estimator.interval_)


@pytest.mark.parametrize("method", ["Auto", "bbe", "", "km3"])
def test_methods_of_another_name(method):
    message = r"method must be one of \['auto', 'best_bin', 'km1', 'km2', 'rank_mixture'\], got"
    with pytest.raises(ValueError, match=message):
        make_estimator(method)
    with pytest.raises(ValueError, match=message):
        estimate_theta(X, U, method)


@pytest.mark.parametrize("method", [None, 3, BestBin])
def test_methods_that_are_no_estimators(method):
    with pytest.raises(TypeError, match="Cannot clone object"):
        estimate_theta(X, U, method)


def test_names_of_the_module():
    assert lacforest.mixture.__all__ == sorted(lacforest.mixture.__all__)
    for name in lacforest.mixture.__all__:
        assert hasattr(lacforest.mixture, name)
    for make in CLASSES:
        assert issubclass(make, ThetaEstimator)
    with pytest.raises(TypeError, match="abstract"):
        ThetaEstimator()
