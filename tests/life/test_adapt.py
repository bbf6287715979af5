"""adapt: what a batch is made of, and predictions under its shares."""

import numpy as np
import pytest
from container_files import rewrite
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from separate_classes import draw

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest._model.container import ModelFileError
from lacforest.adaptation.shares import NEW_ODDS, estimate_shares
from lacforest.discovery import NewClassGroups
from lacforest.export import to_sklearn_like
from lacforest.inspection import shap_values


@pytest.fixture(scope="module", params=[LACForestClassifier, LACExtraTreesClassifier])
def forest(request):
    rng = np.random.default_rng(0)
    X, y = draw(rng, a=60, b=60)
    U, _ = draw(rng, a=50, b=50, c=100)
    return request.param(20, random_state=0, theta=0.5).fit(X, y, X_unlabeled=U)


def test_a_batch_like_the_fit_changes_little(forest):
    X, _ = draw(np.random.default_rng(1), a=50, b=50, c=100)
    adapted = forest.adapt(X)
    assert abs(adapted.theta_ - 0.5) < 0.05
    batch = adapted.adaptation_
    assert batch.alarms == ()
    assert batch.p_value > 0.05
    assert not batch.is_adapted
    assert "changes nothing: the batch may have the shares of the fit (p = 0." in str(batch)
    assert_array_equal(adapted.predict_proba(X), forest.predict_proba(X))
    # Votes of forests add up to about one.
    votes = np.random.default_rng(0).dirichlet(np.ones(3), 100)
    assert_array_equal(adapted._adapted(votes), votes)


def test_another_batch(forest):
    X, _ = draw(np.random.default_rng(1), a=120, b=30, c=20)
    before = forest.predict_proba(X).copy()
    adapted = forest.adapt(X)
    batch = adapted.adaptation_
    assert abs(adapted.theta_ - 20 / 170) < 0.05
    assert_allclose(adapted.known_shares_, [0.8, 0.2], atol=0.06)
    assert adapted.theta_interval_[0] <= adapted.theta_ <= adapted.theta_interval_[1]
    assert [found.topic for found in batch.alarms] == ["theta", "shares"]
    assert batch.is_adapted
    assert "the batch has not the shares of the fit (p < 0.001)" in str(batch)
    assert "shares among known rows have moved: a " in str(batch)
    assert forest.theta_ == 0.5  # the forest itself stays as it is
    assert_array_equal(forest.predict_proba(X), before)
    assert_allclose(adapted.predict_proba(X).sum(axis=1), 1.0)


def test_rows_are_adapted_one_by_one(forest):
    X, _ = draw(np.random.default_rng(1), a=120, b=30, c=20)
    adapted = forest.adapt(X)
    assert_array_equal(adapted.predict_proba(X[:5]), adapted.predict_proba(X)[:5])


def test_row_order_changes_nothing(forest):
    rng = np.random.default_rng(1)
    X, _ = draw(rng, a=120, b=30, c=20)
    first, second = forest.adapt(X), forest.adapt(X[rng.permutation(len(X))])
    assert first.theta_ == second.theta_
    assert first.theta_interval_ == second.theta_interval_
    assert_array_equal(first.predict_proba(X), second.predict_proba(X))


def test_a_batch_like_the_fit_takes_an_adaptation_back(forest):
    rng = np.random.default_rng(1)
    moved = forest.adapt(draw(rng, a=120, b=30, c=20)[0])
    like, _ = draw(rng, a=50, b=50, c=100)
    assert (moved.predict_proba(like) != forest.predict_proba(like)).any()
    assert_array_equal(moved.adapt(like).predict_proba(like), forest.predict_proba(like))


def test_adapting_twice_starts_from_the_fit(forest):
    X, _ = draw(np.random.default_rng(1), a=120, b=30, c=20)
    other, _ = draw(np.random.default_rng(2), a=30, b=30, c=100)
    twice = forest.adapt(other).adapt(X)
    assert twice.theta_ == forest.adapt(X).theta_
    assert_array_equal(twice.predict_proba(X), forest.adapt(X).predict_proba(X))


@pytest.mark.parametrize("sizes", [{"a": 120, "b": 30, "c": 20}, {"a": 50, "b": 50, "c": 100}])
def test_files_keep_the_adaptation(forest, tmp_path, sizes):
    X, _ = draw(np.random.default_rng(1), **sizes)
    adapted = forest.adapt(X)
    for compress in (True, False):
        adapted.save(tmp_path / "adapted.lac", compress=compress)
        loaded = type(forest).load(tmp_path / "adapted.lac")
        assert_array_equal(loaded.predict_proba(X), adapted.predict_proba(X))
        assert loaded.theta_ == adapted.theta_
        assert loaded.adapt(X).theta_ == adapted.theta_
    for path, version in (("adapted.lac", b'"version": 5'), ("plain.lac", b'"version": 4')):
        if path == "plain.lac":
            forest.save(tmp_path / path, compress=False)
        header = (
            (tmp_path / path).read_bytes()[:20_000].replace(b'":', b'": ').replace(b":  ", b": ")
        )
        assert version in header


@pytest.mark.parametrize("factor", [0.0, 5e-324, 1e300, -1.0])
def test_a_file_with_factors_that_no_batch_has(forest, tmp_path, factor):
    # Products of votes and 5e-324 are zero, and probabilities were 0 / 0.
    path = tmp_path / "adapted.lac"
    forest.adapt(draw(np.random.default_rng(1), a=60, c=60)[0]).save(path, compress=False)

    def change(header):
        header["adaptation"]["class_factors"][0] = factor

    rewrite(path, change_header=change)
    with pytest.raises(ModelFileError, match="class_factors are not one positive number per class"):
        type(forest).load(path)


def test_another_new_class_is_seen_by_groups(forest):
    rng = np.random.default_rng(3)
    X, y = draw(rng, a=60, b=60)
    groups = NewClassGroups(1).fit(draw(rng, c=80)[0], X_labeled=X, y_labeled=y)
    same, _ = draw(rng, a=50, b=50, c=50)
    batch = forest.adapt(same, groups=groups).adaptation_
    assert batch.far_share < 0.1
    assert "groups" not in [found.topic for found in batch.alarms]
    elsewhere = np.array([0, 30, 0]) + rng.normal(size=(60, 3))
    other = np.concatenate([draw(rng, a=30, b=30)[0], elsewhere])
    batch = forest.adapt(other, groups=groups).adaptation_
    assert batch.far_share > 0.8
    assert "another new class may have appeared" in str(batch)


@pytest.mark.parametrize(
    "form",
    [sparse.csr_array, sparse.coo_matrix, np.ndarray.tolist, np.ma.masked_array],
    ids=["csr", "coo", "list", "masked"],
)
def test_groups_see_every_form_of_table(forest, form):
    X, y = draw(np.random.default_rng(3), a=60, b=60)
    groups = NewClassGroups(1).fit(X[:20], X_labeled=X, y_labeled=y)
    batch, _ = draw(np.random.default_rng(4), a=30, b=30, c=40)
    expected = forest.adapt(batch, groups=groups).adaptation_.far_share
    assert forest.adapt(form(batch), groups=groups).adaptation_.far_share == expected > 0.5


def test_exports_are_refused_and_votes_explained(forest):
    X, _ = draw(np.random.default_rng(1), a=120, b=30, c=20)
    adapted = forest.adapt(X)
    with pytest.raises(ValueError, match="was adapted to a batch"):
        to_sklearn_like(adapted)
    assert_array_equal(shap_values(adapted, X[:3]).values, shap_values(forest, X[:3]).values)
    assert_array_equal(adapted.estimators_[0].impurity, forest.estimators_[0].impurity)


def test_a_fit_forgets_the_adaptation(forest):
    rng = np.random.default_rng(4)
    X, y = draw(rng, a=60, b=60)
    U, _ = draw(rng, a=50, b=50, c=100)
    adapted = forest.adapt(U[:60])
    adapted.fit(X, y, X_unlabeled=U)
    assert adapted.adaptation_ is None
    fresh = type(forest)(20, random_state=0, theta=0.5).fit(X, y, X_unlabeled=U)
    assert_array_equal(adapted.predict_proba(U), fresh.predict_proba(U))


def test_shares_are_found_from_exact_probabilities():
    """Votes whose squares are the posterior, odds of "new" corrected: EM must find the shares."""
    rng = np.random.default_rng(0)
    prior, shares = np.array([0.3, 0.3, 0.4]), np.array([0.6, 0.3, 0.1])
    classes = rng.choice(3, 20_000, p=shares)
    x = rng.normal(size=(20_000, 1)) + 2.0 * classes[:, None]
    density = np.exp(-0.5 * (x - 2.0 * np.arange(3)) ** 2)
    posterior = prior * density / [1.0, 1.0, NEW_ODDS]
    votes = np.sqrt(posterior / posterior.sum(axis=1, keepdims=True))
    found = estimate_shares(votes / votes.sum(axis=1, keepdims=True), prior, 1000)
    assert_allclose(found.shares, shares, atol=0.02)
    low, high = found.theta_interval(0.9)
    assert low < 0.1 < high


def test_bad_calls(forest):
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1"):
        forest.adapt(np.zeros((3, 3)), level=2.0)
    with pytest.raises(ValueError, match="has no new class"):
        LACForestClassifier(2).fit(np.eye(3), [0, 1, 1]).adapt(np.eye(3))
